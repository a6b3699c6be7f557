// SPDX-License-Identifier: GPL-2.0
/* Two queue pairs on a stream that is odd in every way: what one posts is done at the other. */
#include "ends.h"

/* A connection. */
struct flow {
	struct end *a;	/* the end that opened it */
	struct end *b;	/* the other */
};

/* Who sends markers. */
#define FROM_A	1
#define FROM_B	2

/* Streams: with a window, an ordinary one, with short segments, with pieces, with a slow reader. */
#define WINDOW(n)	.emss = 1448, .train = 65160, .window = (n), .hold = 1 << 20
#define PLAIN		WINDOW(1 << 20)
#define SMALL		.emss = 128, .train = 128, .window = 4000, .hold = 1 << 20
#define PIECES		.emss = 536, .train = 5000, .window = 20000, .cut = 99, .hold = 1 << 20
#define HOLDS(n)	.emss = (n), .train = 65160, .window = 100000, .cut = 1448, .hold = 3000, \
			.fills = true

/* Ways in which a stream may be odd. */
static const struct {
	const char *what;
	struct fake_script script;
	bool crc, large;
	int marks;
} odd[] = {
	{ "plain", { PLAIN }, true, false },
	{ "large FPDUs", { PLAIN }, true, true },
	{ "no CRC", { PLAIN }, false, true },
	{ "small segments", { SMALL }, true, false },
	{ "segments of 536, pieces of 99", { PIECES }, true, false },
	{ "the same without a CRC", { PIECES }, false, false },
	{ "bites of 777", { PLAIN, .bite = 777, .fills = true }, true, true },
	{ "a window of 1000", { WINDOW(1000), .fills = true }, true, true },
	{ "a reader who holds 3000", { HOLDS(1448) }, true, true },
	{ "the same without a CRC", { HOLDS(1448) }, false, true },
	{ "markers both ways", { PLAIN }, true, true, FROM_A | FROM_B },
	{ "the same without a CRC", { PLAIN }, false, true, FROM_A | FROM_B },
	{ "markers one way, pieces of 99", { PIECES }, true, false, FROM_A },
	{ "markers the other way, without a CRC", { PIECES }, false, false, FROM_B },
	{ "markers in small segments", { SMALL }, true, false, FROM_A | FROM_B },
	{ "markers, and a reader who holds 3000", { HOLDS(8948) }, true, true, FROM_A | FROM_B },
};

/* What a queue pair counts itself is what its device counts, which has no other. */
static void expect_counted(struct kunit *test, const struct end *e)
{
	const struct weft_framer_counts *rx = &rx_of(e->qp)->framer.counts;

	KUNIT_EXPECT_EQ(test, tx_of(e->qp)->fpdus, end_count(e, WEFT_CNT_TX_FPDUS));
	KUNIT_EXPECT_EQ(test, tx_of(e->qp)->bytes, end_count(e, WEFT_CNT_TX_BYTES));
	KUNIT_EXPECT_EQ(test, rx->fpdus, end_count(e, WEFT_CNT_RX_FPDUS));
	KUNIT_EXPECT_EQ(test, rx->bytes, end_count(e, WEFT_CNT_RX_BYTES));
	KUNIT_EXPECT_EQ(test, rx->split, (u32)end_count(e, WEFT_CNT_RX_SPLIT_FPDUS));
	KUNIT_EXPECT_EQ(test, rx->staged, (u32)end_count(e, WEFT_CNT_RX_STAGED_FPDUS));
}

END_OF(flow_end, struct flow *f)
{
	expect_counted(test, f->a);
	expect_counted(test, f->b);
	end_free(test, f->a);
	end_free(test, f->b);
	KUNIT_EXPECT_EQ(test, fake_end(), 0U);
}

static struct flow *flow_new(struct kunit *test, bool crc, bool large, int marks)
{
	struct weft_mpa_agreed agreed = {
		.revision = 2, .crc = crc, .p2p = true, .rtr = WEFT_RTR_WRITE,
		.extended = true, .ird = 3, .ord = 3,
	};
	struct flow *f = zeroed(test, sizeof(*f));
	u32 policy = large ? WEFT_FPDU_LARGE : WEFT_FPDU_SEGMENT;

	f->a = end_make(test);
	f->b = end_make(test);
	f->a->b->dev.settings.value[WEFT_SET_FPDU] = policy;
	f->b->b->dev.settings.value[WEFT_SET_FPDU] = policy;
	fake_join(f->a->fake, f->b->fake);
	/* As it happens: the responder first. */
	agreed.marks_in = marks & FROM_A;
	agreed.marks_out = marks & FROM_B;
	KUNIT_ASSERT_EQ(test, end_start(f->b, &agreed, false), 0);
	agreed.marks_in = marks & FROM_B;
	agreed.marks_out = marks & FROM_A;
	KUNIT_ASSERT_EQ(test, end_start(f->a, &agreed, true), 0);
	end_fill(f->a, 1);
	end_fill(f->b, 2);
	settle();
	at_end(test, flow_end, f);
	return f;
}

/* The way in which the stream of the case is odd. */
static const char *what;

static struct flow *flow_odd(struct kunit *test, u32 i)
{
	what = odd[i].what;
	fake_script = odd[i].script;
	return flow_new(test, odd[i].crc, odd[i].large, odd[i].marks);
}

/* The oldest completion is of this request, which went well. */
static void expect_op(struct kunit *test, struct end *e, u64 wr_id, u8 opcode)
{
	if (!end_poll(e)) {
		KUNIT_FAIL(test, "%s: %llx has no completion", what, wr_id);
		return;
	}
	KUNIT_EXPECT_EQ_MSG(test, e->cqe.wr_id, wr_id, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, WEFT_CQE_STATUS(e->cqe.word), IB_WC_SUCCESS, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, WEFT_CQE_OPCODE(e->cqe.word), opcode, "%s", what);
}

static void expect_same(struct kunit *test, const struct flow *f, u32 at_a, u32 at_b, u32 len)
{
	KUNIT_EXPECT_EQ_MSG(test, memcmp(f->a->memory + at_a, f->b->memory + at_b, len), 0,
			    "%s: %u bytes", what, len);
}

static const u32 lengths[] = { 0, 1, 3, 4, 1424, 1425, 4097, 65536, 100001 };

static void flow_sends(struct kunit *test)
{
	for (u32 i = 0; i < ARRAY_SIZE(odd); i++) {
		struct flow *f = flow_odd(test, i);

		for (u32 k = 0; k < ARRAY_SIZE(lengths); k++) {
			end_receive(f->b, 71 + k, 200000, 150000);
			end_send(f->a, 17 * k, lengths[k]);
			settle();
			expect_same(test, f, 17 * k, 200000, lengths[k]);
			expect_op(test, f->a, 0x1000 + k, WEFT_OP_SEND);
			expect_op(test, f->b, 71 + k, WEFT_OP_RECV);
		}
		end_now(test, f);
	}
}

/* Both ends write at once, and neither byte beside them changes. */
static void flow_writes(struct kunit *test)
{
	u8 *before = zeroed(test, 2 * END_MEMORY);

	for (u32 i = 0; i < ARRAY_SIZE(odd); i++) {
		struct flow *f = flow_odd(test, i);

		for (u32 k = 0; k < ARRAY_SIZE(lengths); k++) {
			memcpy(before, f->a->memory, END_MEMORY);
			memcpy(before + END_MEMORY, f->b->memory, END_MEMORY);
			end_post_to(f->a, WEFT_OP_WRITE, 1, lengths[k], 300001);
			end_post_to(f->b, WEFT_OP_WRITE, 5, lengths[k], 300003);
			end_ring(f->a);
			end_ring(f->b);
			settle();
			expect_op(test, f->a, 0x1000 + k, WEFT_OP_WRITE);
			expect_op(test, f->b, 0x1000 + k, WEFT_OP_WRITE);
			memcpy(before + END_MEMORY + 300001, before + 1, lengths[k]);
			memcpy(before + 300003, before + END_MEMORY + 5, lengths[k]);
			KUNIT_EXPECT_EQ_MSG(test, memcmp(before, f->a->memory, END_MEMORY), 0,
					    "%s: %u", what, lengths[k]);
			KUNIT_EXPECT_EQ_MSG(test, memcmp(before + END_MEMORY, f->b->memory,
							 END_MEMORY), 0,
					    "%s: %u", what, lengths[k]);
		}
		end_now(test, f);
	}
}

/* More reads than are allowed at once, from both ends, behind each other. */
static void flow_reads(struct kunit *test)
{
	for (u32 i = 0; i < ARRAY_SIZE(odd); i++) {
		struct flow *f = flow_odd(test, i);

		for (u32 k = 0; k < 5; k++) {
			end_post_to(f->a, WEFT_OP_READ, 20000 * k, 3 + 4999 * k,
				    250000 + 20000 * k);
			end_post_to(f->b, WEFT_OP_READ, 20000 * k, 3 + 4999 * k,
				    250000 + 20000 * k);
		}
		end_ring(f->a);
		end_ring(f->b);
		settle();
		for (u32 k = 0; k < 5; k++) {
			expect_op(test, f->a, 0x1000 + k, WEFT_OP_READ);
			expect_op(test, f->b, 0x1000 + k, WEFT_OP_READ);
			expect_same(test, f, 20000 * k, 250000 + 20000 * k, 3 + 4999 * k);
			expect_same(test, f, 250000 + 20000 * k, 20000 * k, 3 + 4999 * k);
		}
		end_now(test, f);
	}
}

static u64 *word(struct end *e, u32 offset)
{
	return (u64 *)(e->memory + offset);
}

static void atomic(struct end *e, u8 opcode, u32 result, u32 remote, u64 compare_add, u64 swap)
{
	struct weft_sq_wr *wr = end_wr(e, opcode, result, 8);

	end_remote(wr, remote);
	wr->atomic.operands.compare_add = compare_add;
	wr->atomic.operands.swap = swap;
	end_post(e, wr);
}

static void flow_atomics(struct kunit *test)
{
	for (u32 i = 0; i < ARRAY_SIZE(odd); i++) {
		struct flow *f = flow_odd(test, i);

		*word(f->b, 4096) = 100;
		atomic(f->a, WEFT_OP_FETCH_ADD, 0, 4096, 11, 0);
		atomic(f->a, WEFT_OP_CMP_SWP, 8, 4096, 111, 5);
		atomic(f->a, WEFT_OP_CMP_SWP, 16, 4096, 111, 6);
		atomic(f->a, WEFT_OP_FETCH_ADD, 24, 4096, -6ULL, 0);
		end_ring(f->a);
		settle();
		for (u32 k = 0; k < 4; k++)
			expect_op(test, f->a, 0x1000 + k, k == 0 || k == 3 ?
				    WEFT_OP_FETCH_ADD : WEFT_OP_CMP_SWP);
		KUNIT_EXPECT_EQ(test, *word(f->a, 0), 100ULL);
		KUNIT_EXPECT_EQ(test, *word(f->a, 8), 111ULL);
		KUNIT_EXPECT_EQ(test, *word(f->a, 16), 5ULL);
		KUNIT_EXPECT_EQ(test, *word(f->a, 24), 5ULL);
		KUNIT_EXPECT_EQ(test, *word(f->b, 4096), -1ULL);
		end_now(test, f);
	}
}

/* A fence waits for reads before it; immediate data comes behind the bytes of its Write. */
CASE_WITH(flow_order, struct flow *f, flow_odd(test, 3))
{
	struct weft_sq_wr *wr;

	end_post_to(f->a, WEFT_OP_READ, 0, 5000, 100000);
	wr = end_wr(f->a, WEFT_OP_WRITE_IMM, 0, 5000);
	end_remote(wr, 200000);
	wr->flags |= WEFT_WR_FENCE;
	wr->ex = 77;
	end_post(f->a, wr);
	end_receive(f->b, 71, 0, 0);
	end_ring(f->a);
	settle();
	KUNIT_EXPECT_EQ(test, memcmp(f->b->memory + 100000, f->b->memory + 200000, 5000), 0);
	KUNIT_ASSERT_TRUE(test, end_poll(f->b));
	KUNIT_EXPECT_EQ(test, WEFT_CQE_OPCODE(f->b->cqe.word), WEFT_OP_RECV_WRITE_IMM);
	KUNIT_EXPECT_EQ(test, f->b->cqe.ex, 77U);
	KUNIT_EXPECT_EQ(test, f->b->cqe.byte_len, 5000U);
}

/* The end that asked for what it may not have learns which of its requests that was. */
CASE_WITH(flow_blame, struct flow *f, flow_odd(test, 0))
{
	struct weft_sq_wr *wr = end_wr(f->a, WEFT_OP_READ, 0, 100);

	end_remote(wr, 0);
	wr->rkey = STAG;	/* without the right */
	end_post(f->a, wr);
	end_ring(f->a);
	settle();
	KUNIT_EXPECT_EQ(test, weft_qp_state(f->a->qp), IB_QPS_ERR);
	KUNIT_EXPECT_EQ(test, weft_qp_state(f->b->qp), IB_QPS_ERR);
	KUNIT_EXPECT_EQ(test, f->b->b->event, (int)IB_EVENT_QP_ACCESS_ERR);
	expect_done(test, f->a, 0x1000, IB_WC_REM_ACCESS_ERR);
	KUNIT_EXPECT_EQ(test, end_count(f->b, WEFT_CNT_TX_TERMINATES), 1ULL);
	KUNIT_EXPECT_EQ(test, end_count(f->a, WEFT_CNT_RX_TERMINATES), 1ULL);
}

/* Posts something that only changes @from's peer above @at, or @from itself there. */
static void post_any(struct end *from, u32 *state, u32 at)
{
	u32 len = dice(state, 4) ? dice(state, 3000) : dice(state, 30000);
	struct weft_sq_wr *wr;

	switch (dice(state, 3)) {
	case 0:
		wr = end_wr(from, WEFT_OP_WRITE, dice(state, 1000), len);
		end_remote(wr, at);
		break;
	case 1:
		wr = end_wr(from, WEFT_OP_READ, at, len);
		end_remote(wr, dice(state, 1000));
		break;
	default:
		wr = end_wr(from, WEFT_OP_SEND, dice(state, 1000), len);
	}
	end_post(from, wr);
}

/* Takes receives back that were not used, so that the ring has room. */
static void withdraw(struct end *e)
{
	struct weft_wq_ctl *ctl = e->qp->own_rq.ring.mem;

	e->receives = e->qp->own_rq.ring.head;
	ctl->producer = e->receives;
}

/* All at once, both ways, by a seed: each has one completion, in order, without an error. */
static void flow_mixed(struct kunit *test)
{
	u32 i, k, round, state = 12345, from_a, from_b, done, sent[2];

	for (i = 0; i < ARRAY_SIZE(odd); i++) {
		struct flow *f = flow_odd(test, i);
		struct end *ends[2] = { f->a, f->b };

		for (round = 0; round < 20; round++) {
			from_a = f->a->sends;
			from_b = f->b->sends;
			for (k = 0; k < RECEIVES; k++) {
				end_receive(f->a, 71, 400000, 30000);
				end_receive(f->b, 71, 400000, 30000);
			}
			for (k = 0; k < RECEIVES; k++) {
				post_any(f->a, &state, 200000);
				post_any(f->b, &state, 300000);
			}
			end_ring(f->a);
			end_ring(f->b);
			settle();
			sent[0] = from_a;
			sent[1] = from_b;
			for (k = 0; k < 2; k++) {
				const struct weft_cqe *cqe = &ends[k]->cqe;

				for (done = 0; end_poll(ends[k]);) {
					KUNIT_EXPECT_EQ_MSG(test, WEFT_CQE_STATUS(cqe->word),
							    IB_WC_SUCCESS, "%s", what);
					if (WEFT_CQE_OPCODE(cqe->word) == WEFT_OP_RECV)
						continue;
					KUNIT_EXPECT_EQ(test, cqe->wr_id, 0x1000ULL + sent[k]++);
					done++;
				}
				KUNIT_EXPECT_EQ_MSG(test, done, (u32)RECEIVES, "%s, round %u",
						    what, round);
			}
			withdraw(f->a);
			withdraw(f->b);
		}
		KUNIT_EXPECT_EQ(test, weft_qp_state(f->a->qp), IB_QPS_RTS);
		KUNIT_EXPECT_EQ(test, weft_qp_state(f->b->qp), IB_QPS_RTS);
		end_now(test, f);
	}
}

/* A graceful end at one is the end of the stream at the other, behind all that was sent. */
CASE_WITH(flow_graceful_end, struct flow *f, flow_odd(test, 7))
{
	end_receive(f->b, 71, 200000, 50000);
	end_send(f->a, 0, 50000);
	KUNIT_EXPECT_EQ(test, weft_engine_drain(f->a->qp), 0);
	settle();
	KUNIT_EXPECT_EQ(test, f->a->closing, 1);
	KUNIT_EXPECT_EQ(test, f->b->peer_closed, 0);
	weft_llp_shutdown(&f->a->fake->llp);
	settle();
	KUNIT_EXPECT_GT(test, f->b->peer_closed, 0);
	KUNIT_EXPECT_EQ(test, weft_qp_state(f->b->qp), IB_QPS_RTS);
	expect_same(test, f, 0, 200000, 50000);
	expect_op(test, f->b, 71, WEFT_OP_RECV);
}

A_SUITE(flow, fake, flow_sends, flow_writes, flow_reads, flow_atomics, flow_order, flow_blame,
	flow_mixed, flow_graceful_end);
