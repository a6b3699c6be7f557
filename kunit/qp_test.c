// SPDX-License-Identifier: GPL-2.0
/* What each queue pair takes, however little it does. */
#include <kunit/test.h>
#include <linux/sizes.h>

#include "verbs/qp.h"

/* The allocator's next size after 2 KiB is 4. */
static void qp_size(struct kunit *test)
{
	if (IS_ENABLED(CONFIG_LOCKDEP))
		kunit_skip(test, "with lockdep each lock is larger");
	KUNIT_EXPECT_LE(test, sizeof(struct weft_qp), (size_t)SZ_2K);
}

static struct kunit_case qp_cases[] = {
	KUNIT_CASE(qp_size),
	{}
};

static struct kunit_suite qp_suite = {
	.name = "weft_qp",
	.test_cases = qp_cases,
};

kunit_test_suite(qp_suite);
