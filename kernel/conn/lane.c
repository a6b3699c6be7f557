// SPDX-License-Identifier: GPL-2.0
/* Lanes: queues of connections that have events; see lane.h. */
#include <linux/kref.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "conn/lane.h"

/* Connections served before the work requeues itself, so that a flush of the workqueue ends. */
#define WEFT_LANE_BUDGET	64

/* With this backlog in a lane no more connections are accepted, which would only take memory. */
#define WEFT_LANE_FULL		WEFT_LANE_BUDGET

/* Connections that wait to be served. */
struct weft_lane {
	/* Of its maker, of each connection in it, and of @work while it is queued or runs */
	struct kref refs;
	/* Connections with events, in the order of service, a reference each. Under lanes_lock */
	struct list_head waiting;
	u32 num_waiting; /* how many. Written under lanes_lock */
	/* Serves them. A work item never runs twice at once, which keeps the order */
	struct work_struct work;
};

struct workqueue_struct *weft_conn_wq;

/* Protects the lists of all lanes, and each connection's lane. Only workqueue locks nest inside. */
static DEFINE_SPINLOCK(lanes_lock);

static const struct weft_lane_ops *item_ops;

static void lane_free(struct kref *refs)
{
	kfree(container_of(refs, struct weft_lane, refs));
}

void weft_lane_get(struct weft_lane *lane)
{
	kref_get(&lane->refs);
}

void weft_lane_put(struct weft_lane *lane)
{
	if (lane)
		kref_put(&lane->refs, lane_free);
}

/* Adds a connection that is in no list to its lane. */
static void lane_add(struct weft_lane *lane, struct weft_lane_item *item)
{
	lockdep_assert_held(&lanes_lock);
	list_add_tail(&item->entry, &lane->waiting);
	WRITE_ONCE(lane->num_waiting, lane->num_waiting + 1);
}

static void lane_start(struct weft_lane *lane)
{
	weft_lane_get(lane);
	if (!queue_work(weft_conn_wq, &lane->work))
		weft_lane_put(lane);
}

static void lane_work(struct work_struct *work)
{
	struct weft_lane *lane = container_of(work, struct weft_lane, work);
	struct weft_lane_item *item = NULL;
	unsigned int flags;
	int served;

	/* The peer may be our disk: an allocation that waits for I/O would wait for us. */
	flags = memalloc_noio_save();
	for (served = 0; served < WEFT_LANE_BUDGET; served++) {
		spin_lock_irq(&lanes_lock);
		item = list_first_entry_or_null(&lane->waiting, struct weft_lane_item, entry);
		if (item) {
			list_del_init(&item->entry);
			WRITE_ONCE(lane->num_waiting, lane->num_waiting - 1);
		}
		spin_unlock_irq(&lanes_lock);
		if (!item)
			break;
		item_ops->serve(item, false);
		item_ops->put(item);
		cond_resched();
	}
	memalloc_noio_restore(flags);
	if (item)
		lane_start(lane); /* even if the list is empty by now */
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

/* Moves a connection to the end of another lane. If the old lane is serving it, that goes on. */
void weft_lane_move(struct weft_lane_item *item, struct weft_lane *lane)
{
	struct weft_lane *old;
	unsigned long flags;

	weft_lane_get(lane);
	spin_lock_irqsave(&lanes_lock, flags);
	old = item->lane;
	item->lane = lane;
	if (!list_empty(&item->entry)) {
		list_del(&item->entry);
		WRITE_ONCE(old->num_waiting, old->num_waiting - 1);
		lane_add(lane, item);
		lane_start(lane);
	}
	spin_unlock_irqrestore(&lanes_lock, flags);
	weft_lane_put(old);
}

/* Queues a connection in its lane, unless it waits there already. Any context. */
void weft_lane_queue(struct weft_lane_item *item)
{
	unsigned long flags;

	spin_lock_irqsave(&lanes_lock, flags);
	if (list_empty(&item->entry)) {
		item_ops->get(item);
		lane_add(item->lane, item);
		lane_start(item->lane);
	}
	spin_unlock_irqrestore(&lanes_lock, flags);
}

/*
 * Runs a connection's queue pair and serves the connection, for a process that ends its own queue
 * pair: the process is charged, and hundreds of such ends do not start as many workers, which would
 * compete with other threads for the processor. Returns false if a lock is taken or there is no
 * queue pair. May sleep.
 */
bool weft_lane_serve_here(struct weft_lane_item *item)
{
	unsigned int flags;
	bool served;

	/* As in lane_work(). */
	flags = memalloc_noio_save();
	served = item_ops->serve(item, true);
	memalloc_noio_restore(flags);
	return served;
}

/* Returns true if no more connections should be accepted now. Any context; may be outdated. */
bool weft_lane_is_full(const struct weft_lane *lane)
{
	return READ_ONCE(lane->num_waiting) >= WEFT_LANE_FULL;
}

int weft_lane_init(const struct weft_lane_ops *ops)
{
	item_ops = ops;
	/*
	 * The highest limit. Work beyond the limit waits for other work, which never waits for a
	 * process or a peer, so in the end all work waits only for processors.
	 */
	weft_conn_wq = alloc_workqueue("weft-conn", WQ_UNBOUND | WQ_MEM_RECLAIM, WQ_MAX_ACTIVE);
	return weft_conn_wq ? 0 : -ENOMEM;
}
