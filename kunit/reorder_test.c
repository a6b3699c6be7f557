// SPDX-License-Identifier: GPL-2.0
/* What has come over several paths, in every order that a peer can choose. */
#include <kunit/test.h>
#include <linux/random.h>

#include "llp/reorder.h"
#include "wire/fpdu.h"

/* An FPDU that says its own number. */
static struct sk_buff *segment(struct kunit *test, u32 ssn, u32 len)
{
	struct sk_buff *skb = alloc_skb(weft_fpdu_len(len), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, skb);
	skb_put_zero(skb, weft_fpdu_len(len));
	weft_fpdu_begin(skb->data, len);
	weft_put_be32(skb->data + WEFT_MPA_LEN, ssn);
	return skb;
}

/* Adds a segment. Returns what weft_reorder_add() did. */
static int add(struct kunit *test, struct weft_reorder *order, u32 ssn)
{
	struct sk_buff *skb = segment(test, ssn, 4);
	int ret = weft_reorder_add(order, ssn, skb);

	if (ret)
		kfree_skb(skb);
	return ret;
}

/* Takes all that are ready. Returns how many; each has to be the next. */
static u32 take(struct kunit *test, struct weft_reorder *order)
{
	struct sk_buff *skb;
	u32 n = 0;

	while ((skb = weft_reorder_at(order, order->next)) != NULL) {
		KUNIT_EXPECT_EQ(test, weft_get_be32(skb->data + WEFT_MPA_LEN), order->next);
		weft_reorder_pass(order);
		n++;
	}
	return n;
}

static void begin(struct kunit *test, struct weft_reorder *order, u32 first)
{
	memset(order, 0, sizeof(*order));
	KUNIT_ASSERT_EQ(test, weft_reorder_init(order, GFP_KERNEL), 0);
	order->next = first;
	order->ready = first;
	order->beyond = first;
}

static void reorder_in_order(struct kunit *test)
{
	struct weft_reorder order;
	u32 ssn;

	begin(test, &order, 0);
	for (ssn = 0; ssn < 3 * WEFT_PATH_WINDOW; ssn++) {
		KUNIT_ASSERT_EQ(test, add(test, &order, ssn), 0);
		KUNIT_ASSERT_EQ(test, take(test, &order), 1U);
	}
	KUNIT_EXPECT_EQ(test, order.bytes, 0U);
	weft_reorder_free(&order);
}

/* Backwards, a window at a time; numbers wrap in the second. */
static void reorder_backwards(struct kunit *test)
{
	struct weft_reorder order;
	u32 round, i;

	begin(test, &order, -WEFT_PATH_WINDOW);
	for (round = 0; round < 2; round++) {
		for (i = WEFT_PATH_WINDOW; i--; ) {
			KUNIT_ASSERT_EQ(test, add(test, &order, order.next + i), 0);
			KUNIT_ASSERT_TRUE(test, !i == !!weft_reorder_at(&order, order.next));
		}
		KUNIT_ASSERT_EQ(test, take(test, &order), WEFT_PATH_WINDOW);
	}
	weft_reorder_free(&order);
}

/* What comes again is dropped, whether it was taken or not. */
static void reorder_doubled(struct kunit *test)
{
	struct weft_reorder order;

	begin(test, &order, 0);
	KUNIT_EXPECT_EQ(test, add(test, &order, 1), 0);
	KUNIT_EXPECT_EQ(test, add(test, &order, 1), -EEXIST);
	KUNIT_EXPECT_EQ(test, add(test, &order, 0), 0);
	KUNIT_EXPECT_EQ(test, add(test, &order, 0), -EEXIST);
	KUNIT_EXPECT_EQ(test, take(test, &order), 2U);
	KUNIT_EXPECT_EQ(test, add(test, &order, 0), -EEXIST);
	KUNIT_EXPECT_EQ(test, add(test, &order, 1), -EEXIST);
	KUNIT_EXPECT_EQ(test, order.bytes, 0U);
	weft_reorder_free(&order);
}

static void reorder_too_far(struct kunit *test)
{
	struct weft_reorder order;

	begin(test, &order, 5);
	KUNIT_EXPECT_EQ(test, add(test, &order, 5 + WEFT_PATH_WINDOW), -EPROTO);
	KUNIT_EXPECT_EQ(test, add(test, &order, 5 + WEFT_PATH_WINDOW - 1), 0);
	KUNIT_EXPECT_EQ(test, add(test, &order, 0x80000000), -EPROTO);
	KUNIT_EXPECT_EQ(test, take(test, &order), 0U);
	weft_reorder_free(&order);
}

/* More bytes than agreed are refused, and are not kept. */
static void reorder_too_many_bytes(struct kunit *test)
{
	const u32 len = WEFT_PATH_MAX_ULPDU - WEFT_PATH_HDR_LEN;
	const u32 most = WEFT_PATH_WINDOW_BYTES / WEFT_PATH_MAX_FPDU;
	struct weft_reorder order;
	struct sk_buff *skb;
	u32 i;

	begin(test, &order, 0);
	for (i = 1; i <= most; i++)
		KUNIT_ASSERT_EQ(test, weft_reorder_add(&order, i, segment(test, i, len)), 0);
	skb = segment(test, 0, len);
	KUNIT_EXPECT_EQ(test, weft_reorder_add(&order, 0, skb), -EPROTO);
	kfree_skb(skb);
	weft_reorder_free(&order);
}

static void reorder_end(struct kunit *test)
{
	struct weft_reorder order;

	begin(test, &order, 0);
	KUNIT_EXPECT_EQ(test, add(test, &order, 1), 0);
	KUNIT_EXPECT_EQ(test, weft_reorder_end(&order, 1), -EPROTO);
	KUNIT_EXPECT_EQ(test, weft_reorder_end(&order, 2), 0);
	KUNIT_EXPECT_FALSE(test, weft_reorder_ended(&order));
	KUNIT_EXPECT_EQ(test, weft_reorder_end(&order, 2), -EEXIST);
	KUNIT_EXPECT_EQ(test, weft_reorder_end(&order, 3), -EPROTO);
	KUNIT_EXPECT_EQ(test, add(test, &order, 2), -EPROTO);
	KUNIT_EXPECT_EQ(test, add(test, &order, 0), 0);
	KUNIT_EXPECT_TRUE(test, weft_reorder_ended(&order));
	KUNIT_EXPECT_EQ(test, weft_reorder_ack(&order), 0U);
	KUNIT_EXPECT_EQ(test, take(test, &order), 2U);
	KUNIT_EXPECT_EQ(test, weft_reorder_ack(&order), 3U);
	weft_reorder_free(&order);
}

/* Any order at all, with repeats, comes out in order. */
static void reorder_any(struct kunit *test)
{
	struct weft_reorder order;
	u32 taken = 0, i;
	int ret;

	begin(test, &order, -100);
	for (i = 0; i < 50000; i++) {
		ret = add(test, &order, order.next + get_random_u32() % 64 - 16);
		KUNIT_ASSERT_TRUE(test, !ret || ret == -EEXIST);
		if (!(i % 7))
			taken += take(test, &order);
	}
	KUNIT_EXPECT_GT(test, taken, 1000U);
	weft_reorder_free(&order);
}

static struct kunit_case reorder_cases[] = {
	KUNIT_CASE(reorder_in_order),
	KUNIT_CASE(reorder_backwards),
	KUNIT_CASE(reorder_doubled),
	KUNIT_CASE(reorder_too_far),
	KUNIT_CASE(reorder_too_many_bytes),
	KUNIT_CASE(reorder_end),
	KUNIT_CASE(reorder_any),
	{}
};

static struct kunit_suite reorder_suite = {
	.name = "weft_reorder",
	.test_cases = reorder_cases,
};

kunit_test_suite(reorder_suite);
