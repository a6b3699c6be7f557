/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A streak tells whether the poster is in the middle of many requests, or about to wait for
 * an answer.
 *
 * A poster that waits for the answer wants its request sent at once, so its own thread
 * sends it. In a streak a worker sends: the poster continues to post without entering the
 * kernel, so that trains are longer and the receiver is woken less often. The streak
 * belongs to the completion queue of sends, since one thread often posts to several queue
 * pairs that share it. Each message received halves the count. So questions and answers stay below
 * WEFT_STREAK, and a stream that gets a credit now and then does not.
 */
#ifndef WEFT_STREAK_H
#define WEFT_STREAK_H

#include <linux/compiler.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/types.h>

#include "base/policy.h"

/**
 * struct weft_streak - requests in a row
 * @length: how many
 * @last: when the last of them was taken, in jiffies
 *
 * A hint, read and written without a lock. Any context.
 */
struct weft_streak {
	u32 length;
	unsigned long last;
};

static inline bool weft_streak_paused(const struct weft_streak *s)
{
	return time_after(jiffies, READ_ONCE(s->last) + WEFT_STREAK_PAUSE);
}

/* Returns true if the poster is likely to post more at once. */
static inline bool weft_streak_goes_on(const struct weft_streak *s)
{
	return weft_rule(WEFT_RULE_STREAK) && READ_ONCE(s->length) >= WEFT_STREAK &&
	       !weft_streak_paused(s);
}

/* Counts a request that was taken to be sent. */
static inline void weft_streak_sent(struct weft_streak *s)
{
	u32 length = weft_streak_paused(s) ? 0 : READ_ONCE(s->length);

	WRITE_ONCE(s->last, jiffies);
	WRITE_ONCE(s->length, min(length + 1, WEFT_STREAK_MAX));
}

/* Halves the count, since a message was received. */
static inline void weft_streak_received(struct weft_streak *s)
{
	u32 length = READ_ONCE(s->length);

	if (length)
		WRITE_ONCE(s->length, length / 2);
}

#endif /* WEFT_STREAK_H */
