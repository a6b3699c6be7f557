// SPDX-License-Identifier: GPL-2.0
/*
 * The send queue against a process that posts what it likes: which work requests the kernel takes
 * out of the ring, and what it calls the others. tx_lock is held while one is taken, so that the
 * worker, which flushes a failed queue pair, comes after the look at what was taken.
 */
#include "bench.h"

static struct weft_wq_ctl *ctl(struct bench *b)
{
	return b->engine.qp.sq.mem;
}

/* The first block of the next work request: a good one, until it is spoilt. */
static struct weft_sq_wr *draft(struct bench *b)
{
	struct weft_sq_wr *wr = weft_ring_slot(&b->engine.qp.sq, b->posted);

	*wr = (struct weft_sq_wr){
		.wr_id = 0x1000 + b->posted, .opcode = WEFT_OP_SEND, .flags = WEFT_WR_SIGNALED,
		.num_blocks = 1, .num_sge = 1, .sge = { { IOVA, 64, STAG } },
	};
	return wr;
}

/* What became of the work request at the head of the ring. */
struct verdict {
	bool begun;
	u8 status, vendor;
	enum ib_qp_state state;
};

static struct verdict take(struct bench *b)
{
	const struct weft_inflight *inflight = &b->engine.qp.inflight;
	struct weft_tx *tx = &b->engine.tx;
	struct verdict v = {};

	weft_baton_lock(&tx->qp->tx_lock);
	tx->msg.kind = WEFT_MSG_NONE;
	v.begun = weft_tx_next_msg(tx_of(&b->engine.qp));
	if (inflight->head != inflight->tail) {
		v.status = weft_inflight_at(inflight, inflight->head - 1)->status;
		v.vendor = weft_inflight_at(inflight, inflight->head - 1)->vendor;
	}
	v.state = b->engine.qp.state;
	weft_qp_unlock(&b->engine.qp);
	return v;
}

/* Posts the draft as it stands and says what became of it. */
static struct verdict try(struct bench *b, u32 blocks)
{
	b->posted += blocks;
	ctl(b)->producer = b->posted; /* read later, by this thread */
	return take(b);
}

static __printf(6, 7) void expect_verdict(struct kunit *test, struct verdict v, bool good,
					  u8 status, u8 vendor, const char *fmt, ...)
{
	char what[64];
	va_list args;

	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	KUNIT_EXPECT_EQ_MSG(test, v.begun, good, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, v.status, good ? IB_WC_SUCCESS : status, "%s", what);
	if (!good)
		KUNIT_EXPECT_EQ_MSG(test, v.vendor, vendor, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, v.state, good ? IB_QPS_RTS : IB_QPS_ERR, "%s", what);
}

static void expect_taken(struct kunit *test, struct verdict v, const char *what)
{
	expect_verdict(test, v, true, 0, 0, "%s", what);
}

static void sq_opcodes(struct kunit *test)
{
	for (unsigned int opcode = 0; opcode < 256; opcode++) {
		struct bench *b = setup(test, ORD);
		u8 vendor = WEFT_VE_OPCODE;

		/* The draft has an SGE, which a bind and an invalidation do not take. */
		if (opcode == WEFT_OP_LOCAL_INV || opcode == WEFT_OP_BIND_MW)
			vendor = WEFT_VE_BLOCKS;
		else if (opcode >= WEFT_OP_SEND_IMM && opcode <= WEFT_OP_FETCH_ADD)
			vendor = WEFT_VE_PEER;
		draft(b)->opcode = opcode;
		expect_verdict(test, try(b, 1), opcode == WEFT_OP_SEND ||
			       opcode == WEFT_OP_SEND_INV || opcode == WEFT_OP_WRITE ||
			       opcode == WEFT_OP_READ, IB_WC_LOC_QP_OP_ERR, vendor, "opcode %u",
			       opcode);
		end_now(test, b);
	}
}

/* A work request of one block, and what becomes of it if its status is not 0. */
struct attempt {
	const char *what;
	u8 opcode, num_sge, flags;
	u32 length, lkey, ord;	/* the length also of what is inline */
	u64 remote;
	struct { u8 status, vendor; } fails;
};

#define OP_ERR	{ IB_WC_LOC_QP_OP_ERR, WEFT_VE_OPCODE }
#define LEN_ERR	{ IB_WC_LOC_LEN_ERR, WEFT_VE_ATOMIC }
#define ACCESS	{ IB_WC_LOC_PROT_ERR, WEFT_VE_LOCAL_ACCESS }

static void try_each(struct kunit *test, bool extended, const struct attempt *a, size_t num)
{
	for (; num--; a++) {
		struct bench *b = setup(test, a->ord);
		struct weft_sq_wr *wr = draft(b);

		b->engine.qp.agreed.extended = extended;
		wr->opcode = a->opcode;
		wr->num_sge = a->num_sge;
		wr->flags |= a->flags;
		wr->remote_addr = a->remote;
		wr->sge[0].length = a->length;
		wr->sge[0].lkey = a->lkey;
		if (a->flags & WEFT_WR_INLINE)
			wr->inline_len = a->length;
		expect_verdict(test, try(b, 1), !a->fails.status, a->fails.status,
			       a->fails.vendor, "%s", a->what);
		end_now(test, b);
	}
}

/* Immediate data and atomics, with a peer that does them. */
static void sq_extended(struct kunit *test)
{
	static const struct attempt cases[] = {
		{ "SEND_IMM", WEFT_OP_SEND_IMM, 1, 0, 64, STAG, 0, 1 },
		{ "WRITE_IMM", WEFT_OP_WRITE_IMM, 1, 0, 64, STAG, 0, 1 },
		{ "WRITE_IMM of nothing", WEFT_OP_WRITE_IMM, 0, 0, 0, 0, 0, 1 },
		{ "inline", WEFT_OP_WRITE_IMM, 0, WEFT_WR_INLINE, 0, 0, 0, 1 },
		{ "CMP_SWP", WEFT_OP_CMP_SWP, 1, 0, 8, STAG, ORD, 16 },
		{ "FETCH_ADD", WEFT_OP_FETCH_ADD, 1, 0, 8, STAG, ORD, 8 },
		{ "ORD 0", WEFT_OP_FETCH_ADD, 1, 0, 8, STAG, 0, 8, OP_ERR },
		{ "inline atomic", WEFT_OP_CMP_SWP, 0, WEFT_WR_INLINE, 0, 0, ORD, 8, OP_ERR },
		{ "no result", WEFT_OP_FETCH_ADD, 0, 0, 0, 0, ORD, 8, LEN_ERR },
		{ "two results", WEFT_OP_FETCH_ADD, 2, 0, 8, STAG, ORD, 8, LEN_ERR },
		{ "short result", WEFT_OP_CMP_SWP, 1, 0, 7, STAG, ORD, 8, LEN_ERR },
		{ "long result", WEFT_OP_CMP_SWP, 1, 0, 9, STAG, ORD, 8, LEN_ERR },
		{ "unaligned", WEFT_OP_CMP_SWP, 1, 0, 8, STAG, ORD, 12,
		  { IB_WC_LOC_QP_OP_ERR, WEFT_VE_ATOMIC } },
		{ "no right to write", WEFT_OP_FETCH_ADD, 1, 0, 8, STAG_READ_ONLY, ORD, 8, ACCESS },
	};

	try_each(test, true, cases, ARRAY_SIZE(cases));
}

/* An atomic counts among the reads, and is done when it was answered. */
CASE_WITH(sq_atomic_order, struct bench *b, setup(test, ORD))
{
	struct weft_inflight *inflight = &b->engine.qp.inflight;
	struct weft_reads *reads = &b->engine.qp.reads;

	b->engine.qp.agreed.extended = true;
	for (u32 i = 0; i <= ORD; i++) {
		struct weft_sq_wr *wr = draft(b);

		wr->opcode = i ? WEFT_OP_FETCH_ADD : WEFT_OP_READ;
		wr->sge[0].length = 8;
		if (i < ORD)
			expect_taken(test, try(b, 1), "within ORD");
	}
	KUNIT_EXPECT_FALSE(test, try(b, 1).begun);
	KUNIT_EXPECT_EQ(test, b->engine.qp.state, IB_QPS_RTS);
	KUNIT_EXPECT_FALSE(test, weft_reads_at(reads, 0)->atomic);
	KUNIT_EXPECT_TRUE(test, weft_reads_at(reads, 1)->atomic);
	KUNIT_EXPECT_EQ(test, reads->msn, ORD);
	/* Sent, but not answered. */
	weft_inflight_at(inflight, 0)->end = 0;
	weft_inflight_at(inflight, 1)->end = 0;
	weft_baton_lock(&b->engine.qp.tx_lock);
	weft_tx_complete(tx_of(&b->engine.qp));
	weft_qp_unlock(&b->engine.qp);
	KUNIT_EXPECT_EQ(test, inflight->tail, 0U);
	weft_reads_answered(reads);
	KUNIT_EXPECT_TRUE(test, take(b).begun);
}

/* A read needs somewhere to put the answer, and a peer that allows reads. */
static void sq_read(struct kunit *test)
{
	static const struct attempt cases[] = {
		{ "ORD 0", WEFT_OP_READ, 1, 0, 64, STAG, 0, 0, OP_ERR },
		{ "inline", WEFT_OP_READ, 0, WEFT_WR_INLINE, 8, STAG, ORD, 0, OP_ERR },
		{ "no right to write", WEFT_OP_READ, 1, 0, 64, STAG_READ_ONLY, ORD, 0, ACCESS },
		{ "a send needs no right to write", WEFT_OP_SEND, 1, 0, 64, STAG_READ_ONLY, ORD },
	};

	try_each(test, false, cases, ARRAY_SIZE(cases));
}

static void sq_blocks(struct kunit *test)
{
	static const struct {
		u8 num_blocks, num_sge;
		u32 posted;
		bool good;
	} cases[] = {
		{ 1, 0, 1, true }, { 1, 2, 1, true }, { 2, 3, 2, true }, { 2, 6, 2, true },
		{ 0, 1, 1 }, { 2, 1, 2 }, { 1, 3, 1 }, { 2, 2, 2 }, { 6, 1, 6 }, { 255, 1, 16 },
		{ 5, 6, 5 },
		/* more than was posted */
		{ 2, 3, 1 }, { 5, 6, 4 },
		/* more SGEs than the queue pair was made for */
		{ 3, 7, 3 }, { 5, 16, 5 }, { 5, 17, 5 }, { 5, 255, 5 }, { 1, 255, 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bench *b = setup(test, ORD);
		struct weft_sq_wr *wr = draft(b);
		struct weft_sge *sge = wr->sge;

		wr->num_blocks = cases[i].num_blocks;
		wr->num_sge = cases[i].num_sge;
		for (int n = 0; n < 32; n++)
			sge[n] = (struct weft_sge){ IOVA, 1, STAG };
		expect_verdict(test, try(b, cases[i].posted), cases[i].good, IB_WC_LOC_QP_OP_ERR,
			       WEFT_VE_BLOCKS, "%u blocks, %u SGEs, %u posted",
			       cases[i].num_blocks, cases[i].num_sge, cases[i].posted);
		end_now(test, b);
	}
}

/* A flag that has no meaning yet is refused, so that it can be given one. */
static void sq_flags(struct kunit *test)
{
	for (int bit = 0; bit < 8; bit++) {
		struct bench *b;

		if (BIT(bit) == WEFT_WR_INLINE)
			continue;
		b = setup(test, ORD);
		draft(b)->flags |= BIT(bit);
		expect_verdict(test, try(b, 1), BIT(bit) <= WEFT_WR_FENCE, IB_WC_LOC_QP_OP_ERR,
			       WEFT_VE_OPCODE, "flag %u", bit);
		end_now(test, b);
	}
}

static void sq_inline(struct kunit *test)
{
	static const struct {
		u32 inline_len;
		u8 num_blocks, num_sge, flags;
		bool good;
	} cases[] = {
		{ 0, 1, 0, WEFT_WR_INLINE, true }, { 32, 1, 0, WEFT_WR_INLINE, true },
		{ 33, 2, 0, WEFT_WR_INLINE, true }, { MAX_INLINE, 2, 0, WEFT_WR_INLINE, true },
		{ MAX_INLINE + 1, 3, 0, WEFT_WR_INLINE }, { WEFT_MAX_INLINE, 5, 0, WEFT_WR_INLINE },
		{ WEFT_MAX_INLINE + 1, 5, 0, WEFT_WR_INLINE }, { U32_MAX, 1, 0, WEFT_WR_INLINE },
		{ U32_MAX - 94, 1, 0, WEFT_WR_INLINE }, { 0x80000000, 1, 0, WEFT_WR_INLINE },
		{ 33, 1, 0, WEFT_WR_INLINE }, { 32, 2, 0, WEFT_WR_INLINE },
		{ 32, 1, 1, WEFT_WR_INLINE }, { 32, 1, 1, 0 }, { U32_MAX, 1, 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bench *b = setup(test, ORD);
		struct weft_sq_wr *wr = draft(b);

		wr->flags = cases[i].flags;
		wr->inline_len = cases[i].inline_len;
		wr->num_blocks = cases[i].num_blocks;
		wr->num_sge = cases[i].num_sge;
		expect_verdict(test, try(b, cases[i].num_blocks), cases[i].good,
			       IB_WC_LOC_QP_OP_ERR, WEFT_VE_BLOCKS, "inline %u, %u blocks, %u SGEs",
			       cases[i].inline_len, cases[i].num_blocks, cases[i].num_sge);
		end_now(test, b);
	}
}

static void sq_keys(struct kunit *test)
{
	static const struct {
		struct weft_sge sge;
		u8 vendor;
	} cases[] = {
		{ { IOVA, LENGTH, STAG }, WEFT_VE_NONE },
		{ { IOVA, LENGTH + 1, STAG }, WEFT_VE_LOCAL_BOUNDS },
		{ { IOVA - 1, 1, STAG }, WEFT_VE_LOCAL_BOUNDS },
		{ { 0, U32_MAX, STAG }, WEFT_VE_LOCAL_BOUNDS },
		{ { U64_MAX, 2, STAG }, WEFT_VE_LOCAL_BOUNDS },
		{ { IOVA, 1, STAG ^ 1 }, WEFT_VE_LKEY }, { { IOVA, 1, 0 }, WEFT_VE_LKEY },
		{ { IOVA, 1, U32_MAX }, WEFT_VE_LKEY },
		{ { IOVA, 1, STAG_OTHER_PD }, WEFT_VE_LKEY },
		/* touches nothing */
		{ { U64_MAX, 0, U32_MAX }, WEFT_VE_NONE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bench *b = setup(test, ORD);
		struct weft_sq_wr *wr = draft(b);

		/* The second of two: the first does not vouch for it. */
		wr->num_sge = 2;
		wr->sge[1] = cases[i].sge;
		expect_verdict(test, try(b, 1), cases[i].vendor == WEFT_VE_NONE,
			       IB_WC_LOC_PROT_ERR, cases[i].vendor, "case %zu", i);
		end_now(test, b);
	}
}

static void sq_lengths(struct kunit *test)
{
	static const struct {
		u32 length[2];
		bool good;
	} cases[] = {
		{ { 0, 0 }, true }, { { WEFT_MAX_MSG, 0 }, true },
		{ { WEFT_MAX_MSG / 2, WEFT_MAX_MSG / 2 }, true }, { { WEFT_MAX_MSG, 1 } },
		{ { WEFT_MAX_MSG + 1, 0 } }, { { U32_MAX, 0 } },
		/* sums that look small in 32 bits */
		{ { U32_MAX, 1 } }, { { U32_MAX, U32_MAX } }, { { WEFT_MAX_MSG, WEFT_MAX_MSG } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bench *b = setup(test, ORD);
		struct weft_sq_wr *wr = draft(b);

		wr->num_sge = 2;
		for (int n = 0; n < 2; n++)
			wr->sge[n] = (struct weft_sge){ IOVA, cases[i].length[n], STAG_ALL };
		expect_verdict(test, try(b, 1), cases[i].good, IB_WC_LOC_LEN_ERR, WEFT_VE_LENGTH,
			       "%#x + %#x", cases[i].length[0], cases[i].length[1]);
		if (cases[i].good)
			KUNIT_EXPECT_EQ(test, b->engine.tx.msg.total,
					cases[i].length[0] + cases[i].length[1]);
		end_now(test, b);
	}
}

/* Nobody's work request is to blame for a producer index that makes no sense. */
static void sq_hostile_producer(struct kunit *test)
{
	static const u32 indices[] = { BLOCKS + 1, 0x80000000, U32_MAX };

	for (size_t i = 0; i < ARRAY_SIZE(indices); i++) {
		struct bench *b = setup(test, ORD);
		struct verdict v;

		draft(b);
		ctl(b)->producer = indices[i];
		v = take(b);
		KUNIT_EXPECT_FALSE(test, v.begun);
		KUNIT_EXPECT_EQ(test, v.state, IB_QPS_ERR);
		KUNIT_EXPECT_EQ(test, b->event, IB_EVENT_QP_FATAL);
		KUNIT_EXPECT_EQ(test, b->engine.qp.sq.head, 0U);
		flush_work(&b->engine.qp.worker.work);
		KUNIT_EXPECT_EQ(test, b->cq.ring.head, 0U);
		end_now(test, b);
	}
}

/* Payload that goes on at the start of the ring; then the ring is scribbled on. */
CASE_WITH(sq_wraps_and_copies, struct bench *b, setup(test, ORD))
{
	struct weft_tx_msg *msg = &b->engine.tx.msg;
	struct weft_sq_wr *wr;
	u8 *bytes;
	u32 i;

	b->engine.qp.sq.head = BLOCKS - 1;
	b->posted = BLOCKS - 1;
	wr = draft(b);
	wr->flags = WEFT_WR_INLINE;
	wr->num_sge = 0;
	wr->num_blocks = 2;
	wr->inline_len = MAX_INLINE;
	bytes = (u8 *)wr + WEFT_SQ_SGE_OFFSET;
	for (i = 0; i < WEFT_SQ_BLOCK - WEFT_SQ_SGE_OFFSET; i++)
		bytes[i] = i;
	bytes = weft_ring_slot(&b->engine.qp.sq, BLOCKS) - i;
	for (; i < MAX_INLINE; i++)
		bytes[i] = i;
	expect_taken(test, try(b, 2), "around the end");
	KUNIT_EXPECT_EQ(test, b->engine.qp.sq.head, BLOCKS + 1U);
	memset(b->engine.qp.sq.mem + WEFT_RING_OFFSET, 0xff, BLOCKS * WEFT_SQ_BLOCK);
	KUNIT_EXPECT_EQ(test, msg->total, (u32)MAX_INLINE);
	for (i = 0; i < MAX_INLINE; i++)
		KUNIT_EXPECT_EQ(test, msg->copy.bytes[i], (u8)i);
}

/* Fenced requests wait for reads, and reads for room in the ORD. */
CASE_WITH(sq_waits, struct bench *b, setup(test, ORD))
{
	struct weft_reads *reads = &b->engine.qp.reads;
	struct verdict v;
	u32 head;

	for (int n = 0; n < ORD; n++) {
		draft(b)->opcode = WEFT_OP_READ;
		expect_taken(test, try(b, 1), "within the ORD");
	}
	draft(b)->opcode = WEFT_OP_READ;
	head = b->engine.qp.sq.head;
	v = try(b, 1);
	KUNIT_EXPECT_FALSE(test, v.begun);
	KUNIT_EXPECT_EQ(test, v.state, IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, b->engine.qp.sq.head, head);

	weft_reads_answered(reads); /* the first is answered */
	expect_taken(test, take(b), "room in the ORD again");
	draft(b)->flags |= WEFT_WR_FENCE;
	head = b->engine.qp.sq.head;
	v = try(b, 1);
	KUNIT_EXPECT_FALSE(test, v.begun);
	KUNIT_EXPECT_EQ(test, b->engine.qp.sq.head, head);
	reads->tail = reads->head - 1;
	KUNIT_EXPECT_FALSE(test, take(b).begun);
	reads->tail = reads->head;
	expect_taken(test, take(b), "all reads are answered");
}

/* The in-flight list has as many entries as were asked for, and no more. */
CASE_WITH(sq_inflight_full, struct bench *b, setup(test, ORD))
{
	struct verdict v;

	for (int n = 0; n < BLOCKS; n++) {
		draft(b);
		expect_taken(test, try(b, 1), "within the list");
	}
	draft(b);
	v = try(b, 1);
	KUNIT_EXPECT_FALSE(test, v.begun);
	KUNIT_EXPECT_EQ(test, v.state, IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, b->engine.qp.sq.head, (u32)BLOCKS);
}

/* After the first failure everything completes, in order, nonsense included. */
CASE_WITH(sq_flush, struct bench *b, setup(test, ORD))
{
	static const u8 blocks[] = { 1, 0, 255, 1 };
	const struct weft_cqe *cqe;

	draft(b)->opcode = 99;
	b->posted++;
	/* 255 claims all that is left, the last one included. */
	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++) {
		draft(b)->num_blocks = blocks[i];
		b->posted++;
	}
	b->posted--;
	draft(b);
	expect_verdict(test, try(b, 1), false, IB_WC_LOC_QP_OP_ERR, WEFT_VE_OPCODE, "opcode 99");
	flush_work(&b->engine.qp.worker.work);

	KUNIT_EXPECT_EQ(test, b->cq.ring.head, 4U);
	for (size_t i = 0; i < 4; i++) {
		cqe = weft_ring_slot(&b->cq.ring, i);
		KUNIT_EXPECT_EQ(test, cqe->wr_id, 0x1000ULL + i);
		KUNIT_EXPECT_EQ(test, cqe->qp_num, 17U);
		KUNIT_EXPECT_EQ(test, WEFT_CQE_STATUS(cqe->word),
				i ? IB_WC_WR_FLUSH_ERR : IB_WC_LOC_QP_OP_ERR);
	}
	KUNIT_EXPECT_EQ(test, b->engine.qp.sq.head, b->posted);
	KUNIT_EXPECT_EQ(test, ctl(b)->consumer, b->posted);
	KUNIT_EXPECT_EQ(test, ctl(b)->qp_state, (u32)IB_QPS_ERR);
	KUNIT_EXPECT_NE(test, ctl(b)->need_doorbell, 0U);
}

/* Posts in ERR complete within the doorbell: nobody is charged for what a worker does. */
CASE_WITH(sq_flush_by_poster, struct bench *b, setup(test, ORD))
{
	struct weft_wq_ctl *receives = b->engine.qp.own_rq.ring.mem;
	u32 done;

	weft_engine_error(&b->engine.qp);
	flush_work(&b->engine.qp.worker.work);
	done = b->cq.ring.head;
	draft(b);
	ctl(b)->producer = ++b->posted;
	KUNIT_EXPECT_EQ(test, weft_engine_doorbell(&b->engine.qp), 0);
	KUNIT_EXPECT_EQ(test, b->cq.ring.head, done + 1);
	receives->producer++;
	KUNIT_EXPECT_EQ(test, weft_engine_recv_doorbell(&b->engine.qp), 0);
	KUNIT_EXPECT_EQ(test, b->cq.ring.head, done + 2);
	KUNIT_EXPECT_FALSE(test, work_pending(&b->engine.qp.worker.work));
}

/* A doorbell of another thread, which saw ERR and waits for the lock. */
struct late_doorbell {
	struct work_struct work;
	struct weft_qp *qp;
};

static void ring_late(struct work_struct *work)
{
	weft_engine_doorbell(container_of(work, struct late_doorbell, work)->qp);
}

/* A queue pair that is reset meanwhile is not in ERR any more: nothing of it is completed. */
CASE_WITH(sq_flush_after_reset, struct bench *b, setup(test, ORD))
{
	struct late_doorbell late = { .qp = &b->engine.qp };
	u32 done;

	INIT_WORK_ONSTACK(&late.work, ring_late);
	weft_engine_error(&b->engine.qp);
	flush_work(&b->engine.qp.worker.work);
	done = b->cq.ring.head;
	weft_baton_lock(&b->engine.qp.tx_lock);
	queue_work(system_unbound_wq, &late.work);
	msleep(20);
	KUNIT_EXPECT_TRUE(test, work_busy(&late.work));
	spin_lock_irq(&b->engine.qp.lock);
	weft_qp_set_state(&b->engine.qp, IB_QPS_RESET);
	spin_unlock_irq(&b->engine.qp.lock);
	draft(b);
	ctl(b)->producer = ++b->posted;
	weft_qp_unlock(&b->engine.qp);
	flush_work(&late.work);
	destroy_work_on_stack(&late.work);
	KUNIT_EXPECT_EQ(test, b->cq.ring.head, done);
	KUNIT_EXPECT_EQ(test, b->engine.qp.sq.head, b->posted - 1);
}

A_SUITE(sq, bench, sq_opcodes, sq_extended, sq_atomic_order, sq_read, sq_blocks, sq_flags,
	sq_inline, sq_keys, sq_lengths, sq_hostile_producer, sq_wraps_and_copies, sq_waits,
	sq_inflight_full, sq_flush, sq_flush_by_poster, sq_flush_after_reset);
