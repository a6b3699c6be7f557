// SPDX-License-Identifier: GPL-2.0
/* Transports: by which name and for which port a device has them, and which it has used. */
#include "llp/transport.h"
#include "paths/paths.h"
#include "sctp/sctp.h"
#include "suite.h"

static bool serves_seven(u16 port)
{
	return port == 7;
}

static struct weft_llp *spread(struct weft_llp *first, const struct weft_spread_terms *terms,
			       const struct weft_llp_ops *ops, void *owner)
{
	return first;
}

static const struct weft_transport by_port = {
	.name = "by-port", .class = &weft_sctp_class, .serves = serves_seven,
};

static const struct weft_transport spreading = {
	.name = "spreading", .class = &weft_tcp_class, .spread = spread,
};

/* A device has TCP until another is chosen; an unknown name changes nothing. */
static void transport_choose(struct kunit *test)
{
	struct weft_transports of = {};

	KUNIT_EXPECT_EQ(test, weft_transport_choose(&of, "tcp"), 0);
	KUNIT_EXPECT_PTR_EQ(test, weft_transport_for(&of, 7), &weft_tcp_transport);
	KUNIT_EXPECT_EQ(test, weft_transport_choose(&of, ""), -EINVAL);
	KUNIT_EXPECT_EQ(test, weft_transport_choose(&of, "tc"), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, weft_transport_for(&of, 7), &weft_tcp_transport);
	KUNIT_EXPECT_FALSE(test, weft_transport_spreads(&of));
}

/* A transport that serves a port has it whatever is chosen; the others are the chosen one's. */
static void transport_by_port(struct kunit *test)
{
	struct weft_transports of = {};

	KUNIT_ASSERT_EQ(test, weft_transport_choose(&of, "tcp"), 0);
	KUNIT_ASSERT_EQ(test, weft_transport_register(&by_port), 0);
	KUNIT_EXPECT_PTR_EQ(test, weft_transport_for(&of, 7), &by_port);
	KUNIT_EXPECT_PTR_EQ(test, weft_transport_for(&of, 8), &weft_tcp_transport);
	KUNIT_EXPECT_EQ(test, weft_transport_choose(&of, "by-port"), 0);
	KUNIT_EXPECT_PTR_EQ(test, weft_transport_for(&of, 8), &by_port);
	weft_transport_unregister(&by_port);
	KUNIT_EXPECT_TRUE(test, weft_transport_was_used(&of, &by_port));
	KUNIT_EXPECT_FALSE(test, weft_transport_was_used(&of, &spreading));
	KUNIT_EXPECT_EQ(test, weft_transport_choose(&of, "by-port"), -EINVAL);
}

/* A stream that was to be spread is, though the operator has chosen another transport since. */
static void transport_spreads(struct kunit *test)
{
	struct weft_transports of = {};

	KUNIT_ASSERT_EQ(test, weft_transport_register(&spreading), 0);
	KUNIT_ASSERT_EQ(test, weft_transport_choose(&of, "tcp"), 0);
	KUNIT_EXPECT_NULL(test, weft_transport_spreader(&of));
	KUNIT_EXPECT_EQ(test, weft_transport_choose(&of, "spreading"), 0);
	KUNIT_EXPECT_TRUE(test, weft_transport_spreads(&of));
	KUNIT_EXPECT_EQ(test, weft_transport_choose(&of, "tcp"), 0);
	KUNIT_EXPECT_FALSE(test, weft_transport_spreads(&of));
	KUNIT_EXPECT_PTR_EQ(test, weft_transport_spreader(&of), &spreading);
	weft_transport_unregister(&spreading);
}

/* The table has an end, and room again for one that left. */
static void transport_many(struct kunit *test)
{
	struct weft_transport *many;
	int i;

	many = zeroed(test, WEFT_MAX_TRANSPORTS * sizeof(*many));
	for (i = 0; i < WEFT_MAX_TRANSPORTS - 1; i++)
		KUNIT_ASSERT_EQ(test, weft_transport_register(&many[i]), 0);
	KUNIT_EXPECT_EQ(test, weft_transport_register(&many[i]), -ENOSPC);
	weft_transport_unregister(&many[3]);
	KUNIT_EXPECT_EQ(test, weft_transport_register(&many[i]), 0);
	for (i = 0; i < WEFT_MAX_TRANSPORTS; i++)
		weft_transport_unregister(&many[i]);
}

A_SUITE(transport, no, transport_choose, transport_by_port, transport_spreads, transport_many);
