// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues: what the consumer finds and when it is woken, also when
 * its own words are nonsense.
 */
#include <kunit/test.h>

#include "verbs/cq.h"

#define SLOTS	4

/* A queue with no device below it, and what it told its consumer. */
struct told {
	struct weft_cq cq;
	unsigned int events;
	unsigned int errors;
};

static void count_event(struct ib_cq *ib, void *context)
{
	struct told *told = context;

	told->events++;
}

static void count_error(struct ib_event *event, void *context)
{
	struct told *told = context;

	if (event->event == IB_EVENT_CQ_ERR && event->element.cq == &told->cq.ib)
		told->errors++;
}

static struct told *queue(struct kunit *test)
{
	struct told *told = kunit_kzalloc(test, sizeof(*told), GFP_KERNEL);
	struct weft_cq *cq = &told->cq;

	KUNIT_ASSERT_NOT_NULL(test, told);
	spin_lock_init(&cq->lock);
	cq->ring.size = SLOTS;
	cq->ring.stride = sizeof(struct weft_cqe);
	cq->ring.mem = kunit_kzalloc(test, WEFT_RING_OFFSET +
				     SLOTS * sizeof(struct weft_cqe),
				     GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, cq->ring.mem);
	cq->ib.comp_handler = count_event;
	cq->ib.event_handler = count_error;
	cq->ib.cq_context = told;
	return told;
}

static struct weft_cq_ctl *ctl(struct told *told)
{
	return told->cq.ring.mem;
}

static const struct weft_cqe *slot(struct told *told, u32 index)
{
	return told->cq.ring.mem + WEFT_RING_OFFSET +
	       (index % SLOTS) * sizeof(struct weft_cqe);
}

static void add(struct told *told, u64 wr_id)
{
	struct weft_completion wc = {
		.wr_id = wr_id,
		.qpn = 0x1234,
		.byte_len = 77,
		.opcode = WEFT_OP_RECV,
	};

	weft_cq_add(&told->cq, &wc);
}

static void add_solicited(struct told *told)
{
	struct weft_completion wc = {
		.opcode = WEFT_OP_RECV,
		.solicited = true,
	};

	weft_cq_add(&told->cq, &wc);
}

static void add_failed(struct told *told)
{
	struct weft_completion wc = {
		.opcode = WEFT_OP_SEND,
		.status = IB_WC_LOC_PROT_ERR,
	};

	weft_cq_add(&told->cq, &wc);
}

static void cq_entry(struct kunit *test)
{
	struct told *told = queue(test);
	struct weft_completion wc = {
		.wr_id = 0x1122334455667788ULL,
		.qpn = 0x99,
		.byte_len = 0x7fffffff,
		.ex = 0xabcd1234,
		.opcode = WEFT_OP_RECV,
		.status = IB_WC_LOC_LEN_ERR,
		.flags = WEFT_CQE_WITH_INV,
	};

	weft_cq_add(&told->cq, &wc);
	KUNIT_EXPECT_EQ(test, slot(told, 0)->wr_id, wc.wr_id);
	KUNIT_EXPECT_EQ(test, slot(told, 0)->qp_num, wc.qpn);
	KUNIT_EXPECT_EQ(test, slot(told, 0)->byte_len, wc.byte_len);
	KUNIT_EXPECT_EQ(test, slot(told, 0)->ex, wc.ex);
	KUNIT_EXPECT_EQ(test, slot(told, 0)->word,
			WEFT_CQE_WORD(WEFT_CQE_WITH_INV | WEFT_CQE_PHASE,
				      IB_WC_LOC_LEN_ERR, WEFT_OP_RECV));
	KUNIT_EXPECT_EQ(test, slot(told, 1)->word, 0U);
}

/* The phase alternates from pass to pass, also where the index wraps around. */
static void cq_phase(struct kunit *test)
{
	static const u32 starts[] = { 0, U32_MAX - 2 * SLOTS + 1 };
	struct told *told;
	size_t i;
	u32 n;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		told = queue(test);
		told->cq.ring.head = starts[i];
		ctl(told)->consumer = starts[i];
		for (n = 0; n < 5 * SLOTS; n++) {
			add(told, n);
			KUNIT_EXPECT_EQ_MSG(test, slot(told, n)->word &
					    WEFT_CQE_PHASE,
					    n / SLOTS % 2 ? 0 : WEFT_CQE_PHASE,
					    "entry %u from %#x", n, starts[i]);
			KUNIT_EXPECT_EQ(test, slot(told, n)->wr_id, (u64)n);
			ctl(told)->consumer = starts[i] + n + 1;
		}
		KUNIT_EXPECT_EQ(test, ctl(told)->overflow, 0U);
		KUNIT_EXPECT_EQ(test, told->errors, 0U);
	}
}

static void cq_overflow(struct kunit *test)
{
	struct told *told = queue(test);
	u32 n;

	for (n = 0; n < SLOTS; n++)
		add(told, n);
	KUNIT_EXPECT_EQ(test, ctl(told)->overflow, 0U);
	KUNIT_EXPECT_EQ(test, told->errors, 0U);

	add(told, SLOTS);
	KUNIT_EXPECT_NE(test, ctl(told)->overflow, 0U);
	KUNIT_EXPECT_EQ(test, told->errors, 1U);
	for (n = 0; n < SLOTS; n++)
		KUNIT_EXPECT_EQ(test, slot(told, n)->wr_id, (u64)n);

	/* Lost is lost: room that comes later does not hide the gap. */
	ctl(told)->consumer = SLOTS;
	ctl(told)->overflow = 0;
	add(told, 99);
	KUNIT_EXPECT_EQ(test, slot(told, 0)->wr_id, 0ULL);
	KUNIT_EXPECT_EQ(test, told->errors, 1U);
}

/* It can spoil its own queue, and write nowhere but into its own slots. */
static void cq_hostile_consumer(struct kunit *test)
{
	static const u32 lies[] = { 1, SLOTS, 0x7fffffff, 0x80000000,
				    U32_MAX - SLOTS };
	struct told *told;
	size_t i;
	u32 n;

	for (i = 0; i < ARRAY_SIZE(lies); i++) {
		told = queue(test);
		ctl(told)->consumer = lies[i]; /* ahead of what there was */
		add(told, 7);
		KUNIT_EXPECT_EQ_MSG(test, told->errors, 1U, "consumer %#x",
				    lies[i]);
		KUNIT_EXPECT_EQ(test, slot(told, 0)->word, 0U);
	}

	/* Claims to have polled all, always: entries fall over each other. */
	told = queue(test);
	for (n = 0; n < 10 * SLOTS; n++) {
		ctl(told)->consumer = told->cq.ring.head;
		add(told, n);
	}
	KUNIT_EXPECT_EQ(test, told->errors, 0U);
	KUNIT_EXPECT_EQ(test, told->cq.ring.head, 10U * SLOTS);
}

static void cq_arm_once(struct kunit *test)
{
	struct told *told = queue(test);

	add(told, 0);
	KUNIT_EXPECT_EQ(test, told->events, 0U); /* never armed */

	ctl(told)->arm = WEFT_CQ_ARM(1, false);
	add(told, 1);
	KUNIT_EXPECT_EQ(test, told->events, 1U);
	KUNIT_EXPECT_EQ(test, ctl(told)->notified, 1U);
	add(told, 2);
	KUNIT_EXPECT_EQ(test, told->events, 1U); /* one arming, one event */

	ctl(told)->arm = WEFT_CQ_ARM(2, false);
	add(told, 3);
	KUNIT_EXPECT_EQ(test, told->events, 2U);
	KUNIT_EXPECT_EQ(test, ctl(told)->notified, 2U);
}

static void cq_arm_solicited(struct kunit *test)
{
	struct told *told = queue(test);

	ctl(told)->arm = WEFT_CQ_ARM(1, true);
	add(told, 0);
	KUNIT_EXPECT_EQ(test, told->events, 0U);
	add_solicited(told);
	KUNIT_EXPECT_EQ(test, told->events, 1U);

	/* An error wakes who waits for solicited completions, too. */
	ctl(told)->arm = WEFT_CQ_ARM(2, true);
	add_failed(told);
	KUNIT_EXPECT_EQ(test, told->events, 2U);

	/* Armed again for all before anything came: the wider one counts. */
	ctl(told)->consumer = 3;
	ctl(told)->arm = WEFT_CQ_ARM(3, true);
	ctl(told)->arm = WEFT_CQ_ARM(4, false);
	add(told, 4);
	KUNIT_EXPECT_EQ(test, told->events, 3U);
}

/* Any other value of the word is one arming; it is not an index into anything. */
static void cq_hostile_arm(struct kunit *test)
{
	static const u32 words[] = { U32_MAX, 2, 0x80000000, 1 << 1, 0 };
	struct told *told = queue(test);
	size_t i;
	int n;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		unsigned int before = told->events;

		ctl(told)->arm = words[i];
		for (n = 0; n < 3; n++) {
			add_solicited(told);
			ctl(told)->consumer = told->cq.ring.head;
		}
		KUNIT_EXPECT_LE(test, told->events, before + 1);
	}
}

/* The kernel's own words, scribbled over, are not believed. */
static void cq_kernel_words(struct kunit *test)
{
	struct told *told = queue(test);

	ctl(told)->arm = WEFT_CQ_ARM(1, false);
	add(told, 0);
	ctl(told)->notified = 0;
	add(told, 1);
	KUNIT_EXPECT_EQ(test, told->events, 1U);
	ctl(told)->overflow = 1;
	add(told, 2);
	KUNIT_EXPECT_EQ(test, slot(told, 2)->wr_id, 2ULL);
}

/* Arming for kernel consumers: what came before it is reported, not lost. */
static void cq_kernel_arm(struct kunit *test)
{
	struct told *told = queue(test);
	struct ib_cq *ib = &told->cq.ib;

	KUNIT_EXPECT_EQ(test, weft_req_notify_cq(ib, IB_CQ_NEXT_COMP |
						 IB_CQ_REPORT_MISSED_EVENTS), 0);
	add(told, 0);
	KUNIT_EXPECT_EQ(test, told->events, 1U);
	KUNIT_EXPECT_EQ(test, weft_req_notify_cq(ib, IB_CQ_NEXT_COMP |
						 IB_CQ_REPORT_MISSED_EVENTS), 1);
	add(told, 1);
	KUNIT_EXPECT_EQ(test, told->events, 2U);
}

/* Asked for every completion and then for solicited ones: every one counts. */
static void cq_kernel_arm_keeps_wider(struct kunit *test)
{
	struct told *told = queue(test);
	struct ib_cq *ib = &told->cq.ib;

	weft_req_notify_cq(ib, IB_CQ_NEXT_COMP);
	weft_req_notify_cq(ib, IB_CQ_SOLICITED);
	add(told, 0);
	KUNIT_EXPECT_EQ(test, told->events, 1U);

	/* Served, so nothing is left of the wider wish. */
	weft_req_notify_cq(ib, IB_CQ_SOLICITED);
	add(told, 1);
	KUNIT_EXPECT_EQ(test, told->events, 1U);
	add_solicited(told);
	KUNIT_EXPECT_EQ(test, told->events, 2U);
}

static struct kunit_case cq_cases[] = {
	KUNIT_CASE(cq_entry),
	KUNIT_CASE(cq_phase),
	KUNIT_CASE(cq_overflow),
	KUNIT_CASE(cq_hostile_consumer),
	KUNIT_CASE(cq_arm_once),
	KUNIT_CASE(cq_arm_solicited),
	KUNIT_CASE(cq_hostile_arm),
	KUNIT_CASE(cq_kernel_words),
	KUNIT_CASE(cq_kernel_arm),
	KUNIT_CASE(cq_kernel_arm_keeps_wider),
	{}
};

static struct kunit_suite cq_suite = {
	.name = "weft_cq",
	.test_cases = cq_cases,
};

kunit_test_suite(cq_suite);
