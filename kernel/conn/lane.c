// SPDX-License-Identifier: GPL-2.0
/* Lanes: queues of connections that have events. See lane.h. */
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "conn/lane.h"

/* Connections served before the work requeues itself, so that a flush of the workqueue ends. */
#define WEFT_LANE_BUDGET	64

/* With this backlog in a lane no more connections are accepted, which would only take memory. */
#define WEFT_LANE_FULL		WEFT_LANE_BUDGET

/**
 * struct weft_lane - connections that wait to be served
 * @refs: held by its maker, by each connection in it, and by @work while it is
 *	queued or runs
 * @waiting: connections with events, in the order of service, a reference each. Under lanes_lock
 * @num_waiting: how many. Written under lanes_lock
 * @work: serves them. A work item never runs twice at once, which keeps the order
 */
struct weft_lane {
	struct kref refs;
	struct list_head waiting;
	u32 num_waiting;
	struct work_struct work;
};

struct workqueue_struct *weft_conn_wq;

/* Protects the lists of all lanes, and each connection's lane. Only workqueue locks nest inside. */
static DEFINE_SPINLOCK(lanes_lock);

static const struct weft_turn_ops *turn_ops;

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

/* Takes the next connection in turn, with the list's reference, or returns NULL. */
static struct weft_turn *lane_next(struct weft_lane *lane)
{
	struct weft_turn *turn;

	spin_lock_irq(&lanes_lock);
	turn = list_first_entry_or_null(&lane->waiting, struct weft_turn, entry);
	if (turn) {
		list_del_init(&turn->entry);
		WRITE_ONCE(lane->num_waiting, lane->num_waiting - 1);
	}
	spin_unlock_irq(&lanes_lock);
	return turn;
}

/* Adds a connection that is in no list to its lane. */
static void lane_add(struct weft_lane *lane, struct weft_turn *turn)
{
	lockdep_assert_held(&lanes_lock);
	list_add_tail(&turn->entry, &lane->waiting);
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
	struct weft_turn *turn = NULL;
	unsigned int flags;
	int served;

	/* The peer may be our disk: an allocation that waits for I/O would wait for us. */
	flags = memalloc_noio_save();
	for (served = 0; served < WEFT_LANE_BUDGET; served++) {
		turn = lane_next(lane);
		if (!turn)
			break;
		turn_ops->serve(turn);
		turn_ops->put(turn);
		cond_resched();
	}
	memalloc_noio_restore(flags);
	if (turn)
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

void weft_turn_init(struct weft_turn *turn, struct weft_lane *lane)
{
	weft_lane_get(lane);
	turn->lane = lane;
	INIT_LIST_HEAD(&turn->entry);
}

/* Moves a connection to the end of another lane. If the old lane is serving it, that goes on. */
void weft_lane_move(struct weft_turn *turn, struct weft_lane *lane)
{
	struct weft_lane *old;
	unsigned long flags;

	weft_lane_get(lane);
	spin_lock_irqsave(&lanes_lock, flags);
	old = turn->lane;
	turn->lane = lane;
	if (!list_empty(&turn->entry)) {
		list_del(&turn->entry);
		WRITE_ONCE(old->num_waiting, old->num_waiting - 1);
		lane_add(lane, turn);
		lane_start(lane);
	}
	spin_unlock_irqrestore(&lanes_lock, flags);
	weft_lane_put(old);
}

/* Queues a connection in its lane, unless it waits there already. Any context. */
void weft_lane_queue(struct weft_turn *turn)
{
	unsigned long flags;

	spin_lock_irqsave(&lanes_lock, flags);
	if (list_empty(&turn->entry)) {
		turn_ops->get(turn);
		lane_add(turn->lane, turn);
		lane_start(turn->lane);
	}
	spin_unlock_irqrestore(&lanes_lock, flags);
}

/*
 * Runs a connection's queue pair and serves the connection, in the caller's time. Returns false if
 * a lock is taken or there is no queue pair. May sleep.
 *
 * For a process that ends its own queue pair: the process is charged, and hundreds of such ends do
 * not start as many workers, which would compete with other threads for the processor.
 */
bool weft_lane_serve_here(struct weft_turn *turn)
{
	unsigned int flags;
	bool served;

	/* As in lane_work(). */
	flags = memalloc_noio_save();
	served = turn_ops->serve_here(turn);
	memalloc_noio_restore(flags);
	return served;
}

/* Returns true if no more connections should be accepted now. Any context; may be outdated. */
bool weft_lane_is_full(const struct weft_lane *lane)
{
	return READ_ONCE(lane->num_waiting) >= WEFT_LANE_FULL;
}

int weft_lane_init(const struct weft_turn_ops *ops)
{
	turn_ops = ops;
	/*
	 * The highest limit. Work beyond the limit waits for other work, which never waits for a
	 * process or a peer, so in the end all work waits only for processors.
	 */
	weft_conn_wq = alloc_workqueue("weft-conn", WQ_UNBOUND | WQ_MEM_RECLAIM,
				       WQ_MAX_ACTIVE);
	return weft_conn_wq ? 0 : -ENOMEM;
}

void weft_lane_exit(void)
{
	destroy_workqueue(weft_conn_wq);
}
