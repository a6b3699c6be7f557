/* SPDX-License-Identifier: GPL-2.0 */
/* How the cases of a file are made a suite, and how what they have made ends. */
#ifndef WEFT_KUNIT_SUITE_H
#define WEFT_KUNIT_SUITE_H

#include <kunit/test.h>

#include "queue/ring.h"

/* Cases that need nothing before them; bench.h, ends.h and hosts.h have other settings. */
#define no_suite_init NULL
#define no_suite_exit NULL

/* KUNIT_CASE() of each name: the first by this, the rest by another look at what this leaves. */
#define SUITE_CASES(NAME, ...) KUNIT_CASE(NAME), __VA_OPT__(SUITE_MORE SUITE_NONE (__VA_ARGS__))
#define SUITE_MORE() SUITE_CASES
#define SUITE_NONE ()
#define SUITE_LOOK(...) SUITE_LOOK9(SUITE_LOOK9(SUITE_LOOK9(SUITE_LOOK9(__VA_ARGS__))))
#define SUITE_LOOK9(...) SUITE_LOOK4(SUITE_LOOK4(SUITE_LOOK4(SUITE_LOOK4(__VA_ARGS__))))
#define SUITE_LOOK4(...) SUITE_LOOK1(SUITE_LOOK1(SUITE_LOOK1(SUITE_LOOK1(__VA_ARGS__))))
#define SUITE_LOOK1(...) __VA_ARGS__

/* Makes the suite weft_NAME of cases, between SETTING_suite_init() and SETTING_suite_exit(). */
#define A_SUITE(NAME, SETTING, ...) \
	static struct kunit_case suite_cases[] = { SUITE_LOOK(SUITE_CASES(__VA_ARGS__)) {} }; \
	static struct kunit_suite suite = { \
		.name = "weft_" #NAME, \
		.suite_init = SETTING##_suite_init, \
		.suite_exit = SETTING##_suite_exit, \
		.test_cases = suite_cases, \
	}; \
	kunit_test_suite(suite)

/* Begins the case NAME, which has BENCH, such as 'struct end *e', from the call MADE. */
#define CASE_WITH(NAME, BENCH, MADE) \
	static void NAME##_with(struct kunit *test, BENCH); \
	static void NAME(struct kunit *test) \
	{ \
		NAME##_with(test, MADE); \
	} \
	static void NAME##_with(struct kunit *test, BENCH)

/* What a call has made; the case ends here if that is nothing or an error. */
#define must(TEST, CALL) ({ \
	typeof(CALL) made_ = (CALL); \
	KUNIT_ASSERT_NOT_ERR_OR_NULL(TEST, made_); \
	made_; \
})

/* Zeroed memory that goes with the case. */
static inline void *zeroed(struct kunit *test, size_t size)
{
	return must(test, kunit_kzalloc(test, size, GFP_KERNEL));
}

/* Gives a ring memory that ends with its last slot, so that KASAN sees a slot that is none. */
static inline void ring_memory(struct kunit *test, struct weft_ring *ring, u32 slots, u32 stride)
{
	ring->size = slots;
	ring->stride = stride;
	ring->mem = zeroed(test, WEFT_RING_OFFSET + slots * stride);
}

/*
 * Has @end called when the case is over or an assertion has stopped it, for what was made last
 * first. end_now() has it called at once, as a loop needs it.
 */
void at_end(struct kunit *test, void (*end)(struct kunit *test, void *what), void *what);
void end_now(struct kunit *test, void *what);

/* Begins the end NAME for at_end(), of MADE, such as 'struct end *e'. */
#define END_OF(NAME, MADE) \
	static inline void NAME##_of(struct kunit *test, MADE); \
	static inline void NAME(struct kunit *test, void *what) \
	{ \
		NAME##_of(test, what); \
	} \
	static inline void NAME##_of(struct kunit *test, MADE)

#endif /* WEFT_KUNIT_SUITE_H */
