// SPDX-License-Identifier: GPL-2.0
/* FPDUs that are damaged, cannot be read, or ask for what is wrong, and the peer's Terminate. */
#include "rx_bench.h"

/* A damaged byte, wherever it is, is noticed before anything is placed or completed. */
static void rx_damage(struct kunit *test)
{
	u32 at, cut, all;

	for (cut = 0; cut <= 17; cut += 17) {
		for (at = 0, all = 1; at < all; at++) {
			struct rx_bench *r = bench_new(test, true);
			struct weft_term why;

			end_receive(r->e, 71, 3000, 200);
			put(r, send_hdr(1, 0, true), text, 33);
			all = r->len;
			r->e->fake->damage = at + 1;
			r->e->fake->script.cut = cut;
			fake_feed(r->e->fake, r->tape, r->len);
			/* A length that is damaged may announce more: it does not come. */
			if (at < 2)
				fake_fin(r->e->fake);
			why = terminate(r);
			KUNIT_EXPECT_EQ_MSG(test, weft_qp_state(r->e->qp), IB_QPS_ERR,
					    "byte %u, cut %u", at, cut);
			if (at >= 2) {
				KUNIT_EXPECT_EQ_MSG(test, why.layer, (u8)WEFT_TERM_LLP,
						    "byte %u, cut %u", at, cut);
				KUNIT_EXPECT_EQ(test, why.code, (u8)WEFT_MPA_CRC);
				KUNIT_EXPECT_EQ(test, end_count(r->e, WEFT_CNT_RX_CRC_ERRORS),
						1ULL);
			}
			KUNIT_EXPECT_PTR_EQ(test, memchr_inv(r->e->memory, 0, END_MEMORY), NULL);
			expect_none(test, r->e);
			end_now(test, r);
		}
		KUNIT_EXPECT_EQ(test, all, weft_fpdu_len(WEFT_DDP_UNTAGGED_LEN + 33));
	}
}

/* Of frames that differ in their place alone, one is damaged: those before it are placed. */
CASE_WITH(rx_row_damage, struct rx_bench *r, bench_new(test, true))
{
	const u32 frames = 6, bad = 4, piece = 16;
	struct weft_term why;

	for (u32 i = 0; i < frames; i++)
		put(r, write_hdr(1000 + i * piece, false), text, piece);
	r->e->fake->damage = bad * (r->len / frames) + WEFT_MPA_LEN + WEFT_DDP_TAGGED_LEN + 1;
	fake_feed(r->e->fake, r->tape, r->len);
	why = terminate(r);
	KUNIT_EXPECT_EQ(test, why.layer, (u8)WEFT_TERM_LLP);
	KUNIT_EXPECT_EQ(test, why.code, (u8)WEFT_MPA_CRC);
	for (u32 i = 0; i < bad; i++)
		KUNIT_EXPECT_EQ(test, memcmp(r->e->memory + 1000 + i * piece, text, piece), 0);
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(r->e->memory + 1000 + bad * piece, 0,
					     END_MEMORY - 1000 - bad * piece), NULL);
}

/* A list of buffers within a list, which is not looked at. */
CASE_WITH(rx_unreadable, struct rx_bench *r, bench_new(test, true))
{
	struct fake *f = r->e->fake;
	struct sk_buff *skb, *part[2];
	struct weft_term why;

	put(r, write_hdr(1000, true), text, 21);
	f->lowat = r->len;
	fake_feed(f, r->tape, 8);
	mutex_lock(&f->lock);
	skb = skb_peek_tail(&f->in);
	for (u32 i = 0; i < ARRAY_SIZE(part); i++) {
		part[i] = must(test, alloc_skb(4, GFP_KERNEL));
		skb_put_data(part[i], r->tape + 12 - 4 * i, 4);
	}
	skb_shinfo(part[1])->frag_list = part[0];
	part[1]->len += 4;
	part[1]->data_len += 4;
	skb_shinfo(skb)->frag_list = part[1];
	skb->len += 8;
	skb->data_len += 8;
	f->unread += 8;
	mutex_unlock(&f->lock);
	fake_feed(f, r->tape + 16, r->len - 16);
	why = terminate(r);
	KUNIT_EXPECT_EQ(test, why.layer, (u8)WEFT_TERM_RDMAP);
	KUNIT_EXPECT_EQ(test, why.etype, (u8)WEFT_RDMAP_LOCAL);
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(r->e->memory, 0, END_MEMORY), NULL);
}

/* An FPDU that is its message's last, and what is wrong with one. */
#define HDR(op, ...)	{ .opcode = WEFT_RDMAP_##op, .last = true, __VA_ARGS__ }
#define A_WRITE(key, at) HDR(WRITE, .tagged = true, .stag = (key), .to = (at))
#define UNTAGGED(code)	{ WEFT_TERM_DDP, WEFT_DDP_UNTAGGED_BUFFER, WEFT_DU_##code }
#define TAGGED(code)	{ WEFT_TERM_DDP, WEFT_DDP_TAGGED_BUFFER, WEFT_DT_##code }
#define OPERATION(code)	{ WEFT_TERM_RDMAP, WEFT_RDMAP_OPERATION, WEFT_RO_##code }

/* What a receiver must not take, and what it calls it. */
static void rx_refused(struct kunit *test)
{
	static const struct {
		const char *what;
		struct weft_ddp_hdr hdr;
		u32 len;
		struct weft_term term;
		u8 version;	/* first bytes that the encoder would not write */
		u8 rdmap;
	} cases[] = {
		{ "a SEND's number", HDR(SEND, .msn = 2), 4, UNTAGGED(MSN_RANGE) },
		{ "a SEND's offset", HDR(SEND, .msn = 1, .mo = 1), 4, UNTAGGED(MO) },
		{ "too long for its receive", HDR(SEND, .msn = 1), 101, UNTAGGED(TOO_LONG) },
		{ "a queue that is not the opcode's", HDR(SEND, .qn = 1, .msn = 1), 4,
		  OPERATION(OPCODE) },
		{ "a queue that is none", HDR(SEND, .qn = 9, .msn = 1), 4, UNTAGGED(QN) },
		{ "a key that nobody has", A_WRITE(0x12300, END_IOVA), 4, TAGGED(STAG) },
		{ "another domain's key", A_WRITE(STAG_OTHER_PD, IOVA), 4, TAGGED(NOT_ASSOCIATED) },
		{ "a key without the right", A_WRITE(STAG, IOVA), 4, TAGGED(STAG) },
		{ "behind the end", A_WRITE(END_STAG, END_IOVA + END_MEMORY - 3), 4,
		  TAGGED(BOUNDS) },
		{ "around the end", A_WRITE(END_STAG, U64_MAX - 1), 4, TAGGED(WRAP) },
		{ "a key not to be invalidated", HDR(SEND_INV, .msn = 1, .inv_stag = END_STAG), 4,
		  { WEFT_TERM_RDMAP, WEFT_RDMAP_PROTECTION, WEFT_RO_CANNOT_INVALIDATE } },
		{ "a read's number", HDR(READ_REQ, .qn = 1, .msn = 3), WEFT_READ_REQ_LEN,
		  UNTAGGED(MSN_RANGE) },
		{ "too long a read", HDR(READ_REQ, .qn = 1, .msn = 1), WEFT_READ_REQ_LEN + 1,
		  UNTAGGED(TOO_LONG) },
		{ "an answer that nobody asked for", HDR(READ_RESP, .tagged = true, .stag = 1), 4,
		  TAGGED(STAG) },
		{ "an opcode that is none", { .opcode = 15, .last = true, .msn = 1 }, 4,
		  OPERATION(OPCODE) },
		{ "DDP's version", HDR(SEND, .msn = 1), 4, UNTAGGED(VERSION), .version = 1 },
		{ "RDMAP's version", HDR(SEND, .msn = 1), 4, OPERATION(VERSION), .rdmap = 1 },
	};
	static const u8 zeroes[200];
	u32 i, cut;

	for (i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		struct rx_bench *r = bench_new(test, true);
		const char *what = cases[i / 2].what;
		struct weft_term why;
		u32 end;

		cut = i & 1 ? 5 : 0;
		end_receive(r->e, 71, 3000, 100);
		put(r, cases[i / 2].hdr, zeroes, cases[i / 2].len);
		if (cases[i / 2].version)
			r->tape[WEFT_MPA_LEN] ^= 2;
		if (cases[i / 2].rdmap)
			r->tape[WEFT_MPA_LEN + 1] ^= 0x80;
		end = r->len - WEFT_CRC_LEN;
		put_unaligned_le32(~crc32c(WEFT_CRC_SEED, r->tape, end), r->tape + end);
		r->e->fake->script.cut = cut;
		fake_feed(r->e->fake, r->tape, r->len);
		why = terminate(r);
		KUNIT_EXPECT_EQ_MSG(test, weft_qp_state(r->e->qp), IB_QPS_ERR, "%s", what);
		KUNIT_EXPECT_EQ_MSG(test, why.layer, cases[i / 2].term.layer, "%s", what);
		KUNIT_EXPECT_EQ_MSG(test, why.etype, cases[i / 2].term.etype, "%s", what);
		KUNIT_EXPECT_EQ_MSG(test, why.code, cases[i / 2].term.code, "%s", what);
		KUNIT_EXPECT_EQ_MSG(test, r->e->failed, 1, "%s", what);
		KUNIT_EXPECT_PTR_EQ(test, memchr_inv(r->e->memory, 0, END_MEMORY), NULL);
		end_now(test, r);
	}
}

CASE_WITH(rx_read_depth, struct rx_bench *r, bench_new(test, true))
{
	struct weft_ddp_hdr hdr = { .opcode = WEFT_RDMAP_READ_REQ, .last = true, .qn = 1 };
	struct weft_read_req req = { .sink_stag = 9, .size = 0 };
	u8 bytes[WEFT_READ_REQ_LEN];

	weft_read_req_encode(bytes, &req);
	for (u32 i = 1; i <= 3; i++) {
		hdr.msn = i;
		put(r, hdr, bytes, sizeof(bytes));
	}
	/* In one packet buffer: nothing can be answered in between. */
	fake_feed(r->e->fake, r->tape, r->len);
	KUNIT_EXPECT_EQ(test, weft_qp_state(r->e->qp), IB_QPS_ERR);
	KUNIT_EXPECT_EQ(test, r->e->b->event, (int)IB_EVENT_QP_REQ_ERR);
	settle();
}

/* A Terminate of the peer's. */
static const struct weft_term term = { WEFT_TERM_RDMAP, WEFT_RDMAP_PROTECTION, WEFT_RP_ACCESS };
static const struct weft_ddp_hdr term_hdr = {
	.opcode = WEFT_RDMAP_TERMINATE, .last = true, .qn = WEFT_QN_TERMINATE, .msn = 1,
};

/* The peer's Terminate ends the queue pair, which has nothing to say to it. */
static void rx_terminate(struct kunit *test)
{
	u8 bytes[WEFT_TERM_MAX_LEN];
	u32 cut, n;

	for (cut = 0; cut < 20; cut++) {
		struct rx_bench *r = bench_new(test, true);

		n = weft_term_encode(bytes, &term, NULL, 0, 0);
		put(r, term_hdr, bytes, n);
		r->e->fake->script.cut = cut;
		fake_feed(r->e->fake, r->tape, r->len);
		KUNIT_EXPECT_EQ(test, terminate(r).layer, 0xff);
		KUNIT_EXPECT_EQ(test, weft_qp_state(r->e->qp), IB_QPS_ERR);
		KUNIT_EXPECT_EQ(test, r->e->b->event, (int)IB_EVENT_QP_FATAL);
		KUNIT_EXPECT_EQ(test, r->e->failed, 1);
		KUNIT_EXPECT_EQ(test, end_count(r->e, WEFT_CNT_RX_TERMINATES), 1ULL);
		end_now(test, r);
	}
}

/* Of two READs the peer's Terminate names the second, which alone was not allowed. */
CASE_WITH(rx_terminate_names, struct rx_bench *r, bench_new(test, true))
{
	u8 bytes[WEFT_TERM_MAX_LEN], asked[WEFT_DDP_UNTAGGED_LEN + WEFT_READ_REQ_LEN] = {};
	const struct weft_ddp_hdr read = { .opcode = WEFT_RDMAP_READ_REQ, .last = true,
		.qn = WEFT_QN_READ_REQ, .msn = 2 };
	u32 i, n;

	for (i = 0; i < 2; i++)
		end_post_to(r->e, WEFT_OP_READ, 200 * i, 8, 0);
	end_ring(r->e);
	settle();
	KUNIT_ASSERT_GT(test, fake_take(r->e->fake, r->said, TAPE), 0U);
	weft_ddp_encode(asked, &read);
	n = weft_term_encode(bytes, &term, asked, sizeof(asked), sizeof(asked));
	put(r, term_hdr, bytes, n);
	feed(r);
	end_stop(r->e);
	expect_recv(test, r->e, 0x1000, 0, IB_WC_WR_FLUSH_ERR);
	expect_recv(test, r->e, 0x1001, 0, IB_WC_REM_ACCESS_ERR);
	expect_none(test, r->e);
}

/* An answer to another atomic ends the queue pair, and completes none. */
CASE_WITH(rx_foreign_answer, struct rx_bench *r, bench_new(test, true))
{
	static const struct weft_ddp_hdr hdr =
		HDR(ATOMIC_RESP, .qn = WEFT_QN_ATOMIC_RESP, .msn = 1);
	static const struct weft_atomic_resp answer = { .id = 0xbad };
	struct weft_sq_wr *wr = end_wr(r->e, WEFT_OP_FETCH_ADD, 0, 8);
	u8 bytes[WEFT_ATOMIC_RESP_LEN];

	end_remote(wr, 4096);
	end_post(r->e, wr);
	end_ring(r->e);
	settle();
	KUNIT_ASSERT_GT(test, fake_take(r->e->fake, r->said, TAPE), 0U);
	weft_atomic_resp_encode(bytes, &answer);
	put(r, hdr, bytes, sizeof(bytes));
	feed(r);
	KUNIT_EXPECT_EQ(test, terminate(r).code, (u8)WEFT_RO_CATASTROPHIC_STREAM);
	end_stop(r->e);
	expect_recv(test, r->e, 0x1000, 0, IB_WC_WR_FLUSH_ERR);
	expect_none(test, r->e);
}

A_SUITE(rx_wrong, fake, rx_damage, rx_row_damage, rx_unreadable, rx_refused, rx_read_depth,
	rx_terminate, rx_terminate_names, rx_foreign_answer);
