/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Streaks: is who posts in the middle of many requests, or will it now wait
 * for an answer?
 *
 * A request that is answered wants to be sent at once, by who posts it. In a
 * streak the sending is a worker's: who posts goes on posting meanwhile, without
 * entering the kernel, and what is posted is sent in larger trains, the wake-ups
 * of the receiver fewer. A completion queue of sends has a streak, since the
 * queue pairs that share one are commonly one thread's, in turn.
 */
#ifndef WEFT_STREAK_H
#define WEFT_STREAK_H

#include <linux/compiler.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/types.h>

/*
 * So many requests with little received between them are a streak. Each message
 * received halves the count, so that questions and answers stay below, and a
 * stream with a credit now and then does not.
 */
#define WEFT_STREAK		6U
#define WEFT_STREAK_MAX		16U
/* A pause of so many jiffies ends a streak. */
#define WEFT_STREAK_PAUSE	2

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

/* Whether more is likely to be posted at once. */
static inline bool weft_streak_goes_on(const struct weft_streak *s)
{
	return READ_ONCE(s->length) >= WEFT_STREAK && !weft_streak_paused(s);
}

/* A request was taken to be sent. */
static inline void weft_streak_sent(struct weft_streak *s)
{
	u32 length = weft_streak_paused(s) ? 0 : READ_ONCE(s->length);

	WRITE_ONCE(s->last, jiffies);
	WRITE_ONCE(s->length, min(length + 1, WEFT_STREAK_MAX));
}

/* A message was received. */
static inline void weft_streak_received(struct weft_streak *s)
{
	u32 length = READ_ONCE(s->length);

	if (length)
		WRITE_ONCE(s->length, length / 2);
}

#endif /* WEFT_STREAK_H */
