// SPDX-License-Identifier: GPL-2.0
/* How much the transmit side does in a turn, and what it does without memory. */
#include "scarce.h"
#include "tx_bench.h"

#define ROUND	SZ_256K	/* the most that a round lays out */

/* A stream that takes all, and an end with Writes of END_MEMORY. Each takes three rounds. */
static struct tx_bench *much_to_send(struct kunit *test, bool kernel, u32 writes)
{
	struct tx_bench *t = bench_new(test);

	t->e->fake->script.window = MOST;
	if (kernel)
		give_to_kernel(test, t->e->b);
	start(test, t, true);
	while (writes--)
		end_post_to(t->e, WEFT_OP_WRITE, 0, END_MEMORY, 0);
	return t;
}

static void expect_writes(struct kunit *test, struct tx_bench *t, u32 writes)
{
	drain(test, t);
	for (u32 i = 0; i < writes; i++) {
		expect_message(test, t, write_hdr(0, false), t->e->memory, END_MEMORY);
		expect_done(test, t->e, 0x1000 + i, IB_WC_SUCCESS);
	}
	expect_end(test, t);
}

/* The connection's lane has its turn after a round, and the worker comes behind it. */
CASE_WITH(turns_give_way, struct tx_bench *t, much_to_send(test, false, 1))
{
	struct weft_qp *qp = t->e->qp;
	u64 sent;

	weft_baton_lock(&qp->tx_lock);
	KUNIT_EXPECT_FALSE(test, weft_baton_try(&qp->tx_lock, WEFT_WANT_CONN));
	weft_engine_run(qp);
	sent = tx_of(qp)->batch.sent;
	KUNIT_EXPECT_GT(test, sent, 0ULL);
	KUNIT_EXPECT_LE(test, sent, (u64)ROUND);
	weft_qp_unlock(qp);
	flush_workqueue(weft_workqueue);
	KUNIT_EXPECT_EQ(test, tx_of(qp)->batch.sent, sent);
	KUNIT_EXPECT_TRUE(test, weft_baton_try(&qp->tx_lock, WEFT_WANT_CONN));
	weft_qp_unlock(qp);
	expect_writes(test, t, 1);
}

static DECLARE_COMPLETION(go);

static void wait_to_go(struct work_struct *work)
{
	wait_for_completion(&go);
}

static DECLARE_WORK(blocker, wait_to_go);

/* Near its poster the worker sends little, and has another thread send the rest. */
CASE_WITH(turns_near, struct tx_bench *t, much_to_send(test, true, 3))
{
	struct workqueue_struct *blocked = must(test, alloc_ordered_workqueue("weft_blocked", 0));
	struct weft_qp *qp = t->e->qp;

	reinit_completion(&go);
	queue_work(blocked, &blocker);
	swap(weft_workqueue, blocked);
	qp->consumer->near.func(&qp->consumer->near);
	KUNIT_EXPECT_GT(test, tx_of(qp)->batch.sent, 0ULL);
	KUNIT_EXPECT_LE(test, tx_of(qp)->batch.sent, (u64)4 * ROUND);
	KUNIT_EXPECT_TRUE(test, work_pending(&qp->worker.work));
	KUNIT_EXPECT_FALSE(test, work_pending(&qp->consumer->near));
	complete_all(&go);
	flush_workqueue(weft_workqueue);
	swap(weft_workqueue, blocked);
	destroy_workqueue(blocked);
	expect_writes(test, t, 3);
}

/* Where no pages lie together, FPDUs are of a page; where there is none, nothing is sent. */
static void turns_scarce(struct kunit *test)
{
	static const u32 sizes[] = { 1448, 8948, 65484 };
	const u32 len = 200000;
	struct tx_bench *t;

	for (u32 i = 0; i < 8 * ARRAY_SIZE(sizes); i++) {
		bool kernel = i & 1, marked = i & 2, large = i & 4;
		u32 emss = sizes[i / 8];

		fake_script.emss = emss;
		fake_script.window = MOST;
		t = bench_new(test);
		if (kernel)
			give_to_kernel(test, t->e->b);
		if (large)
			t->e->b->dev.settings.value[WEFT_SET_FPDU] = WEFT_FPDU_LARGE;
		t->agreed.marks_out = marked;
		start(test, t, true);
		end_post_to(t->e, WEFT_OP_WRITE, 0, len, 0);
		scarce = (struct scarce){ .pages = true };
		end_ring(t->e);
		flush_workqueue(weft_workqueue);
		KUNIT_EXPECT_GT(test, scarce.refused, 0U);
		KUNIT_EXPECT_EQ(test, tx_of(t->e->qp)->batch.sent, 0ULL);
		KUNIT_EXPECT_EQ_MSG(test, weft_qp_state(t->e->qp), IB_QPS_RTS, "%u kernel %d",
				    emss, kernel);
		KUNIT_EXPECT_TRUE(test, timer_delete_sync(&t->e->qp->worker.timer));
		scarce = (struct scarce){ .pages = true, .order = 1 };
		weft_qp_kick(t->e->qp);
		drain(test, t);
		KUNIT_EXPECT_EQ_MSG(test, weft_qp_state(t->e->qp), IB_QPS_RTS, "%u kernel %d",
				    emss, kernel);
		expect_done(test, t->e, 0x1000, IB_WC_SUCCESS);
		if (!marked) {
			expect_message(test, t, write_hdr(0, false), t->e->memory, len);
			expect_end(test, t);
			if (!large)
				expect_segments(test, t, emss);
		}
		scarce = (struct scarce){};
		end_now(test, t);
	}
}

A_SUITE(tx_turns, fake, turns_give_way, turns_near, turns_scarce);
