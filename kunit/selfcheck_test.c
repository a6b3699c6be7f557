// SPDX-License-Identifier: GPL-2.0
/* Proves that the ring itself works: a suite runs and its verdict is seen. */
#include <kunit/test.h>

static void selfcheck_runs(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 1 + 1, 2);
}

static struct kunit_case selfcheck_cases[] = {
	KUNIT_CASE(selfcheck_runs),
	{}
};

static struct kunit_suite selfcheck_suite = {
	.name = "weft_selfcheck",
	.test_cases = selfcheck_cases,
};

kunit_test_suite(selfcheck_suite);
