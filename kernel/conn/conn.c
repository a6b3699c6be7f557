// SPDX-License-Identifier: GPL-2.0
/*
 * A connection: its references, events, stream and names. table.c has its states.
 *
 * The stream, the queue pair and the timer post events: each sets a bit, and the connection's lane
 * serves the bits under the connection's mutex (conn_serve()). While a queue pair has the stream,
 * the stream has that queue pair for its owner.
 */
#include <linux/slab.h>

#include "base/weft.h"
#include "conn/conn.h"
#include "engine/engine.h"
#include "llp/transport.h"
#include "pair/qp.h"

void weft_conn_get(struct weft_conn *conn)
{
	kref_get(&conn->refs);
}

static void conn_free(struct kref *refs)
{
	struct weft_conn *conn = container_of(refs, struct weft_conn, refs);

	weft_lane_put(conn->item.lane);
	kfree(conn->hs);
	kfree(conn);
}

void weft_conn_put(struct weft_conn *conn)
{
	kref_put(&conn->refs, conn_free);
}

/* Has the lane serve @event, which is below WEFT_EV_NUM_POSTED. Any context. */
void weft_conn_post(struct weft_conn *conn, enum weft_conn_event event)
{
	set_bit(event, &conn->events);
	weft_lane_queue(&conn->item);
}

/* Unlocks, and starts the lane if the lane found the lock taken meanwhile. */
void weft_conn_unlock(struct weft_conn *conn)
{
	lockdep_assert_held(&conn->lock.mutex);
	if (weft_baton_unlock(&conn->lock))
		weft_lane_queue(&conn->item);
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
		weft_conn_get(conn);
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
	weft_lane_queue(&to_weft_conn(user)->item);
}

static void user_hold(struct weft_qp_user *user)
{
	weft_conn_get(to_weft_conn(user));
}

static bool user_serve(struct weft_qp_user *user)
{
	struct weft_conn *conn = to_weft_conn(user);
	bool served = weft_lane_serve_here(&conn->item);

	weft_conn_put(conn);
	return served;
}

static const struct weft_qp_user_ops user_ops = {
	.post = user_post,
	.unlocked = user_unlocked,
	.hold = user_hold,
	.serve = user_serve,
};

/* Callbacks, under the socket lock, while no queue pair has the stream. */

static u32 drop_bytes(void *ctx, struct sk_buff *skb, u32 offset, u32 len)
{
	return len;
}

static void stream_readable(struct weft_llp *llp)
{
	struct weft_conn *conn = llp->owner;

	if (conn->dropping)
		weft_llp_held(llp, read, drop_bytes, NULL);
	else
		weft_conn_post(conn, WEFT_EV_READABLE);
}

/* An event that cannot come, or says nothing here. */
void weft_conn_no_news(struct weft_llp *llp)
{
}

static void stream_changed(struct weft_llp *llp)
{
	weft_conn_post(llp->owner, WEFT_EV_CHANGED);
}

const struct weft_llp_ops weft_conn_stream_ops = {
	.readable = stream_readable,
	.writable = weft_conn_no_news,
	.changed = stream_changed,
};

/*
 * Replaces the stream by one of several connections, if the handshake agreed on that. Its frames
 * have the CRCs, so that those of the queue pair have none. Returns 0 or a negative errno value.
 */
int weft_conn_spread(struct weft_conn *conn, struct weft_mpa_agreed *agreed)
{
	struct weft_device *dev = conn->dev;
	const struct weft_spread_terms terms = {
		.initiator = conn->initiator,
		.crc = agreed->crc,
		.keepalive = weft_setting(&dev->settings, WEFT_SET_KEEPALIVE),
		.user_timeout = weft_setting(&dev->settings, WEFT_SET_USER_TIMEOUT),
		.counters = dev->counters,
	};
	const struct weft_transport *spreader;
	struct weft_llp *first = conn->llp, *llp;

	lockdep_assert_held(&conn->lock.mutex);
	if (!agreed->paths)
		return 0;
	/* Not to be shown any more, because the new stream may end it at once. */
	weft_conn_set_llp(conn, NULL);
	spreader = weft_transport_spreader(&dev->transports);
	llp = spreader->spread(first, &terms, &weft_conn_stream_ops, conn);
	weft_conn_set_llp(conn, IS_ERR(llp) ? first : llp);
	if (IS_ERR(llp))
		return PTR_ERR(llp);
	agreed->crc = false;
	return 0;
}

/* Gives the stream to the queue pair. On error the caller has to release the queue pair. */
int weft_conn_hand_over(struct weft_conn *conn, const struct weft_mpa_agreed *agreed)
{
	struct weft_mpa_agreed terms = *agreed;
	int ret;

	lockdep_assert_held(&conn->lock.mutex);
	lockdep_assert_held(&conn->qp->tx_lock.mutex);
	ret = weft_conn_spread(conn, &terms);
	if (ret)
		return ret;
	/* First, so that no callback is lost. A queue pair without a stream ignores callbacks. */
	conn->llp->class->adopt(conn->llp, &weft_engine_ops, conn->qp, false);
	ret = weft_engine_start(conn->qp, conn->llp, &terms, conn->initiator);
	if (ret)
		conn->llp->class->adopt(conn->llp, &weft_conn_stream_ops, conn, false);
	return ret;
}

/*
 * Stops the queue pair in ERR, flushes its work, and unbinds it. May sleep; the caller must not
 * have the socket lock. If TCP still holds pages that the queue pair lent, resets the stream. A
 * card may keep some of the pages even then; when they are back, the worker flushes the work.
 */
void weft_conn_release_qp(struct weft_conn *conn)
{
	struct weft_qp *qp = conn->qp;

	lockdep_assert_held(&conn->lock.mutex);
	if (!qp)
		return;
	lockdep_assert_held(&qp->tx_lock.mutex);
	if (conn->llp && conn->llp->owner == qp)
		conn->llp->class->adopt(conn->llp, &weft_conn_stream_ops, conn, false);
	if (!weft_engine_stop(qp)) {
		weft_conn_close(conn, true);
		/* The reset returns the pages at once, except those that a card still has. */
		weft_engine_stop(qp);
	}
	weft_engine_unbind(qp);
	conn->qp = NULL;
	weft_conn_put(conn);
	weft_qp_put(qp);
}

/* Closes the stream, which no queue pair uses any more. No callback runs afterwards. */
void weft_conn_close(struct weft_conn *conn, bool abort)
{
	struct weft_llp *llp = conn->llp;

	lockdep_assert_held(&conn->lock.mutex);
	if (!llp)
		return;
	weft_conn_set_llp(conn, NULL);
	weft_llp_close(llp, abort);
}

void weft_conn_set_timeouts(struct weft_conn *conn)
{
	const struct weft_settings *settings = &conn->dev->settings;

	lockdep_assert_held(&conn->lock.mutex);
	conn->llp->class->set_timeouts(conn->llp, weft_setting(settings, WEFT_SET_KEEPALIVE),
				       weft_setting(settings, WEFT_SET_USER_TIMEOUT));
}

/*
 * Returns the device's offers and demands for the handshake. A stream with a checksum of its own
 * needs no CRCs or markers of MPA, and no frames of paths.
 */
struct weft_mpa_policy weft_conn_policy(const struct weft_conn *conn)
{
	const struct weft_settings *settings = &conn->dev->settings;
	bool own_crc = conn->llp->class->own_crc;

	return (struct weft_mpa_policy) {
		.revision = weft_setting(settings, WEFT_SET_MPA_REVISION),
		.crc = own_crc ? WEFT_CRC_OFF : weft_setting(settings, WEFT_SET_CRC),
		.rtr = weft_setting(settings, WEFT_SET_RTR),
		.p2p = true,
		.extend = weft_setting(settings, WEFT_SET_EXTENSIONS),
		.markers = !own_crc && weft_setting(settings, WEFT_SET_MARKERS),
		.paths = !own_crc && weft_transport_spreads(&conn->dev->transports),
		.ird = WEFT_MAX_RD_ATOM,
		.ord = WEFT_MAX_RD_ATOM,
	};
}

/*
 * Drops all bytes that have come, and those to come. Called before the close, because a socket with
 * unread bytes is closed by a reset, which may reach the peer before our last message. Later bytes
 * are dropped in softirq, because a worker would drop them for as long as the peer sends.
 */
void weft_conn_drop_unread(struct weft_conn *conn)
{
	lockdep_assert_held(&conn->lock.mutex);
	weft_llp_call(conn->llp, lock);
	conn->dropping = true;
	/* The receive side may have asked for an event only when a whole FPDU is here. */
	weft_llp_held(conn->llp, await, 1);
	weft_llp_held(conn->llp, read, drop_bytes, NULL);
	weft_llp_call(conn->llp, unlock);
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
	INIT_LIST_HEAD(&conn->item.entry);
	weft_lane_get(lane);
	conn->item.lane = lane;
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

/*
 * Sets the stream, or takes it away (NULL) before it is closed. Afterwards nobody looks at the old
 * stream any more.
 */
void weft_conn_set_llp(struct weft_conn *conn, struct weft_llp *llp)
{
	struct weft_device *dev = conn->dev;

	lockdep_assert_held(&conn->lock.mutex);
	/* Only its maker knows a connection that has no device. */
	if (!dev) {
		conn->llp = llp;
		return;
	}
	spin_lock(&dev->conns_lock);
	conn->llp = llp;
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
		weft_llp_addresses(llp, &info->local, &info->remote);
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
			weft_conn_get(conn);
			found = conn;
			break;
		}
	}
	spin_unlock(&dev->conns_lock);
	return found;
}
