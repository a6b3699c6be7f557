// SPDX-License-Identifier: GPL-2.0
/* What is sent on a stream of odd segments that takes bytes as it likes, read byte by byte. */
#include "tx_bench.h"

static const u32 lengths[] = { 0, 1, 2, 3, 4, 5, 100, 127, 1400, 1424, 1425, 5000, 70001 };

/* Posts a SEND of each length at once, and expects these messages and completions. */
static void send_lengths(struct kunit *test, struct tx_bench *t)
{
	u32 i, offset = 0;

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		end_post(t->e, end_wr(t->e, WEFT_OP_SEND, offset, lengths[i]));
		offset += lengths[i] + 13;
	}
	KUNIT_EXPECT_EQ(test, end_ring(t->e), 0);
	drain(test, t);
	for (i = 0, offset = 0; i < ARRAY_SIZE(lengths); i++) {
		expect_message(test, t, send_hdr(i + 1, 0, false), t->e->memory + offset,
			       lengths[i]);
		expect_done(test, t->e, 0x1000 + i, IB_WC_SUCCESS);
		offset += lengths[i] + 13;
	}
	expect_end(test, t);
}

/* Whatever the segment size, messages are cut into whole FPDUs, one at most a segment. */
static void tx_segments(struct kunit *test)
{
	static const u32 sizes[] = { 128, 132, 256, 536, 1220, 1448, 8948, 65532 };

	for (u32 i = 0; i < 2 * ARRAY_SIZE(sizes); i++) {
		struct tx_bench *t;

		fake_script.emss = sizes[i / 2];
		fake_script.fills = i & 2;
		t = bench_new(test);
		t->agreed.crc = i & 1;
		start(test, t, true);
		send_lengths(test, t);
		expect_segments(test, t, sizes[i / 2]);
		end_now(test, t);
	}
}

/* What is posted while a segment waits to be sent goes to the rest of it, if it fits. */
CASE_WITH(tx_fills_segments, struct tx_bench *t, started(test))
{
	t->e->fake->script.fills = true;
	for (u32 i = 0; i < 6; i++) {
		end_send(t->e, i, 101 + 900 * i);
		settle();
	}
	/* One packet buffer for all. */
	KUNIT_EXPECT_EQ(test, skb_queue_len(&t->e->fake->out), 1U);
	drain(test, t);
	expect_segments(test, t, 1448);
	for (u32 i = 0; i < 6; i++)
		expect_message(test, t, send_hdr(i + 1, 0, false), t->e->memory + i, 101 + 900 * i);
	expect_end(test, t);
}

/* A stream that takes a few bytes at a time gets the same messages. */
static void tx_partial_sends(struct kunit *test)
{
	static const u32 bites[] = { 1, 7, 100, 1447, 1449, 5000 };

	for (u32 i = 0; i < ARRAY_SIZE(bites); i++) {
		struct tx_bench *t = started(test);

		t->e->fake->script.bite = bites[i];
		t->e->fake->script.fills = true;
		if (bites[i] < 100) {
			end_send(t->e, 3, 3000);
			drain(test, t);
			expect_message(test, t, send_hdr(1, 0, false), t->e->memory + 3, 3000);
			expect_done(test, t->e, 0x1000, IB_WC_SUCCESS);
			expect_end(test, t);
		} else {
			send_lengths(test, t);
		}
		end_now(test, t);
	}
}

/* No more is handed over than a window has room for, and nothing is done before it is. */
static void tx_windows(struct kunit *test)
{
	static const u32 windows[] = { 60, 1000, 1448, 4000 };
	u32 i, all, got, n;

	for (i = 0; i < ARRAY_SIZE(windows); i++) {
		struct tx_bench *t = started(test);

		t->e->fake->script.window = windows[i];
		end_send(t->e, 0, 20000);
		all = 20000 + DIV_ROUND_UP(20000, 1448 - 24) * 24;
		for (got = 0; got < all; got += n) {
			settle();
			KUNIT_EXPECT_LE(test, t->e->fake->unsent, windows[i]);
			KUNIT_EXPECT_EQ(test, end_poll(t->e),
					got + t->e->fake->unsent >= all);
			n = take(test, t);
			if (!n)
				break;
		}
		KUNIT_EXPECT_EQ(test, got, all);
		expect_message(test, t, send_hdr(1, 0, false), t->e->memory, 20000);
		expect_end(test, t);
		KUNIT_EXPECT_GT(test, end_count(t->e, WEFT_CNT_TX_BLOCKED), 0ULL);
		end_now(test, t);
	}
}

/* What each operation looks like on the wire. */
CASE_WITH(tx_operations, struct tx_bench *t, started(test))
{
	struct weft_read_req req = {};
	struct weft_ddp_hdr want;
	u8 bytes[64];
	struct weft_sq_wr *wr = end_wr(t->e, WEFT_OP_SEND, 0, 10);

	wr->flags |= WEFT_WR_SOLICITED;
	end_post(t->e, wr);
	wr = end_wr(t->e, WEFT_OP_SEND_INV, 0, 11);
	wr->ex = 0x12345678;
	end_post(t->e, wr);
	wr = end_wr(t->e, WEFT_OP_SEND_IMM, 0, 12);
	wr->ex = (__force u32)cpu_to_be32(0xabcdef01);
	end_post(t->e, wr);
	end_post_to(t->e, WEFT_OP_WRITE, 100, 3000, 5);
	wr = end_wr(t->e, WEFT_OP_WRITE_IMM, 100, 30);
	end_remote(wr, 7);
	wr->ex = (__force u32)cpu_to_be32(0x01020304);
	end_post(t->e, wr);
	wr = end_wr(t->e, WEFT_OP_SEND, 0, 0);
	wr->flags |= WEFT_WR_INLINE;
	wr->inline_len = 20;
	memcpy((u8 *)wr + WEFT_SQ_SGE_OFFSET, "twenty bytes in line", 20);
	end_post(t->e, wr);
	end_post_to(t->e, WEFT_OP_READ, 200, 900, 11);
	end_ring(t->e);
	drain(test, t);
	want = send_hdr(1, 0, false);
	want.opcode = WEFT_RDMAP_SEND_SE;
	expect_message(test, t, want, t->e->memory, 10);
	want = send_hdr(2, 0, false);
	want.opcode = WEFT_RDMAP_SEND_INV;
	want.inv_stag = 0x12345678;
	expect_message(test, t, want, t->e->memory, 11);
	want = send_hdr(3, 0, false);
	want.opcode = WEFT_RDMAP_SEND_IMM;
	want.imm = 0xabcdef01;
	expect_message(test, t, want, t->e->memory, 12);
	expect_message(test, t, write_hdr(5, false), t->e->memory + 100, 3000);
	expect_message(test, t, write_hdr(7, false), t->e->memory + 100, 30);
	want = send_hdr(4, 0, false);
	want.opcode = WEFT_RDMAP_IMM;
	memset(bytes, 0, sizeof(bytes));
	put_unaligned_be32(0x01020304, bytes);
	expect_message(test, t, want, bytes, WEFT_IMM_LEN);
	expect_message(test, t, send_hdr(5, 0, false), "twenty bytes in line", 20);
	want = (struct weft_ddp_hdr){ .opcode = WEFT_RDMAP_READ_REQ, .qn = WEFT_QN_READ_REQ,
		.msn = 1 };
	/* The sink is named as the transmit side likes, from 1. */
	req.sink_stag = 1;
	req.size = 900;
	req.src_stag = END_STAG;
	req.src_to = END_IOVA + 11;
	weft_read_req_encode(bytes, &req);
	expect_message(test, t, want, bytes, WEFT_READ_REQ_LEN);
	expect_end(test, t);
}

/* A peer answers so many reads at once: the next waits, and what is behind it. */
CASE_WITH(tx_read_depth, struct tx_bench *t, started(test))
{
	struct weft_ddp_hdr resp = { .opcode = WEFT_RDMAP_READ_RESP, .tagged = true,
		.last = true, .stag = 1 };
	u8 fpdu[64];
	u32 i, n;

	for (i = 0; i < 3; i++)
		end_post_to(t->e, WEFT_OP_READ, 200 * i, 8, 0);
	end_send(t->e, 0, 4);
	drain(test, t);
	for (i = 1; i <= 2; i++) {
		expect_fpdu(test, t, WEFT_RDMAP_READ_REQ);
		KUNIT_EXPECT_EQ(test, t->hdr.msn, i);
	}
	expect_end(test, t);

	n = fpdu_put(fpdu, &resp, "eight by", 8, true);
	fake_feed(t->e->fake, fpdu, n);
	drain(test, t);
	KUNIT_EXPECT_EQ(test, memcmp(t->e->memory, "eight by", 8), 0);
	expect_done(test, t->e, 0x1000, IB_WC_SUCCESS);
	expect_fpdu(test, t, WEFT_RDMAP_READ_REQ);
	expect_fpdu(test, t, WEFT_RDMAP_SEND);
	expect_end(test, t);
}

/* A responder says nothing before the peer's first FPDU has come. */
CASE_WITH(tx_gate, struct tx_bench *t, bench_new(test))
{
	struct weft_ddp_hdr rtr = { .opcode = WEFT_RDMAP_WRITE,
		.tagged = true, .last = true };
	u8 fpdu[64];
	u32 n;

	t->agreed.p2p = true;
	t->agreed.rtr = WEFT_RTR_WRITE;
	start(test, t, false);
	end_send(t->e, 0, 40);
	drain(test, t);
	KUNIT_EXPECT_EQ(test, t->tape->len, 0U);
	KUNIT_EXPECT_TRUE(test, weft_gate_awaits_peer(&t->e->qp->gate));
	KUNIT_EXPECT_FALSE(test, timer_pending(&t->e->qp->worker.timer));
	n = fpdu_put(fpdu, &rtr, NULL, 0, true);
	fake_feed(t->e->fake, fpdu, n);
	drain(test, t);
	KUNIT_EXPECT_FALSE(test, weft_gate_awaits_peer(&t->e->qp->gate));
	expect_message(test, t, send_hdr(1, 0, false), t->e->memory, 40);
	expect_end(test, t);
}

/* If no indication was agreed, a timer opens the gate. */
CASE_WITH(tx_gate_times_out, struct tx_bench *t, bench_new(test))
{
	start(test, t, false);
	end_send(t->e, 0, 40);
	drain(test, t);
	KUNIT_EXPECT_EQ(test, t->tape->len, 0U);
	KUNIT_EXPECT_TRUE(test, timer_pending(&t->e->qp->worker.timer));
}

/* An initiator begins with the indication that was agreed. */
static void tx_ready(struct kunit *test)
{
	static const struct {
		u8 rtr, opcode;
		u32 len;
	} kinds[] = {
		{ WEFT_RTR_SEND, WEFT_RDMAP_SEND, 0 }, { WEFT_RTR_WRITE, WEFT_RDMAP_WRITE, 0 },
		{ WEFT_RTR_READ, WEFT_RDMAP_READ_REQ, WEFT_READ_REQ_LEN },
	};

	for (u32 i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct tx_bench *t = bench_new(test);

		t->agreed.p2p = true;
		t->agreed.rtr = kinds[i].rtr;
		start(test, t, true);
		end_send(t->e, 0, 4);
		drain(test, t);
		expect_fpdu(test, t, kinds[i].opcode);
		KUNIT_EXPECT_EQ(test, t->n, kinds[i].len);
		KUNIT_ASSERT_TRUE(test, next_fpdu(test, t));
		KUNIT_EXPECT_EQ(test, t->n, 4U);
		expect_end(test, t);
		end_now(test, t);
	}
}

/* Between two Weft ends FPDUs are as long as packet buffers, and end where segments do. */
CASE_WITH(tx_large_fpdus, struct tx_bench *t, bench_new(test))
{
	u32 fpdus, at, len, wrong = 0;

	t->e->b->dev.settings.value[WEFT_SET_FPDU] = WEFT_FPDU_LARGE;
	start(test, t, true);
	end_post_to(t->e, WEFT_OP_WRITE, 0, 300000, 0);
	end_ring(t->e);
	drain(test, t);
	for (at = 0; at < t->tape->len; at += len) {
		len = weft_fpdu_len(get_unaligned_be16(t->tape->bytes + at));
		wrong += at + len < t->tape->len && len % 1448;
	}
	KUNIT_EXPECT_EQ(test, wrong, 0U);
	fpdus = expect_message(test, t, write_hdr(0, false), t->e->memory, 300000);
	KUNIT_EXPECT_EQ(test, fpdus, DIV_ROUND_UP(300000U, 45 * 1448 - 20U));
	expect_end(test, t);
}

/* Small messages follow one another in one packet buffer, across the ends of segments. */
CASE_WITH(tx_large_packs, struct tx_bench *t, bench_new(test))
{
	t->e->b->dev.settings.value[WEFT_SET_FPDU] = WEFT_FPDU_LARGE;
	start(test, t, true);
	/* Of 236 bytes each, of which six fit in a segment, with 32 to spare. */
	for (u32 i = 0; i < 8; i++)
		end_post(t->e, end_wr(t->e, WEFT_OP_SEND, i, 210));
	end_ring(t->e);
	settle();
	KUNIT_EXPECT_EQ(test, skb_queue_len(&t->e->fake->out), 1U);
	drain(test, t);
	for (u32 i = 0; i < 8; i++) {
		KUNIT_EXPECT_EQ(test, expect_message(test, t, send_hdr(i + 1, 0, false),
						     t->e->memory + i, 210), 1U);
	}
	expect_end(test, t);
}

/*
 * The answer to a read of almost 4 GiB, behind a short message in the same chunk: its FPDU gets
 * memory of its own, though its length, header and CRC added, would wrap to a few bytes.
 * Only its beginning is taken: the worker, which sends on meanwhile, would leave END_MEMORY.
 */
static void tx_huge_answer(struct kunit *test)
{
	const struct weft_read_req req = {
		.src_stag = END_STAG, .src_to = END_IOVA, .size = 0xfffffff0,
	};
	const struct weft_chunks *chunks;
	struct tx_bench *t;

	fake_script.emss = 8948;
	fake_script.window = 20000;
	t = started(test);
	t->e->mr.length = 0x200000000ULL;
	weft_llp_call(t->e->qp->llp, lock);
	weft_peer_reads_push(&t->e->qp->peer_reads, &(struct weft_peer_read){ .read_req = req });
	weft_llp_call(t->e->qp->llp, unlock);
	end_send(t->e, 0, 2000);
	settle();
	KUNIT_EXPECT_EQ(test, weft_qp_state(t->e->qp), IB_QPS_RTS);
	chunks = &tx_of(t->e->qp)->batch.chunks;
	for (u32 i = 0; i < chunks->num; i++)
		KUNIT_EXPECT_LE(test, chunks->chunk[i].fill, chunks->chunk[i].size);
	while (t->tape->len < fake_script.window && take_one(test, t))
		;
	expect_message(test, t, send_hdr(1, 0, false), t->e->memory, 2000);
	expect_fpdu(test, t, WEFT_RDMAP_READ_RESP);
	KUNIT_EXPECT_EQ(test, memcmp(t->payload, t->e->memory, t->n), 0);
	fake_die(t->e->fake, -ECONNRESET);
	settle();
}

/* An end with much to send, whose stream takes little. */
static struct tx_bench *stuck(struct kunit *test)
{
	struct tx_bench *t = started(test);

	t->e->fake->script.window = 3000;
	end_send(t->e, 0, 200000);
	settle();
	return t;
}

/* Who fails tells the peer why, at the end of an FPDU, and then its connection. */
CASE_WITH(tx_terminate, struct tx_bench *t, stuck(test))
{
	const struct weft_term why = { WEFT_TERM_RDMAP, WEFT_RDMAP_PROTECTION, WEFT_RP_ACCESS };
	struct weft_term said = {};
	u32 msn;
	u8 op;

	weft_qp_fail(t->e->qp, &why, IB_EVENT_QP_ACCESS_ERR);
	settle();
	KUNIT_EXPECT_EQ(test, t->e->b->event, (int)IB_EVENT_QP_ACCESS_ERR);
	/* The stream takes nothing now: that is waited for, and given up when time is up. */
	KUNIT_EXPECT_EQ(test, t->e->failed, 0);
	weft_baton_lock(&t->e->qp->tx_lock);
	t->e->qp->ending.drain_until = jiffies - 1;
	weft_qp_unlock(t->e->qp);
	weft_qp_kick(t->e->qp);
	settle();
	KUNIT_EXPECT_EQ(test, t->e->failed, 1);
	end_now(test, t);
	/* Its destruction waits for no peer. */
	t = stuck(test);
	weft_qp_fail(t->e->qp, &why, IB_EVENT_QP_ACCESS_ERR);
	settle();
	KUNIT_EXPECT_EQ(test, t->e->failed, 0);
	WRITE_ONCE(t->e->qp->dying, true);
	weft_engine_error(t->e->qp);
	settle();
	KUNIT_EXPECT_EQ(test, t->e->failed, 1);
	end_now(test, t);
	/* If it has room, the Terminate comes behind what was laid out before. */
	t = stuck(test);
	weft_qp_fail(t->e->qp, &why, IB_EVENT_QP_ACCESS_ERR);
	drain(test, t);
	KUNIT_EXPECT_EQ(test, t->e->failed, 1);
	do {
		KUNIT_ASSERT_TRUE(test, next_fpdu(test, t));
	} while (t->hdr.opcode == WEFT_RDMAP_SEND);
	KUNIT_EXPECT_EQ(test, t->hdr.opcode, (u8)WEFT_RDMAP_TERMINATE);
	expect_end(test, t);
	end_now(test, t);
	t = started(test);
	weft_qp_fail(t->e->qp, &why, IB_EVENT_QP_ACCESS_ERR);
	KUNIT_EXPECT_EQ(test, t->e->failed, 0);
	drain(test, t);
	KUNIT_EXPECT_EQ(test, t->e->failed, 1);
	expect_fpdu(test, t, WEFT_RDMAP_TERMINATE);
	KUNIT_EXPECT_TRUE(test, t->hdr.last);
	KUNIT_EXPECT_TRUE(test, weft_term_decode(t->payload, t->n, &said, &op, &msn));
	KUNIT_EXPECT_EQ(test, said.layer, why.layer);
	KUNIT_EXPECT_EQ(test, said.etype, why.etype);
	KUNIT_EXPECT_EQ(test, said.code, why.code);
	expect_end(test, t);
}

/* A work request that cannot be done fails with its reason, and those behind it are flushed. */
CASE_WITH(tx_bad_request, struct tx_bench *t, started(test))
{
	struct weft_sq_wr *wr;

	end_post(t->e, end_wr(t->e, WEFT_OP_SEND, 0, 3000));
	wr = end_wr(t->e, WEFT_OP_SEND, 0, 100);
	wr->sge[0].lkey++;
	end_post(t->e, wr);
	end_send(t->e, 0, 10);
	drain(test, t);
	expect_message(test, t, send_hdr(1, 0, false), t->e->memory, 3000);
	expect_fpdu(test, t, WEFT_RDMAP_TERMINATE);
	expect_end(test, t);
	KUNIT_EXPECT_EQ(test, t->e->failed, 1);
	expect_done(test, t->e, 0x1000, IB_WC_SUCCESS);
	expect_done(test, t->e, 0x1001, IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_TRUE(test, end_stop(t->e));
	expect_done(test, t->e, 0x1002, IB_WC_WR_FLUSH_ERR);
}

/* A stream that dies takes what was posted with it, in order. */
CASE_WITH(tx_stream_dies, struct tx_bench *t, started(test))
{
	t->e->fake->script.window = 5000;
	for (u32 i = 0; i < 5; i++)
		end_post(t->e, end_wr(t->e, WEFT_OP_SEND, 0, 2000));
	end_ring(t->e);
	settle();
	fake_die(t->e->fake, -ETIMEDOUT);
	weft_qp_kick(t->e->qp);
	settle();
	KUNIT_EXPECT_EQ(test, t->e->failed, 1);
	KUNIT_EXPECT_EQ(test, weft_qp_state(t->e->qp), IB_QPS_ERR);
	KUNIT_EXPECT_TRUE(test, end_stop(t->e));
	for (u32 i = 0; i < 5; i++)
		expect_done(test, t->e, 0x1000 + i, i < 2 ? IB_WC_SUCCESS : IB_WC_WR_FLUSH_ERR);
}

/* A request whose completion finds no room ends the connection. */
CASE_WITH(tx_lost_completion, struct tx_bench *t, started(test))
{
	t->e->b->cq.ring.size = 1;
	for (u32 i = 0; i < 2; i++)
		end_post(t->e, end_wr(t->e, WEFT_OP_SEND, 0, 100));
	end_ring(t->e);
	settle();
	KUNIT_EXPECT_EQ(test, t->e->failed, 1);
	KUNIT_EXPECT_EQ(test, t->e->b->event, (int)IB_EVENT_QP_FATAL);
	KUNIT_EXPECT_EQ(test, weft_qp_state(t->e->qp), IB_QPS_ERR);
	expect_done(test, t->e, 0x1000, IB_WC_SUCCESS);
}

/* A graceful end is told when all that was begun has been taken, and begins nothing. */
CASE_WITH(tx_graceful_end, struct tx_bench *t, started(test))
{
	t->e->fake->script.window = 3000;
	end_send(t->e, 0, 20000);
	settle();
	KUNIT_EXPECT_EQ(test, weft_engine_drain(t->e->qp), 0);
	end_send(t->e, 0, 100);
	settle();
	KUNIT_EXPECT_EQ(test, t->e->closing, 0);
	drain(test, t);
	KUNIT_EXPECT_EQ(test, t->e->closing, 1);
	KUNIT_EXPECT_EQ(test, t->e->failed, 0);
	expect_message(test, t, send_hdr(1, 0, false), t->e->memory, 20000);
	expect_end(test, t);
	expect_done(test, t->e, 0x1000, IB_WC_SUCCESS);
}

/* Bytes that were handed over stay as they are, whatever is laid out next. */
CASE_WITH(tx_bytes_stay, struct tx_bench *t, started(test))
{
	t->e->fake->script.fills = true;
	for (u32 i = 0; i < 100; i++) {
		memset(t->e->memory, i, 3000);
		end_send(t->e, 0, 10 + 27 * i);
		settle();
		KUNIT_ASSERT_TRUE(test, end_poll(t->e));
	}
	drain(test, t);
	for (u32 i = 0; i < 100; i++) {
		memset(t->e->memory, i, 3000);
		expect_message(test, t, send_hdr(i + 1, 0, false), t->e->memory, 10 + 27 * i);
	}
	expect_end(test, t);
}

A_SUITE(tx, fake, tx_segments, tx_fills_segments, tx_partial_sends, tx_windows, tx_operations,
	tx_read_depth, tx_gate, tx_gate_times_out, tx_ready, tx_large_fpdus, tx_large_packs,
	tx_huge_answer, tx_terminate, tx_bad_request, tx_stream_dies, tx_lost_completion,
	tx_graceful_end, tx_bytes_stay);
