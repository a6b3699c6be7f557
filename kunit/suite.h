/* SPDX-License-Identifier: GPL-2.0 */
/* How the cases of a file are made a suite, and how what they have made ends. */
#ifndef WEFT_KUNIT_SUITE_H
#define WEFT_KUNIT_SUITE_H

#include <kunit/test.h>

/* Cases that need nothing before them; bench.h, ends.h and hosts.h have other settings. */
#define no_suite_init NULL
#define no_suite_exit NULL

/* Makes the suite weft_NAME of cases, between SETTING_suite_init() and SETTING_suite_exit(). */
#define A_SUITE(NAME, SETTING, ...) \
	static struct kunit_case suite_cases[] = { __VA_ARGS__, {} }; \
	static struct kunit_suite suite = { \
		.name = "weft_" #NAME, \
		.suite_init = SETTING##_suite_init, \
		.suite_exit = SETTING##_suite_exit, \
		.test_cases = suite_cases, \
	}; \
	kunit_test_suite(suite)

/* Zeroed memory that goes with the case. */
static inline void *zeroed(struct kunit *test, size_t size)
{
	void *mem = kunit_kzalloc(test, size, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, mem);
	return mem;
}

/*
 * Has @end called when the case is over or an assertion has stopped it, for what was made last
 * first. end_now() has it called at once, as a loop needs it.
 */
void at_end(struct kunit *test, void (*end)(struct kunit *test, void *what), void *what);
void end_now(struct kunit *test, void *what);

#endif /* WEFT_KUNIT_SUITE_H */
