// SPDX-License-Identifier: GPL-2.0
/*
 * On which processor a consumer is called. Where packets are steered (RFS), completion vector N is
 * processor N, as a card has an interrupt for each. A consumer in the kernel that has a queue for
 * each processor, as NVMe has, is then called where it asked.
 *
 * Where packets are not steered, a consumer is called wherever they come: an interrupt of
 * another processor for each call costs more than it gives. Users' queues are not concerned:
 * their consumer is woken, and the scheduler knows where.
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

/* Returns true if the consumer polls in that context. A user's queue has none, which reads as 0. */
static bool vector_polls_in(const struct weft_cq *cq, enum ib_poll_context ctx)
{
	return !cq->ib.uobject && cq->ib.poll_ctx == ctx;
}

/*
 * Returns true if the vector of a queue counts: packets are steered, and the RDMA core works for
 * the consumer on the processor that it is called on. With adaptive moderation it does not count,
 * because the core frees the state of that before it asks us to end the queue, and a late call
 * would have the core's work use it.
 */
static bool vector_counts(const struct weft_cq *cq)
{
	return weft_rule(WEFT_RULE_VECTORS) && weft_sock_steered() &&
	       (vector_polls_in(cq, IB_POLL_SOFTIRQ) ||
		(vector_polls_in(cq, IB_POLL_WORKQUEUE) && !cq->ib.dim));
}

/*
 * Calls the consumer's handler. One that polls in a softirq raises it, and runs when softirqs are
 * allowed again: raised by a process that allows them, it would first wake a thread.
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

/* Prepares a new queue. */
void weft_vector_init(struct weft_cq *cq)
{
	INIT_CSD(&cq->call, vector_called, cq);
}

/**
 * weft_vector_call() - call a queue's consumer, on the processor of its vector if that counts
 * @cq: the queue
 *
 * A processor that is off is not waited for: the consumer is called on this one.
 *
 * Context: any, without the queue's lock.
 */
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

/**
 * weft_vector_end() - wait until no call is under way
 * @cq: the queue, to which nothing is added any more
 *
 * The RDMA core cancels the work of its consumer before it asks us. A call that came in
 * between has queued that again, and would be made in freed memory.
 *
 * Context: process, may sleep.
 */
void weft_vector_end(struct weft_cq *cq)
{
	/* A call is an interrupt's time away. */
	while (atomic_read_acquire(&cq->calls))
		cond_resched();
	if (vector_polls_in(cq, IB_POLL_WORKQUEUE))
		cancel_work_sync(&cq->ib.work);
}
