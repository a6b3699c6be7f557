/* SPDX-License-Identifier: GPL-2.0 */
/* A queue pair in RTS with no stream below it, its regions, and what they told their owner. */
#ifndef WEFT_KUNIT_BENCH_H
#define WEFT_KUNIT_BENCH_H

#include "base/compat.h"
#include "base/context.h"
#include "base/weft.h"
#include "base/baton.h"
#include "engine/consumer.h"
#include "engine/engine.h"
#include "engine/whole.h"
#include "memory/mr.h"
#include "queue/cq.h"
#include "suite.h"

#define BLOCKS		32
#define ENTRIES		64
#define MAX_SGE		6
#define MAX_INLINE	96
#define ORD		2
#define RECEIVES	4
#define MAX_RECV_SGE	2

#define STAG		0x00000501U	/* all rights, one page */
#define STAG_READ_ONLY	0x00000602U	/* the same, no right to write */
#define STAG_OTHER_PD	0x00000703U
#define STAG_ALL	0x00000804U	/* all addresses */
#define IOVA		0x10000ULL
#define LENGTH		0x1000U

struct bench {
	struct weft_device dev;
	struct ib_pd pd, other_pd;
	struct weft_ucontext owner;
	struct weft_mr mr[4];
	struct weft_cq cq;
	struct weft_engine engine;
	struct weft_qp_entry entry;
	u32 posted;
	int event; /* the last one, -1: none */
	int events;
};

/* The directions of a queue pair. */
static inline struct weft_tx *tx_of(const struct weft_qp *qp)
{
	return &container_of(qp, struct weft_engine, qp)->tx;
}

static inline struct weft_rx *rx_of(const struct weft_qp *qp)
{
	return &container_of(qp, struct weft_engine, qp)->rx;
}

/* Returns the work that left word at tx_lock, a bit for each enum weft_want. */
static inline unsigned long wanted_of(struct weft_qp *qp)
{
	return atomic_long_read(&qp->tx_lock.wanted);
}

static inline void note_event(struct ib_event *event, void *context)
{
	struct bench *b = context;

	b->event = event->event;
	b->events++;
}

static inline void receive_queue(struct kunit *test, struct weft_rq *rq, u32 entries, u32 max_sge)
{
	spin_lock_init(&rq->lock);
	INIT_LIST_HEAD(&rq->waiting);
	rq->max_sge = max_sge;
	ring_memory(test, &rq->ring, entries, weft_rq_stride(max_sge));
}

/* Makes a region that has its bounds one of the device's, for its owner alone. */
static inline void region(struct kunit *test, struct bench *b, struct weft_mr *mr, u32 stag)
{
	kref_init(&mr->refs);
	init_completion(&mr->gone);
	rwlock_init(&mr->lock);
	mr->dev = &b->dev;
	mr->stag = stag;
	mr->pd = &b->pd;
	mr->access = IB_ACCESS_LOCAL_WRITE;
	KUNIT_ASSERT_FALSE(test, xa_is_err(xa_store(&b->dev.mrs, stag >> 8, mr, GFP_KERNEL)));
}

static inline struct bench *bench_make(struct kunit *test, u16 ord)
{
	static const u32 stags[] = { STAG, STAG_READ_ONLY, STAG_OTHER_PD, STAG_ALL };
	struct bench *b = zeroed(test, sizeof(*b));
	struct ib_qp_init_attr attr = { .recv_cq = &b->cq.ib };
	struct weft_qp *qp = &b->engine.qp;

	xa_init(&b->dev.mrs);
	xa_init(&b->dev.qps);
	for (u32 i = 0; i < ARRAY_SIZE(b->mr); i++) {
		b->mr[i].iova = IOVA;
		b->mr[i].length = LENGTH;
		region(test, b, &b->mr[i], stags[i]);
	}
	b->mr[1].access = 0;
	b->mr[2].pd = &b->other_pd;
	b->mr[3].all_memory = true;
	spin_lock_init(&b->cq.lock);
	ring_memory(test, &b->cq.ring, ENTRIES, sizeof(struct weft_cqe));
	b->entry.ib = &qp->ib;
	kref_init(&b->entry.refs);
	init_completion(&b->entry.gone);
	qp->entry = &b->entry;
	spin_lock_init(&qp->lock);
	spin_lock_init(&qp->post_lock);
	qp->dev = &b->dev;
	qp->ib.pd = &b->pd;
	qp->acc.dev = &b->dev;
	qp->acc.pd = &b->pd;
	qp->ib.event_handler = note_event;
	qp->ib.qp_context = b;
	qp->acc.qpn = 17;
	qp->owner = &b->owner.ib;
	qp->scq = &b->cq;
	qp->cap = (struct ib_qp_cap){
		.max_send_wr = BLOCKS, .max_send_sge = MAX_SGE, .max_inline_data = MAX_INLINE,
		.max_recv_wr = RECEIVES, .max_recv_sge = MAX_RECV_SGE,
	};
	ring_memory(test, &qp->sq, BLOCKS, WEFT_SQ_BLOCK);
	qp->rq = &qp->own_rq;
	receive_queue(test, qp->rq, RECEIVES, MAX_RECV_SGE);
	KUNIT_ASSERT_EQ(test, weft_engine_init(qp, &attr), 0);
	qp->agreed.ord = ord;
	qp->initiator = true;
	KUNIT_ASSERT_EQ(test, weft_tx_start(tx_of(qp)), 0);
	qp->state = IB_QPS_RTS;
	b->event = -1;
	return b;
}

END_OF(teardown, struct bench *b)
{
	flush_work(&b->engine.qp.worker.work);
	weft_baton_lock(&b->engine.qp.tx_lock);
	weft_tx_stop(tx_of(&b->engine.qp));
	weft_qp_unlock(&b->engine.qp);
	weft_engine_end(&b->engine.qp);
	weft_engine_destroy(&b->engine.qp);
	xa_destroy(&b->dev.mrs);
	xa_destroy(&b->dev.qps);
}

static inline struct bench *setup(struct kunit *test, u16 ord)
{
	struct bench *b = bench_make(test, ord);

	at_end(test, teardown, b);
	return b;
}

/* Has the queue pair be in INIT, as before it has a stream. */
static inline void bench_idle(struct bench *b)
{
	weft_baton_lock(&b->engine.qp.tx_lock);
	weft_tx_stop(tx_of(&b->engine.qp));
	weft_qp_unlock(&b->engine.qp);
	b->engine.qp.state = IB_QPS_INIT;
}

/* Makes the queue pair one of the kernel's own, with all that only such a one has. */
static inline void give_to_kernel(struct kunit *test, struct bench *b)
{
	b->engine.qp.owner = NULL;
	b->engine.qp.acc.kernel = true;
	KUNIT_ASSERT_EQ(test, weft_engine_for_kernel(&b->engine.qp), 0);
}

/* The module's own, while a suite runs: NULL where that runs before the module has started. */
static struct workqueue_struct *bench_any, *bench_near;

static inline int bench_suite_init(struct kunit_suite *suite)
{
	bench_any = alloc_workqueue("weft_kunit", WQ_PERCPU, 0);
	bench_near = bench_any;
	if (!bench_any)
		return -ENOMEM;
	swap(weft_workqueue, bench_any);
	swap(weft_near_workqueue, bench_near);
	return 0;
}

static inline void bench_suite_exit(struct kunit_suite *suite)
{
	swap(weft_workqueue, bench_any);
	swap(weft_near_workqueue, bench_near);
	destroy_workqueue(bench_any);
}

#endif /* WEFT_KUNIT_BENCH_H */
