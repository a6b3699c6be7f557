/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The part of a queue pair that only a kernel consumer has.
 *
 * Gathering: a block driver posts one request at a time. If each is sent at once, and one processor
 * does all the work, each is answered before the next is posted, and costs packets, ACKs and
 * wake-ups of its own. So now and then a trial holds a post back. If others come meanwhile, that
 * many are held and sent together from then on; otherwise the next trial is further off. Without
 * this, a disk would be no faster at a depth of 32 than at a depth of 1.
 */
#ifndef WEFT_CONSUMER_H
#define WEFT_CONSUMER_H

#include <linux/hrtimer.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "base/policy.h"

struct weft_qp;

/**
 * struct weft_gather - the posts of a kernel consumer that are held
 * @timer: sends the held posts after @moment
 * @before: when the post before a trial was sent on its own, in ns; otherwise 0
 * @moment: longest time that a post is held, in ns
 * @going: posts are gathered; otherwise each is sent at once until the next trial
 * @held: number of held posts
 * @enough: number of held posts that are sent without a wait for more
 * @until: sends left until the next trial
 * @pause: sends between two trials; doubled by each timeout, up to WEFT_GATHER_LATE
 *
 * Part of struct weft_consumer, under the queue pair's post_lock. @timer takes post_lock and starts
 * the worker, so it is stopped before the worker.
 */
struct weft_gather {
	struct hrtimer timer;
	u64 before;
	u32 moment;
	bool going;
	u8 held;
	u8 enough;
	u16 until;
	u16 pause;
};

/**
 * struct weft_consumer - a kernel consumer's part of a queue pair
 * @qp: the queue pair
 * @near: transmit worker on weft_near_workqueue, beside that of struct weft_worker
 * @posted: a post started @near, so @near runs on the consumer's processor; a hint without a lock
 * @gather: held posts, under the queue pair's post_lock
 *
 * A separate allocation, so that queue pairs of processes are smaller. @near is a second item: one
 * item on two workqueues could run twice at once, and cancel_work_sync() would wait for one run.
 */
struct weft_consumer {
	struct weft_qp *qp;
	struct work_struct near;
	bool posted;
	struct weft_gather gather;
};

void weft_gather_init(struct weft_gather *gather);
bool weft_gather_holds(struct weft_gather *gather);
bool weft_gather_end(struct weft_gather *gather);
void weft_gather_wait(struct weft_gather *gather);

#endif /* WEFT_CONSUMER_H */
