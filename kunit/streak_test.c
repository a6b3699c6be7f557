// SPDX-License-Identifier: GPL-2.0
/* Streaks: who is in the middle of many requests, and who waits for an answer. */
#include "queue/cq.h"
#include "suite.h"

/* A streak that went on until now, whatever the clock does between two lines. */
static bool weft_streak_of(struct weft_streak *s)
{
	s->last = jiffies;
	return weft_streak_goes_on(s);
}

static void weft_streak_send(struct weft_streak *s, u32 num)
{
	while (num--) {
		s->last = jiffies;
		weft_streak_sent(s);
	}
}

static void weft_streak_begins(struct kunit *test)
{
	struct weft_streak s = {};

	weft_streak_send(&s, WEFT_STREAK - 1);
	KUNIT_EXPECT_FALSE(test, weft_streak_of(&s));
	weft_streak_send(&s, 1);
	KUNIT_EXPECT_TRUE(test, weft_streak_of(&s));
}

/* However long they go on. */
static void weft_streak_questions_and_answers(struct kunit *test)
{
	struct weft_streak s = {};

	for (int i = 0; i < 1000; i++) {
		KUNIT_ASSERT_FALSE(test, weft_streak_of(&s));
		weft_streak_send(&s, 1);
		KUNIT_ASSERT_FALSE(test, weft_streak_of(&s));
		weft_streak_send(&s, 1);
		weft_streak_received(&s);
	}
}

/* Once begun, a credit for half a queue of 16 does not end it. */
static void weft_streak_with_credits(struct kunit *test)
{
	struct weft_streak s = {};

	weft_streak_send(&s, WEFT_STREAK);
	for (int i = 0; i < 1000; i++) {
		weft_streak_send(&s, 8);
		weft_streak_received(&s);
		KUNIT_ASSERT_TRUE(test, weft_streak_of(&s));
	}
	KUNIT_EXPECT_LE(test, s.length, WEFT_STREAK_MAX);
}

static void weft_streak_ends(struct kunit *test)
{
	struct weft_streak s = {};

	weft_streak_send(&s, 10 * WEFT_STREAK);
	weft_streak_received(&s);
	weft_streak_received(&s);
	KUNIT_EXPECT_FALSE(test, weft_streak_of(&s));
	weft_streak_send(&s, 10 * WEFT_STREAK);
	s.last = jiffies - WEFT_STREAK_PAUSE - 1;
	KUNIT_EXPECT_FALSE(test, weft_streak_goes_on(&s));
	weft_streak_sent(&s);
	KUNIT_EXPECT_EQ(test, s.length, 1U);
}

A_SUITE(streak, no, weft_streak_begins, weft_streak_questions_and_answers, weft_streak_with_credits,
	weft_streak_ends);
