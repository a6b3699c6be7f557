// SPDX-License-Identifier: GPL-2.0
/* FPDUs cut at every place, receives that are not posted, and the end of the stream. */
#include "rx_bench.h"
#include "scarce.h"

/* A Write of two segments, a SEND of three and an empty one, and a Write of a byte. */
static void put_all(struct rx_bench *r)
{
	put(r, write_hdr(1000, false), text, 21);
	put(r, write_hdr(1021, true), text + 21, sizeof(text) - 21);
	put(r, send_hdr(1, 0, false), text, 16);
	put(r, send_hdr(1, 16, false), text + 16, 16);
	put(r, send_hdr(1, 32, true), text + 32, sizeof(text) - 32);
	put(r, send_hdr(2, 0, true), NULL, 0);
	put(r, write_hdr(5000, true), "!", 1);
}

static void expect_all(struct kunit *test, struct rx_bench *r, const char *what, u32 cut)
{
	settle();
	KUNIT_EXPECT_EQ_MSG(test, weft_qp_state(r->e->qp), IB_QPS_RTS, "%s %u", what, cut);
	KUNIT_EXPECT_EQ_MSG(test, memcmp(r->e->memory + 1000, text, sizeof(text)), 0,
			    "%s %u: the write", what, cut);
	KUNIT_EXPECT_EQ_MSG(test, memcmp(r->e->memory + 3000, text, sizeof(text)), 0,
			    "%s %u: the send", what, cut);
	KUNIT_EXPECT_EQ(test, r->e->memory[5000], '!');
	expect_recv(test, r->e, 71, sizeof(text), IB_WC_SUCCESS);
	expect_recv(test, r->e, 72, 0, IB_WC_SUCCESS);
	expect_none(test, r->e);
	KUNIT_EXPECT_EQ(test, r->e->fake->unread, 0U);
}

static struct rx_bench *ready(struct kunit *test, bool crc)
{
	struct rx_bench *r = bench_new(test, crc);

	end_receive(r->e, 71, 3000, 200);
	end_receive(r->e, 72, 0, 0);
	put_all(r);
	return r;
}

static void rx_pieces(struct kunit *test)
{
	for (u32 crc = 0; crc < 2; crc++) {
		for (u32 cut = 1; cut < 60; cut++) {
			struct rx_bench *r = ready(test, crc);

			r->e->fake->script.cut = cut;
			fake_feed(r->e->fake, r->tape, r->len);
			expect_all(test, r, crc ? "CRC, pieces of" : "pieces of", cut);
			end_now(test, r);
		}
	}
}

static void rx_cuts(struct kunit *test)
{
	u32 cut, crc;

	for (crc = 0; crc < 2; crc++) {
		for (cut = 1; cut < 400; cut++) {
			struct rx_bench *r = ready(test, crc);

			if (cut >= r->len) {
				end_now(test, r);
				break;
			}
			fake_feed(r->e->fake, r->tape, cut);
			settle();
			fake_feed(r->e->fake, r->tape + cut, r->len - cut);
			expect_all(test, r, crc ? "CRC, cut at" : "cut at", cut);
			end_now(test, r);
		}
		/* All of it was cut. */
		KUNIT_EXPECT_LT(test, cut, 400U);
	}
}

/* A stream that cannot hold an FPDU until its CRC has come: it is staged, and then placed. */
static void rx_stage(struct kunit *test)
{
	static const u32 cuts[] = { 100, 1000, 1448 };
	u32 i, fed, n;

	for (i = 0; i < ARRAY_SIZE(cuts); i++) {
		struct rx_bench *r = bench_new(test, true);
		u8 *payload = zeroed(test, 30000);

		memset(payload, 0xa5, 30000);
		payload[29999] = 1;
		put(r, write_hdr(0, true), payload, 30000);
		r->e->fake->script.hold = 2000;
		r->e->fake->script.cut = cuts[i];
		for (fed = 0; fed < r->len; fed += n) {
			n = min(r->len - fed, cuts[i]);
			KUNIT_EXPECT_NE(test, r->e->memory[29999], 1);
			fake_feed(r->e->fake, r->tape + fed, n);
			settle();
		}
		KUNIT_EXPECT_EQ(test, memcmp(r->e->memory, payload, 30000), 0);
		KUNIT_EXPECT_EQ(test, weft_qp_state(r->e->qp), IB_QPS_RTS);
		KUNIT_EXPECT_EQ(test, end_count(r->e, WEFT_CNT_RX_STAGED_FPDUS), 1ULL);
		end_now(test, r);
	}
}

/* Runs the function of a timer that is due some time. Returns false if it is not. */
static bool run_timer(struct timer_list *timer)
{
	bool due = timer_delete_sync(timer);

	if (due)
		timer->function(timer);
	return due;
}

/* Without memory for the stage the stream keeps the FPDU: at its begin, and amid it. */
static void rx_stage_starves(struct kunit *test)
{
	u8 *payload = zeroed(test, 30000);
	u32 kind, fed, n;

	memset(payload, 0xa5, 30000);
	for (kind = 0; kind < 3; kind++) {
		struct rx_bench *r = bench_new(test, true);
		struct timer_list *retry = &rx_of(r->e->qp)->rnr;

		put(r, write_hdr(0, true), payload, 30000);
		r->e->fake->script.hold = 2000;
		scarce = (struct scarce){ .bytes = kind == 0, .pages = kind == 1 };
		for (fed = 0; fed < r->len; fed += n) {
			n = min(r->len - fed, 1000U);
			/* In the third run memory ends midway. */
			if (kind == 2 && fed == 15000)
				scarce.pages = true;
			fake_feed(r->e->fake, r->tape + fed, n);
			if (scarce.refused) {
				KUNIT_EXPECT_TRUE(test, rx_of(r->e->qp)->framer.starved);
				KUNIT_EXPECT_TRUE(test, timer_pending(retry));
				scarce = (struct scarce){};
			}
			run_timer(retry);
			settle();
		}
		KUNIT_EXPECT_FALSE(test, rx_of(r->e->qp)->framer.starved);
		KUNIT_EXPECT_EQ(test, weft_qp_state(r->e->qp), IB_QPS_RTS);
		KUNIT_EXPECT_EQ(test, memcmp(r->e->memory, payload, 30000), 0);
		KUNIT_EXPECT_EQ(test, end_count(r->e, WEFT_CNT_RX_STAGED_FPDUS), 1ULL);
		end_now(test, r);
	}
	scarce = (struct scarce){};
}

/* An FPDU without a stage that then comes whole leaves no wait for memory behind. */
CASE_WITH(rx_starves_no_longer, struct rx_bench *r, bench_new(test, true))
{
	u8 *payload = zeroed(test, 30000);
	struct timer_list *retry = &rx_of(r->e->qp)->rnr;
	u32 fed;

	memset(payload, 0xa5, 30000);
	put(r, write_hdr(0, true), payload, 30000);
	r->e->fake->script.hold = 2000;
	scarce = (struct scarce){ .bytes = true };
	for (fed = 0; fed < 5000 && !scarce.refused; fed += 1000)
		fake_feed(r->e->fake, r->tape + fed, 1000);
	KUNIT_EXPECT_TRUE(test, rx_of(r->e->qp)->framer.starved);
	scarce = (struct scarce){};
	r->e->fake->script.hold = 4 << 20;
	fake_feed(r->e->fake, r->tape + fed, r->len - fed);
	run_timer(retry);
	settle();
	KUNIT_EXPECT_FALSE(test, rx_of(r->e->qp)->framer.starved);
	KUNIT_EXPECT_FALSE(test, timer_pending(retry));
	KUNIT_EXPECT_EQ(test, memcmp(r->e->memory, payload, 30000), 0);
	KUNIT_EXPECT_EQ(test, end_count(r->e, WEFT_CNT_RX_STAGED_FPDUS), 0ULL);
}

/* A SEND that finds no receive stops the reading, and goes on with the next that is posted. */
static void rx_no_receive(struct kunit *test)
{
	for (u32 crc = 0; crc < 2; crc++) {
		for (u32 cut = 0; cut < 50; cut += 7) {
			struct rx_bench *r = bench_new(test, crc);

			put_all(r);
			r->e->fake->script.cut = cut;
			feed(r);
			KUNIT_EXPECT_EQ(test, memcmp(r->e->memory + 1000, text, sizeof(text)), 0);
			KUNIT_EXPECT_EQ(test, r->e->memory[5000], 0);
			expect_none(test, r->e);
			end_receive(r->e, 71, 3000, 200);
			settle();
			KUNIT_EXPECT_EQ(test, r->e->memory[5000], 0);
			end_receive(r->e, 72, 0, 0);
			expect_all(test, r, "late receives, pieces of", cut);
			KUNIT_EXPECT_EQ(test, end_count(r->e, WEFT_CNT_RNR_STALLS), 2ULL);
			end_now(test, r);
		}
	}
}

/* A SEND waits for a receive, and the time of that wait is up. */
static struct rx_bench *waiting(struct kunit *test)
{
	struct rx_bench *r = bench_new(test, true);

	put(r, send_hdr(1, 0, true), text, 33);
	feed(r);
	KUNIT_EXPECT_TRUE(test, rx_of(r->e->qp)->stalled);
	return r;
}

static void time_is_up(struct kunit *test, struct rx_bench *r)
{
	KUNIT_EXPECT_TRUE(test, run_timer(&rx_of(r->e->qp)->rnr));
	settle();
}

/* A receive that was posted in time is taken, even if the reading is resumed too late. */
CASE_WITH(rx_posted_in_time, struct rx_bench *r, waiting(test))
{
	struct weft_qp *qp = r->e->qp;

	end_receive(r->e, 71, 3000, 200);
	time_is_up(test, r);
	KUNIT_EXPECT_EQ(test, weft_qp_state(qp), IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, end_count(r->e, WEFT_CNT_RNR_TIMEOUTS), 0ULL);
	expect_recv(test, r->e, 71, 33, IB_WC_SUCCESS);
}

/* A thread that sends, or was preempted there, does not keep a receive from being used. */
CASE_WITH(rx_without_tx_lock, struct rx_bench *r, waiting(test))
{
	struct weft_qp *qp = r->e->qp;

	weft_baton_lock(&qp->tx_lock);
	end_receive(r->e, 71, 3000, 200);
	settle();
	expect_recv(test, r->e, 71, 33, IB_WC_SUCCESS);
	weft_qp_unlock(qp);
}

/* Without a receive the connection ends, unless the queue has moved: others were first then. */
CASE_WITH(rx_not_posted, struct rx_bench *r, waiting(test))
{
	struct weft_qp *qp = r->e->qp;
	struct weft_wq_ctl *ctl = qp->own_rq.ring.mem;
	struct weft_term why;

	qp->own_rq.ring.head++; /* as another queue pair takes one */
	ctl->producer++;
	time_is_up(test, r);
	KUNIT_EXPECT_EQ(test, weft_qp_state(qp), IB_QPS_RTS);
	time_is_up(test, r);
	KUNIT_EXPECT_EQ(test, weft_qp_state(qp), IB_QPS_ERR);
	KUNIT_EXPECT_EQ(test, end_count(r->e, WEFT_CNT_RNR_TIMEOUTS), 1ULL);
	why = terminate(r);
	KUNIT_EXPECT_EQ(test, why.layer, (u8)WEFT_TERM_DDP);
	KUNIT_EXPECT_EQ(test, why.code, (u8)WEFT_DU_NO_BUFFER);
}

/* What came before a reset is read; and its end is not told as the peer's. */
CASE_WITH(rx_reset, struct rx_bench *r, ready(test, false))
{
	struct weft_llp *llp = &r->e->fake->llp;

	/* The bytes are here, and nobody was told of them before the reset. */
	r->e->fake->lowat = INT_MAX;
	fake_feed(r->e->fake, r->tape, r->len);
	fake_die(r->e->fake, -ECONNRESET);
	weft_llp_call(llp, lock);
	r->e->fake->lowat = 1;
	llp->ops->readable(llp);
	weft_llp_call(llp, unlock);
	expect_all(test, r, "before the reset", 0);
	KUNIT_EXPECT_EQ(test, r->e->peer_closed, 0);
}

/* The end of the stream: in order between FPDUs, and a failure within one. */
static void rx_ends(struct kunit *test)
{
	struct rx_bench *r;

	for (u32 crc = 0; crc < 2; crc++) {
		r = ready(test, crc);
		fake_feed(r->e->fake, r->tape, r->len);
		KUNIT_EXPECT_EQ(test, r->e->peer_closed, 0);
		fake_fin(r->e->fake);
		expect_all(test, r, "before the end", 0);
		KUNIT_EXPECT_GT(test, r->e->peer_closed, 0);
		KUNIT_EXPECT_EQ(test, r->e->failed, 0);
		end_now(test, r);

		for (u32 at = 1; at < weft_fpdu_len(WEFT_DDP_TAGGED_LEN + 21); at++) {
			r = ready(test, crc);
			fake_feed(r->e->fake, r->tape, at);
			fake_fin(r->e->fake);
			settle();
			KUNIT_EXPECT_EQ_MSG(test, weft_qp_state(r->e->qp), IB_QPS_ERR,
					    "after %u bytes", at);
			KUNIT_EXPECT_EQ(test, r->e->failed, 1);
			KUNIT_EXPECT_EQ(test, r->e->b->event, (int)IB_EVENT_QP_FATAL);
			end_now(test, r);
		}
	}
}

/* A softirq that stops amid an FPDU does not take the peer's end for that of the bytes. */
CASE_WITH(rx_stops_amid, struct rx_bench *r, bench_new(test, true))
{
	u8 *payload = zeroed(test, 30000);

	put(r, write_hdr(0, true), payload, 30000);
	r->e->fake->script.cut = 1000;
	r->e->fake->script.softirq = true;
	r->e->fake->lowat = INT_MAX;
	for (u32 fed = 0; fed <= WEFT_TCP_AT_ONCE + 2 * r->len; fed += r->len)
		fake_feed(r->e->fake, r->tape, r->len);
	fake_fin(r->e->fake);
	KUNIT_EXPECT_GT(test, r->e->fake->unread, 0U);
	KUNIT_EXPECT_EQ(test, r->e->peer_closed, 0);
	settle();
	KUNIT_EXPECT_EQ(test, r->e->fake->unread, 0U);
	KUNIT_EXPECT_EQ(test, weft_qp_state(r->e->qp), IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, r->e->failed, 0);
	KUNIT_EXPECT_EQ(test, r->e->peer_closed, 1);
}

/* What came with a message is in its completion. */
CASE_WITH(rx_completions, struct rx_bench *r, bench_new(test, true))
{
	static const struct {
		u8 opcode, flags;
		u32 ex;
		u8 what;
	} kinds[] = {
		{ WEFT_RDMAP_SEND, 0, 0, WEFT_OP_RECV },
		{ WEFT_RDMAP_SEND_SE, 0, 0, WEFT_OP_RECV },
		{ WEFT_RDMAP_SEND_IMM, WEFT_CQE_WITH_IMM, 0x01020304, WEFT_OP_RECV },
		{ WEFT_RDMAP_IMM, WEFT_CQE_WITH_IMM, 0x01020304, WEFT_OP_RECV_WRITE_IMM },
	};
	struct weft_ddp_hdr hdr;
	u8 imm[WEFT_IMM_LEN] = { 1, 2, 3, 4 };

	for (u32 i = 0; i < ARRAY_SIZE(kinds); i++) {
		end_receive(r->e, 71 + i, 3000, 200);
		hdr = send_hdr(i + 1, 0, true);
		hdr.opcode = kinds[i].opcode;
		if (kinds[i].opcode == WEFT_RDMAP_SEND_IMM)
			hdr.imm = 0x01020304;
		put(r, hdr, imm, sizeof(imm));
	}
	feed(r);
	for (u32 i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct weft_cqe *cqe = &r->e->cqe;

		expect_done(test, r->e, 71 + i, IB_WC_SUCCESS);
		KUNIT_EXPECT_EQ(test, WEFT_CQE_FLAGS(cqe->word) & ~WEFT_CQE_PHASE, kinds[i].flags);
		KUNIT_EXPECT_EQ(test, WEFT_CQE_OPCODE(cqe->word), kinds[i].what);
		if (kinds[i].flags)
			KUNIT_EXPECT_EQ(test, be32_to_cpu((__force __be32)cqe->ex), kinds[i].ex);
	}
	expect_none(test, r->e);
}

/* How memory is held at each completion, seen by a consumer that is called back. */
struct held {
	struct weft_mr *mr;
	u32 completions, refs[2];
	bool locked[2];
};

static void note_held(struct ib_cq *cq, void *context)
{
	struct held *h = context;
	u32 i = h->completions++;

	if (i >= ARRAY_SIZE(h->refs))
		return;
	h->refs[i] = kref_read(&h->mr->refs);
	h->locked[i] = !write_trylock(&h->mr->lock);
	if (!h->locked[i])
		write_unlock(&h->mr->lock);
	weft_req_notify_cq(cq, IB_CQ_NEXT_COMP);
}

/* Between messages of a packet a region is held by a reference alone, behind it not at all. */
static void rx_holds(struct kunit *test)
{
	for (u32 kind = WEFT_MR_REGION; kind <= WEFT_MR_FAST; kind++) {
		struct rx_bench *r = bench_new(test, false);
		struct held h = { .mr = &r->e->mr };

		h.mr->kind = kind;
		rwlock_init(&h.mr->lock);
		r->e->b->cq.ib.comp_handler = note_held;
		r->e->b->cq.ib.cq_context = &h;
		weft_req_notify_cq(&r->e->b->cq.ib, IB_CQ_NEXT_COMP);
		for (u32 i = 0; i < 2; i++) {
			end_receive(r->e, 71 + i, 3000 + 100 * i, 100);
			put(r, send_hdr(i + 1, 0, true), text, 33);
		}
		feed(r);
		KUNIT_EXPECT_EQ(test, h.completions, 2U);
		for (u32 i = 0; i < 2; i++) {
			KUNIT_EXPECT_EQ(test, h.refs[i], kind == WEFT_MR_REGION ? 2U : 1U);
			KUNIT_EXPECT_FALSE(test, h.locked[i]);
		}
		KUNIT_EXPECT_EQ(test, kref_read(&h.mr->refs), 1U);
		KUNIT_EXPECT_EQ(test, memcmp(r->e->memory + 3100, text, 33), 0);
		r->e->b->cq.ib.comp_handler = NULL;
		h.mr->kind = WEFT_MR_REGION;
		end_now(test, r);
	}
}

/* What a program finds when it is told of a receive that failed. */
struct told {
	struct weft_qp *qp;
	u32 completions;
	bool due;
};

static void note_ending(struct ib_cq *cq, void *context)
{
	struct told *t = context;

	t->completions++;
	t->due = weft_qp_state(t->qp) == IB_QPS_ERR && t->qp->ending.due;
}

/* The Terminate is due before a program hears of the error, and may end its queue pair. */
CASE_WITH(rx_fails_before_it_tells, struct rx_bench *r, bench_new(test, true))
{
	struct told t = { .qp = r->e->qp };
	struct weft_term why;

	r->e->b->cq.ib.comp_handler = note_ending;
	r->e->b->cq.ib.cq_context = &t;
	weft_req_notify_cq(&r->e->b->cq.ib, IB_CQ_NEXT_COMP);
	end_receive(r->e, 71, 3000, 10);
	put(r, send_hdr(1, 0, true), text, 11);
	feed(r);
	KUNIT_EXPECT_EQ(test, t.completions, 1U);
	KUNIT_EXPECT_TRUE(test, t.due);
	expect_recv(test, r->e, 71, 0, IB_WC_LOC_LEN_ERR);
	why = terminate(r);
	KUNIT_EXPECT_EQ(test, why.code, (u8)WEFT_DU_TOO_LONG);
	r->e->b->cq.ib.comp_handler = NULL;
}

/* A message whose completion finds no room ends the connection, and nothing behind it is placed. */
CASE_WITH(rx_lost_completion, struct rx_bench *r, bench_new(test, true))
{
	struct weft_term why;

	r->e->b->cq.ring.size = 1;
	for (u32 i = 0; i < 3; i++) {
		end_receive(r->e, 71 + i, 3000 + 100 * i, 100);
		put(r, send_hdr(i + 1, 0, true), text, 33);
	}
	fake_feed(r->e->fake, r->tape, r->len);
	why = terminate(r);
	KUNIT_EXPECT_EQ(test, why.layer, (u8)WEFT_TERM_RDMAP);
	KUNIT_EXPECT_EQ(test, why.etype, (u8)WEFT_RDMAP_LOCAL);
	KUNIT_EXPECT_EQ(test, r->e->b->event, (int)IB_EVENT_QP_FATAL);
	KUNIT_EXPECT_EQ(test, weft_qp_state(r->e->qp), IB_QPS_ERR);
	KUNIT_EXPECT_EQ(test, r->e->failed, 1);
	expect_recv(test, r->e, 71, 33, IB_WC_SUCCESS);
	expect_none(test, r->e);
	KUNIT_EXPECT_EQ(test, memcmp(r->e->memory + 3100, text, 33), 0);
	KUNIT_EXPECT_EQ(test, r->e->memory[3200], 0);
}

/* Between the hand-over of a stream and its start packets may come: they are looked at later. */
CASE_WITH(rx_before_start, struct end *e, end_make(test))
{
	weft_rx_readable(rx_of(e->qp));
	weft_qp_kick(e->qp);
	KUNIT_EXPECT_FALSE(test, rx_of(e->qp)->running);
	end_free(test, e);
	KUNIT_EXPECT_EQ(test, fake_end(), 0U);
}

A_SUITE(rx, fake, rx_before_start, rx_pieces, rx_cuts, rx_stage, rx_stage_starves,
	rx_starves_no_longer, rx_no_receive, rx_posted_in_time, rx_without_tx_lock, rx_not_posted,
	rx_ends, rx_reset, rx_stops_amid, rx_completions, rx_holds, rx_fails_before_it_tells,
	rx_lost_completion);
