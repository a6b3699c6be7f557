// SPDX-License-Identifier: GPL-2.0
/* Pages that a stream sends from where they lie: who holds them, and what the program is told. */
#include <linux/sizes.h>
#include <linux/vmalloc.h>

#include "ends.h"
#include "tx/tx.h"

#define MOST	SZ_1M

/* An end that may lend. */
struct loan_bench {
	struct end *e;	/* the end */
	u8 *tape;	/* what its stream was given */
	u32 len;	/* bytes of that */
};

END_OF(bench_end, struct loan_bench *l)
{
	end_free(test, l->e);
	vfree(l->tape);
	KUNIT_EXPECT_EQ(test, fake_end(), 0U);
}

static struct loan_bench *bench_new(struct kunit *test, bool crc)
{
	const struct weft_mpa_agreed agreed = {
		.revision = 2, .crc = crc, .extended = true, .ird = 2, .ord = 2,
	};
	struct loan_bench *l = zeroed(test, sizeof(*l));

	l->tape = must(test, vzalloc(MOST));
	fake_script.lends = true;
	l->e = end_make(test);
	/* A user's memory; lending only asks whether it is that. */
	l->e->mr.umem = (struct ib_umem *)l->e;
	end_fill(l->e, 3);
	KUNIT_ASSERT_EQ(test, end_start(l->e, &agreed, true), 0);
	settle();
	at_end(test, bench_end, l);
	return l;
}

static void take(struct loan_bench *l)
{
	u32 n;

	do {
		settle();
		n = fake_take(l->e->fake, l->tape + l->len, MOST - l->len);
		l->len += n;
	} while (n);
}

static void write(struct loan_bench *l, u32 offset, u32 len)
{
	end_post_to(l->e, WEFT_OP_WRITE, offset, len, 0);
	end_ring(l->e);
}

/* Pages of the end's memory that somebody holds. */
static u32 held(const struct loan_bench *l)
{
	u32 i, n = 0;

	for (i = 0; i < END_MEMORY; i += PAGE_SIZE)
		n += page_ref_count(virt_to_page(l->e->memory + i)) > 1;
	return n;
}

/* What the stream has kept is acknowledged. */
static void acked(struct loan_bench *l)
{
	fake_ack(l->e->fake);
	settle();
}

static bool done(struct loan_bench *l)
{
	return end_poll(l->e) && WEFT_CQE_STATUS(l->e->cqe.word) == IB_WC_SUCCESS;
}

/* Writes, and is done as soon as the stream has all. */
static void wrote(struct kunit *test, struct loan_bench *l, u32 offset, u32 len)
{
	write(l, offset, len);
	take(l);
	KUNIT_EXPECT_TRUE(test, done(l));
}

/* Sends so much that lending is tried next. */
static void warm(struct kunit *test, struct loan_bench *l)
{
	for (u32 i = 0; i * 100000 < WEFT_LOAN_AFTER; i++)
		wrote(test, l, 0, 100000);
	KUNIT_EXPECT_EQ(test, held(l), 0U);
	KUNIT_EXPECT_EQ(test, end_count(l->e, WEFT_CNT_TX_LENT), 0ULL);
	l->len = 0;
}

/* An end whose lending has been tried, with success. */
static struct loan_bench *warmer(struct kunit *test)
{
	struct loan_bench *l = bench_new(test, false);

	warm(test, l);
	wrote(test, l, 0, 100000);
	KUNIT_EXPECT_EQ(test, end_count(l->e, WEFT_CNT_TX_LENT), 1ULL);
	KUNIT_EXPECT_EQ(test, end_count(l->e, WEFT_CNT_TX_LENT_COPIED), 0ULL);
	l->len = 0;
	return l;
}

/* An end that has tried, on a stream that keeps what has left. */
static struct loan_bench *keeping(struct kunit *test)
{
	struct loan_bench *l = warmer(test);

	l->e->fake->script.keeps = true;
	return l;
}

/* The payload on the tape is that of one Write of @len bytes from @offset. */
static void expect_write(struct kunit *test, struct loan_bench *l, u32 offset, u32 len)
{
	struct weft_ddp_hdr hdr;
	struct weft_term why;
	u32 at, got, n;

	for (at = 0, got = 0; at < l->len && got < len; got += n) {
		n = get_unaligned_be16(l->tape + at);
		KUNIT_ASSERT_EQ(test, weft_ddp_decode(l->tape + at + WEFT_MPA_LEN, n, true, &hdr,
						      &why), (u32)WEFT_DDP_TAGGED_LEN);
		at += weft_fpdu_len(n);
		KUNIT_ASSERT_LE(test, at, l->len);
		n -= WEFT_DDP_TAGGED_LEN;
		KUNIT_EXPECT_EQ(test, hdr.to, END_IOVA + got);
		KUNIT_EXPECT_EQ(test, memcmp(l->tape + at - weft_fpdu_len(n + WEFT_DDP_TAGGED_LEN) +
					     WEFT_MPA_LEN + WEFT_DDP_TAGGED_LEN,
					     l->e->memory + offset + got, n), 0);
		KUNIT_EXPECT_EQ(test, hdr.last, got + n == len);
	}
	KUNIT_EXPECT_EQ(test, got, len);
	KUNIT_EXPECT_EQ(test, at, l->len);
}

/* The first is tried with one FPDU, and is not done before the stream is through with it. */
CASE_WITH(loan_tried, struct loan_bench *l, bench_new(test, false))
{
	warm(test, l);
	l->e->fake->script.keeps = true;
	write(l, 5000, 150000);
	take(l);
	expect_write(test, l, 5000, 150000);
	KUNIT_EXPECT_EQ(test, end_count(l->e, WEFT_CNT_TX_LENT), 1ULL);
	KUNIT_EXPECT_FALSE(test, done(l));
	/* One FPDU's pages, not all. */
	KUNIT_EXPECT_GT(test, held(l), 0U);
	KUNIT_EXPECT_LE(test, held(l), 17U);
	/* As long as it is not back, nothing else is lent. */
	write(l, 200000, 100000);
	take(l);
	KUNIT_EXPECT_EQ(test, end_count(l->e, WEFT_CNT_TX_LENT), 1ULL);
	KUNIT_EXPECT_FALSE(test, done(l));
	acked(l);
	KUNIT_EXPECT_TRUE(test, done(l));
	KUNIT_EXPECT_TRUE(test, done(l));
	KUNIT_EXPECT_EQ(test, held(l), 0U);
}

/* What was lent second is done when the stream gives its pages back, and not before. */
static void expect_returned(struct kunit *test, struct loan_bench *l)
{
	KUNIT_EXPECT_FALSE(test, done(l));
	acked(l);
	KUNIT_EXPECT_TRUE(test, done(l));
	KUNIT_EXPECT_EQ(test, held(l), 0U);
	KUNIT_EXPECT_EQ(test, end_count(l->e, WEFT_CNT_TX_LENT), 2ULL);
}

/* From then on all of a large message goes from where it lies. */
CASE_WITH(loan_goes_on, struct loan_bench *l, keeping(test))
{
	write(l, 4097, 200000);
	settle();
	KUNIT_EXPECT_GE(test, held(l), 48U);
	/* What is changed meanwhile is what is sent: nothing was copied. */
	memset(l->e->memory + 100000, 0x77, 5000);
	take(l);
	expect_write(test, l, 4097, 200000);
	expect_returned(test, l);
}

/* Where pages are copied on the way, one loan is the last. */
CASE_WITH(loan_copied, struct loan_bench *l, bench_new(test, false))
{
	warm(test, l);
	l->e->fake->script.copies = true;
	for (int i = 0; i < 3; i++) {
		write(l, 0, 150000);
		take(l);
		expect_write(test, l, 0, 150000);
		l->len = 0;
		KUNIT_EXPECT_TRUE(test, done(l));
	}
	KUNIT_EXPECT_EQ(test, end_count(l->e, WEFT_CNT_TX_LENT), 1ULL);
	KUNIT_EXPECT_EQ(test, end_count(l->e, WEFT_CNT_TX_LENT_COPIED), 1ULL);
	KUNIT_EXPECT_EQ(test, held(l), 0U);
}

/* What is checksummed is copied, what is small, and what the stream does not take. */
CASE_WITH(loan_not, struct loan_bench *l, bench_new(test, true))
{
	warm(test, l);
	wrote(test, l, 0, 200000);
	KUNIT_EXPECT_EQ(test, end_count(l->e, WEFT_CNT_TX_LENT), 0ULL);
	end_now(test, l);
	l = warmer(test);
	wrote(test, l, 0, WEFT_LOAN_LEAST - 1);
	KUNIT_EXPECT_EQ(test, end_count(l->e, WEFT_CNT_TX_LENT), 1ULL);
	l->e->fake->script.lends = false;
	wrote(test, l, 0, 200000);
	KUNIT_EXPECT_EQ(test, end_count(l->e, WEFT_CNT_TX_LENT), 1ULL);
}

/* An FPDU of a long message ends with a page, so that none is sent in two pieces. */
CASE_WITH(loan_cut, struct loan_bench *l, warmer(test))
{
	const u32 total = 3 * WEFT_LENT_MOST;
	u32 at, n, got = 0;

	write(l, 100, total);
	take(l);
	expect_write(test, l, 100, total);
	for (at = 0; at < l->len; at += weft_fpdu_len(n)) {
		n = get_unaligned_be16(l->tape + at);
		got += n - WEFT_DDP_TAGGED_LEN;
		KUNIT_EXPECT_TRUE(test, got == total || offset_in_page(100 + got) == 0);
	}
	KUNIT_EXPECT_TRUE(test, done(l));
}

/* So are a kernel consumer's pages, which no process owns. */
CASE_WITH(loan_kernel, struct loan_bench *l, warmer(test))
{
	l->e->mr.umem = NULL;
	l->e->fake->script.keeps = true;
	write(l, 0, 100000);
	settle();
	KUNIT_EXPECT_GE(test, held(l), 24U);
	take(l);
	expect_returned(test, l);
}

/* A small message goes with the loan before it, not in a packet of its own. */
CASE_WITH(loan_joined, struct loan_bench *l, warmer(test))
{
	u32 send;
	u64 batches = end_count(l->e, WEFT_CNT_TX_BATCHES);

	end_post_to(l->e, WEFT_OP_WRITE, 0, 40000, 0);
	end_send(l->e, 50000, 10);
	take(l);
	KUNIT_EXPECT_EQ(test, end_count(l->e, WEFT_CNT_TX_BATCHES), batches + 1);
	send = weft_fpdu_len(WEFT_DDP_UNTAGGED_LEN + 10);
	KUNIT_ASSERT_GT(test, l->len, send);
	KUNIT_EXPECT_EQ(test, memcmp(l->tape + l->len - send + WEFT_MPA_LEN + WEFT_DDP_UNTAGGED_LEN,
				     l->e->memory + 50000, 10), 0);
	l->len -= send;
	expect_write(test, l, 0, 40000);
	KUNIT_EXPECT_TRUE(test, done(l));
	KUNIT_EXPECT_TRUE(test, done(l));
}

/* A small message behind a loan is done after it, as it was posted. */
CASE_WITH(loan_order, struct loan_bench *l, keeping(test))
{
	write(l, 0, 100000);
	end_send(l->e, 0, 10);
	take(l);
	expect_none(test, l->e);
	acked(l);
	KUNIT_ASSERT_TRUE(test, end_poll(l->e));
	KUNIT_EXPECT_EQ(test, WEFT_CQE_OPCODE(l->e->cqe.word), WEFT_OP_WRITE);
	KUNIT_ASSERT_TRUE(test, end_poll(l->e));
	KUNIT_EXPECT_EQ(test, WEFT_CQE_OPCODE(l->e->cqe.word), WEFT_OP_SEND);
}

/* Requests whose completion nobody wants are one loan with the one that has it. */
CASE_WITH(loan_unsignaled, struct loan_bench *l, keeping(test))
{
	struct weft_sq_wr *wr;

	for (int i = 0; i < 3; i++) {
		wr = end_wr(l->e, WEFT_OP_WRITE, 0, 40000);
		end_remote(wr, 0);
		if (i < 2)
			wr->flags &= ~WEFT_WR_SIGNALED;
		end_post(l->e, wr);
	}
	end_ring(l->e);
	take(l);
	expect_none(test, l->e);
	acked(l);
	KUNIT_ASSERT_TRUE(test, end_poll(l->e));
	KUNIT_EXPECT_EQ(test, l->e->cqe.wr_id, 0x1000ULL + l->e->sends - 1);
	expect_none(test, l->e);
	KUNIT_EXPECT_EQ(test, held(l), 0U);
}

/* A stream that takes a little at a time gets the same bytes, and the pages come back. */
static void loan_partial(struct kunit *test)
{
	static const u32 bites[] = { 999, 4096, 60001 };

	for (u32 i = 0; i < ARRAY_SIZE(bites); i++) {
		struct loan_bench *l = warmer(test);

		l->e->fake->script.bite = bites[i];
		l->e->fake->script.window = 70000;
		write(l, 12345, 200000);
		take(l);
		expect_write(test, l, 12345, 200000);
		KUNIT_EXPECT_TRUE(test, done(l));
		KUNIT_EXPECT_EQ(test, held(l), 0U);
		KUNIT_EXPECT_EQ(test, end_count(l->e, WEFT_CNT_TX_LENT), 2ULL);
		end_now(test, l);
	}
}

/* A graceful end waits for what is lent; whoever destroys the queue pair does not. */
CASE_WITH(loan_drain, struct loan_bench *l, keeping(test))
{
	write(l, 0, 100000);
	take(l);
	KUNIT_EXPECT_EQ(test, weft_engine_drain(l->e->qp), 0);
	settle();
	KUNIT_EXPECT_EQ(test, l->e->closing, 0);
	acked(l);
	KUNIT_EXPECT_EQ(test, l->e->closing, 1);
	KUNIT_EXPECT_TRUE(test, done(l));
	end_now(test, l);
	l = keeping(test);
	write(l, 0, 100000);
	take(l);
	WRITE_ONCE(l->e->qp->dying, true);
	KUNIT_EXPECT_EQ(test, weft_engine_drain(l->e->qp), 0);
	settle();
	KUNIT_EXPECT_EQ(test, l->e->closing, 1);
}

/* A queue pair off its stream is not flushed before the reset has brought its pages back. */
CASE_WITH(loan_stop, struct loan_bench *l, keeping(test))
{
	write(l, 0, 100000);
	take(l);
	write(l, 0, 100000);
	settle();
	KUNIT_EXPECT_FALSE(test, end_stop(l->e));
	expect_none(test, l->e);
	KUNIT_EXPECT_GT(test, held(l), 0U);
	KUNIT_EXPECT_EQ(test, weft_engine_reset(l->e->qp), -EBUSY);
	fake_ack(l->e->fake);
	fake_die(l->e->fake, -ECONNRESET);
	settle();
	KUNIT_EXPECT_EQ(test, held(l), 0U);
	expect_done(test, l->e, 0x1000 + l->e->polled, IB_WC_WR_FLUSH_ERR);
	expect_done(test, l->e, 0x1000 + l->e->polled, IB_WC_WR_FLUSH_ERR);
	expect_none(test, l->e);
}

/* When time is up, a queue pair is flushed. A loan that is not back frees itself when it is. */
static void loan_given_up(struct kunit *test)
{
	for (int back = 0; back < 2; back++) {
		struct loan_bench *l = keeping(test);

		write(l, 0, 100000);
		take(l);
		weft_baton_lock(&l->e->qp->tx_lock);
		KUNIT_EXPECT_FALSE(test, weft_engine_stop(l->e->qp));
		if (back)
			fake_ack(l->e->fake);
		l->e->qp->ending.drain_until = jiffies;
		KUNIT_EXPECT_TRUE(test, weft_engine_flush(l->e->qp));
		KUNIT_EXPECT_NULL(test, tx_of(l->e->qp)->loans);
		weft_qp_unlock(l->e->qp);
		expect_done(test, l->e, 0x1000 + l->e->polled, IB_WC_WR_FLUSH_ERR);
		KUNIT_EXPECT_EQ(test, !held(l), back);
		acked(l);
		KUNIT_EXPECT_EQ(test, held(l), 0U);
		end_now(test, l);
	}
}

/* Memory whose key is gone when it is to be lent fails the queue pair, and holds nothing. */
CASE_WITH(loan_key_gone, struct loan_bench *l, warmer(test))
{
	l->e->fake->script.window = 70000;
	write(l, 0, 500000);
	settle();
	xa_erase(&l->e->b->dev.mrs, END_STAG >> 8);
	take(l);
	settle();
	KUNIT_EXPECT_EQ(test, weft_qp_state(l->e->qp), IB_QPS_ERR);
	KUNIT_EXPECT_EQ(test, l->e->failed, 1);
	KUNIT_EXPECT_TRUE(test, end_stop(l->e));
	expect_done(test, l->e, 0x1000 + l->e->polled, IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_EQ(test, held(l), 0U);
}

A_SUITE(loan, fake, loan_tried, loan_goes_on, loan_copied, loan_not, loan_cut, loan_kernel,
	loan_joined, loan_order, loan_unsignaled, loan_partial, loan_drain, loan_stop,
	loan_given_up, loan_key_gone);
