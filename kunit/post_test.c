// SPDX-License-Identifier: GPL-2.0
/* Posts of the kernel's own consumers: what stands in the ring then, and what is refused. */
#include "bench.h"
#include "verbs/verbs.h"

#define WR_ID	0x1122334455667788ULL

static struct bench *kernel_bench(struct kunit *test)
{
	struct bench *b = setup(test, ORD);

	b->engine.qp.owner = NULL;
	b->engine.qp.acc.kernel = true;
	xa_store(&b->dev.qps, b->engine.qp.acc.qpn, &b->entry, GFP_KERNEL);
	b->cq.ib.device = &b->dev.ib;
	return b;
}

static struct weft_wq_ctl *sq_ctl(struct bench *b)
{
	return b->engine.qp.sq.mem;
}

static const struct weft_sq_wr *block(struct bench *b, u32 index)
{
	return weft_ring_slot(&b->engine.qp.sq, index);
}

/* The work request that was refused last. */
static const struct ib_send_wr *bad;
static const struct ib_recv_wr *bad_recv;

static int send(struct bench *b, const struct ib_send_wr *wr)
{
	bad = NULL;
	return weft_post_send(&b->engine.qp.ib, wr, &bad);
}

static int receive(struct bench *b, const struct ib_recv_wr *wr)
{
	bad_recv = NULL;
	return weft_post_recv(&b->engine.qp.ib, wr, &bad_recv);
}

static void post_send_kinds(struct kunit *test)
{
	static const struct {
		enum ib_wr_opcode opcode;
		u8 op;
		bool remote, ex;
	} kinds[] = {
		{ IB_WR_SEND, WEFT_OP_SEND },
		{ IB_WR_SEND_WITH_INV, WEFT_OP_SEND_INV, false, true },
		{ IB_WR_SEND_WITH_IMM, WEFT_OP_SEND_IMM, false, true },
		{ IB_WR_RDMA_WRITE, WEFT_OP_WRITE, true },
		{ IB_WR_RDMA_WRITE_WITH_IMM, WEFT_OP_WRITE_IMM, true, true },
		{ IB_WR_RDMA_READ, WEFT_OP_READ, true },
		{ IB_WR_RDMA_READ_WITH_INV, WEFT_OP_READ_INV, true, true },
	};
	struct ib_sge sge[3] = {
		{ IOVA, 10, STAG }, { IOVA + 10, 20, STAG }, { IOVA + 30, 30, STAG },
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct bench *b = kernel_bench(test);
		struct ib_rdma_wr wr = {
			.wr = {
				.wr_id = WR_ID, .sg_list = sge, .num_sge = 3,
				.opcode = kinds[i].opcode,
				.send_flags = IB_SEND_FENCE | IB_SEND_SOLICITED,
				.ex.invalidate_rkey = 0xabcd,
			},
			.remote_addr = 0x123456789aULL, .rkey = 0x77,
		};
		const struct weft_sq_wr *first = block(b, 0);
		const struct weft_sge *third = (const void *)block(b, 1);

		KUNIT_ASSERT_EQ(test, send(b, &wr.wr), 0);
		KUNIT_EXPECT_EQ(test, sq_ctl(b)->producer, 2U);
		KUNIT_EXPECT_EQ(test, first->wr_id, WR_ID);
		KUNIT_EXPECT_EQ(test, first->opcode, kinds[i].op);
		KUNIT_EXPECT_EQ(test, first->flags, WEFT_WR_FENCE | WEFT_WR_SOLICITED);
		KUNIT_EXPECT_EQ(test, first->num_blocks, 2);
		KUNIT_EXPECT_EQ(test, first->num_sge, 3);
		KUNIT_EXPECT_EQ(test, first->inline_len, 0U);
		KUNIT_EXPECT_EQ(test, first->ex, kinds[i].ex ? 0xabcdU : 0U);
		KUNIT_EXPECT_EQ(test, first->remote_addr, kinds[i].remote ? 0x123456789aULL : 0ULL);
		KUNIT_EXPECT_EQ(test, first->rkey, kinds[i].remote ? 0x77U : 0U);
		KUNIT_EXPECT_EQ(test, first->sge[1].addr, IOVA + 10);
		KUNIT_EXPECT_EQ(test, first->sge[1].length, 20U);
		KUNIT_EXPECT_EQ(test, third->addr, IOVA + 30);
		KUNIT_EXPECT_EQ(test, third->length, 30U);
		KUNIT_EXPECT_EQ(test, third->lkey, STAG);
		end_now(test, b);
	}
}

static void post_atomics(struct kunit *test)
{
	static const struct {
		enum ib_wr_opcode opcode;
		u8 op;
	} kinds[] = {
		{ IB_WR_ATOMIC_CMP_AND_SWP, WEFT_OP_CMP_SWP },
		{ IB_WR_ATOMIC_FETCH_AND_ADD, WEFT_OP_FETCH_ADD },
	};
	struct ib_sge sge = { IOVA + 8, 8, STAG };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct bench *b = kernel_bench(test);
		struct ib_atomic_wr wr = {
			.wr = {
				.sg_list = &sge, .num_sge = 1, .opcode = kinds[i].opcode,
				.send_flags = IB_SEND_SIGNALED,
			},
			.remote_addr = 0x4000, .compare_add = 5, .swap = 6, .rkey = 0x88,
		};
		const struct weft_sq_wr *first = block(b, 0);

		KUNIT_ASSERT_EQ(test, send(b, &wr.wr), 0);
		KUNIT_EXPECT_EQ(test, sq_ctl(b)->producer, 1U);
		KUNIT_EXPECT_EQ(test, first->opcode, kinds[i].op);
		KUNIT_EXPECT_EQ(test, first->flags, WEFT_WR_SIGNALED);
		KUNIT_EXPECT_EQ(test, first->remote_addr, 0x4000ULL);
		KUNIT_EXPECT_EQ(test, first->rkey, 0x88U);
		KUNIT_EXPECT_EQ(test, first->atomic.result.addr, IOVA + 8);
		KUNIT_EXPECT_EQ(test, first->atomic.operands.compare_add, 5ULL);
		KUNIT_EXPECT_EQ(test, first->atomic.operands.swap, 6ULL);
		wr.wr.num_sge = 0;
		KUNIT_EXPECT_EQ(test, send(b, &wr.wr), -EINVAL);
		KUNIT_EXPECT_PTR_EQ(test, bad, (const struct ib_send_wr *)&wr.wr);
		end_now(test, b);
	}
}

CASE_WITH(post_keys, struct bench *b, kernel_bench(test))
{
	struct ib_mr mr = { .lkey = 0x501, .rkey = 0x501 };
	struct ib_reg_wr reg = {
		.wr.opcode = IB_WR_REG_MR, .mr = &mr, .key = 0x502,
		.access = IB_ACCESS_REMOTE_WRITE | IB_ACCESS_LOCAL_WRITE,
	};
	struct ib_send_wr inv = {
		.next = &reg.wr, .opcode = IB_WR_LOCAL_INV, .ex.invalidate_rkey = 0x501,
	};

	KUNIT_ASSERT_EQ(test, send(b, &inv), 0);
	KUNIT_EXPECT_EQ(test, sq_ctl(b)->producer, 2U);
	KUNIT_EXPECT_EQ(test, block(b, 0)->opcode, WEFT_OP_LOCAL_INV);
	KUNIT_EXPECT_EQ(test, block(b, 0)->ex, 0x501U);
	KUNIT_EXPECT_EQ(test, block(b, 0)->num_blocks, 1);
	KUNIT_EXPECT_EQ(test, block(b, 1)->opcode, WEFT_OP_REG_MR);
	KUNIT_EXPECT_EQ(test, block(b, 1)->ex, 0x501U);
	KUNIT_EXPECT_EQ(test, block(b, 1)->rkey, 0x502U);
	KUNIT_EXPECT_EQ(test, block(b, 1)->bind.access, (u32)reg.access);
	KUNIT_EXPECT_EQ(test, block(b, 1)->num_blocks, 1);
	KUNIT_EXPECT_EQ(test, block(b, 1)->num_sge, 0);
}

/* Payload from two places, laid round the end of the ring. */
CASE_WITH(post_inline, struct bench *b, kernel_bench(test))
{
	u8 payload[MAX_INLINE + 1];
	struct ib_sge sge[2] = {
		{ .addr = (uintptr_t)payload, .length = 20 },
		{ .addr = (uintptr_t)payload + 20, .length = MAX_INLINE - 20 },
	};
	struct ib_send_wr wr = {
		.sg_list = sge, .num_sge = 2, .opcode = IB_WR_SEND, .send_flags = IB_SEND_INLINE,
	};
	struct ib_rdma_wr read = {
		.wr.num_sge = 2, .wr.opcode = IB_WR_RDMA_READ, .wr.send_flags = IB_SEND_INLINE,
	};
	const struct weft_sq_wr *first;

	for (u32 i = 0; i < sizeof(payload); i++)
		payload[i] = 3 * i;
	sq_ctl(b)->producer = BLOCKS - 1;
	sq_ctl(b)->consumer = BLOCKS - 1;
	b->engine.qp.sq.head = BLOCKS - 1;
	KUNIT_ASSERT_EQ(test, send(b, &wr), 0);
	first = block(b, BLOCKS - 1);
	KUNIT_EXPECT_EQ(test, first->flags, WEFT_WR_INLINE);
	KUNIT_EXPECT_EQ(test, first->inline_len, (u32)MAX_INLINE);
	KUNIT_EXPECT_EQ(test, first->num_sge, 0);
	KUNIT_EXPECT_EQ(test, first->num_blocks, 2);
	KUNIT_EXPECT_EQ(test, memcmp((u8 *)first + WEFT_SQ_SGE_OFFSET, payload, 32), 0);
	KUNIT_EXPECT_EQ(test, memcmp(block(b, 0), payload + 32, MAX_INLINE - 32), 0);
	sge[1].length++;
	KUNIT_EXPECT_EQ(test, send(b, &wr), -EINVAL);
	sge[1].length = U32_MAX - 10; /* small in 32 bits */
	KUNIT_EXPECT_EQ(test, send(b, &wr), -EINVAL);
	sge[1].length = 4;
	/* A read is an ib_rdma_wr, of which more is looked at. */
	read.wr.sg_list = sge;
	KUNIT_EXPECT_EQ(test, send(b, &read.wr), -EINVAL);
	KUNIT_EXPECT_EQ(test, sq_ctl(b)->producer, BLOCKS + 1U);
}

CASE_WITH(post_refuses, struct bench *b, kernel_bench(test))
{
	static const struct {
		enum ib_wr_opcode opcode;
		int num_sge;
	} cases[] = {
		{ IB_WR_LSO, 0 }, { IB_WR_BIND_MW, 0 }, { IB_WR_REG_MR_INTEGRITY, 0 },
		{ IB_WR_MASKED_ATOMIC_CMP_AND_SWP, 1 },
		{ IB_WR_SEND, MAX_SGE + 1 }, { IB_WR_SEND, -1 }, { IB_WR_LOCAL_INV, 1 },
	};
	struct ib_sge sge[MAX_SGE + 1] = {};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ib_send_wr wr = {
			.sg_list = sge, .num_sge = cases[i].num_sge, .opcode = cases[i].opcode,
		};

		KUNIT_EXPECT_EQ_MSG(test, send(b, &wr), -EINVAL, "case %zu", i);
		KUNIT_EXPECT_PTR_EQ(test, bad, (const struct ib_send_wr *)&wr);
	}
	KUNIT_EXPECT_EQ(test, sq_ctl(b)->producer, 0U);
}

/* A full ring refuses the first that does not fit, and keeps those before it. */
CASE_WITH(post_full, struct bench *b, kernel_bench(test))
{
	struct ib_send_wr wr[BLOCKS + 1] = {};

	for (u32 i = 0; i <= BLOCKS; i++) {
		wr[i].opcode = IB_WR_SEND;
		wr[i].wr_id = i;
		wr[i].next = i < BLOCKS ? &wr[i + 1] : NULL;
	}
	KUNIT_EXPECT_EQ(test, send(b, wr), -ENOMEM);
	KUNIT_EXPECT_PTR_EQ(test, bad, (const struct ib_send_wr *)&wr[BLOCKS]);
	KUNIT_EXPECT_EQ(test, sq_ctl(b)->producer, (u32)BLOCKS);
	for (u32 i = 0; i < BLOCKS; i++)
		KUNIT_EXPECT_EQ(test, block(b, i)->wr_id, (u64)i);

	weft_ring_release(&b->engine.qp.sq, 1);
	b->engine.qp.sq.head = 1;
	KUNIT_EXPECT_EQ(test, send(b, &wr[BLOCKS]), 0);
	KUNIT_EXPECT_EQ(test, block(b, 0)->wr_id, (u64)BLOCKS);
	KUNIT_EXPECT_EQ(test, send(b, &wr[BLOCKS]), -ENOMEM);
}

/* A doorbell is rung when it is asked for, and not again until then. */
CASE_WITH(post_doorbell, struct bench *b, kernel_bench(test))
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };

	weft_baton_lock(&b->engine.qp.tx_lock);
	send(b, &wr);
	flush_work(&b->engine.qp.worker.work);
	KUNIT_EXPECT_EQ(test, wanted_of(&b->engine.qp), 0UL);
	weft_ring_need_doorbell(&b->engine.qp.sq, true);
	send(b, &wr);
	KUNIT_EXPECT_EQ(test, sq_ctl(b)->need_doorbell, 0U);
	/* The worker does not wait for the lock: it leaves word, and comes when it is free. */
	flush_work(&b->engine.qp.worker.work);
	KUNIT_EXPECT_EQ(test, wanted_of(&b->engine.qp), BIT(WEFT_WANT_TX));
	KUNIT_EXPECT_EQ(test, b->engine.qp.inflight.tail, 0U);
	b->engine.qp.state = IB_QPS_ERR;
	weft_qp_unlock(&b->engine.qp);
	flush_work(&b->engine.qp.worker.work);
	KUNIT_EXPECT_EQ(test, wanted_of(&b->engine.qp), 0UL);
	KUNIT_EXPECT_EQ(test, b->engine.qp.inflight.tail, 2U);
}

static void post_states(struct kunit *test)
{
	static const struct {
		enum ib_qp_state state;
		int send, receive;
	} states[] = {
		{ IB_QPS_RESET, -EINVAL, -EINVAL }, { IB_QPS_INIT, -EINVAL, 0 },
		{ IB_QPS_RTR, -EINVAL, 0 }, { IB_QPS_RTS, 0, 0 },
		{ IB_QPS_SQD, 0, 0 }, { IB_QPS_ERR, 0, 0 },
	};
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };
	struct ib_recv_wr recv = {};

	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		struct bench *b = kernel_bench(test);

		b->engine.qp.state = states[i].state;
		KUNIT_EXPECT_EQ_MSG(test, send(b, &wr), states[i].send,
				    "state %d", states[i].state);
		KUNIT_EXPECT_EQ(test, receive(b, &recv), states[i].receive);
		end_now(test, b);
	}
}

/* What is posted in ERR comes back, as draining a queue pair needs it. */
CASE_WITH(post_in_error, struct bench *b, kernel_bench(test))
{
	struct ib_rdma_wr wr = { .wr.opcode = IB_WR_RDMA_WRITE, .wr.wr_id = 1 };
	struct ib_recv_wr recv = { .wr_id = 2 };
	struct ib_wc wc[4];

	b->engine.qp.state = IB_QPS_ERR;
	weft_ring_need_doorbell(&b->engine.qp.sq, true);
	weft_ring_need_doorbell(&b->engine.qp.own_rq.ring, true);
	KUNIT_EXPECT_EQ(test, send(b, &wr.wr), 0);
	flush_work(&b->engine.qp.worker.work);
	KUNIT_EXPECT_EQ(test, receive(b, &recv), 0);
	flush_work(&b->engine.qp.worker.work);
	KUNIT_ASSERT_EQ(test, weft_poll_cq(&b->cq.ib, 4, wc), 2);
	KUNIT_EXPECT_EQ(test, wc[0].wr_id, 1ULL);
	KUNIT_EXPECT_EQ(test, (int)wc[0].status, (int)IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_PTR_EQ(test, wc[0].qp, &b->engine.qp.ib);
	KUNIT_EXPECT_EQ(test, wc[1].wr_id, 2ULL);
	KUNIT_EXPECT_EQ(test, (int)wc[1].status, (int)IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, weft_poll_cq(&b->cq.ib, 4, wc), 0);
}

/* What came with a message is told: the key that it took away, or its immediate data. */
CASE_WITH(post_polled, struct bench *b, kernel_bench(test))
{
	struct weft_completion got = {
		.qpn = b->engine.qp.acc.qpn, .opcode = WEFT_OP_RECV, .byte_len = 9,
		.ex = 0x12345678, .flags = WEFT_CQE_WITH_INV,
	};
	struct ib_wc wc[3];

	KUNIT_EXPECT_TRUE(test, weft_cq_add(&b->cq, &got));
	got.flags = WEFT_CQE_WITH_IMM;
	got.opcode = WEFT_OP_RECV_WRITE_IMM;
	KUNIT_EXPECT_TRUE(test, weft_cq_add(&b->cq, &got));
	KUNIT_ASSERT_EQ(test, weft_poll_cq(&b->cq.ib, 3, wc), 2);
	KUNIT_EXPECT_EQ(test, wc[0].wc_flags, (int)IB_WC_WITH_INVALIDATE);
	KUNIT_EXPECT_EQ(test, wc[0].ex.invalidate_rkey, 0x12345678U);
	KUNIT_EXPECT_EQ(test, (int)wc[0].opcode, (int)IB_WC_RECV);
	KUNIT_EXPECT_EQ(test, wc[0].byte_len, 9U);
	KUNIT_EXPECT_EQ(test, wc[1].wc_flags, (int)IB_WC_WITH_IMM);
	KUNIT_EXPECT_EQ(test, (__force u32)wc[1].ex.imm_data, 0x12345678U);
	KUNIT_EXPECT_EQ(test, (int)wc[1].opcode, (int)IB_WC_RECV_RDMA_WITH_IMM);
}

/* Completions of queue pairs that are gone are dropped, a slice at a time. */
CASE_WITH(post_dropped, struct bench *b, kernel_bench(test))
{
	struct weft_completion got = { .qpn = b->engine.qp.acc.qpn + 1, .opcode = WEFT_OP_RECV };
	struct ib_wc wc[2];
	bool more;

	KUNIT_ASSERT_EQ(test, weft_ring_create(&b->cq.ring, 4 * WEFT_CQ_SLICE,
					       sizeof(struct weft_cqe), NULL, NULL), 0);
	for (u32 i = 0; i < 3 * WEFT_CQ_SLICE; i++)
		KUNIT_EXPECT_TRUE(test, weft_cq_add(&b->cq, &got));
	got.qpn = b->engine.qp.acc.qpn;
	KUNIT_EXPECT_TRUE(test, weft_cq_add(&b->cq, &got));
	KUNIT_EXPECT_EQ(test, weft_cq_poll_slice(&b->cq, 2, wc, &more), 0);
	KUNIT_EXPECT_TRUE(test, more);
	KUNIT_EXPECT_EQ(test, b->cq.polled, (u32)WEFT_CQ_SLICE);
	/* A consumer takes fewer than it asks for only if there are no more. */
	KUNIT_EXPECT_EQ(test, weft_poll_cq(&b->cq.ib, 2, wc), 1);
	KUNIT_EXPECT_PTR_EQ(test, wc[0].qp, &b->engine.qp.ib);
	KUNIT_EXPECT_EQ(test, weft_poll_cq(&b->cq.ib, 2, wc), 0);
	weft_ring_destroy(&b->cq.ring);
}

CASE_WITH(post_receives, struct bench *b, kernel_bench(test))
{
	struct ib_sge sge[MAX_RECV_SGE + 1] = { { IOVA, 5, STAG }, { IOVA + 5, 6, STAG } };
	struct ib_recv_wr wr[RECEIVES + 1] = {};
	struct weft_sge taken[MAX_RECV_SGE];
	struct weft_recv recv = { .sge = taken };

	for (u32 i = 0; i <= RECEIVES; i++) {
		wr[i].wr_id = 0x10 + i;
		wr[i].sg_list = sge;
		wr[i].num_sge = i % (MAX_RECV_SGE + 1);
		wr[i].next = i < RECEIVES ? &wr[i + 1] : NULL;
	}
	KUNIT_EXPECT_EQ(test, receive(b, wr), -ENOMEM);
	KUNIT_EXPECT_PTR_EQ(test, bad_recv, (const struct ib_recv_wr *)&wr[RECEIVES]);
	for (u32 i = 0; i < RECEIVES; i++) {
		KUNIT_ASSERT_EQ(test, weft_rq_take(b->engine.qp.rq, &recv, NULL), 1);
		KUNIT_EXPECT_EQ(test, recv.wr_id, 0x10ULL + i);
		KUNIT_EXPECT_EQ(test, recv.num_sge, i % (MAX_RECV_SGE + 1));
		KUNIT_EXPECT_EQ(test, memcmp(recv.sge, sge, recv.num_sge * sizeof(*sge)), 0);
	}
	KUNIT_EXPECT_EQ(test, weft_rq_take(b->engine.qp.rq, &recv, NULL), 0);

	wr[RECEIVES].num_sge = MAX_RECV_SGE + 1;
	KUNIT_EXPECT_EQ(test, receive(b, &wr[RECEIVES]), -EINVAL);
	wr[RECEIVES].num_sge = -1;
	KUNIT_EXPECT_EQ(test, receive(b, &wr[RECEIVES]), -EINVAL);
}

/* A process that sends work requests down the file instead of the ring. */
CASE_WITH(post_of_users, struct bench *b, setup(test, ORD))
{
	struct ib_send_wr wr = { .opcode = IB_WR_LOCAL_INV };
	struct ib_recv_wr recv = {};

	KUNIT_EXPECT_EQ(test, send(b, &wr), -EINVAL);
	KUNIT_EXPECT_EQ(test, receive(b, &recv), -EINVAL);
	KUNIT_EXPECT_EQ(test, sq_ctl(b)->producer, 0U);
}

A_SUITE(post, bench, post_send_kinds, post_atomics, post_keys, post_inline, post_refuses, post_full,
	post_doorbell, post_states, post_in_error, post_polled, post_dropped, post_receives,
	post_of_users);
