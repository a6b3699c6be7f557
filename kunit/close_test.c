// SPDX-License-Identifier: GPL-2.0
/* A queue pair that is closed from this end delivers what had come before. */
#include "ends.h"

static const struct weft_mpa_agreed agreed = { .revision = 2, .crc = true, .ird = 2, .ord = 2 };

static void say(struct end *e, u32 msn, const char *text)
{
	const struct weft_ddp_hdr hdr = { .opcode = WEFT_RDMAP_SEND, .last = true, .msn = msn };
	u8 fpdu[64];

	fake_feed(e->fake, fpdu, fpdu_put(fpdu, &hdr, text, 8, true));
}

/* Messages get receives, and the program disconnects: those are delivered, the rest is flushed. */
static void close_delivers(struct kunit *test, bool in_order)
{
	struct end *e = end_make(test);

	KUNIT_ASSERT_EQ(test, end_start(e, &agreed, false), 0);
	say(e, 1, "message1");
	say(e, 2, "message2");
	settle();
	KUNIT_EXPECT_EQ(test, end_count(e, WEFT_CNT_RNR_STALLS), 1ULL);
	/* Nobody reads while we hold this lock. */
	weft_baton_lock(&e->qp->tx_lock);
	end_receive(e, 1, 0, 8);
	end_receive(e, 2, 8, 8);
	end_receive(e, 3, 16, 8);
	if (in_order)
		KUNIT_EXPECT_EQ(test, weft_engine_drain(e->qp), 0);
	else
		weft_engine_error(e->qp);
	KUNIT_EXPECT_TRUE(test, weft_engine_stop(e->qp));
	weft_qp_unlock(e->qp);
	settle();
	expect_done(test, e, 1, in_order ? IB_WC_SUCCESS : IB_WC_WR_FLUSH_ERR);
	expect_done(test, e, 2, in_order ? IB_WC_SUCCESS : IB_WC_WR_FLUSH_ERR);
	expect_done(test, e, 3, IB_WC_WR_FLUSH_ERR);
	expect_none(test, e);
	KUNIT_EXPECT_EQ(test, !memcmp(e->memory, "message1message2", 16), in_order);
	end_free(test, e);
	fake_end();
}

static void close_in_order(struct kunit *test)
{
	close_delivers(test, true);
}

/* A queue pair that is moved to ERR delivers nothing any more. */
static void close_in_error(struct kunit *test)
{
	close_delivers(test, false);
}

A_SUITE(close, bench, close_in_order, close_in_error);
