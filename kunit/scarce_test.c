// SPDX-License-Identifier: GPL-2.0
/*
 * Calls in which one allocation fails: the first, the second, and so on until a call needs no more.
 * Each returns -ENOMEM and leaves nothing, as kunit/load finds out when the suites are gone, or
 * does without.
 */
#include "hosts.h"
#include "routes.h"
#include "scarce.h"
#include "verbs/verbs.h"

#define MOST_ALLOCATIONS 100
#define TRIES 3

/* What calls make, one of each at a time. */
struct made {
	struct host *h;	/* connects and listens; the rest is not used then */
	struct bench *b;
	struct weft_mw mw;
	struct weft_engine engine;
	struct rdma_counter counter;
};

/* A call, and what undoes it. */
struct attempt {
	int (*call)(struct made *m);	/* the call; returns 0 or a negative errno value */
	void (*undo)(struct made *m);	/* undoes it after 0 */
	u32 least;	/* so many of its allocations fail it, at least */
	bool numbered;	/* it gives an object a number */
};

static void each_fails(struct kunit *test, const struct attempt *a, struct made *m)
{
	u32 nth = 1, refused = 0, done_without = 0;
	bool failed = true;
	int ret = 0;

	while (failed && nth <= MOST_ALLOCATIONS) {
		scarce_nth(nth);
		ret = a->call(m);
		failed = scarce_nth_failed();
		if (ret) {
			KUNIT_EXPECT_EQ_MSG(test, ret, -ENOMEM, "allocation %u", nth);
			refused++;
		} else {
			a->undo(m);
			/* Maybe the allocator's own, as of a new slab: it seldom recurs. */
			if (++done_without < TRIES)
				continue;
		}
		done_without = 0;
		nth++;
	}
	KUNIT_EXPECT_FALSE(test, failed);
	KUNIT_EXPECT_EQ(test, ret, 0);
	KUNIT_EXPECT_GE(test, refused, a->least);
	if (a->numbered) {
		scarce = (struct scarce){ .numbers = true };
		KUNIT_EXPECT_EQ(test, a->call(m), -ENOMEM);
		KUNIT_EXPECT_EQ(test, scarce.refused, 1U);
		scarce = (struct scarce){};
	}
}

/* --- connections --- */

static int connect_call(struct made *m)
{
	return host_connect(m->h, "hello");
}

static void connect_undo(struct made *m)
{
	weft_conn_stop_all(host_dev(m->h));
	settle();
	weft_engine_reset(host_qp(m->h));
	host_qp(m->h)->state = IB_QPS_INIT;
}

static void each_fails_of_host(struct kunit *test, const struct attempt *a)
{
	struct made *m = zeroed(test, sizeof(*m));

	m->h = host_new(test);
	each_fails(test, a, m);
	KUNIT_EXPECT_EQ(test, m->h->refs, 0);
	host_free(test, m->h);
	KUNIT_EXPECT_EQ(test, fake_end(), 0U);
}

static void scarce_connect(struct kunit *test)
{
	each_fails_of_host(test, &(struct attempt){ connect_call, connect_undo, 2 });
}

static int listen_call(struct made *m)
{
	host_id(m->h, &m->h->id);
	return host_listen(m->h, &m->h->id, "10.0.0.1", 5);
}

static void listen_undo(struct made *m)
{
	weft_iw_destroy_listen(&m->h->id);
}

static void scarce_listen(struct kunit *test)
{
	each_fails_of_host(test, &(struct attempt){ listen_call, listen_undo, 3 });
}

/* --- what verbs make --- */

END_OF(made_end, struct made *m)
{
	weft_tallies_destroy(&m->b->dev.tallies);
	teardown(test, m->b);
}

static struct made *made_new(struct kunit *test)
{
	struct made *m = zeroed(test, sizeof(*m));

	m->b = bench_make(test, ORD);
	m->b->pd.device = &m->b->dev.ib;
	m->b->engine.qp.ib.device = &m->b->dev.ib;
	weft_tallies_init(&m->b->dev.tallies);
	/* As those of a device, which find numbers. */
	xa_destroy(&m->b->dev.mrs);
	xa_init_flags(&m->b->dev.mrs, XA_FLAGS_ALLOC);
	xa_init_flags(&m->b->dev.qps, XA_FLAGS_ALLOC);
	m->counter.device = &m->b->dev.ib;
	at_end(test, made_end, m);
	return m;
}

static int window_call(struct made *m)
{
	m->mw.ib.device = &m->b->dev.ib;
	m->mw.ib.pd = &m->b->pd;
	m->mw.ib.type = IB_MW_TYPE_2;
	return weft_alloc_mw(&m->mw.ib, NULL);
}

static void window_undo(struct made *m)
{
	weft_dealloc_mw(&m->mw.ib);
}

static int pair_call(struct made *m)
{
	struct ib_qp_init_attr attr = {
		.qp_type = IB_QPT_RC, .send_cq = &m->b->cq.ib, .recv_cq = &m->b->cq.ib,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	memset(&m->engine, 0, sizeof(m->engine));
	m->engine.qp.ib.device = &m->b->dev.ib;
	m->engine.qp.ib.pd = &m->b->pd;
	return weft_create_qp(&m->engine.qp.ib, &attr, NULL);
}

static void pair_undo(struct made *m)
{
	weft_destroy_qp(&m->engine.qp.ib, NULL);
}

static int tally_call(struct made *m)
{
	return weft_tally_bind(&m->counter, &m->b->engine.qp.ib, 1);
}

static void tally_undo(struct made *m)
{
	weft_tally_unbind(&m->b->engine.qp.ib, 1);
	weft_tally_dealloc(&m->counter);
	m->counter.id = 0;
}

CASE_WITH(scarce_made, struct made *m, made_new(test))
{
	const struct attempt window = { window_call, window_undo, 1, true };
	const struct attempt pair = { pair_call, pair_undo, 6, true };
	const struct attempt tally = { tally_call, tally_undo, 2, true };

	each_fails(test, &window, m);
	KUNIT_EXPECT_EQ(test, atomic_read(&m->b->dev.num_mw), 0);
	each_fails(test, &pair, m);
	KUNIT_EXPECT_EQ(test, atomic_read(&m->b->dev.num_qp), 0);
	each_fails(test, &tally, m);
	KUNIT_EXPECT_PTR_EQ(test, m->b->engine.qp.ib.counter, NULL);
}

/* --- frames of several paths --- */

/* A frame for which there are no pages waits for its sender, who tries again. */
CASE_WITH(scarce_frame, struct routes *r, routes_gather(test, 2))
{
	scarce = (struct scarce){ .pages = true };
	KUNIT_EXPECT_EQ(test, route_send(&r->a, 8000), -EAGAIN);
	KUNIT_EXPECT_GT(test, scarce.refused, 0U);
	scarce = (struct scarce){};
	route_send_many(&r->a, 1, 8000);
	expect_taken(&r->b, 1);
}

A_SUITE(scarce, host, scarce_connect, scarce_listen, scarce_made, scarce_frame);
