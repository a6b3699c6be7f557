// SPDX-License-Identifier: GPL-2.0
/* Receive queues, shared ones above all: who gets an entry, who is woken, what scribbling does. */
#include "bench.h"
#include "queue/rq.h"
#include "verbs/verbs.h"

#define WAITERS	200
#define AT_ONCE	8	/* so many are woken */

/* A receive side, as the queue knows it, and how often it was woken. */
struct taker {
	struct weft_waiter waiting;
	u32 woken;
};

/* A shared queue, receive sides that take from it, and what its owner heard. */
struct shared {
	struct weft_srq srq;
	struct rdma_user_mmap_entry entry;
	struct taker taker[WAITERS];
	struct weft_sge taken[MAX_RECV_SGE];
	struct weft_recv recv;	/* what was taken last */
	int limits, errors;
};

static void note_srq_event(struct ib_event *event, void *context)
{
	struct shared *s = context;

	if (event->event == IB_EVENT_SRQ_LIMIT_REACHED)
		s->limits++;
	if (event->event == IB_EVENT_SRQ_ERR)
		s->errors++;
}

/* What a woken receive side does here: leave a mark. */
static void mark(struct weft_waiter *waiter)
{
	container_of(waiter, struct taker, waiting)->woken++;
}

static struct shared *share(struct kunit *test, bool user)
{
	struct shared *s = zeroed(test, sizeof(*s));

	receive_queue(test, &s->srq.rq, RECEIVES, MAX_RECV_SGE);
	s->srq.ib.event_handler = note_srq_event;
	s->srq.ib.srq_context = s;
	s->recv.sge = s->taken;
	if (user)
		s->srq.rq.ring.entry = &s->entry;
	for (int i = 0; i < WAITERS; i++) {
		INIT_LIST_HEAD(&s->taker[i].waiting.entry);
		s->taker[i].waiting.wake = mark;
	}
	return s;
}

static struct weft_wq_ctl *ctl(struct shared *s)
{
	return s->srq.rq.ring.mem;
}

/* As a process posts: into the ring, without a word to the kernel. */
static void post(struct shared *s, u64 wr_id)
{
	struct weft_rq_wr *slot = weft_ring_slot(&s->srq.rq.ring, ctl(s)->producer);

	slot->wr_id = wr_id;
	slot->num_sge = 0;
	ctl(s)->producer++;
}

static int take(struct shared *s, int who)
{
	int taken = weft_rq_take(&s->srq.rq, &s->recv, &s->taker[who].waiting);

	if (taken)
		weft_srq_taken(&s->srq, taken);
	return taken;
}

static void doorbell(struct shared *s)
{
	weft_rq_wake(&s->srq.rq);
}

CASE_WITH(srq_order, struct shared *s, share(test, true))
{
	for (u32 n = 0; n < 3 * RECEIVES; n++) {
		post(s, 0x100 + n);
		KUNIT_EXPECT_EQ(test, take(s, n % WAITERS), 1);
		KUNIT_EXPECT_EQ(test, s->recv.wr_id, 0x100ULL + n);
		KUNIT_EXPECT_EQ(test, ctl(s)->consumer, n + 1);
	}
	KUNIT_EXPECT_EQ(test, ctl(s)->need_doorbell, 0U);
}

/* As many are woken as there are receives, in the order in which they found nothing. */
CASE_WITH(srq_wakes, struct shared *s, share(test, true))
{
	KUNIT_EXPECT_EQ(test, take(s, 0), 0);
	KUNIT_EXPECT_EQ(test, ctl(s)->need_doorbell, 1U);
	KUNIT_EXPECT_EQ(test, take(s, 1), 0);
	KUNIT_EXPECT_EQ(test, take(s, 2), 0);
	KUNIT_EXPECT_EQ(test, take(s, 0), 0); /* asks twice, waits once */
	post(s, 1);
	doorbell(s);
	doorbell(s);
	KUNIT_EXPECT_EQ(test, s->taker[0].woken, 1U);
	KUNIT_EXPECT_EQ(test, s->taker[1].woken, 0U);
	KUNIT_EXPECT_EQ(test, ctl(s)->need_doorbell, 1U);
	/* It is for the first: neither another one that waits has it, nor one that comes. */
	KUNIT_EXPECT_EQ(test, take(s, 1), 0);
	KUNIT_EXPECT_EQ(test, take(s, 3), 0);
	KUNIT_EXPECT_EQ(test, weft_rq_take(&s->srq.rq, &s->recv, NULL), 0);
	KUNIT_EXPECT_EQ(test, take(s, 0), 1);
	/* Nor is one for him who comes before the doorbell. */
	post(s, 2);
	KUNIT_EXPECT_EQ(test, take(s, 4), 0);
	post(s, 3);
	post(s, 4);
	doorbell(s);
	KUNIT_EXPECT_EQ(test, s->taker[1].woken, 1U);
	KUNIT_EXPECT_EQ(test, s->taker[2].woken, 1U);
	KUNIT_EXPECT_EQ(test, s->taker[3].woken, 1U);
	KUNIT_EXPECT_EQ(test, s->taker[4].woken, 0U);
	KUNIT_EXPECT_EQ(test, take(s, 3), 1);
	KUNIT_EXPECT_EQ(test, take(s, 1), 1);
	KUNIT_EXPECT_EQ(test, take(s, 2), 1);
	KUNIT_EXPECT_EQ(test, ctl(s)->need_doorbell, 1U);
	/* The first finds one by itself before any doorbell. */
	post(s, 5);
	KUNIT_EXPECT_EQ(test, take(s, 4), 1);
	KUNIT_EXPECT_EQ(test, s->recv.wr_id, 5ULL);
	KUNIT_EXPECT_EQ(test, ctl(s)->need_doorbell, 0U);
	doorbell(s);
	KUNIT_EXPECT_EQ(test, s->taker[4].woken, 0U);
	KUNIT_EXPECT_EQ(test, s->srq.rq.promised, 0U);
}

/* Receives come one at a time, and everybody has one in its turn; a doorbell alone wakes nobody. */
CASE_WITH(srq_wakes_all, struct shared *s, share(test, true))
{
	for (int i = 0; i < WAITERS; i++)
		KUNIT_EXPECT_EQ(test, take(s, i), 0);
	doorbell(s);
	for (int i = 0; i < WAITERS; i++)
		KUNIT_EXPECT_EQ(test, s->taker[i].woken, 0U);
	KUNIT_EXPECT_EQ(test, ctl(s)->need_doorbell, 1U);
	for (int i = 0; i < WAITERS; i++) {
		post(s, i);
		doorbell(s);
		for (int j = 0; j < WAITERS; j++)
			KUNIT_EXPECT_EQ(test, s->taker[j].woken, j <= i);
		/* Whoever else tries first. */
		KUNIT_EXPECT_EQ(test, take(s, WAITERS - 1), i == WAITERS - 1);
		KUNIT_EXPECT_EQ(test, take(s, i), i < WAITERS - 1);
		KUNIT_EXPECT_EQ(test, weft_rq_moved(&s->srq.rq, &s->taker[WAITERS - 1].waiting),
				i < WAITERS - 1);
		KUNIT_EXPECT_FALSE(test, weft_rq_moved(&s->srq.rq, &s->taker[WAITERS - 1].waiting));
	}
}

/* Few are woken at once, however many receives there are; each has the next woken. */
CASE_WITH(srq_wakes_many, struct shared *s, share(test, true))
{
	s->srq.rq.ring.size = 256;
	for (int i = 0; i < WAITERS; i++)
		KUNIT_EXPECT_EQ(test, take(s, i), 0);
	ctl(s)->producer += WAITERS - 1; /* entries that nobody reads */
	doorbell(s);
	doorbell(s);
	for (int i = 0; i < WAITERS; i++)
		KUNIT_EXPECT_EQ_MSG(test, s->taker[i].woken, (u32)(i < AT_ONCE), "waiter %d", i);
	KUNIT_EXPECT_EQ(test, ctl(s)->need_doorbell, 1U);
	for (int i = 0; i < 20; i++) {
		weft_rq_leave(&s->srq.rq, &s->taker[i].waiting);
		KUNIT_EXPECT_EQ(test, s->taker[i + AT_ONCE].woken, 1U);
		KUNIT_EXPECT_EQ(test, s->taker[i + AT_ONCE + 1].woken, 0U);
	}
	/* A process takes its posts back: a receive that was promised is waited for again. */
	ctl(s)->producer = 0;
	KUNIT_EXPECT_EQ(test, take(s, 20), 0);
	KUNIT_EXPECT_EQ(test, s->srq.rq.promised, AT_ONCE - 1U);
	for (int i = 0; i < WAITERS; i++)
		weft_rq_leave(&s->srq.rq, &s->taker[i].waiting);
	KUNIT_EXPECT_EQ(test, s->srq.rq.promised, 0U);
	KUNIT_EXPECT_EQ(test, ctl(s)->need_doorbell, 0U);
}

/* A receive that is taken has the next waiter woken, without another doorbell. */
CASE_WITH(srq_wakes_on, struct shared *s, share(test, true))
{
	receive_queue(test, &s->srq.rq, 2 * AT_ONCE, MAX_RECV_SGE);
	s->srq.rq.ring.entry = &s->entry;
	for (int i = 0; i < AT_ONCE + 2; i++)
		KUNIT_EXPECT_EQ(test, take(s, i), 0);
	for (int i = 0; i < AT_ONCE + 2; i++)
		post(s, i);
	doorbell(s);
	for (int i = 0; i < AT_ONCE + 2; i++) {
		KUNIT_EXPECT_EQ(test, s->taker[i].woken, 1U);
		KUNIT_EXPECT_EQ(test, take(s, i), 1);
		KUNIT_EXPECT_EQ(test, s->recv.wr_id, (u64)i);
	}
	KUNIT_EXPECT_EQ(test, ctl(s)->need_doorbell, 0U);
}

/* One that goes is not woken, and asks for no doorbell any more; its receive is the next one's. */
CASE_WITH(srq_leave, struct shared *s, share(test, true))
{
	take(s, 0);
	take(s, 1);
	weft_rq_leave(&s->srq.rq, &s->taker[0].waiting);
	KUNIT_EXPECT_EQ(test, ctl(s)->need_doorbell, 1U);
	weft_rq_leave(&s->srq.rq, &s->taker[0].waiting);
	take(s, 2);
	post(s, 1);
	doorbell(s);
	KUNIT_EXPECT_EQ(test, s->taker[0].woken, 0U);
	KUNIT_EXPECT_EQ(test, s->taker[1].woken, 1U);
	KUNIT_EXPECT_EQ(test, s->taker[2].woken, 0U);
	weft_rq_leave(&s->srq.rq, &s->taker[1].waiting);
	KUNIT_EXPECT_EQ(test, s->taker[2].woken, 1U);
	KUNIT_EXPECT_EQ(test, take(s, 2), 1);
	KUNIT_EXPECT_EQ(test, take(s, 2), 0);
	weft_rq_leave(&s->srq.rq, &s->taker[2].waiting);
	KUNIT_EXPECT_EQ(test, ctl(s)->need_doorbell, 0U);
	KUNIT_EXPECT_TRUE(test, list_empty(&s->srq.rq.waiting));
}

/* Told once when fewer are left than the limit, and again when it is set anew. */
CASE_WITH(srq_limit, struct shared *s, share(test, true))
{
	struct ib_srq_attr attr = { .srq_limit = 2 };

	for (int n = 0; n < RECEIVES; n++)
		post(s, n);
	KUNIT_EXPECT_EQ(test, weft_modify_srq(&s->srq.ib, &attr, IB_SRQ_LIMIT, NULL), 0);
	weft_query_srq(&s->srq.ib, &attr);
	KUNIT_EXPECT_EQ(test, attr.srq_limit, 2U);
	KUNIT_EXPECT_EQ(test, attr.max_wr, (u32)RECEIVES);
	KUNIT_EXPECT_EQ(test, attr.max_sge, (u32)MAX_RECV_SGE);
	take(s, 0);
	take(s, 1);
	KUNIT_EXPECT_EQ(test, s->limits, 0); /* two are left */
	take(s, 0);
	KUNIT_EXPECT_EQ(test, s->limits, 1);
	take(s, 0);
	KUNIT_EXPECT_EQ(test, s->limits, 1);
	weft_query_srq(&s->srq.ib, &attr);
	KUNIT_EXPECT_EQ(test, attr.srq_limit, 0U);
	attr.srq_limit = 1;
	weft_modify_srq(&s->srq.ib, &attr, IB_SRQ_LIMIT, NULL);
	post(s, 9);
	take(s, 0);
	KUNIT_EXPECT_EQ(test, s->limits, 2);
	attr.srq_limit = RECEIVES + 1;
	KUNIT_EXPECT_EQ(test, weft_modify_srq(&s->srq.ib, &attr, IB_SRQ_LIMIT, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, weft_modify_srq(&s->srq.ib, &attr, IB_SRQ_MAX_WR, NULL), -EOPNOTSUPP);
}

/* A producer index that makes no sense: nobody gets an entry, one event tells. */
static void srq_hostile_producer(struct kunit *test)
{
	static const u32 indices[] = { RECEIVES + 1, 0x80000000, U32_MAX };

	for (size_t i = 0; i < ARRAY_SIZE(indices); i++) {
		struct shared *s = share(test, true);

		s->srq.limit = 1;
		ctl(s)->producer = indices[i];
		KUNIT_EXPECT_EQ(test, take(s, 0), -EINVAL);
		KUNIT_EXPECT_EQ(test, take(s, 1), -EINVAL);
		KUNIT_EXPECT_EQ(test, s->errors, 1);
		KUNIT_EXPECT_EQ(test, s->limits, 0);
		KUNIT_EXPECT_EQ(test, s->srq.rq.ring.head, 0U);
		KUNIT_EXPECT_TRUE(test, list_empty(&s->srq.rq.waiting));
		doorbell(s);
	}
}

/* Entries that make no sense hold no byte, and the copy is the kernel's own. */
CASE_WITH(srq_hostile_entry, struct shared *s, share(test, true))
{
	static const u32 counts[] = { MAX_RECV_SGE + 1, WEFT_MAX_SGE + 1, 0x10000000, U32_MAX };
	struct weft_rq_wr *slot;
	struct weft_sge *sge;

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		slot = weft_ring_slot(&s->srq.rq.ring, ctl(s)->producer);
		post(s, 7);
		slot->num_sge = counts[i];
		KUNIT_EXPECT_EQ(test, take(s, 0), 1);
		KUNIT_EXPECT_EQ(test, s->recv.num_sge, 0U);
		KUNIT_EXPECT_EQ(test, s->recv.room, 0ULL);
	}
	slot = weft_ring_slot(&s->srq.rq.ring, ctl(s)->producer);
	post(s, 9);
	slot->num_sge = 1;
	slot->reserved = 1; /* means nothing yet */
	KUNIT_EXPECT_EQ(test, take(s, 0), 1);
	KUNIT_EXPECT_EQ(test, s->recv.num_sge, 0U);
	slot->reserved = 0;
	slot = weft_ring_slot(&s->srq.rq.ring, ctl(s)->producer);
	post(s, 8);
	slot->num_sge = 2;
	sge = (struct weft_sge *)(slot + 1);
	sge[0] = (struct weft_sge){ IOVA, U32_MAX, STAG };
	sge[1] = (struct weft_sge){ IOVA, U32_MAX, STAG };
	KUNIT_EXPECT_EQ(test, take(s, 0), 1);
	KUNIT_EXPECT_EQ(test, s->recv.room, (u64)WEFT_MAX_MSG);
	memset(slot, 0xff, weft_rq_stride(MAX_RECV_SGE));
	KUNIT_EXPECT_EQ(test, s->recv.num_sge, 2U);
	KUNIT_EXPECT_EQ(test, s->recv.sge[1].addr, IOVA);
	KUNIT_EXPECT_EQ(test, s->recv.sge[1].lkey, STAG);
}

CASE_WITH(srq_kernel_posts, struct shared *s, share(test, false))
{
	struct ib_sge sge = { IOVA, 12, STAG };
	struct ib_recv_wr wr[2] = {
		{ .wr_id = 1, .next = &wr[1], .sg_list = &sge, .num_sge = 1 },
		{ .wr_id = 2, .num_sge = MAX_RECV_SGE + 1 },
	};
	const struct ib_recv_wr *bad = NULL;

	KUNIT_EXPECT_EQ(test, take(s, 0), 0);
	KUNIT_EXPECT_EQ(test, weft_post_srq_recv(&s->srq.ib, wr, &bad), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, bad, (const struct ib_recv_wr *)&wr[1]);
	KUNIT_EXPECT_EQ(test, s->taker[0].woken, 1U); /* the first was posted */
	KUNIT_EXPECT_EQ(test, take(s, 0), 1);
	KUNIT_EXPECT_EQ(test, s->recv.wr_id, 1ULL);
	KUNIT_EXPECT_EQ(test, s->recv.room, 12ULL);
	/* A process has the ring for that. */
	s->srq.rq.ring.entry = &s->entry;
	KUNIT_EXPECT_EQ(test, weft_post_srq_recv(&s->srq.ib, wr, &bad), -EINVAL);
	KUNIT_EXPECT_EQ(test, ctl(s)->producer, 1U);
}

/* What is in the queue survives a queue pair that fails; that one tells its end once. */
CASE_WITH(srq_outlives_queue_pair, struct bench *b, setup(test, ORD))
{
	struct shared *s = share(test, true);
	const struct weft_cqe *cqe = weft_ring_slot(&b->cq.ring, 0);
	const struct ib_recv_wr *bad;

	b->engine.qp.ib.srq = &s->srq.ib;
	b->engine.rx.srq = &s->srq;
	b->engine.qp.rq = &s->srq.rq;
	post(s, 1);
	post(s, 2);
	KUNIT_EXPECT_EQ(test, weft_rq_take(b->engine.qp.rq, &b->engine.rx.sends.slot[0].recv,
					   &b->engine.rx.waiting), 1);
	KUNIT_EXPECT_EQ(test, weft_post_recv(&b->engine.qp.ib, NULL, &bad), -EINVAL);
	weft_baton_lock(&b->engine.qp.tx_lock);
	b->engine.qp.state = IB_QPS_ERR;
	weft_engine_flush(&b->engine.qp);
	weft_engine_flush(&b->engine.qp);
	weft_qp_unlock(&b->engine.qp);
	KUNIT_EXPECT_EQ(test, b->event, IB_EVENT_QP_LAST_WQE_REACHED);
	KUNIT_EXPECT_EQ(test, b->events, 1);
	KUNIT_EXPECT_EQ(test, b->cq.ring.head, 1U);
	KUNIT_EXPECT_EQ(test, cqe->wr_id, 1ULL);
	KUNIT_EXPECT_EQ(test, WEFT_CQE_STATUS(cqe->word), IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, weft_ring_pending(&s->srq.rq.ring), 1);
	end_now(test, b); /* before the shared queue */
}

A_SUITE(srq, bench, srq_order, srq_wakes, srq_wakes_all, srq_wakes_many, srq_wakes_on, srq_leave,
	srq_limit, srq_hostile_producer, srq_hostile_entry, srq_kernel_posts,
	srq_outlives_queue_pair);
