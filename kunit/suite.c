// SPDX-License-Identifier: GPL-2.0
/* Ends of what cases have made; see suite.h. */
#include <kunit/resource.h>

#include "suite.h"

/* Something that a case has made, as a resource of KUnit's. */
struct made {
	struct kunit_resource res;
	struct kunit *test;
	void (*end)(struct kunit *test, void *what);
};

static void end_made(struct kunit_resource *res)
{
	struct made *made = container_of(res, struct made, res);

	made->end(made->test, res->data);
}

void at_end(struct kunit *test, void (*end)(struct kunit *test, void *what), void *what)
{
	struct made *made = zeroed(test, sizeof(*made));

	made->test = test;
	made->end = end;
	kunit_add_resource(test, NULL, end_made, &made->res, what);
}

static bool is_made(struct kunit *test, struct kunit_resource *res, void *what)
{
	return res->free == end_made && res->data == what;
}

void end_now(struct kunit *test, void *what)
{
	KUNIT_EXPECT_EQ(test, kunit_destroy_resource(test, is_made, what), 0);
}
