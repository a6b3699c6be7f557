// SPDX-License-Identifier: GPL-2.0
/* Rings against a process that writes what it likes into its own words. */
#include "suite.h"

#define SLOTS	8
#define STRIDE	WEFT_SQ_BLOCK

static struct weft_ring *ring_at(struct kunit *test, u32 head)
{
	struct weft_ring *ring = zeroed(test, sizeof(*ring));

	ring_memory(test, ring, SLOTS, STRIDE);
	ring->head = head;
	return ring;
}

static struct weft_wq_ctl *ctl(const struct weft_ring *ring)
{
	return ring->mem;
}

/* Where the kernel's index may stand: also just before the counter's end. */
static const u32 heads[] = { 0, 1, SLOTS - 1, SLOTS, 12345, 0x7fffffff,
			     0x80000000, U32_MAX - SLOTS, U32_MAX };

static void ring_honest_producer(struct kunit *test)
{
	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		struct weft_ring *ring = ring_at(test, heads[i]);

		for (u32 n = 0; n <= SLOTS; n++) {
			ctl(ring)->producer = heads[i] + n;
			KUNIT_EXPECT_EQ_MSG(test, weft_ring_pending(ring), (int)n,
					    "head %#x", heads[i]);
		}
	}
}

static void ring_hostile_producer(struct kunit *test)
{
	static const u32 too_far[] = { SLOTS + 1, 2 * SLOTS, 0x7fffffff,
				       0x80000000, U32_MAX - 1, U32_MAX };

	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		struct weft_ring *ring = ring_at(test, heads[i]);

		for (size_t j = 0; j < ARRAY_SIZE(too_far); j++) {
			ctl(ring)->producer = heads[i] + too_far[j];
			KUNIT_EXPECT_EQ_MSG(test, weft_ring_pending(ring), -EINVAL,
					    "head %#x + %#x", heads[i], too_far[j]);
		}
	}
}

/* Whatever the index, the slot is one of the ring's. */
CASE_WITH(ring_slots, struct weft_ring *ring, ring_at(test, 0))
{
	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		for (u32 n = 0; n < 2 * SLOTS; n++) {
			u32 index = heads[i] + n;

			KUNIT_EXPECT_PTR_EQ(test, weft_ring_slot(ring, index),
					    ring->mem + WEFT_RING_OFFSET +
					    (index % SLOTS) * STRIDE);
		}
	}
}

/* The kernel writes its own words and no other; it reads none of them back. */
CASE_WITH(ring_kernel_words, struct weft_ring *ring, ring_at(test, 7))
{
	struct weft_wq_ctl expected = {};

	ctl(ring)->producer = 9;
	expected.producer = 9;
	weft_ring_release(ring, 7);
	expected.consumer = 7;
	KUNIT_EXPECT_EQ(test, memcmp(ctl(ring), &expected, sizeof(expected)), 0);
	weft_ring_need_doorbell(ring, true);
	expected.need_doorbell = 1;
	KUNIT_EXPECT_EQ(test, memcmp(ctl(ring), &expected, sizeof(expected)), 0);
	weft_ring_need_doorbell(ring, false);
	expected.need_doorbell = 0;
	KUNIT_EXPECT_EQ(test, memcmp(ctl(ring), &expected, sizeof(expected)), 0);
	weft_ring_set_state(ring, IB_QPS_ERR);
	expected.qp_state = IB_QPS_ERR;
	KUNIT_EXPECT_EQ(test, memcmp(ctl(ring), &expected, sizeof(expected)), 0);
	/* Scribbled over, they change nothing. */
	ctl(ring)->consumer = 0xdeadbeef;
	ctl(ring)->need_doorbell = 0xdeadbeef;
	ctl(ring)->qp_state = 0xdeadbeef;
	KUNIT_EXPECT_EQ(test, weft_ring_pending(ring), 2);
	KUNIT_EXPECT_EQ(test, ring->head, 7U);
}

A_SUITE(ring, no, ring_honest_producer, ring_hostile_producer, ring_slots, ring_kernel_words);
