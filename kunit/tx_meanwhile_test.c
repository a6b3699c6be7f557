// SPDX-License-Identifier: GPL-2.0
/* What arrives when the stream's lock is let go in the midst of laying out. */
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/sched.h>

#include "tx_bench.h"

/* What arrives while a long message is copied, and how much of that was sent by then. */
static struct {
	u8 fpdu[64];
	u32 len, unsent;
} meanwhile;

static void arrive_meanwhile(struct fake *f)
{
	meanwhile.unsent = f->unsent;
	fake_feed(f, meanwhile.fpdu, meanwhile.len);
}

/* Posts a SEND of @len bytes; while it is copied @hdr arrives with "meanwhile" as payload. */
static void send_meanwhile(struct kunit *test, struct tx_bench *t, u32 len,
			   const struct weft_ddp_hdr *hdr, bool good)
{
	start(test, t, true);
	end_receive(t->e, 0x77, 100000, 64);
	meanwhile.len = fpdu_put(meanwhile.fpdu, hdr, "meanwhile", 9, true);
	meanwhile.fpdu[20] ^= !good;
	meanwhile.unsent = 1;
	t->e->fake->loosed = arrive_meanwhile;
	end_send(t->e, 0, len);
	KUNIT_EXPECT_EQ(test, meanwhile.unsent, 0U);
}

/* What the peer sends while a long message is copied is received before that is sent. */
CASE_WITH(tx_receives_meanwhile, struct tx_bench *t, bench_new(test))
{
	struct weft_ddp_hdr hdr = send_hdr(1, 0, true);

	send_meanwhile(test, t, 60000, &hdr, true);
	KUNIT_EXPECT_EQ(test, memcmp(t->e->memory + 100000, "meanwhile", 9), 0);
	expect_done(test, t->e, 0x77, IB_WC_SUCCESS);
	drain(test, t);
	expect_message(test, t, send_hdr(1, 0, false), t->e->memory, 60000);
	expect_done(test, t->e, 0x1000, IB_WC_SUCCESS);
	expect_end(test, t);
}

/* So is what arrives while many short messages are laid out, and both sides complete in order. */
CASE_WITH(tx_answered_amid_many, struct tx_bench *t, started(test))
{
	struct weft_ddp_hdr resp = { .opcode = WEFT_RDMAP_READ_RESP, .tagged = true,
		.last = true, .stag = 1 };

	end_post_to(t->e, WEFT_OP_READ, 200, 9, 0);
	end_ring(t->e);
	drain(test, t);
	meanwhile.len = fpdu_put(meanwhile.fpdu, &resp, "meanwhile", 9, true);
	meanwhile.unsent = 1;
	t->e->fake->loosed = arrive_meanwhile;
	for (u32 i = 0; i < 32; i++)
		end_post(t->e, end_wr(t->e, WEFT_OP_SEND, 0, 4));
	end_ring(t->e);
	KUNIT_EXPECT_EQ(test, meanwhile.unsent, 0U);
	drain(test, t);
	KUNIT_EXPECT_EQ(test, memcmp(t->e->memory + 200, "meanwhile", 9), 0);
	for (u32 i = 0; i <= 32; i++)
		expect_done(test, t->e, 0x1000 + i, IB_WC_SUCCESS);
}

/* If that ends the connection, the message stops with a whole FPDU before the Terminate. */
CASE_WITH(tx_fails_meanwhile, struct tx_bench *t, bench_new(test))
{
	struct weft_ddp_hdr hdr = send_hdr(1, 0, true);
	u32 all = 0;

	/* More than a chunk holds. */
	send_meanwhile(test, t, 300000, &hdr, false);
	drain(test, t);
	KUNIT_EXPECT_EQ(test, t->e->failed, 1);
	while (next_fpdu(test, t)) {
		if (t->hdr.opcode != WEFT_RDMAP_SEND)
			break;
		KUNIT_EXPECT_EQ(test, memcmp(t->payload, t->e->memory + all, t->n), 0);
		all += t->n;
	}
	KUNIT_EXPECT_EQ(test, t->hdr.opcode, (u8)WEFT_RDMAP_TERMINATE);
	expect_end(test, t);
	KUNIT_EXPECT_GT(test, all, 0U);
	KUNIT_EXPECT_LT(test, all, 300000U);
	/* Nothing is reported before the stream is gone. */
	expect_none(test, t->e);
}

/* Another thread, which comes to want the processor when a message is being laid out. */
static struct {
	struct completion wants, had;
	const struct weft_tx *tx;
	u64 laid_out;
} other;

static int want_processor(void *unused)
{
	wait_for_completion(&other.wants);
	other.laid_out = other.tx->batch.laid_out;
	complete(&other.had);
	return 0;
}

static void wake_other(struct fake *f)
{
	complete(&other.wants);
}

/* Returns how much of a SEND of @len bytes is laid out when the other thread has the processor. */
static u64 laid_out_meanwhile(struct kunit *test, struct tx_bench *t, u32 len)
{
	struct task_struct *thread;

	init_completion(&other.wants);
	init_completion(&other.had);
	other.tx = tx_of(t->e->qp);
	thread = must(test, kthread_run(want_processor, NULL, "weft_kunit_other"));
	sched_set_fifo_low(thread);
	t->e->fake->loosed = wake_other;
	end_send(t->e, 0, len);
	wait_for_completion(&other.had);
	return other.laid_out;
}

/* A thread that wants the processor has it after a chunk of a long message, not behind the last. */
static void tx_takes_turns(struct kunit *test)
{
	struct tx_bench *t;

	if (num_online_cpus() > 1)
		kunit_skip(test, "two processors: the other thread has its own");
	t = started(test);
	tx_of(t->e->qp)->longest = WEFT_FPDU_ANY_LENGTH;
	KUNIT_EXPECT_LE(test, laid_out_meanwhile(test, t, 400000), 128ULL << 10);
	drain(test, t);
	expect_message(test, t, send_hdr(1, 0, false), t->e->memory, 400000);
	expect_done(test, t->e, 0x1000, IB_WC_SUCCESS);
	expect_end(test, t);
}

A_SUITE(meanwhile, fake, tx_receives_meanwhile, tx_answered_amid_many, tx_fails_meanwhile,
	tx_takes_turns);
