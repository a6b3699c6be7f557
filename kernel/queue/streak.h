/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Is the poster about to wait for an answer, or in the middle of many requests (a streak)? If it
 * will wait, its own thread sends at once. In a streak a worker sends: the poster posts on without
 * entering the kernel, trains are longer, and the receiver is woken less often. The streak belongs
 * to the CQ of sends, because one thread often posts to several queue pairs that share the CQ. Each
 * received message halves the count, so that questions and answers stay below WEFT_STREAK, but a
 * stream that gets a credit now and then does not.
 */
#ifndef WEFT_STREAK_H
#define WEFT_STREAK_H

#include <linux/compiler.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/types.h>

#include "base/policy.h"

/**
 * struct weft_streak - requests in a row: a hint, accessed without a lock
 * @length: how many
 * @last: when the last of them was taken, in jiffies
 */
struct weft_streak {
	u32 length;
	unsigned long last;
};

static inline bool weft_streak_paused(const struct weft_streak *s)
{
	return time_after(jiffies, READ_ONCE(s->last) + WEFT_STREAK_PAUSE);
}

/* Is the poster likely to post more soon? */
static inline bool weft_streak_goes_on(const struct weft_streak *s)
{
	return weft_rule(WEFT_RULE_STREAK) && READ_ONCE(s->length) >= WEFT_STREAK &&
	       !weft_streak_paused(s);
}

static inline void weft_streak_sent(struct weft_streak *s)
{
	u32 length = weft_streak_paused(s) ? 0 : READ_ONCE(s->length);

	WRITE_ONCE(s->last, jiffies);
	WRITE_ONCE(s->length, min(length + 1, WEFT_STREAK_MAX));
}

static inline void weft_streak_received(struct weft_streak *s)
{
	u32 length = READ_ONCE(s->length);

	if (length)
		WRITE_ONCE(s->length, length / 2);
}

#endif /* WEFT_STREAK_H */
