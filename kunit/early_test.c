// SPDX-License-Identifier: GPL-2.0
/* Messages in any order: kept by their numbers, placed when they come, delivered in their turn. */
#include <linux/cgroup.h>
#include <linux/memcontrol.h>

#include "ends.h"
#include "llp/arrivals.h"
#include "queue/rq.h"

#define HERE	40000U	/* where this test's bytes go in the memory of an end */
#define MOST	1000000U	/* memory of messages that have come before their turn */

/* A receiver, and the messages on their way to it. */
struct early_bench {
	struct end *e;	/* the receiver */
	struct weft_arrivals arrivals;	/* the messages of its stream */
};

/* The bench of the test that runs; the classes of streams have no place for it. */
static struct early_bench *bench;
static struct weft_llp_class message_class;

static void class_await(struct weft_llp *llp, u32 bytes)
{
}

static void class_read(struct weft_llp *llp, weft_llp_actor actor, void *ctx)
{
	weft_arrivals_drop(&bench->arrivals);
}

END_OF(early_end, struct early_bench *b)
{
	end_free(test, b->e);
	KUNIT_EXPECT_EQ(test, fake_end(), 0U);
	weft_arrivals_drop(&b->arrivals);
}

static struct early_bench *early_new(struct kunit *test)
{
	const struct weft_mpa_agreed agreed = {
		.revision = 2, .extended = true, .ird = 2, .ord = 2,
	};

	bench = zeroed(test, sizeof(*bench));
	weft_arrivals_init(&bench->arrivals, 1, MOST, true);
	bench->e = end_make(test);
	message_class = fake_class;
	message_class.flow.await = class_await;
	message_class.flow.read = class_read;
	bench->e->fake->llp.class = &message_class;
	bench->e->fake->llp.arrivals = &bench->arrivals;
	KUNIT_ASSERT_EQ(test, end_start(bench->e, &agreed, true), 0);
	settle();
	at_end(test, early_end, bench);
	return bench;
}

/* A message comes; nobody is told. */
static int arrive(struct early_bench *b, u32 number, struct weft_ddp_hdr hdr, const void *payload,
		  u32 len)
{
	struct weft_arrival *a = weft_arrival_new(WEFT_DDP_MAX_LEN + len);
	u32 n;
	int ret;

	if (!a)
		return -ENOMEM;
	n = weft_ddp_encode(a->data, &hdr);
	memcpy(a->data + n, payload, len);
	a->len = n + len;
	a->number = number;
	ret = weft_arrivals_add(&b->arrivals, a, GFP_KERNEL);
	if (ret)
		kfree(a);
	return ret;
}

static void tell(struct early_bench *b)
{
	struct weft_llp *llp = &b->e->fake->llp;

	weft_llp_call(llp, lock);
	weft_rx_readable(rx_of(b->e->qp));
	weft_llp_call(llp, unlock);
}

static void comes(struct kunit *test, struct early_bench *b, u32 number,
		  struct weft_ddp_hdr hdr, const void *payload, u32 len)
{
	KUNIT_EXPECT_EQ(test, arrive(b, number, hdr, payload, len), 0);
	tell(b);
}

/* The first message of all, which is not overtaken: a Write of a byte. */
static void first_comes(struct kunit *test, struct early_bench *b)
{
	comes(test, b, 1, write_hdr(0, true), "1", 1);
}

static struct early_bench *begun(struct kunit *test)
{
	struct early_bench *b = early_new(test);

	first_comes(test, b);
	return b;
}

static void expect_text(struct kunit *test, struct early_bench *b, u32 offset, const char *text)
{
	KUNIT_EXPECT_EQ(test, memcmp(b->e->memory + offset, text, strlen(text)), 0);
}

static void expect_early(struct kunit *test, struct early_bench *b, u32 segments, u32 bytes)
{
	KUNIT_EXPECT_EQ(test, end_count(b->e, WEFT_CNT_RX_EARLY_FPDUS), (u64)segments);
	KUNIT_EXPECT_EQ(test, end_count(b->e, WEFT_CNT_RX_EARLY_BYTES), (u64)bytes);
}

/* --- the messages by themselves --- */

CASE_WITH(arrivals_have_turns, struct early_bench *b, early_new(test))
{
	/* Across the wrap of the numbers. */
	weft_arrivals_init(&b->arrivals, U32_MAX - 1, MOST, true);
	KUNIT_EXPECT_NULL(test, weft_arrivals_turn(&b->arrivals));
	KUNIT_EXPECT_EQ(test, arrive(b, 1, write_hdr(0, true), "d", 1), 0);
	KUNIT_EXPECT_EQ(test, arrive(b, U32_MAX, write_hdr(0, true), "b", 1), 0);
	KUNIT_EXPECT_EQ(test, arrive(b, 0, write_hdr(0, true), "c", 1), 0);
	KUNIT_EXPECT_NULL(test, weft_arrivals_turn(&b->arrivals));
	KUNIT_EXPECT_EQ(test, b->arrivals.gap, U32_MAX - 1);
	KUNIT_EXPECT_EQ(test, arrive(b, U32_MAX - 1, write_hdr(0, true), "a", 1), 0);
	KUNIT_EXPECT_EQ(test, b->arrivals.gap, 2U);
	for (u32 i = 0; i < 4; i++) {
		struct weft_arrival *a = must(test, weft_arrivals_turn(&b->arrivals));

		KUNIT_EXPECT_EQ(test, a->data[a->len - 1], (u8)('a' + i));
		weft_arrivals_pass(&b->arrivals);
	}
	KUNIT_EXPECT_NULL(test, weft_arrivals_turn(&b->arrivals));
	KUNIT_EXPECT_EQ(test, b->arrivals.held, 0U);
}

CASE_WITH(arrivals_refuse, struct early_bench *b, early_new(test))
{
	KUNIT_EXPECT_EQ(test, arrive(b, 3, write_hdr(0, true), "c", 1), 0);
	KUNIT_EXPECT_EQ(test, arrive(b, 3, write_hdr(0, true), "c", 1), -EEXIST);
	KUNIT_EXPECT_EQ(test, arrive(b, 0, write_hdr(0, true), "c", 1), -EEXIST);
	KUNIT_EXPECT_EQ(test, arrive(b, 1 - 0x8000, write_hdr(0, true), "c", 1), -EEXIST);
	KUNIT_EXPECT_EQ(test, arrive(b, 1 + 0x8000, write_hdr(0, true), "c", 1), -ERANGE);
	KUNIT_EXPECT_EQ(test, arrive(b, 0x7fffffff, write_hdr(0, true), "c", 1), -ERANGE);
	/* With much held only the message that is missing can come. */
	b->arrivals.held += MOST;
	KUNIT_EXPECT_EQ(test, arrive(b, 2, write_hdr(0, true), "b", 1), -ENOBUFS);
	KUNIT_EXPECT_EQ(test, arrive(b, 1, write_hdr(0, true), "a", 1), 0);
	b->arrivals.held -= MOST;
	KUNIT_EXPECT_EQ(test, b->arrivals.gap, 2U);
	weft_arrivals_drop(&b->arrivals);
	KUNIT_EXPECT_NULL(test, weft_arrivals_turn(&b->arrivals));
	KUNIT_EXPECT_EQ(test, b->arrivals.held, 0U);
}

/* --- placed when they come --- */

CASE_WITH(early_writes, struct early_bench *b, early_new(test))
{
	static u8 large[4000];
	u32 held;

	/* The first message of all is not overtaken. */
	comes(test, b, 2, write_hdr(HERE + 8, false), "early", 5);
	expect_early(test, b, 0, 0);
	first_comes(test, b);
	KUNIT_EXPECT_EQ(test, b->arrivals.turn, 3U);
	expect_text(test, b, HERE + 8, "early");
	memset(large, 'x', sizeof(large));
	comes(test, b, 4, write_hdr(HERE + 100, true), large, sizeof(large));
	expect_early(test, b, 1, sizeof(large));
	KUNIT_EXPECT_EQ(test, b->e->memory[HERE + 100], (u8)'x');
	KUNIT_EXPECT_EQ(test, b->e->memory[HERE + 100 + sizeof(large) - 1], (u8)'x');
	held = b->arrivals.held;
	KUNIT_EXPECT_LT(test, held, 100U);
	/* It is not placed again in its turn. */
	b->e->memory[HERE + 100] = 'y';
	comes(test, b, 3, write_hdr(HERE + 13, false), " bird", 5);
	expect_text(test, b, HERE + 8, "early bird");
	KUNIT_EXPECT_EQ(test, b->e->memory[HERE + 100], (u8)'y');
	KUNIT_EXPECT_EQ(test, b->arrivals.turn, 5U);
	KUNIT_EXPECT_EQ(test, b->arrivals.held, 0U);
	KUNIT_EXPECT_EQ(test, end_count(b->e, WEFT_CNT_RX_FPDUS), 4ULL);
}

/* Segments of one SEND, the last of them first: the message is delivered with the first. */
CASE_WITH(early_segments, struct early_bench *b, begun(test))
{
	end_receive(b->e, 0x77, HERE, 100);
	comes(test, b, 4, send_hdr(1, 10, true), "whole", 5);
	comes(test, b, 3, send_hdr(1, 5, false), " the ", 5);
	expect_text(test, b, HERE + 5, " the whole");
	expect_early(test, b, 2, 10);
	expect_none(test, b->e);
	comes(test, b, 2, send_hdr(1, 0, false), "is it", 5);
	expect_text(test, b, HERE, "is it the whole");
	expect_recv(test, b->e, 0x77, 15, IB_WC_SUCCESS);
}

/* SENDs in reverse: each takes its own receive, and they complete in their order. */
CASE_WITH(early_messages, struct early_bench *b, begun(test))
{
	static const char *const text[] = { "one", "two", "three", "four" };

	for (u32 i = 0; i < 4; i++)
		end_receive(b->e, 0x10 + i, HERE + 100 * i, 100);
	for (u32 i = 4; i-- > 1;) {
		comes(test, b, 2 + i, send_hdr(1 + i, 0, true), text[i], strlen(text[i]));
		expect_text(test, b, HERE + 100 * i, text[i]);
	}
	expect_early(test, b, 3, 12);
	expect_none(test, b->e);
	comes(test, b, 2, send_hdr(1, 0, true), text[0], 3);
	for (u32 i = 0; i < 4; i++)
		expect_recv(test, b->e, 0x10 + i, strlen(text[i]), IB_WC_SUCCESS);
}

/* The message behind the inbox is none of it: it waits for its turn. */
CASE_WITH(early_behind_window, struct early_bench *b, early_new(test))
{
	const u32 size = RECEIVES, made = rx_of(b->e->qp)->sends.size;

	KUNIT_ASSERT_LE(test, size, made);
	rx_of(b->e->qp)->sends.size = size;
	first_comes(test, b);
	for (u32 i = 0; i < size; i++)
		end_receive(b->e, 0x10 + i, HERE + 100 * i, 100);
	comes(test, b, 1 + size, send_hdr(size, 0, true), "last", 4);
	expect_early(test, b, 1, 4);
	comes(test, b, 2 + size, send_hdr(1 + size, 0, true), "next", 4);
	expect_early(test, b, 1, 4);
	expect_text(test, b, HERE + 100 * (size - 1), "last");
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(b->e->memory + HERE, 0, 100 * (size - 1)), NULL);
	rx_of(b->e->qp)->sends.size = made;
}

/* A shared queue gives a receive only to the message in turn: others would keep many from all. */
CASE_WITH(early_shared, struct early_bench *b, early_new(test))
{
	struct weft_srq *srq = zeroed(test, sizeof(*srq));
	struct weft_ring *ring = &b->e->qp->rq->ring;

	srq->ib.pd = b->e->qp->acc.pd;
	rx_of(b->e->qp)->srq = srq;
	first_comes(test, b);
	for (u32 i = 0; i < 2; i++)
		end_receive(b->e, 0x10 + i, HERE + 100 * i, 100);
	comes(test, b, 4, send_hdr(2, 0, true), "two", 3);
	KUNIT_EXPECT_EQ(test, weft_ring_pending(ring), 2);
	expect_early(test, b, 0, 0);
	comes(test, b, 3, send_hdr(1, 4, true), "one", 3);
	KUNIT_EXPECT_EQ(test, weft_ring_pending(ring), 1);
	expect_early(test, b, 1, 3);
	comes(test, b, 2, send_hdr(1, 0, false), "the ", 4);
	expect_recv(test, b->e, 0x10, 7, IB_WC_SUCCESS);
	expect_recv(test, b->e, 0x11, 3, IB_WC_SUCCESS);
	expect_text(test, b, HERE, "the one");
	rx_of(b->e->qp)->srq = NULL;
}

/* What the owner of a shared queue finds when it is told of that queue. */
struct owner {
	const struct weft_access *access;
	u32 told;
	bool held;
};

static void note_limit(struct ib_event *event, void *context)
{
	struct owner *o = context;

	/* With one processor a lock that is held for reading can be had for writing. */
	o->told++;
	o->held = o->access->mr;
}

/* The owner is told with no region held, though a Write that is not whole has come before. */
CASE_WITH(early_tells, struct early_bench *b, early_new(test))
{
	struct weft_srq *srq = zeroed(test, sizeof(*srq));
	struct owner o = { .access = &rx_of(b->e->qp)->place.access };

	srq->ib.pd = b->e->qp->acc.pd;
	srq->ib.event_handler = note_limit;
	srq->ib.srq_context = &o;
	receive_queue(test, &srq->rq, RECEIVES, MAX_RECV_SGE);
	srq->limit = RECEIVES;
	rx_of(b->e->qp)->srq = srq;
	first_comes(test, b);
	b->e->mr.kind = WEFT_MR_FAST;
	rwlock_init(&b->e->mr.lock);
	end_receive(b->e, 0x10, HERE, 100);
	KUNIT_EXPECT_EQ(test, arrive(b, 4, send_hdr(1, 0, true), "early", 5), 0);
	comes(test, b, 2, write_hdr(HERE + 100, false), "part", 4);
	KUNIT_EXPECT_EQ(test, o.told, 1U);
	KUNIT_EXPECT_FALSE(test, o.held);
	expect_text(test, b, HERE, "early");
	b->e->mr.kind = WEFT_MR_REGION;
	rx_of(b->e->qp)->srq = NULL;
}

/* Without a receive a message waits for its turn, and then for a receive. */
CASE_WITH(early_without_receive, struct early_bench *b, begun(test))
{
	end_receive(b->e, 0x10, HERE, 100);
	comes(test, b, 3, send_hdr(2, 0, true), "two", 3);
	expect_early(test, b, 0, 0);
	comes(test, b, 2, send_hdr(1, 0, true), "one", 3);
	expect_recv(test, b->e, 0x10, 3, IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, rx_of(b->e->qp)->stalled);
	/* What comes while one waits is kept as well. */
	comes(test, b, 5, send_hdr(4, 0, true), "four", 4);
	end_receive(b->e, 0x11, HERE + 100, 100);
	settle();
	expect_recv(test, b->e, 0x11, 3, IB_WC_SUCCESS);
	expect_text(test, b, HERE + 100, "two");
	end_receive(b->e, 0x12, HERE + 200, 100);
	end_receive(b->e, 0x13, HERE + 300, 100);
	comes(test, b, 4, send_hdr(3, 0, true), "three", 5);
	expect_recv(test, b->e, 0x12, 5, IB_WC_SUCCESS);
	expect_recv(test, b->e, 0x13, 4, IB_WC_SUCCESS);
	expect_text(test, b, HERE + 300, "four");
}

/* Immediate data takes the receive that was kept for its message. */
CASE_WITH(early_behind_imm, struct early_bench *b, begun(test))
{
	struct weft_ddp_hdr hdr;

	end_receive(b->e, 0x10, HERE, 100);
	end_receive(b->e, 0x11, HERE + 100, 100);
	comes(test, b, 3, send_hdr(2, 0, true), "two", 3);
	expect_early(test, b, 1, 3);
	hdr = send_hdr(1, 0, true);
	hdr.opcode = WEFT_RDMAP_IMM;
	comes(test, b, 2, hdr, "\0\0\0\1\0\0\0\0", WEFT_IMM_LEN);
	expect_recv(test, b->e, 0x10, 1, IB_WC_SUCCESS); /* of the Write before it */
	expect_recv(test, b->e, 0x11, 3, IB_WC_SUCCESS);
	expect_text(test, b, HERE + 100, "two");
}

/* But not amidst a SEND, even if nothing of that was placed yet. */
CASE_WITH(early_imm_amidst, struct early_bench *b, begun(test))
{
	struct weft_ddp_hdr hdr;

	end_receive(b->e, 0x10, HERE, 100);
	end_receive(b->e, 0x11, HERE + 100, 100);
	comes(test, b, 4, send_hdr(2, 0, true), "two", 3);
	comes(test, b, 2, send_hdr(1, 0, false), "", 0);
	hdr = send_hdr(1, 0, true);
	hdr.opcode = WEFT_RDMAP_IMM;
	comes(test, b, 3, hdr, "\0\0\0\1\0\0\0\0", WEFT_IMM_LEN);
	expect_none(test, b->e);
	settle();
	KUNIT_EXPECT_TRUE(test, rx_of(b->e->qp)->stopped);
}

/* An answer to our read, in parts that come in reverse. */
CASE_WITH(early_answer, struct early_bench *b, begun(test))
{
	struct weft_ddp_hdr hdr = {
		.opcode = WEFT_RDMAP_READ_RESP, .tagged = true, .last = true, .to = 8,
	};

	end_post_to(b->e, WEFT_OP_READ, HERE, 12, 0);
	KUNIT_EXPECT_EQ(test, end_ring(b->e), 0);
	settle();
	hdr.stag = weft_reads_oldest(&b->e->qp->reads)->sink;
	comes(test, b, 4, hdr, "read", 4);
	expect_text(test, b, HERE + 8, "read");
	/* One that names no read of ours, and one that reaches too far, are not placed. */
	hdr.stag++;
	hdr.to = 0;
	KUNIT_EXPECT_EQ(test, arrive(b, 7, hdr, "xxxx", 4), 0);
	hdr.stag--;
	hdr.to = 9;
	KUNIT_EXPECT_EQ(test, arrive(b, 8, hdr, "xxxx", 4), 0);
	hdr.to = U64_MAX - 1;
	comes(test, b, 9, hdr, "xxxx", 4);
	expect_early(test, b, 1, 4);
	expect_text(test, b, HERE + 8, "read");
	expect_none(test, b->e);
	hdr.last = false;
	hdr.to = 4;
	comes(test, b, 3, hdr, " to ", 4);
	hdr.to = 0;
	comes(test, b, 2, hdr, "easy", 4);
	expect_text(test, b, HERE, "easy to read");
	expect_done(test, b->e, 0x1000, IB_WC_SUCCESS);
}

/* A wrong segment is not placed, and ends the connection when its turn comes. */
static void early_wrong(struct kunit *test)
{
	struct weft_ddp_hdr wrong[] = {
		write_hdr(END_MEMORY - 2, true),	/* beyond the region */
		write_hdr(HERE, true),		/* of an STag that there is not */
		write_hdr(0, true),		/* wraps */
		send_hdr(1, 98, true),		/* longer than the receive */
		send_hdr(20, 0, true),		/* of a message far ahead */
		send_hdr(0, 0, true),		/* of one that was */
		send_hdr(1, U32_MAX - 1, true),
	};

	wrong[1].stag++;
	wrong[2].to = U64_MAX - 1;
	for (u32 i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct early_bench *b = begun(test);

		end_receive(b->e, 0x10, HERE, 100);
		comes(test, b, 3, wrong[i], "wrong", 5);
		expect_early(test, b, 0, 0);
		KUNIT_EXPECT_EQ(test, (int)b->e->qp->state, (int)IB_QPS_RTS);
		comes(test, b, 2, write_hdr(0, true), "2", 1);
		settle();
		KUNIT_EXPECT_TRUE_MSG(test, rx_of(b->e->qp)->stopped, "case %u", i);
		KUNIT_EXPECT_EQ(test, b->e->memory[HERE], (u8)0);
		end_now(test, b);
	}
}

/* A segment that was placed is looked at again in its turn: its key may be gone by then. */
CASE_WITH(early_then_revoked, struct early_bench *b, begun(test))
{
	comes(test, b, 3, write_hdr(HERE, true), "early", 5);
	expect_early(test, b, 1, 5);
	b->e->mr.access = 0;
	end_receive(b->e, 0x10, HERE + 100, 0);
	comes(test, b, 2, send_hdr(1, 0, true), "", 0);
	expect_recv(test, b->e, 0x10, 0, IB_WC_SUCCESS);
	settle();
	KUNIT_EXPECT_TRUE(test, rx_of(b->e->qp)->stopped);
}

CASE_WITH(early_off, struct early_bench *b, early_new(test))
{
	b->arrivals.early = false;
	first_comes(test, b);
	comes(test, b, 3, write_hdr(HERE, true), "early", 5);
	expect_early(test, b, 0, 0);
	KUNIT_EXPECT_EQ(test, b->e->memory[HERE], (u8)0);
	comes(test, b, 2, write_hdr(HERE + 5, true), " bird", 5);
	expect_text(test, b, HERE, "early bird");
}

#define MANY	300U

/* Many messages in any order: memory and completions are those of the order they were sent in. */
CASE_WITH(early_many, struct early_bench *b, early_new(test))
{
	u32 i, next, msn = 1, *order, x = 12345;
	struct weft_ddp_hdr hdr;
	u8 byte;

	order = zeroed(test, MANY * sizeof(*order));
	first_comes(test, b);
	for (i = 0; i < MANY; i++)
		order[i] = i;
	for (i = 0; i + 1 < MANY; i++) {
		x = x * 1664525 + 1013904223;
		swap(order[i], order[i + (x >> 24) % min(12U, MANY - i)]);
	}
	for (i = 0; i < RECEIVES; i++)
		end_receive(b->e, i, HERE + 2 * MANY + i, 1);
	for (i = 0; i < MANY; i++) {
		/* Every third is a SEND, and the others are Writes. */
		byte = order[i];
		hdr = order[i] % 3 ? write_hdr(HERE + 2 * order[i], true) :
				     send_hdr(1 + order[i] / 3, 0, true);
		comes(test, b, 2 + order[i], hdr, &byte, 1);
		while (end_poll(b->e)) {
			KUNIT_EXPECT_EQ(test, b->e->cqe.wr_id, (u64)msn - 1);
			KUNIT_EXPECT_EQ(test, b->e->memory[HERE + 2 * MANY + msn - 1],
					(u8)(3 * (msn - 1)));
			next = msn - 1 + RECEIVES;
			end_receive(b->e, next, HERE + 2 * MANY + next, 1);
			msn++;
			settle();
		}
	}
	KUNIT_EXPECT_EQ(test, msn, 1 + MANY / 3);
	for (i = 0; i < MANY; i++)
		if (i % 3)
			KUNIT_EXPECT_EQ(test, b->e->memory[HERE + 2 * i], (u8)i);
	KUNIT_EXPECT_EQ(test, b->arrivals.held, 0U);
	KUNIT_EXPECT_GT(test, end_count(b->e, WEFT_CNT_RX_EARLY_FPDUS), 50ULL);
}

/* Receives that were taken for messages which never came whole are flushed in their order. */
CASE_WITH(early_flushed, struct early_bench *b, begun(test))
{
	for (u32 i = 0; i < RECEIVES; i++)
		end_receive(b->e, i, HERE + 100 * i, 100);
	comes(test, b, 4, send_hdr(3, 0, true), "three", 5);
	expect_early(test, b, 1, 5);
	weft_engine_error(b->e->qp);
	settle();
	end_stop(b->e);
	for (u32 i = 0; i < RECEIVES; i++)
		expect_done(test, b->e, i, IB_WC_WR_FLUSH_ERR);
	expect_none(test, b->e);
}

/*
 * A memory cgroup over memory.high has a thread that allocates for it sleep, for two seconds each
 * few pages, but no worker, as is the thread that runs this. kunit/load has made the group.
 */
static void early_waits_for_no_group(struct kunit *test)
{
#ifdef CONFIG_MEMCG
	struct cgroup *cgroup = cgroup_get_from_path("/weft-high");
	unsigned long start = jiffies;
	struct weft_arrival *first = NULL, *a;
	struct cgroup_subsys_state *css;
	struct mem_cgroup *before;

	if (IS_ERR(cgroup)) {
		kunit_skip(test, "this kernel has no memory cgroups");
		return;
	}
	css = cgroup_get_e_css(cgroup, &memory_cgrp_subsys);
	before = set_active_memcg(mem_cgroup_from_css(css));
	for (u32 i = 0; i < 64 && time_before(jiffies, start + HZ); i++) {
		a = weft_arrival_new(16384);
		KUNIT_EXPECT_NOT_NULL(test, a);
		if (!a)
			break;
		*(struct weft_arrival **)a->data = first;
		first = a;
	}
	set_active_memcg(before);
	KUNIT_EXPECT_TRUE(test, time_before(jiffies, start + HZ));
	/* All of it is charged: the group has what it may not. */
	KUNIT_EXPECT_GT(test, page_counter_read(&mem_cgroup_from_css(css)->memory), 64UL * 4);
	for (; first; first = a) {
		a = *(struct weft_arrival **)first->data;
		kfree(first);
	}
	css_put(css);
	cgroup_put(cgroup);
#else
	kunit_skip(test, "this kernel has no memory cgroups");
#endif
}

A_SUITE(early, fake, arrivals_have_turns, arrivals_refuse, early_writes, early_segments,
	early_messages, early_behind_window, early_shared, early_tells, early_without_receive,
	early_behind_imm, early_imm_amidst, early_answer, early_wrong, early_then_revoked,
	early_off, early_many, early_flushed, early_waits_for_no_group);
