// SPDX-License-Identifier: GPL-2.0
/* Counters that queue pairs are bound to, as the RDMA core asks for them. */
#include <linux/bitmap.h>

#include "bench.h"
#include "device/device.h"
#include "mpa/framer.h"
#include "verbs/verbs.h"

/* Two queue pairs and two counters that have nothing yet. */
struct tallied {
	struct bench *b;	/* the device, and the first queue pair */
	struct weft_qp *qp[2];	/* both */
	struct weft_engine other;	/* the second, of which only the numbers are real */
	struct rdma_counter counter[2];	/* the counters */
	struct rdma_hw_stats *port;	/* the port's counters */
};

END_OF(tallied_end, struct tallied *t)
{
	rdma_free_hw_stats_struct(t->port);
	rdma_free_hw_stats_struct(t->counter[0].stats);
	rdma_free_hw_stats_struct(t->counter[1].stats);
	weft_tallies_destroy(&t->b->dev.tallies);
	free_percpu(t->b->dev.counters);
	t->b->dev.counters = NULL;
	teardown(test, t->b);
}

static struct tallied *tallied_new(struct kunit *test)
{
	struct tallied *t = zeroed(test, sizeof(*t));

	t->b = bench_make(test, ORD);
	weft_tallies_init(&t->b->dev.tallies);
	t->b->dev.counters = must(test, alloc_percpu(struct weft_counters));
	t->other.qp.acc.qpn = t->b->engine.qp.acc.qpn + 1;
	spin_lock_init(&t->other.qp.lock);
	t->qp[0] = &t->b->engine.qp;
	t->qp[1] = &t->other.qp;
	for (u32 i = 0; i < 2; i++) {
		t->qp[i]->ib.device = &t->b->dev.ib;
		t->counter[i].device = &t->b->dev.ib;
		t->counter[i].port = 1;
		t->counter[i].stats = must(test, weft_counter_alloc_stats(&t->counter[i]));
	}
	t->port = must(test, weft_alloc_hw_port_stats(&t->b->dev.ib, 1));
	at_end(test, tallied_end, t);
	return t;
}

/* A queue pair sends and receives so many bytes, in as many FPDUs. */
static void works(struct tallied *t, u32 i, u64 sent, u64 received)
{
	tx_of(t->qp[i])->fpdus += sent;
	tx_of(t->qp[i])->bytes += 100 * sent;
	rx_of(t->qp[i])->framer.counts.fpdus += received;
	rx_of(t->qp[i])->framer.counts.bytes += 100 * received;
	weft_count(t->b->dev.counters, WEFT_CNT_TX_FPDUS, sent);
	weft_count(t->b->dev.counters, WEFT_CNT_TX_BYTES, 100 * sent);
	weft_count(t->b->dev.counters, WEFT_CNT_RX_FPDUS, received);
	weft_count(t->b->dev.counters, WEFT_CNT_RX_BYTES, 100 * received);
}

/* A counter shows so many FPDUs, and their bytes. */
static void expect_shown(struct kunit *test, struct tallied *t, u32 i, u64 sent, u64 received)
{
	const u64 *value = t->counter[i].stats->value;

	KUNIT_EXPECT_EQ(test, weft_counter_update_stats(&t->counter[i]), 0);
	KUNIT_EXPECT_EQ(test, value[WEFT_CNT_TX_FPDUS], sent);
	KUNIT_EXPECT_EQ(test, value[WEFT_CNT_TX_BYTES], 100 * sent);
	KUNIT_EXPECT_EQ(test, value[WEFT_CNT_RX_FPDUS], received);
	KUNIT_EXPECT_EQ(test, value[WEFT_CNT_RX_BYTES], 100 * received);
}

/* The port shows so many FPDUs sent, by what the core adds: @bound by queue pairs with counters. */
static void expect_port(struct kunit *test, struct tallied *t, u64 sent, u64 bound)
{
	const u64 *value = t->port->value;

	KUNIT_EXPECT_GT(test, weft_get_hw_stats(&t->b->dev.ib, t->port, 1, 0), 0);
	KUNIT_EXPECT_EQ(test, value[WEFT_CNT_TX_FPDUS] + bound, sent);
	KUNIT_EXPECT_EQ(test, value[WEFT_CNT_TX_BYTES] + 100 * bound, 100 * sent);
}

/* Each counts from its binding to its unbinding, and nothing is lost when it goes. */
CASE_WITH(counts_while_bound, struct tallied *t, tallied_new(test))
{
	works(t, 0, 7, 5);
	works(t, 1, 1000, 2000);
	KUNIT_EXPECT_EQ(test, weft_tally_bind(&t->counter[0], &t->qp[0]->ib, 1), 0);
	KUNIT_EXPECT_NE(test, t->counter[0].id, 0U);
	KUNIT_EXPECT_PTR_EQ(test, t->qp[0]->ib.counter, &t->counter[0]);
	expect_shown(test, t, 0, 0, 0);
	works(t, 0, 3, 2);
	expect_shown(test, t, 0, 3, 2);
	KUNIT_EXPECT_EQ(test, weft_tally_bind(&t->counter[0], &t->qp[1]->ib, 1), 0);
	works(t, 1, 10, 20);
	works(t, 0, 1, 1);
	expect_shown(test, t, 0, 14, 23);
	KUNIT_EXPECT_EQ(test, weft_tally_unbind(&t->qp[0]->ib, 1), 0);
	KUNIT_EXPECT_PTR_EQ(test, t->qp[0]->ib.counter, NULL);
	works(t, 0, 100, 100);
	works(t, 1, 5, 5);
	expect_shown(test, t, 0, 19, 28);
	/* Bound again, it counts from then on. */
	KUNIT_EXPECT_EQ(test, weft_tally_bind(&t->counter[0], &t->qp[0]->ib, 1), 0);
	works(t, 0, 1, 0);
	expect_shown(test, t, 0, 20, 28);
	KUNIT_EXPECT_EQ(test, weft_tally_unbind(&t->qp[0]->ib, 1), 0);
	KUNIT_EXPECT_EQ(test, weft_tally_unbind(&t->qp[1]->ib, 1), 0);
	expect_shown(test, t, 0, 20, 28);
	KUNIT_EXPECT_EQ(test, weft_tally_dealloc(&t->counter[0]), 0);
}

/* What a queue pair sent is not forgotten with its stream. */
CASE_WITH(counts_over_streams, struct tallied *t, tallied_new(test))
{
	struct weft_qp *qp = t->qp[0];

	KUNIT_EXPECT_EQ(test, weft_tally_bind(&t->counter[0], &qp->ib, 1), 0);
	works(t, 0, 9, 8);
	weft_baton_lock(&qp->tx_lock);
	weft_tx_stop(tx_of(qp));
	KUNIT_EXPECT_EQ(test, weft_tx_start(tx_of(qp)), 0);
	weft_qp_unlock(qp);
	weft_framer_start(&rx_of(qp)->framer, &(struct weft_mpa_agreed){ .crc = true }, NULL);
	expect_shown(test, t, 0, 9, 8);
	works(t, 0, 1, 1);
	expect_shown(test, t, 0, 10, 9);
	KUNIT_EXPECT_TRUE(test, weft_tally_leave(qp));
}

/* A queue pair without a counter waits for nobody who reads counters; one that dies gets none. */
CASE_WITH(ends_without_the_lock, struct tallied *t, tallied_new(test))
{
	struct weft_qp *qp = t->qp[0];

	mutex_lock(&t->b->dev.tallies.lock);
	KUNIT_EXPECT_FALSE(test, weft_tally_leave(qp));
	mutex_unlock(&t->b->dev.tallies.lock);
	qp->dying = true;
	KUNIT_EXPECT_EQ(test, weft_tally_bind(&t->counter[0], &qp->ib, 1), -EINVAL);
	KUNIT_EXPECT_FALSE(test, weft_tally_leave(qp));
	qp->dying = false;
}

/* The port's own numbers and what the core adds to them are what the port has done. */
CASE_WITH(port_has_all, struct tallied *t, tallied_new(test))
{
	works(t, 0, 40, 0);
	expect_port(test, t, 40, 0);
	KUNIT_EXPECT_EQ(test, weft_tally_bind(&t->counter[0], &t->qp[0]->ib, 1), 0);
	KUNIT_EXPECT_EQ(test, weft_tally_bind(&t->counter[1], &t->qp[1]->ib, 1), 0);
	KUNIT_EXPECT_NE(test, t->counter[0].id, t->counter[1].id);
	expect_port(test, t, 40, 0);
	works(t, 0, 2, 0);
	works(t, 1, 3, 0);
	expect_port(test, t, 45, 5);
	KUNIT_EXPECT_EQ(test, weft_tally_unbind(&t->qp[0]->ib, 1), 0);
	expect_port(test, t, 45, 5);
	/* The core goes on adding what it showed last. */
	KUNIT_EXPECT_EQ(test, weft_tally_dealloc(&t->counter[0]), 0);
	works(t, 0, 10, 0);
	works(t, 1, 1, 0);
	expect_port(test, t, 56, 6);
	/* It may ask once more. */
	KUNIT_EXPECT_EQ(test, weft_counter_update_stats(&t->counter[0]), -EINVAL);
	KUNIT_EXPECT_EQ(test, weft_tally_unbind(&t->qp[1]->ib, 1), 0);
}

/* Of two threads of an operator's that the core lets in at once, the first comes first. */
CASE_WITH(first_comes_first, struct tallied *t, tallied_new(test))
{
	struct ib_qp *ib = &t->qp[0]->ib;

	KUNIT_EXPECT_EQ(test, weft_tally_unbind(ib, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, weft_tally_bind(&t->counter[0], ib, 1), 0);
	/* The core frees a new counter whose first binding failed, and says no more of it. */
	KUNIT_EXPECT_EQ(test, weft_tally_bind(&t->counter[1], ib, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, t->counter[1].id, 0U);
	KUNIT_EXPECT_EQ(test, weft_tally_bind(&t->counter[0], ib, 1), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, ib->counter, &t->counter[0]);
	works(t, 0, 1, 1);
	KUNIT_EXPECT_EQ(test, weft_tally_unbind(ib, 1), 0);
	KUNIT_EXPECT_EQ(test, weft_tally_unbind(ib, 1), -EINVAL);
	expect_shown(test, t, 0, 1, 1);
	KUNIT_EXPECT_EQ(test, weft_tally_dealloc(&t->counter[0]), 0);
	/* To a counter that went meanwhile nothing can be bound. */
	KUNIT_EXPECT_EQ(test, weft_tally_bind(&t->counter[0], ib, 1), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, ib->counter, NULL);
}

/* A queue pair that dies leaves what it was bound to, and is bound to nothing. */
CASE_WITH(dying_is_bound_to_nothing, struct tallied *t, tallied_new(test))
{
	KUNIT_EXPECT_EQ(test, weft_tally_bind(&t->counter[0], &t->qp[0]->ib, 1), 0);
	works(t, 0, 4, 4);
	t->qp[0]->dying = true;
	KUNIT_EXPECT_TRUE(test, weft_tally_leave(t->qp[0]));
	KUNIT_EXPECT_FALSE(test, weft_tally_leave(t->qp[0]));
	KUNIT_EXPECT_EQ(test, weft_tally_bind(&t->counter[0], &t->qp[0]->ib, 1), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, t->qp[0]->ib.counter, NULL);
	expect_shown(test, t, 0, 4, 4);
	t->qp[0]->dying = false;
}

/* A counter has as many numbers as the port, and shows those that a queue pair counts. */
CASE_WITH(shows_what_is_counted, struct tallied *t, tallied_new(test))
{
	const struct rdma_hw_stats *stats = t->counter[0].stats;
	const int shown[] = {
		WEFT_CNT_TX_FPDUS, WEFT_CNT_TX_BYTES, WEFT_CNT_RX_FPDUS, WEFT_CNT_RX_BYTES
	};

	KUNIT_EXPECT_EQ(test, stats->num_counters, t->port->num_counters);
	for (u32 i = 0; i < ARRAY_SIZE(shown); i++)
		KUNIT_EXPECT_FALSE(test, test_bit(shown[i], stats->is_disabled));
	KUNIT_EXPECT_EQ(test, bitmap_weight(stats->is_disabled, stats->num_counters),
			stats->num_counters - (int)ARRAY_SIZE(shown));
	KUNIT_EXPECT_TRUE(test, bitmap_empty(t->port->is_disabled, stats->num_counters));
}

A_SUITE(tally, bench, counts_while_bound, counts_over_streams, ends_without_the_lock, port_has_all,
	first_comes_first, dying_is_bound_to_nothing, shows_what_is_counted);
