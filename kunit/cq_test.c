// SPDX-License-Identifier: GPL-2.0
/* What a consumer finds and when it is woken, also when its own words are nonsense. */
#include <linux/delay.h>
#include <linux/ktime.h>

#include "base/weft.h"
#include "queue/cq.h"
#include "suite.h"

#define SLOTS	4

/* A queue with no device below it, and what it told its consumer. */
struct told {
	struct weft_cq cq;
	unsigned int events, errors;
	bool softirqs_off;
};

static void count_event(struct ib_cq *ib, void *context)
{
	struct told *told = context;

	told->softirqs_off = in_softirq();
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
	struct told *told = zeroed(test, sizeof(*told));
	struct weft_cq *cq = &told->cq;

	weft_cq_init(cq);
	ring_memory(test, &cq->ring, SLOTS, sizeof(struct weft_cqe));
	cq->ib.comp_handler = count_event;
	cq->ib.event_handler = count_error;
	cq->ib.cq_context = told;
	return told;
}

static void ring_end(struct kunit *test, void *ring)
{
	weft_ring_destroy(ring);
}

/* Gives a queue, or a move, a ring in vmalloc memory, as resizing frees it. */
static void vmalloc_ring(struct kunit *test, struct weft_ring *ring, u32 slots)
{
	KUNIT_ASSERT_EQ(test, weft_ring_create(ring, slots, sizeof(struct weft_cqe), NULL, NULL),
			0);
	at_end(test, ring_end, ring);
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

static void add_one(struct told *told, struct weft_completion wc)
{
	weft_cq_add(&told->cq, &wc);
}

static void add(struct told *told, u64 wr_id)
{
	add_one(told, (struct weft_completion){ .wr_id = wr_id, .opcode = WEFT_OP_RECV });
}

static void add_solicited(struct told *told)
{
	add_one(told, (struct weft_completion){ .opcode = WEFT_OP_RECV, .solicited = true });
}

static void add_failed(struct told *told)
{
	struct weft_completion wc = { .opcode = WEFT_OP_SEND, .status = IB_WC_LOC_PROT_ERR };

	add_one(told, wc);
}

/* Adds an entry, after which so many events have been told. */
static void adds(struct kunit *test, struct told *told, u64 wr_id, unsigned int events)
{
	add(told, wr_id);
	KUNIT_EXPECT_EQ_MSG(test, told->events, events, "entry %llu", wr_id);
}

CASE_WITH(cq_entry, struct told *told, queue(test))
{
	struct weft_completion wc = {
		.wr_id = 0x1122334455667788ULL, .qpn = 0x99, .byte_len = 0x7fffffff,
		.ex = 0xabcd1234, .opcode = WEFT_OP_RECV, .status = IB_WC_LOC_LEN_ERR,
		.flags = WEFT_CQE_WITH_INV,
	};

	weft_cq_add(&told->cq, &wc);
	KUNIT_EXPECT_EQ(test, slot(told, 0)->wr_id, wc.wr_id);
	KUNIT_EXPECT_EQ(test, slot(told, 0)->qp_num, wc.qpn);
	KUNIT_EXPECT_EQ(test, slot(told, 0)->byte_len, wc.byte_len);
	KUNIT_EXPECT_EQ(test, slot(told, 0)->ex, wc.ex);
	KUNIT_EXPECT_EQ(test, slot(told, 0)->word, WEFT_CQE_WORD(WEFT_CQE_WITH_INV | WEFT_CQE_PHASE,
								 IB_WC_LOC_LEN_ERR, WEFT_OP_RECV));
	KUNIT_EXPECT_EQ(test, slot(told, 1)->word, 0U);
}

/* The phase alternates from pass to pass, also where the index wraps around. */
static void cq_phase(struct kunit *test)
{
	static const u32 starts[] = { 0, U32_MAX - 2 * SLOTS + 1 };
	struct told *told;

	for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
		told = queue(test);
		told->cq.ring.head = starts[i];
		ctl(told)->consumer = starts[i];
		for (u32 n = 0; n < 5 * SLOTS; n++) {
			add(told, n);
			KUNIT_EXPECT_EQ_MSG(test, slot(told, n)->word & WEFT_CQE_PHASE,
					    n / SLOTS % 2 ? 0 : WEFT_CQE_PHASE, "entry %u from %#x",
					    n, starts[i]);
			KUNIT_EXPECT_EQ(test, slot(told, n)->wr_id, (u64)n);
			ctl(told)->consumer = starts[i] + n + 1;
		}
		KUNIT_EXPECT_EQ(test, ctl(told)->overflow, 0U);
		KUNIT_EXPECT_EQ(test, told->errors, 0U);
	}
}

CASE_WITH(cq_overflow, struct told *told, queue(test))
{
	for (u32 n = 0; n < SLOTS; n++)
		add(told, n);
	KUNIT_EXPECT_EQ(test, ctl(told)->overflow, 0U);
	KUNIT_EXPECT_EQ(test, told->errors, 0U);
	add(told, SLOTS);
	KUNIT_EXPECT_NE(test, ctl(told)->overflow, 0U);
	KUNIT_EXPECT_EQ(test, told->errors, 1U);
	for (u32 n = 0; n < SLOTS; n++)
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

	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		told = queue(test);
		ctl(told)->consumer = lies[i]; /* ahead of what there was */
		add(told, 7);
		KUNIT_EXPECT_EQ_MSG(test, told->errors, 1U, "consumer %#x", lies[i]);
		KUNIT_EXPECT_EQ(test, slot(told, 0)->word, 0U);
	}

	/* Claims to have polled all, always: entries fall over each other. */
	told = queue(test);
	for (u32 n = 0; n < 10 * SLOTS; n++) {
		ctl(told)->consumer = told->cq.ring.head;
		add(told, n);
	}
	KUNIT_EXPECT_EQ(test, told->errors, 0U);
	KUNIT_EXPECT_EQ(test, told->cq.ring.head, 10U * SLOTS);
}

CASE_WITH(cq_arm_once, struct told *told, queue(test))
{
	adds(test, told, 0, 0U); /* never armed */
	ctl(told)->arm = WEFT_CQ_ARM(1, false);
	adds(test, told, 1, 1U);
	KUNIT_EXPECT_EQ(test, ctl(told)->notified, 1U);
	adds(test, told, 2, 1U); /* one arming, one event */
	ctl(told)->arm = WEFT_CQ_ARM(2, false);
	adds(test, told, 3, 2U);
	KUNIT_EXPECT_EQ(test, ctl(told)->notified, 2U);
}

CASE_WITH(cq_arm_solicited, struct told *told, queue(test))
{
	ctl(told)->arm = WEFT_CQ_ARM(1, true);
	adds(test, told, 0, 0U);
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
	adds(test, told, 4, 3U);
}

/* Any other value of the word is one arming; it is not an index into anything. */
CASE_WITH(cq_hostile_arm, struct told *told, queue(test))
{
	static const u32 words[] = { U32_MAX, 2, 0x80000000, 1 << 1, 0 };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		unsigned int before = told->events;

		ctl(told)->arm = words[i];
		for (int n = 0; n < 3; n++) {
			add_solicited(told);
			ctl(told)->consumer = told->cq.ring.head;
		}
		KUNIT_EXPECT_LE(test, told->events, before + 1);
	}
}

/* A consumer that polls in a softirq is called with softirqs off, unless interrupts are. */
CASE_WITH(cq_polled_in_softirq, struct told *told, queue(test))
{
	unsigned long flags;

	/* Called where it is, not on the processor of another vector. */
	migrate_disable();
	told->cq.ib.comp_vector = raw_smp_processor_id();
	told->cq.ib.poll_ctx = IB_POLL_SOFTIRQ;
	ctl(told)->arm = WEFT_CQ_ARM(1, false);
	adds(test, told, 0, 1U);
	KUNIT_EXPECT_TRUE(test, told->softirqs_off);
	KUNIT_EXPECT_FALSE(test, in_softirq());
	ctl(told)->arm = WEFT_CQ_ARM(2, false);
	local_irq_save(flags);
	add(told, 1);
	local_irq_restore(flags);
	KUNIT_EXPECT_EQ(test, told->events, 2U);
	KUNIT_EXPECT_FALSE(test, told->softirqs_off);
	told->cq.ib.poll_ctx = IB_POLL_WORKQUEUE;
	ctl(told)->arm = WEFT_CQ_ARM(3, false);
	adds(test, told, 2, 3U);
	KUNIT_EXPECT_FALSE(test, told->softirqs_off);
	migrate_enable();
}

/* The kernel's own words, scribbled over, are not believed. */
CASE_WITH(cq_kernel_words, struct told *told, queue(test))
{
	ctl(told)->arm = WEFT_CQ_ARM(1, false);
	add(told, 0);
	ctl(told)->notified = 0;
	adds(test, told, 1, 1U);
	ctl(told)->overflow = 1;
	add(told, 2);
	KUNIT_EXPECT_EQ(test, slot(told, 2)->wr_id, 2ULL);
}

/* Arming for kernel consumers: what came before it is reported, not lost. */
CASE_WITH(cq_kernel_arm, struct told *told, queue(test))
{
	struct ib_cq *ib = &told->cq.ib;

	KUNIT_EXPECT_EQ(test, weft_req_notify_cq(ib, IB_CQ_NEXT_COMP |
						 IB_CQ_REPORT_MISSED_EVENTS), 0);
	adds(test, told, 0, 1U);
	KUNIT_EXPECT_EQ(test, weft_req_notify_cq(ib, IB_CQ_NEXT_COMP |
						 IB_CQ_REPORT_MISSED_EVENTS), 1);
	adds(test, told, 1, 2U);
}

/* Asked for every completion and then for solicited ones: every one counts. */
CASE_WITH(cq_kernel_arm_keeps_wider, struct told *told, queue(test))
{
	struct ib_cq *ib = &told->cq.ib;

	weft_req_notify_cq(ib, IB_CQ_NEXT_COMP);
	weft_req_notify_cq(ib, IB_CQ_SOLICITED);
	adds(test, told, 0, 1U);
	/* Served, so nothing is left of the wider wish. */
	weft_req_notify_cq(ib, IB_CQ_SOLICITED);
	adds(test, told, 1, 1U);
	add_solicited(told);
	KUNIT_EXPECT_EQ(test, told->events, 2U);
}

CASE_WITH(cq_timestamps, struct told *told, queue(test))
{
	u64 before = ktime_get_raw_ns();

	add(told, 0);
	KUNIT_EXPECT_EQ(test, slot(told, 0)->timestamp, 0ULL);
	told->cq.timestamps = true;
	add(told, 1);
	KUNIT_EXPECT_GE(test, slot(told, 1)->timestamp, before);
	KUNIT_EXPECT_LE(test, slot(told, 1)->timestamp, ktime_get_raw_ns());
}

/* With a number and no time, an event waits for so many that are not polled. */
CASE_WITH(cq_moderate_count, struct told *told, queue(test))
{
	KUNIT_EXPECT_EQ(test, weft_modify_cq(&told->cq.ib, 3, 0), 0);
	ctl(told)->arm = WEFT_CQ_ARM(1, false);
	add(told, 0);
	adds(test, told, 1, 0U);
	ctl(told)->consumer = 1; /* one of them is polled */
	adds(test, told, 2, 0U);
	adds(test, told, 3, 1U);
	adds(test, told, 4, 1U); /* one arming, one event */
	/* A failure does not wait. */
	ctl(told)->consumer = 5;
	ctl(told)->arm = WEFT_CQ_ARM(2, false);
	add_failed(told);
	KUNIT_EXPECT_EQ(test, told->events, 2U);
	/* More than fit would never come. */
	weft_modify_cq(&told->cq.ib, SLOTS + 1, 0);
	ctl(told)->consumer = told->cq.ring.head;
	ctl(told)->arm = WEFT_CQ_ARM(3, false);
	add(told, 6);
	add(told, 7);
	adds(test, told, 8, 2U);
	adds(test, told, 9, 3U);
	/* And for one that is full there is no time. */
	weft_modify_cq(&told->cq.ib, 0, U16_MAX);
	ctl(told)->consumer = told->cq.ring.head;
	ctl(told)->arm = WEFT_CQ_ARM(4, false);
	for (u32 n = 10; n < 10 + SLOTS; n++) {
		KUNIT_EXPECT_EQ(test, told->events, 3U);
		add(told, n);
	}
	KUNIT_EXPECT_EQ(test, told->events, 4U);
	KUNIT_EXPECT_EQ(test, told->errors, 0U);
}

/* Fewer are told of when time is up, once; none when they have been polled. */
CASE_WITH(cq_moderate_period, struct told *told, queue(test))
{
	weft_modify_cq(&told->cq.ib, 0, 20000);
	ctl(told)->arm = WEFT_CQ_ARM(1, false);
	adds(test, told, 0, 0U);
	for (int n = 0; n < 1000 && !READ_ONCE(told->events); n++)
		msleep(20);
	KUNIT_EXPECT_EQ(test, told->events, 1U);
	KUNIT_EXPECT_EQ(test, ctl(told)->notified, 1U);
	ctl(told)->consumer = 1;
	ctl(told)->arm = WEFT_CQ_ARM(2, false);
	add(told, 1);
	ctl(told)->consumer = 2;
	while (hrtimer_active(&told->cq.mod_timer))
		msleep(20);
	KUNIT_EXPECT_EQ(test, told->events, 1U);
	/* And the arming stands: the next one waits for its own time. */
	add(told, 2);
	for (int n = 0; n < 1000 && READ_ONCE(told->events) < 2; n++)
		msleep(20);
	KUNIT_EXPECT_EQ(test, told->events, 2U);
	weft_modify_cq(&told->cq.ib, 0, 0);
	ctl(told)->arm = WEFT_CQ_ARM(3, false);
	adds(test, told, 3, 3U);
}

/* Enough ends the wait for time; a change of rule tells of what was put off. */
CASE_WITH(cq_moderate_change, struct told *told, queue(test))
{
	weft_modify_cq(&told->cq.ib, 2, U16_MAX);
	ctl(told)->arm = WEFT_CQ_ARM(1, false);
	add(told, 0);
	KUNIT_EXPECT_TRUE(test, hrtimer_active(&told->cq.mod_timer));
	adds(test, told, 1, 1U);
	KUNIT_EXPECT_FALSE(test, hrtimer_active(&told->cq.mod_timer));
	weft_modify_cq(&told->cq.ib, 4, 0);
	ctl(told)->consumer = 2;
	ctl(told)->arm = WEFT_CQ_ARM(2, false);
	adds(test, told, 2, 1U);
	weft_modify_cq(&told->cq.ib, 0, 0);
	KUNIT_EXPECT_EQ(test, told->events, 2U);
	/* The core's own adaptation is not for a queue with a timer. */
	told->cq.ib.dim = (struct dim *)told;
	KUNIT_EXPECT_EQ(test, weft_modify_cq(&told->cq.ib, 2, 0), -EOPNOTSUPP);
}

/* Reads from @index on as the consumer does. Returns how many entries, numbered from @wr_id. */
static u32 readable(struct kunit *test, struct told *told, u32 index, u64 wr_id)
{
	struct weft_ring *ring = &told->cq.ring;
	const struct weft_cqe *cqe;
	u32 n;

	for (n = 0; n < ring->size; n++) {
		cqe = weft_ring_slot(ring, index + n);
		if ((cqe->word & WEFT_CQE_PHASE) != ((index + n) & ring->size ? 0 : WEFT_CQE_PHASE))
			break;
		KUNIT_EXPECT_EQ(test, cqe->wr_id, wr_id + n);
	}
	return n;
}

/* One resizing of a ring with so many unread at this index, and on from there. */
static void resize_one(struct kunit *test, int size, u32 at, u32 used)
{
	struct told *told = queue(test);
	u32 n;

	vmalloc_ring(test, &told->cq.ring, SLOTS);
	told->cq.ring.head = at;
	told->cq.served = 6;
	ctl(told)->consumer = at;
	ctl(told)->arm = WEFT_CQ_ARM(7, true);
	for (n = 0; n < used; n++)
		add(told, n);
	n = weft_resize_cq(&told->cq.ib, size, NULL);
	if (used > size) {
		KUNIT_EXPECT_EQ(test, (int)n, -EINVAL);
		KUNIT_EXPECT_EQ(test, told->cq.ring.size, (u32)SLOTS);
		return;
	}
	KUNIT_ASSERT_EQ(test, n, 0U);
	KUNIT_EXPECT_EQ(test, told->cq.ib.cqe, size);
	KUNIT_EXPECT_EQ(test, ctl(told)->consumer, at);
	KUNIT_EXPECT_EQ(test, ctl(told)->arm, WEFT_CQ_ARM(7, true));
	KUNIT_EXPECT_EQ(test, ctl(told)->notified, 6U);
	KUNIT_EXPECT_EQ(test, ctl(told)->overflow, 0U);
	KUNIT_EXPECT_EQ_MSG(test, readable(test, told, at, 0), used,
			    "%u of %d from %#x", used, size, at);

	/* And on, three times round. */
	ctl(told)->consumer = at + used;
	for (n = 0; n < 3 * size; n++) {
		KUNIT_EXPECT_EQ(test, readable(test, told, at + used + n, 0), 0U);
		add(told, used + n);
		KUNIT_EXPECT_EQ(test, readable(test, told, at + used + n, used + n), 1U);
		ctl(told)->consumer++;
	}
	KUNIT_EXPECT_EQ(test, told->errors, 0U);
	KUNIT_EXPECT_EQ(test, told->events, 0U);
	add_solicited(told);
	KUNIT_EXPECT_EQ(test, told->events, 1U);
}

/* Larger, smaller and the same, at every fill and around the index's end. */
static void cq_resize(struct kunit *test)
{
	static const int sizes[] = { 1, 2, SLOTS, 2 * SLOTS, 8 * SLOTS };
	static const u32 starts[] = { 0, 3, SLOTS, 2 * SLOTS + 1, U32_MAX - 1 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(starts); j++) {
			for (u32 used = 0; used <= SLOTS; used++)
				resize_one(test, sizes[i], starts[j], used);
		}
	}
}

/* A long queue moves to another ring: after each step @come more and @polled fewer. */
static void move_slowly(struct kunit *test, u32 size, u32 start, u32 come, u32 polled)
{
	const u32 old = 16 * WEFT_CQ_SLICE;
	struct told *told = queue(test);
	struct weft_cq_move *move = zeroed(test, sizeof(*move));
	u32 n, steps = 0, added = 4 * WEFT_CQ_SLICE, taken = 0;
	int ret;

	vmalloc_ring(test, &told->cq.ring, old);
	vmalloc_ring(test, &move->to, size);
	/* The round before has left its marks. */
	told->cq.ring.head = start - old;
	for (n = 0; n < old; n++) {
		ctl(told)->consumer = told->cq.ring.head;
		add(told, U64_MAX);
	}
	ctl(told)->consumer = start;
	for (n = 0; n < added; n++)
		add(told, n);

	mutex_lock(&told->cq.resizing);
	KUNIT_EXPECT_EQ(test, weft_cq_move_begin(&told->cq, move), 0);
	while ((ret = weft_cq_move_on(&told->cq, move)) > 0 && ++steps < 100) {
		for (n = 0; n < come; n++)
			add(told, added++);
		taken = min(taken + polled, added);
		ctl(told)->consumer = start + taken;
	}
	mutex_unlock(&told->cq.resizing);
	KUNIT_EXPECT_EQ(test, ret, 0);
	/* It took turns, and as many as there were slices to be moved. */
	KUNIT_EXPECT_GE(test, steps, 3U);
	KUNIT_EXPECT_EQ(test, told->cq.ring.size, size);
	KUNIT_EXPECT_EQ(test, ctl(told)->consumer, start + taken);
	KUNIT_EXPECT_EQ_MSG(test, readable(test, told, start + taken, taken), added - taken,
			    "to %u from %#x, %u come, %u polled", size, start, come, polled);
	ctl(told)->consumer = start + added;
	for (n = 0; n < 2 * size; n++) {
		KUNIT_EXPECT_EQ(test, readable(test, told, start + added + n, 0), 0U);
		add(told, added + n);
		ctl(told)->consumer++;
	}
	KUNIT_EXPECT_EQ(test, told->errors, 0U);
	end_now(test, &told->cq.ring);
	end_now(test, &move->to);
}

static void cq_resize_beside(struct kunit *test)
{
	static const u32 sizes[] = { 4, 8, 16, 64 };
	static const u32 starts[] = { 0, 100, U32_MAX - 5 * WEFT_CQ_SLICE };
	static const u32 steps[][2] = { { 0, 0 }, { 0, 300 }, { 100, 0 }, { 200, 300 },
					{ 230, 400 } };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(starts); j++) {
			for (size_t k = 0; k < ARRAY_SIZE(steps); k++) {
				/* What only grows must find room. */
				if (sizes[i] == 4 && steps[k][0] && !steps[k][1])
					continue;
				move_slowly(test, sizes[i] * WEFT_CQ_SLICE, starts[j],
					    steps[k][0], steps[k][1]);
			}
		}
	}
}

/* Its own words change while it moves: it stays where it was. */
CASE_WITH(cq_resize_lies, struct told *told, queue(test))
{
	struct weft_cq_move *move = zeroed(test, sizeof(*move));
	void *mem;

	vmalloc_ring(test, &told->cq.ring, SLOTS);
	vmalloc_ring(test, &move->to, SLOTS);
	mem = told->cq.ring.mem;
	told->cq.ring.head = 7;
	ctl(told)->consumer = 7;
	add(told, 0);
	mutex_lock(&told->cq.resizing);
	KUNIT_EXPECT_EQ(test, weft_cq_move_begin(&told->cq, move), 0);
	ctl(told)->consumer = 6; /* back, to an entry that was not moved */
	KUNIT_EXPECT_EQ(test, weft_cq_move_on(&told->cq, move), -EINVAL);
	ctl(told)->consumer = 9; /* beyond what there is */
	KUNIT_EXPECT_EQ(test, weft_cq_move_on(&told->cq, move), -EINVAL);
	mutex_unlock(&told->cq.resizing);
	KUNIT_EXPECT_PTR_EQ(test, told->cq.ring.mem, mem);
}

/* What was put off is told of where it fills the smaller ring. */
CASE_WITH(cq_moderate_resize, struct told *told, queue(test))
{
	vmalloc_ring(test, &told->cq.ring, SLOTS);
	weft_modify_cq(&told->cq.ib, SLOTS, 0);
	ctl(told)->arm = WEFT_CQ_ARM(1, false);
	add(told, 0);
	adds(test, told, 1, 0U);
	KUNIT_EXPECT_EQ(test, weft_resize_cq(&told->cq.ib, 2, NULL), 0);
	KUNIT_EXPECT_EQ(test, told->events, 1U);
	KUNIT_EXPECT_EQ(test, told->errors, 0U);
}

CASE_WITH(cq_resize_refuses, struct told *told, queue(test))
{
	static const int sizes[] = { 0, -1, INT_MIN, WEFT_MAX_CQE + 1, INT_MAX };
	static const u32 lies[] = { 1, SLOTS, 0x80000000, U32_MAX - SLOTS };
	void *mem = told->cq.ring.mem;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		KUNIT_EXPECT_EQ(test, weft_resize_cq(&told->cq.ib, sizes[i], NULL), -EINVAL);
	/* A consumer index ahead of all there is, or far behind it. */
	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		ctl(told)->consumer = lies[i];
		KUNIT_EXPECT_EQ(test, weft_resize_cq(&told->cq.ib, 8, NULL), -EINVAL);
	}
	KUNIT_EXPECT_PTR_EQ(test, told->cq.ring.mem, mem);
}

/* A call of a vector that is under way when its queue is destroyed, and has the core's work run. */
struct late_call {
	struct work_struct work;
	struct told *told;
};

static void work_for_consumer(struct work_struct *work)
{
	msleep(50);
}

static void call_late(struct work_struct *work)
{
	struct late_call *late = container_of(work, struct late_call, work);

	msleep(50);
	queue_work(system_wq, &late->told->cq.ib.work);
	atomic_dec_return_release(&late->told->cq.calls);
}

/* The end waits for a call under way, then for the work that it queued, and stops the timer. */
CASE_WITH(cq_end, struct told *told, queue(test))
{
	struct weft_device *dev = zeroed(test, sizeof(*dev));
	struct late_call late = { .told = told };

	KUNIT_ASSERT_EQ(test, weft_ring_create(&told->cq.ring, SLOTS, sizeof(struct weft_cqe), NULL,
					       NULL), 0);
	told->cq.ib.device = &dev->ib;
	told->cq.ib.poll_ctx = IB_POLL_WORKQUEUE;
	INIT_WORK(&told->cq.ib.work, work_for_consumer);
	weft_modify_cq(&told->cq.ib, 2, U16_MAX);
	ctl(told)->arm = WEFT_CQ_ARM(1, false);
	add(told, 0);
	KUNIT_EXPECT_TRUE(test, hrtimer_active(&told->cq.mod_timer));
	atomic_inc(&told->cq.calls);
	INIT_WORK_ONSTACK(&late.work, call_late);
	queue_work(system_wq, &late.work);
	weft_destroy_cq(&told->cq.ib, NULL);
	KUNIT_EXPECT_EQ(test, atomic_read(&told->cq.calls), 0);
	KUNIT_EXPECT_EQ(test, work_busy(&told->cq.ib.work), 0U);
	KUNIT_EXPECT_FALSE(test, hrtimer_active(&told->cq.mod_timer));
	KUNIT_EXPECT_EQ(test, told->events, 0U);
	flush_work(&late.work);
	destroy_work_on_stack(&late.work);
	cancel_work_sync(&told->cq.ib.work); /* its memory goes */
	hrtimer_cancel(&told->cq.mod_timer);
}

A_SUITE(cq, no, cq_entry, cq_phase, cq_overflow, cq_hostile_consumer, cq_arm_once, cq_arm_solicited,
	cq_hostile_arm, cq_polled_in_softirq, cq_kernel_words, cq_kernel_arm,
	cq_kernel_arm_keeps_wider, cq_moderate_count, cq_moderate_period, cq_moderate_change,
	cq_timestamps, cq_resize, cq_resize_beside, cq_resize_lies, cq_moderate_resize,
	cq_resize_refuses, cq_end);
