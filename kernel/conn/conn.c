// SPDX-License-Identifier: GPL-2.0
/*
 * A connection: its references, lane, events and names. table.c has its states.
 *
 * The stream, the queue pair and the timer post events: each sets a bit, and the connection's lane
 * serves the bits under the connection's mutex (weft_conn_serve()).
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "base/weft.h"
#include "conn/conn.h"
#include "llp/transport.h"
#include "pair/qp.h"

static void conn_free(struct kref *refs)
{
	struct weft_conn *conn = container_of(refs, struct weft_conn, refs);

	weft_lane_put(conn->lane);
	kfree(conn->hs);
	kfree(conn);
}

void weft_conn_put(struct weft_conn *conn)
{
	kref_put(&conn->refs, conn_free);
}

/* --- lanes; see lane.h --- */

/* Connections served before the work requeues itself, so that a flush of the workqueue ends. */
#define WEFT_LANE_BUDGET	64

struct workqueue_struct *weft_conn_wq;

/* Protects the lists of all lanes, and each connection's lane. Only workqueue locks nest inside. */
static DEFINE_SPINLOCK(lanes_lock);

static bool (*lane_serve)(struct weft_conn *conn, bool run);

static void lane_free(struct kref *refs)
{
	kfree(container_of(refs, struct weft_lane, refs));
}

void weft_lane_put(struct weft_lane *lane)
{
	if (lane)
		kref_put(&lane->refs, lane_free);
}

static void lane_work(struct work_struct *work)
{
	struct weft_lane *lane = container_of(work, struct weft_lane, work);
	struct weft_conn *conn = NULL;
	unsigned int flags;
	int served;

	/* The peer may be our disk: an allocation that waits for I/O would wait for us. */
	flags = memalloc_noio_save();
	for (served = 0; served < WEFT_LANE_BUDGET; served++) {
		spin_lock_irq(&lanes_lock);
		conn = list_first_entry_or_null(&lane->waiting, struct weft_conn, in_lane);
		if (conn) {
			list_del_init(&conn->in_lane);
			WRITE_ONCE(lane->num_waiting, lane->num_waiting - 1);
		}
		spin_unlock_irq(&lanes_lock);
		if (!conn)
			break;
		lane_serve(conn, false);
		weft_conn_put(conn);
		cond_resched();
	}
	memalloc_noio_restore(flags);
	/* Even if the list is empty by now. The work keeps its reference if it is to run again. */
	if (!conn || !queue_work(weft_conn_wq, &lane->work))
		weft_lane_put(lane);
}

struct weft_lane *weft_lane_new(void)
{
	struct weft_lane *lane = kzalloc(sizeof(*lane), GFP_KERNEL);

	if (!lane)
		return NULL;
	kref_init(&lane->refs);
	INIT_LIST_HEAD(&lane->waiting);
	INIT_WORK(&lane->work, lane_work);
	return lane;
}

/* Queues a connection in its lane, unless it waits there already. Any context. */
void weft_lane_queue(struct weft_conn *conn)
{
	struct weft_lane *lane;
	unsigned long flags;

	spin_lock_irqsave(&lanes_lock, flags);
	lane = conn->lane;
	if (list_empty(&conn->in_lane)) {
		kref_get(&conn->refs);
		list_add_tail(&conn->in_lane, &lane->waiting);
		WRITE_ONCE(lane->num_waiting, lane->num_waiting + 1);
		kref_get(&lane->refs);
		if (!queue_work(weft_conn_wq, &lane->work))
			weft_lane_put(lane);
	}
	spin_unlock_irqrestore(&lanes_lock, flags);
}

/* Moves a connection to the end of another lane. If the old lane is serving it, that goes on. */
void weft_lane_move(struct weft_conn *conn, struct weft_lane *lane)
{
	struct weft_lane *old;
	unsigned long flags;
	bool waited;

	kref_get(&lane->refs);
	spin_lock_irqsave(&lanes_lock, flags);
	old = conn->lane;
	conn->lane = lane;
	waited = !list_empty(&conn->in_lane);
	if (waited) {
		list_del_init(&conn->in_lane);
		WRITE_ONCE(old->num_waiting, old->num_waiting - 1);
	}
	spin_unlock_irqrestore(&lanes_lock, flags);
	if (waited) {
		weft_lane_queue(conn); /* with a reference of its own */
		weft_conn_put(conn);
	}
	kref_put(&old->refs, lane_free);
}

int weft_lane_init(bool (*serve)(struct weft_conn *conn, bool run))
{
	lane_serve = serve;
	/*
	 * The highest limit. Work beyond the limit waits for other work, which never waits for a
	 * process or a peer, so in the end all work waits only for processors.
	 */
	weft_conn_wq = alloc_workqueue("weft-conn", WQ_UNBOUND | WQ_MEM_RECLAIM, WQ_MAX_ACTIVE);
	return weft_conn_wq ? 0 : -ENOMEM;
}

/* --- events --- */

/* Has the lane serve @event, which is below WEFT_EV_NUM_POSTED. Any context. */
void weft_conn_post(struct weft_conn *conn, enum weft_conn_event event)
{
	set_bit(event, &conn->events);
	weft_lane_queue(conn);
}

/* Unlocks, and starts the lane if the lane found the lock taken meanwhile. */
void weft_conn_unlock(struct weft_conn *conn)
{
	lockdep_assert_held(&conn->lock.mutex);
	if (weft_baton_unlock(&conn->lock))
		weft_lane_queue(conn);
}

static void conn_timer(struct work_struct *work)
{
	struct weft_conn *conn = container_of(to_delayed_work(work), struct weft_conn, timer);

	weft_conn_post(conn, WEFT_EV_TIMEOUT);
	weft_conn_put(conn);
}

/* Posts TIMEOUT to the current state in @time jiffies; 0: never. Process context. */
void weft_conn_set_timer(struct weft_conn *conn, unsigned long time)
{
	conn->limited = time;
	if (time) {
		conn->deadline = jiffies + time;
		kref_get(&conn->refs);
		if (mod_delayed_work(weft_conn_wq, &conn->timer, time))
			weft_conn_put(conn);
	} else if (cancel_delayed_work(&conn->timer)) {
		weft_conn_put(conn);
	}
}

/* --- events of the queue pair; see struct weft_qp_user_ops --- */

struct weft_conn *to_weft_conn(struct weft_qp_user *user)
{
	return container_of(user, struct weft_conn, user);
}

static void user_post(struct weft_qp_user *user, enum weft_qp_event event)
{
	static const enum weft_conn_event events[] = {
		[WEFT_QP_FAILED] = WEFT_EV_QP_FAILED,
		[WEFT_QP_CLOSING] = WEFT_EV_QP_CLOSING,
		[WEFT_QP_CHANGED] = WEFT_EV_CHANGED,
		[WEFT_QP_PEER_CLOSED] = WEFT_EV_PEER_CLOSED,
	};

	weft_conn_post(to_weft_conn(user), events[event]);
}

static void user_unlocked(struct weft_qp_user *user)
{
	weft_lane_queue(to_weft_conn(user));
}

static void user_hold(struct weft_qp_user *user)
{
	kref_get(&to_weft_conn(user)->refs);
}

/*
 * Runs a connection's queue pair and serves the connection, for a process that ends its own queue
 * pair: the process is charged, and hundreds of such ends do not start as many workers, which would
 * compete with other threads for the processor.
 */
static bool user_serve(struct weft_qp_user *user)
{
	struct weft_conn *conn = to_weft_conn(user);
	unsigned int flags;
	bool served;

	/* As in lane_work(). */
	flags = memalloc_noio_save();
	served = lane_serve(conn, true);
	memalloc_noio_restore(flags);
	weft_conn_put(conn);
	return served;
}

static const struct weft_qp_user_ops user_ops = {
	.post = user_post,
	.unlocked = user_unlocked,
	.hold = user_hold,
	.serve = user_serve,
};

/*
 * Returns the device's offers and demands for the handshake. A stream with a checksum of its own
 * needs no CRCs or markers of MPA, and no frames of paths.
 */
struct weft_mpa_policy weft_conn_policy(const struct weft_conn *conn)
{
	const struct weft_settings *settings = &conn->dev->settings;
	bool own_crc = conn->llp->class->own_crc;

	return (struct weft_mpa_policy) {
		.revision = READ_ONCE(settings->value[WEFT_SET_MPA_REVISION]),
		.crc = own_crc ? WEFT_CRC_OFF : READ_ONCE(settings->value[WEFT_SET_CRC]),
		.rtr = READ_ONCE(settings->value[WEFT_SET_RTR]),
		.p2p = true,
		.extend = READ_ONCE(settings->value[WEFT_SET_EXTENSIONS]),
		.markers = !own_crc && READ_ONCE(settings->value[WEFT_SET_MARKERS]),
		.paths = !own_crc && weft_transport_spreads(&conn->dev->transports),
		.ird = WEFT_MAX_RD_ATOM,
		.ord = WEFT_MAX_RD_ATOM,
	};
}

/*
 * Returns a connection in NEW, or NULL. CLOSED drops its first reference. The caller fills it in,
 * attaches it to a device and posts START; or posts EVICT to give it up. The calling process's
 * memory cgroup is charged. For a connection that a worker accepts nobody is charged, but the
 * listener's backlog bounds how many there are.
 */
struct weft_conn *weft_conn_new(bool initiator, struct weft_lane *lane)
{
	struct weft_conn *conn = kzalloc(sizeof(*conn), GFP_KERNEL_ACCOUNT);

	if (!conn)
		return NULL;
	conn->hs = kzalloc(sizeof(*conn->hs), GFP_KERNEL_ACCOUNT);
	if (!conn->hs) {
		kfree(conn);
		return NULL;
	}
	kref_init(&conn->refs);
	INIT_LIST_HEAD(&conn->entry);
	INIT_LIST_HEAD(&conn->half_open);
	INIT_HLIST_NODE(&conn->by_cm);
	weft_baton_init(&conn->lock);
	INIT_LIST_HEAD(&conn->in_lane);
	kref_get(&lane->refs);
	conn->lane = lane;
	INIT_DELAYED_WORK(&conn->timer, conn_timer);
	conn->user.ops = &user_ops;
	conn->initiator = initiator;
	conn->state = WEFT_CONN_NEW;
	return conn;
}

/*
 * --- lookup, and the view for operators ---
 *
 * The view takes no mutex of the connection, because a process that is stopped while it looks would
 * stop the connection too.
 */

/* Enters a connection in NEW in the list of a device. */
void weft_conn_attach(struct weft_conn *conn, struct weft_device *dev)
{
	conn->dev = dev;
	spin_lock(&dev->conns_lock);
	list_add_tail(&conn->entry, &dev->conns);
	spin_unlock(&dev->conns_lock);
}

/* Fills in @info for an operator. The caller has a reference on @conn and keeps its device. */
void weft_conn_info(struct weft_conn *conn, struct weft_conn_info *info)
{
	static const char *const names[WEFT_CONN_NUM_STATES] = {
		[WEFT_CONN_NEW] = "new",
		[WEFT_CONN_CONNECTING] = "connecting",
		[WEFT_CONN_REQUESTED] = "requested",
		[WEFT_CONN_ACCEPTED] = "accepted",
		[WEFT_CONN_PENDING] = "pending",
		[WEFT_CONN_STREAMING] = "streaming",
		[WEFT_CONN_CLOSING] = "closing",
		[WEFT_CONN_CLOSED] = "closed",
	};
	struct weft_device *dev = conn->dev;
	struct weft_llp *llp;

	memset(info, 0, sizeof(*info));
	info->state = names[READ_ONCE(conn->state)];
	info->initiator = conn->initiator;
	spin_lock(&dev->conns_lock); /* keeps the stream from being closed */
	llp = conn->llp;
	if (llp) {
		llp->class->addresses(llp, &info->local, &info->remote);
		info->over = llp->class->name;
		while (llp->class->show_path && info->num_paths < WEFT_MAX_SHOWN &&
		       llp->class->show_path(llp, info->num_paths, &info->path[info->num_paths]))
			info->num_paths++;
	}
	spin_unlock(&dev->conns_lock);
}

/* Makes the connection known under rdma_cm's cm_id, or under none (NULL). */
void weft_conn_set_context(struct weft_conn *conn, const void *cm_context)
{
	struct weft_device *dev = conn->dev;

	lockdep_assert_held(&conn->lock.mutex);
	spin_lock(&dev->conns_lock);
	hash_del(&conn->by_cm);
	conn->cm_context = cm_context;
	if (cm_context)
		hash_add(dev->conns_by_cm, &conn->by_cm, (unsigned long)cm_context);
	spin_unlock(&dev->conns_lock);
}

/* Returns the connection of rdma_cm's cm_id with a reference, or NULL. */
struct weft_conn *weft_conn_find(struct weft_device *dev, const void *cm_context)
{
	struct weft_conn *conn, *found = NULL;

	spin_lock(&dev->conns_lock);
	hash_for_each_possible(dev->conns_by_cm, conn, by_cm, (unsigned long)cm_context) {
		if (conn->cm_context == cm_context) {
			kref_get(&conn->refs);
			found = conn;
			break;
		}
	}
	spin_unlock(&dev->conns_lock);
	return found;
}
