// SPDX-License-Identifier: GPL-2.0
/*
 * Where packets are steered (RFS), completion vector N is CPU N: a kernel consumer with a queue for
 * each CPU (NVMe) is called where it asked. Elsewhere a consumer is called where packets arrive,
 * because an IPI for each call costs more than it gives. The scheduler places users' consumers.
 */
#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/workqueue.h>

#include "base/compat/sock.h"
#include "base/policy.h"
#include "queue/cq.h"
#include "queue/vector.h"

/* Does the consumer poll in @ctx? A user's queue has no poll_ctx, which reads as 0. */
static bool vector_polls_in(const struct weft_cq *cq, enum ib_poll_context ctx)
{
	return !cq->ib.uobject && cq->ib.poll_ctx == ctx;
}

/*
 * Are packets steered, and does the core poll for the consumer on the CPU of the call? Adaptive
 * moderation (dim) rules the vector out, because the core frees the dim state before it destroys
 * the queue, and the core's work would use that state after a late call.
 */
static bool vector_counts(const struct weft_cq *cq)
{
	return weft_rule(WEFT_RULE_VECTORS) && weft_sock_steered() &&
	       (vector_polls_in(cq, IB_POLL_SOFTIRQ) ||
		(vector_polls_in(cq, IB_POLL_WORKQUEUE) && !cq->ib.dim));
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
	clear_bit(0, &cq->call_waits);
	smp_mb__after_atomic(); /* before the consumer polls; pairs with test_and_set_bit() */
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

	if (!cq->ib.comp_handler)
		return;
	if (!vector_counts(cq) || cpu == raw_smp_processor_id()) {
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
