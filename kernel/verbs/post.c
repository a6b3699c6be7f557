// SPDX-License-Identifier: GPL-2.0
/*
 * Posting by kernel consumers, into rings of the same layout as a user's. A worker sends, because a
 * consumer may post in any context. A process writes to its rings itself, so its queues are refused
 * here.
 */
#include <linux/string.h>

#include "engine/consumer.h"
#include "engine/engine.h"
#include "queue/rq.h"
#include "verbs/verbs.h"

/* Gather and scatter lists are copied without conversion. */
static_assert(sizeof(struct ib_sge) == sizeof(struct weft_sge));
static_assert(offsetof(struct ib_sge, addr) == offsetof(struct weft_sge, addr));
static_assert(offsetof(struct ib_sge, length) == offsetof(struct weft_sge, length));
static_assert(offsetof(struct ib_sge, lkey) == offsetof(struct weft_sge, lkey));

/* Returns the number of free slots in a ring that no process can write to. */
static u32 ring_space(const struct weft_ring *ring, u32 producer)
{
	const struct weft_wq_ctl *ctl = ring->mem;

	/* Pairs with weft_ring_release(): the kernel has read the slots. */
	return ring->size - (producer - smp_load_acquire(&ctl->consumer));
}

/* Publishes entries up to @producer. Returns true if a doorbell is needed. */
static bool ring_publish(struct weft_ring *ring, u32 producer)
{
	struct weft_wq_ctl *ctl = ring->mem;

	/* Pairs with weft_ring_pending(): the entries are written. */
	smp_store_release(&ctl->producer, producer);
	smp_mb(); /* pairs with weft_ring_need_doorbell() */
	return READ_ONCE(ctl->need_doorbell);
}

/* --- sends --- */

static int post_opcode(enum ib_wr_opcode opcode)
{
	switch (opcode) {
	case IB_WR_SEND:
		return WEFT_OP_SEND;
	case IB_WR_SEND_WITH_INV:
		return WEFT_OP_SEND_INV;
	case IB_WR_SEND_WITH_IMM:
		return WEFT_OP_SEND_IMM;
	case IB_WR_RDMA_WRITE:
		return WEFT_OP_WRITE;
	case IB_WR_RDMA_WRITE_WITH_IMM:
		return WEFT_OP_WRITE_IMM;
	case IB_WR_RDMA_READ:
		return WEFT_OP_READ;
	case IB_WR_RDMA_READ_WITH_INV:
		return WEFT_OP_READ_INV;
	case IB_WR_ATOMIC_CMP_AND_SWP:
		return WEFT_OP_CMP_SWP;
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		return WEFT_OP_FETCH_ADD;
	case IB_WR_LOCAL_INV:
		return WEFT_OP_LOCAL_INV;
	case IB_WR_REG_MR:
		return WEFT_OP_REG_MR;
	default:
		return -EINVAL;
	}
}

/* Copies bytes into the blocks of a work request, across the end of the ring. */
static void post_bytes(const struct weft_ring *sq, u32 first, u32 *at, const void *from, u32 len)
{
	u32 in_block, n;

	for (; len; len -= n, from += n, *at += n) {
		in_block = *at % WEFT_SQ_BLOCK;
		n = min_t(u32, len, WEFT_SQ_BLOCK - in_block);
		memcpy(weft_ring_slot(sq, first + *at / WEFT_SQ_BLOCK) + in_block, from, n);
	}
}

/* Fills in the fields of a request beyond its list of SGEs. Returns 0 or -EINVAL. */
static int post_operands(struct weft_sq_wr *to, const struct ib_send_wr *wr)
{
	switch (to->opcode) {
	case WEFT_OP_SEND_INV:
	case WEFT_OP_READ_INV:
	case WEFT_OP_LOCAL_INV:
		to->ex = wr->ex.invalidate_rkey;
		break;
	case WEFT_OP_SEND_IMM:
	case WEFT_OP_WRITE_IMM:
		to->ex = (__force u32)wr->ex.imm_data;
		break;
	}
	switch (to->opcode) {
	case WEFT_OP_WRITE:
	case WEFT_OP_WRITE_IMM:
	case WEFT_OP_READ:
	case WEFT_OP_READ_INV:
		to->remote_addr = rdma_wr(wr)->remote_addr;
		to->rkey = rdma_wr(wr)->rkey;
		break;
	case WEFT_OP_CMP_SWP:
	case WEFT_OP_FETCH_ADD:
		to->remote_addr = atomic_wr(wr)->remote_addr;
		to->rkey = atomic_wr(wr)->rkey;
		to->atomic.operands.compare_add = atomic_wr(wr)->compare_add;
		to->atomic.operands.swap = atomic_wr(wr)->swap;
		return wr->num_sge == 1 ? 0 : -EINVAL;
	case WEFT_OP_REG_MR:
		to->ex = reg_wr(wr)->mr->rkey;
		to->rkey = reg_wr(wr)->key;
		to->bind.access = reg_wr(wr)->access;
		fallthrough;
	case WEFT_OP_LOCAL_INV:
		return wr->num_sge ? -EINVAL : 0;
	}
	return 0;
}

/*
 * Writes a work request into the ring at @at. Returns the blocks it took, -EINVAL for an invalid
 * one, -ENOMEM without room.
 */
static int post_one(struct weft_qp *qp, const struct ib_send_wr *wr, u32 at)
{
	bool in_line = wr->send_flags & IB_SEND_INLINE;
	struct weft_sq_wr first = { .wr_id = wr->wr_id };
	u32 pos = WEFT_SQ_SGE_OFFSET;
	u64 total = 0;
	int ret, i;

	ret = post_opcode(wr->opcode);
	if (ret < 0)
		return ret;
	first.opcode = ret;
	first.flags = (wr->send_flags & IB_SEND_SIGNALED ? WEFT_WR_SIGNALED : 0) |
		      (wr->send_flags & IB_SEND_SOLICITED ? WEFT_WR_SOLICITED : 0) |
		      (wr->send_flags & IB_SEND_FENCE ? WEFT_WR_FENCE : 0);
	if (wr->num_sge < 0 || wr->num_sge > qp->cap.max_send_sge)
		return -EINVAL;
	ret = post_operands(&first, wr);
	if (ret)
		return ret;
	if (in_line) {
		for (i = 0; i < wr->num_sge; i++)
			total += wr->sg_list[i].length;
		if (total > qp->cap.max_inline_data ||
		    (first.opcode > WEFT_OP_WRITE && first.opcode != WEFT_OP_SEND_IMM &&
		     first.opcode != WEFT_OP_WRITE_IMM))
			return -EINVAL;
		first.flags |= WEFT_WR_INLINE;
		first.inline_len = total;
		first.num_blocks = weft_sq_blocks_for_inline(total);
	} else {
		first.num_sge = wr->num_sge;
		first.num_blocks = weft_sq_blocks_for_sge(wr->num_sge);
	}
	if (first.num_blocks > ring_space(&qp->sq, at))
		return -ENOMEM;

	*(struct weft_sq_wr *)weft_ring_slot(&qp->sq, at) = first;
	for (i = 0; i < wr->num_sge; i++) {
		const struct ib_sge *sge = &wr->sg_list[i];

		if (in_line)
			post_bytes(&qp->sq, at, &pos, (const void *)(uintptr_t)sge->addr,
				   sge->length);
		else
			post_bytes(&qp->sq, at, &pos, sge, sizeof(*sge));
	}
	return first.num_blocks;
}

/*
 * Posts sends of a kernel consumer, in any context; *@bad is the first that was not posted. In
 * state ERR the requests are taken and flushed. Returns -EINVAL for an invalid one, or in a state
 * in which nothing may be posted; -ENOMEM if the queue is full.
 */
int weft_post_send(struct ib_qp *ib, const struct ib_send_wr *wr, const struct ib_send_wr **bad)
{
	struct weft_qp *qp = to_weft_qp(ib);
	struct weft_consumer *consumer = qp->consumer;
	struct weft_wq_ctl *ctl = qp->sq.mem;
	enum ib_qp_state state;
	unsigned long flags;
	u32 producer;
	bool kick;
	int ret = 0;

	spin_lock_irqsave(&qp->post_lock, flags);
	state = weft_qp_state(qp);
	if (qp->owner || (state != IB_QPS_RTS && state != IB_QPS_SQD && state != IB_QPS_ERR)) {
		spin_unlock_irqrestore(&qp->post_lock, flags);
		*bad = wr;
		return -EINVAL;
	}
	for (producer = ctl->producer; wr; wr = wr->next) {
		ret = post_one(qp, wr, producer);
		if (ret < 0) {
			*bad = wr;
			break;
		}
		producer += ret;
	}
	/* The requests before a bad one are posted. */
	kick = ring_publish(&qp->sq, producer);
	if (kick && state == IB_QPS_RTS) {
		/*
		 * Only the end that opened the connection holds posts for gathering: the other one
		 * answers, and an answer is awaited. A timer ends the wait.
		 */
		kick = !consumer || !READ_ONCE(qp->initiator) ||
		       !weft_gather_holds(&consumer->gather);
		if (kick)
			weft_ring_need_doorbell(&qp->sq, false); /* the worker asks for the next */
		else if (consumer->gather.held == 1)
			weft_gather_wait(&consumer->gather);
	}
	/*
	 * Under the lock: later posts see need_doorbell clear and start no worker, so all of them
	 * would wait for a poster that is preempted before it does.
	 */
	if (kick) {
		if (consumer)
			WRITE_ONCE(consumer->posted, true);
		weft_qp_kick(qp);
	}
	spin_unlock_irqrestore(&qp->post_lock, flags);
	return ret < 0 ? ret : 0;
}

/* --- receives --- */

/* Writes receives into the ring of a queue pair, or of a shared queue without @qp. */
static int post_receives(struct weft_rq *rq, struct weft_qp *qp, const struct ib_recv_wr *wr,
			 const struct ib_recv_wr **bad)
{
	struct weft_wq_ctl *ctl = rq->ring.mem;
	struct weft_rq_wr *slot;
	unsigned long flags;
	bool doorbell;
	u32 producer;
	int ret = 0;

	spin_lock_irqsave(&rq->lock, flags);
	for (producer = ctl->producer; wr; wr = wr->next) {
		if (wr->num_sge < 0 || wr->num_sge > rq->max_sge)
			ret = -EINVAL;
		else if (!ring_space(&rq->ring, producer))
			ret = -ENOMEM;
		if (ret) {
			*bad = wr;
			break;
		}
		slot = weft_ring_slot(&rq->ring, producer++);
		slot->wr_id = wr->wr_id;
		slot->num_sge = wr->num_sge;
		slot->reserved = 0;
		memcpy(slot + 1, wr->sg_list, wr->num_sge * sizeof(*wr->sg_list));
	}
	doorbell = ring_publish(&rq->ring, producer);
	spin_unlock_irqrestore(&rq->lock, flags);
	if (doorbell && qp)
		weft_engine_post_recv(qp);
	else if (doorbell)
		weft_rq_wake(rq);
	return ret;
}

/*
 * Posts receives, as weft_post_send(), but in any state other than RESET. A queue pair with a
 * shared receive queue takes none.
 */
int weft_post_recv(struct ib_qp *ib, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad)
{
	struct weft_qp *qp = to_weft_qp(ib);

	if (qp->owner || !weft_qp_owns_rq(qp) || weft_qp_state(qp) == IB_QPS_RESET) {
		*bad = wr;
		return -EINVAL;
	}
	return post_receives(qp->rq, qp, wr, bad);
}

/* Posts receives to a shared queue, as weft_post_send(). */
int weft_post_srq_recv(struct ib_srq *ib, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad)
{
	struct weft_srq *srq = to_weft_srq(ib);

	if (srq->rq.ring.entry) {
		*bad = wr;
		return -EINVAL;
	}
	return post_receives(&srq->rq, NULL, wr, bad);
}
