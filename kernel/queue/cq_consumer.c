// SPDX-License-Identifier: GPL-2.0
/* How the consumer of a completion queue is called, and how one in the kernel polls and arms. */
#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "base/compat.h"
#include "base/policy.h"
#include "base/weft.h"
#include "queue/cq.h"

/*
 * --- the call ---
 *
 * Where packets are steered (RFS), completion vector N is CPU N: a kernel consumer with a queue for
 * each CPU (NVMe) is called where it asked. Elsewhere a consumer is called where packets arrive,
 * because an IPI for each call costs more than it gives. The scheduler places users' consumers.
 */

/* Does the consumer poll in @ctx? A user's queue has no poll_ctx, which reads as 0. */
static bool vector_polls_in(const struct weft_cq *cq, enum ib_poll_context ctx)
{
	return !cq->ib.uobject && cq->ib.poll_ctx == ctx;
}

/*
 * The handler of a consumer that polls in softirq raises it. Softirqs are off meanwhile, because a
 * raise by a process with softirqs on would first wake a thread.
 */
static void vector_call_here(struct weft_cq *cq)
{
	bool raises = vector_polls_in(cq, IB_POLL_SOFTIRQ) && !irqs_disabled();

	if (raises)
		local_bh_disable();
	cq->ib.comp_handler(&cq->ib, cq->ib.cq_context);
	if (raises)
		local_bh_enable();
}

static void vector_called(void *info)
{
	struct weft_cq *cq = info;

	/* Completions added from here on have a call of their own. */
	test_and_clear_bit(0, &cq->call_waits); /* a full barrier, before the consumer polls */
	vector_call_here(cq);
	atomic_dec_return_release(&cq->calls); /* the queue may be gone now */
}

void weft_vector_init(struct weft_cq *cq)
{
	INIT_CSD(&cq->call, vector_called, cq);
}

/* Not under the queue's lock. If the vector's CPU is offline, calls the consumer on this CPU. */
void weft_vector_call(struct weft_cq *cq)
{
	int cpu = cq->ib.comp_vector;
	bool counts;

	if (!cq->ib.comp_handler)
		return;
	/*
	 * The vector counts where packets are steered, if the core polls for the consumer on the
	 * CPU of the call. Adaptive moderation (dim) rules it out, because the core frees the dim
	 * state before it destroys the queue, and the core's work would use that state after a late
	 * call.
	 */
	counts = weft_rule(WEFT_RULE_VECTORS) && weft_sock_steered() &&
		 (vector_polls_in(cq, IB_POLL_SOFTIRQ) ||
		  (vector_polls_in(cq, IB_POLL_WORKQUEUE) && !cq->ib.dim));
	if (!counts || cpu == raw_smp_processor_id()) {
		vector_call_here(cq);
		return;
	}
	/* A call that has not begun yet finds these completions, too. */
	if (test_and_set_bit(0, &cq->call_waits))
		return;
	atomic_inc(&cq->calls);
	if (smp_call_function_single_async(cpu, &cq->call))
		vector_called(cq);
}

/*
 * Waits for calls to a queue to which nothing is added any more. The core cancels its work item
 * earlier: if a call has queued the item again, the item would run in freed memory.
 */
void weft_vector_end(struct weft_cq *cq)
{
	/* A short wait: a call is an interrupt's time away. */
	while (atomic_read_acquire(&cq->calls))
		cond_resched();
	if (vector_polls_in(cq, IB_POLL_WORKQUEUE))
		cancel_work_sync(&cq->ib.work);
}

/* --- poll and arm --- */

static enum ib_wc_opcode wc_opcode(u8 opcode)
{
	switch (opcode) {
	case WEFT_OP_WRITE:
	case WEFT_OP_WRITE_IMM:
		return IB_WC_RDMA_WRITE;
	case WEFT_OP_READ:
	case WEFT_OP_READ_INV:
		return IB_WC_RDMA_READ;
	case WEFT_OP_CMP_SWP:
		return IB_WC_COMP_SWAP;
	case WEFT_OP_FETCH_ADD:
		return IB_WC_FETCH_ADD;
	case WEFT_OP_LOCAL_INV:
		return IB_WC_LOCAL_INV;
	case WEFT_OP_REG_MR:
		return IB_WC_REG_MR;
	case WEFT_OP_RECV:
		return IB_WC_RECV;
	case WEFT_OP_RECV_WRITE_IMM:
		return IB_WC_RECV_RDMA_WITH_IMM;
	default:
		return IB_WC_SEND;
	}
}

static void wc_fill(struct ib_wc *wc, const struct weft_cqe *cqe, struct ib_qp *qp)
{
	memset(wc, 0, sizeof(*wc));
	wc->wr_id = cqe->wr_id;
	wc->status = WEFT_CQE_STATUS(cqe->word);
	wc->opcode = wc_opcode(WEFT_CQE_OPCODE(cqe->word));
	wc->byte_len = cqe->byte_len;
	wc->qp = qp;
	if (wc->status) {
		wc->vendor_err = cqe->ex;
	} else if (cqe->word & WEFT_CQE_WITH_INV) {
		wc->ex.invalidate_rkey = cqe->ex;
		wc->wc_flags = IB_WC_WITH_INVALIDATE;
	} else if (cqe->word & WEFT_CQE_WITH_IMM) {
		wc->ex.imm_data = (__force __be32)cqe->ex;
		wc->wc_flags = IB_WC_WITH_IMM;
	}
}

/*
 * Takes up to @num completions. Drops those of destroyed queue pairs, but a slice at most, because
 * there may be a million and interrupts are off. @more: entries are left.
 */
int weft_cq_poll_slice(struct weft_cq *cq, int num, struct ib_wc *wc, bool *more)
{
	int n = 0, dropped = 0;
	struct weft_cq_ctl *ctl;
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	ctl = cq->ring.mem; /* a resize replaces it */
	rcu_read_lock();
	while (n < num && dropped < WEFT_CQ_SLICE && cq->polled != cq->ring.head) {
		const struct weft_cqe *cqe = weft_ring_slot(&cq->ring, cq->polled++);
		const struct weft_qp_entry *entry =
			xa_load(&to_weft_device(cq->ib.device)->qps, cqe->qp_num);

		if (entry)
			wc_fill(&wc[n++], cqe, entry->ib);
		else
			dropped++;
	}
	rcu_read_unlock();
	WRITE_ONCE(ctl->consumer, cq->polled);
	*more = cq->polled != cq->ring.head;
	spin_unlock_irqrestore(&cq->lock, flags);
	return n;
}

/* Takes fewer than @num completions only if there are no more. */
int weft_poll_cq(struct ib_cq *ib, int num, struct ib_wc *wc)
{
	struct weft_cq *cq = to_weft_cq(ib);
	bool more = true;
	int n;

	if (cq->ring.entry)
		return -EINVAL;
	for (n = 0; n < num && more;)
		n += weft_cq_poll_slice(cq, num - n, wc + n, &more);
	return n;
}

/* Arms the queue. Returns 1 if missed completions are to be reported and there are entries. */
int weft_req_notify_cq(struct ib_cq *ib, enum ib_cq_notify_flags flags)
{
	struct weft_cq *cq = to_weft_cq(ib);
	struct weft_cq_ctl *ctl;
	unsigned long irq;
	bool pending_any, solicited_only;
	int ret = 0;

	if (cq->ring.entry)
		return -EINVAL;
	spin_lock_irqsave(&cq->lock, irq);
	ctl = cq->ring.mem;
	pending_any = cq->armed != cq->served && !WEFT_CQ_ARM_SOLICITED(READ_ONCE(ctl->arm));
	cq->armed = (cq->armed + 1) & 0x7fffffff;
	solicited_only = !pending_any && (flags & IB_CQ_SOLICITED_MASK) == IB_CQ_SOLICITED;
	WRITE_ONCE(ctl->arm, WEFT_CQ_ARM(cq->armed, solicited_only ? 1 : 0));
	if (flags & IB_CQ_REPORT_MISSED_EVENTS)
		ret = cq->polled != cq->ring.head;
	spin_unlock_irqrestore(&cq->lock, irq);
	return ret;
}
