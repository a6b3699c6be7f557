/* SPDX-License-Identifier: GPL-2.0 */
/* How the cases of a file are made a suite. */
#ifndef WEFT_KUNIT_SUITE_H
#define WEFT_KUNIT_SUITE_H

#include <kunit/test.h>

/* Cases that need nothing before them; bench.h, ends.h and hosts.h have other settings. */
#define no_suite_init NULL
#define no_suite_exit NULL

/*
 * Makes the suite weft_NAME of cases. SETTING_suite_init() is called before the first case, and
 * SETTING_suite_exit() after the last.
 */
#define A_SUITE(NAME, SETTING, ...) \
	static struct kunit_case suite_cases[] = { __VA_ARGS__, {} }; \
	static struct kunit_suite suite = { \
		.name = "weft_" #NAME, \
		.suite_init = SETTING##_suite_init, \
		.suite_exit = SETTING##_suite_exit, \
		.test_cases = suite_cases, \
	}; \
	kunit_test_suite(suite)

#endif /* WEFT_KUNIT_SUITE_H */
