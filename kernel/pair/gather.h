/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Gathering: requests of a kernel consumer that keeps many outstanding are sent together.
 *
 * A disk's driver posts one request at a time. Sent at once, each is answered and completed before
 * the next is posted where one processor does all of it, and costs packets, acknowledgements and
 * wake-ups of its own. So now and then a request is held for a moment. If others come in that
 * moment, the consumer keeps many outstanding, and from then on so many requests as came are sent
 * together, without a wait for more. Otherwise the moment was lost, and the next trial is
 * further off. Without this, a disk would be no faster at a depth of 32 than at a depth of 1.
 */
#ifndef WEFT_PAIR_GATHER_H
#define WEFT_PAIR_GATHER_H

#include <linux/hrtimer.h>
#include <linux/types.h>

#include "base/policy.h"

/**
 * struct weft_gather - the posts of a queue pair of the kernel's own that are held
 * @timer: sends what is held when the moment is over
 * @before: when the post before a trial was sent, if it was sent at once, in ns; otherwise 0
 * @moment: how long a post is held at most, in ns
 * @going: posts are gathered; otherwise each is sent at once until the next trial
 * @held: how many posts are held
 * @enough: so many are sent without a wait for more
 * @until: how often posts are sent until the next trial
 * @pause: how often they were at the last; doubled by each trial in which the moment ended
 *	before there were WEFT_GATHER_MOST
 *
 * A part of struct weft_kernel, under the queue pair's post_lock, but for @timer, which takes it
 * and starts the worker; so the timer is ended first.
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

void weft_gather_init(struct weft_gather *gather);
bool weft_gather_holds(struct weft_gather *gather);
bool weft_gather_end(struct weft_gather *gather);
void weft_gather_wait(struct weft_gather *gather);
void weft_gather_stop(struct weft_gather *gather);

#endif /* WEFT_PAIR_GATHER_H */
