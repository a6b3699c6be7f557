// SPDX-License-Identifier: GPL-2.0
/* Gathering: when posts of a kernel consumer are held, and what ends that. */
#include <linux/delay.h>

#include "bench.h"
#include "verbs/verbs.h"

static struct weft_gather *gather_of(struct kunit *test)
{
	struct weft_consumer *kernel = zeroed(test, sizeof(*kernel));

	kernel->qp = zeroed(test, sizeof(*kernel->qp));
	spin_lock_init(&kernel->qp->post_lock);
	weft_gather_init(&kernel->gather);
	return &kernel->gather;
}

static bool locked(struct weft_gather *gather, bool (*what)(struct weft_gather *gather))
{
	struct weft_qp *qp = container_of(gather, struct weft_consumer, gather)->qp;
	bool held;

	spin_lock_irq(&qp->post_lock);
	held = what(gather);
	spin_unlock_irq(&qp->post_lock);
	return held;
}

static bool holds(struct weft_gather *gather)
{
	return locked(gather, weft_gather_holds);
}

static bool end(struct weft_gather *gather)
{
	return locked(gather, weft_gather_end);
}

/* Posts until one is held. Returns how many were sent at once. */
static u32 sent_at_once(struct weft_gather *gather)
{
	u32 num;

	for (num = 0; num <= WEFT_GATHER_LATE && !holds(gather); num++)
		;
	return num;
}

/* One at a time: a trial comes seldom, and ever more seldom up to a limit. */
CASE_WITH(gather_tries, struct weft_gather *gather, gather_of(test))
{
	for (u32 pause = WEFT_GATHER_SOON; pause < WEFT_GATHER_LATE; pause *= 2) {
		KUNIT_EXPECT_EQ(test, sent_at_once(gather), pause);
		KUNIT_EXPECT_TRUE(test, end(gather));
	}
	KUNIT_EXPECT_EQ(test, sent_at_once(gather), (u32)WEFT_GATHER_LATE);
	KUNIT_EXPECT_TRUE(test, end(gather));
	KUNIT_EXPECT_EQ(test, sent_at_once(gather), (u32)WEFT_GATHER_LATE);
}

/* Many in one moment: they are sent together, and so are the next, without a trial. */
CASE_WITH(gather_goes_on, struct weft_gather *gather, gather_of(test))
{
	sent_at_once(gather);
	for (u32 round = 0; round < 3; round++) {
		for (u32 num = round ? 0 : 1; num < WEFT_GATHER_MOST - 1; num++)
			KUNIT_ASSERT_TRUE(test, holds(gather));
		KUNIT_ASSERT_FALSE(test, holds(gather));
	}
	/* The timer of the last moment finds nothing to send. */
	KUNIT_EXPECT_FALSE(test, end(gather));
	KUNIT_EXPECT_TRUE(test, holds(gather));
}

/* As many as came in one moment are sent together, without a wait for more but in a trial. */
CASE_WITH(gather_learns, struct weft_gather *gather, gather_of(test))
{
	const u32 depth = WEFT_GATHER_LEAST + 2;

	sent_at_once(gather);
	for (u32 num = 1; num < depth; num++)
		KUNIT_ASSERT_TRUE(test, holds(gather));
	KUNIT_ASSERT_TRUE(test, end(gather));
	for (u32 round = 0; round < 2 * WEFT_GATHER_SOON; round++) {
		for (u32 num = 1; num < depth; num++)
			KUNIT_ASSERT_TRUE(test, holds(gather));
		KUNIT_ASSERT_FALSE(test, holds(gather));
	}
	for (u32 num = 1; num < WEFT_GATHER_MOST; num++)
		KUNIT_ASSERT_TRUE(test, holds(gather));
	KUNIT_ASSERT_FALSE(test, holds(gather));
	KUNIT_EXPECT_EQ(test, gather->enough, WEFT_GATHER_MOST);
}

/* Some in one moment are enough to go on; fewer end it. */
CASE_WITH(gather_ends, struct weft_gather *gather, gather_of(test))
{
	sent_at_once(gather);
	for (u32 num = 1; num < WEFT_GATHER_LEAST; num++)
		KUNIT_EXPECT_TRUE(test, holds(gather));
	KUNIT_EXPECT_TRUE(test, end(gather));
	for (u32 num = 0; num < WEFT_GATHER_LEAST - 1; num++)
		KUNIT_EXPECT_TRUE(test, holds(gather));
	KUNIT_EXPECT_TRUE(test, end(gather));
	KUNIT_EXPECT_EQ(test, sent_at_once(gather), 4U * WEFT_GATHER_SOON);
}

/* How long a post is held after one that was so long ago; in ns. */
static u32 moment_after(struct weft_gather *gather, u64 ns)
{
	gather->until = 0;
	gather->before = ktime_get_ns() - ns;
	holds(gather);
	end(gather);
	return gather->moment;
}

/* On a slow machine a post is held longer; where posts are seldom, it is not. */
CASE_WITH(gather_waits, struct weft_gather *gather, gather_of(test))
{
	u32 moment = 0, tries;

	KUNIT_EXPECT_EQ(test, gather->moment, (u32)WEFT_GATHER_NS);
	gather->until = 1;
	KUNIT_EXPECT_FALSE(test, holds(gather));
	KUNIT_EXPECT_NE(test, gather->before, 0ULL);
	KUNIT_EXPECT_TRUE(test, holds(gather));
	KUNIT_EXPECT_EQ(test, gather->before, 0ULL);
	end(gather);
	KUNIT_EXPECT_EQ(test, moment_after(gather, NSEC_PER_SEC), (u32)WEFT_GATHER_NS);
	/* Unless this machine does something else between the two looks at the clock. */
	for (tries = 0; tries < 100 && moment <= WEFT_GATHER_NS; tries++)
		moment = moment_after(gather, 100 * NSEC_PER_USEC);
	KUNIT_EXPECT_GE(test, moment, 500U * NSEC_PER_USEC);
	KUNIT_EXPECT_LE(test, moment, (u32)WEFT_GATHER_MAX_NS);
	/* One trial behind another: nothing was sent at once meanwhile. */
	gather->until = 0;
	KUNIT_EXPECT_TRUE(test, holds(gather));
	KUNIT_EXPECT_EQ(test, gather->moment, moment);
	end(gather);
	/* Between posts that are sent together lies the time of several. */
	gather->going = true;
	gather->enough = WEFT_GATHER_LEAST;
	gather->until = 1;
	KUNIT_EXPECT_TRUE(test, holds(gather));
	KUNIT_EXPECT_EQ(test, gather->before, 0ULL);
	end(gather);
}

/* A post that is held starts no worker, which its timer does; the end that answers holds none. */
CASE_WITH(gather_timer, struct bench *b, setup(test, ORD))
{
	struct weft_gather *gather;
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };
	struct weft_wq_ctl *ctl = b->engine.qp.sq.mem;
	const struct ib_send_wr *bad;

	give_to_kernel(test, b);
	gather = &b->engine.qp.consumer->gather;
	gather->moment = 200 * NSEC_PER_MSEC;
	weft_baton_lock(&b->engine.qp.tx_lock); /* the worker leaves word */
	gather->until = 0;
	weft_ring_need_doorbell(&b->engine.qp.sq, true);
	local_bh_disable(); /* the timer as well */
	KUNIT_EXPECT_EQ(test, weft_post_send(&b->engine.qp.ib, &wr, &bad), 0);
	KUNIT_EXPECT_EQ(test, ctl->need_doorbell, 1U);
	KUNIT_EXPECT_EQ(test, (u32)gather->held, 1U);
	KUNIT_EXPECT_GT(test, ktime_to_ns(hrtimer_get_remaining(&gather->timer)), WEFT_GATHER_NS);
	local_bh_enable();
	for (int ms = 0; ms < 1000 && READ_ONCE(ctl->need_doorbell); ms++)
		usleep_range(1000, 2000);
	flush_work(&b->engine.qp.worker.work);
	flush_work(&b->engine.qp.consumer->near);
	KUNIT_EXPECT_EQ(test, ctl->need_doorbell, 0U);
	KUNIT_EXPECT_EQ(test, wanted_of(&b->engine.qp), BIT(WEFT_WANT_TX));
	KUNIT_EXPECT_EQ(test, (u32)gather->held, 0U);
	b->engine.qp.initiator = false;
	gather->until = 0;
	weft_ring_need_doorbell(&b->engine.qp.sq, true);
	KUNIT_EXPECT_EQ(test, weft_post_send(&b->engine.qp.ib, &wr, &bad), 0);
	KUNIT_EXPECT_EQ(test, ctl->need_doorbell, 0U);
	b->engine.qp.state = IB_QPS_ERR;
	weft_qp_unlock(&b->engine.qp);
	end_now(test, b);
	KUNIT_EXPECT_NULL(test, b->engine.qp.consumer);
}

A_SUITE(gather, bench, gather_tries, gather_goes_on, gather_learns, gather_ends, gather_waits,
	gather_timer);
