// SPDX-License-Identifier: GPL-2.0
/* The transmit worker: where it is started, and that its end waits for it wherever that was. */
#include <linux/delay.h>
#include <linux/timer.h>
#include <linux/tracepoint.h>

#include "bench.h"
#include "verbs/verbs.h"

/* Both queues have one item that waits, so that what is started stays pending. */
struct queues {
	struct workqueue_struct *any, *near;
	struct work_struct blocks_any, blocks_near;
	struct completion go;
	/* Started from elsewhere. */
	struct weft_qp *qp;
	struct work_struct work;
	struct timer_list timer;
	struct completion done;
};

static struct queues *queues; /* a case at a time */

static void wait_to_go(struct work_struct *work)
{
	wait_for_completion(&queues->go);
}

static void kick_from_work(struct work_struct *work)
{
	weft_qp_kick(queues->qp);
}

static void kick_from_timer(struct timer_list *timer)
{
	weft_qp_kick(queues->qp);
	complete(&queues->done);
}

static void unblock(struct kunit *test, void *unused)
{
	complete_all(&queues->go);
	swap(weft_workqueue, queues->any);
	swap(weft_near_workqueue, queues->near);
	destroy_workqueue(queues->any);
	destroy_workqueue(queues->near);
}

static struct bench *blocked_bench(struct kunit *test)
{
	struct bench *b = setup(test, ORD);

	queues = zeroed(test, sizeof(*queues));
	queues->any = must(test, alloc_ordered_workqueue("weft_kunit_any", 0));
	queues->near = must(test, alloc_ordered_workqueue("weft_kunit_near", 0));
	init_completion(&queues->go);
	init_completion(&queues->done);
	INIT_WORK(&queues->blocks_any, wait_to_go);
	INIT_WORK(&queues->blocks_near, wait_to_go);
	INIT_WORK(&queues->work, kick_from_work);
	timer_setup(&queues->timer, kick_from_timer, 0);
	queue_work(queues->any, &queues->blocks_any);
	queue_work(queues->near, &queues->blocks_near);
	swap(weft_workqueue, queues->any);
	swap(weft_near_workqueue, queues->near);
	give_to_kernel(test, b);
	queues->qp = &b->engine.qp;
	at_end(test, unblock, NULL);
	return b;
}

/* Tells whether the worker was started near its poster, and takes that back. */
static void expect_started(struct kunit *test, struct bench *b, bool near, const char *by)
{
	KUNIT_EXPECT_EQ_MSG(test, cancel_work_sync(&b->engine.qp.consumer->near), near, "%s", by);
	KUNIT_EXPECT_EQ_MSG(test, cancel_work_sync(&b->engine.qp.worker.work), !near, "%s", by);
}

CASE_WITH(worker_start, struct bench *b, blocked_bench(test))
{
	weft_qp_kick(&b->engine.qp);
	expect_started(test, b, true, "a thread of the end that asks");
	b->engine.qp.initiator = false;
	weft_qp_kick(&b->engine.qp);
	expect_started(test, b, false, "a thread of the end that answers");
	queue_work(system_highpri_wq, &queues->work);
	flush_work(&queues->work);
	expect_started(test, b, true, "a worker of high priority");
	b->engine.qp.initiator = true;
	queue_work(system_unbound_wq, &queues->work);
	flush_work(&queues->work);
	expect_started(test, b, false, "an ordinary worker");
	b->engine.qp.initiator = false;
	mod_timer(&queues->timer, jiffies + 1);
	wait_for_completion(&queues->done);
	timer_delete_sync(&queues->timer); /* its memory goes */
	expect_started(test, b, true, "a softirq");
}

/* A program's queue pair has the one worker. */
CASE_WITH(worker_of_program, struct bench *b, setup(test, ORD))
{
	KUNIT_EXPECT_NULL(test, b->engine.qp.consumer);
	weft_baton_lock(&b->engine.qp.tx_lock); /* the worker leaves word */
	weft_qp_kick(&b->engine.qp);
	flush_work(&b->engine.qp.worker.work);
	KUNIT_EXPECT_EQ(test, wanted_of(&b->engine.qp), BIT(WEFT_WANT_TX));
	weft_qp_unlock(&b->engine.qp);
}

/* The worker takes no turn before the connection's lane, however much there is to send. */
CASE_WITH(worker_behind_lane, struct bench *b, blocked_bench(test))
{
	struct weft_qp *qp = &b->engine.qp;

	weft_baton_lock(&qp->tx_lock);
	KUNIT_EXPECT_FALSE(test, weft_baton_try(&qp->tx_lock, WEFT_WANT_CONN));
	weft_qp_unlock(qp);
	qp->worker.work.func(&qp->worker.work);
	KUNIT_EXPECT_EQ(test, wanted_of(qp), BIT(WEFT_WANT_TX) | BIT(WEFT_WANT_CONN));
	KUNIT_EXPECT_TRUE(test, weft_baton_try(&qp->tx_lock, WEFT_WANT_CONN));
	weft_qp_unlock(qp);
	expect_started(test, b, true, "the lane");
	qp->worker.work.func(&qp->worker.work);
	KUNIT_EXPECT_EQ(test, wanted_of(qp), 0UL);
}

/* A queue pair is freed behind this, so that no item of its worker may be left on either queue. */
CASE_WITH(worker_end, struct bench *b, blocked_bench(test))
{
	weft_qp_kick(&b->engine.qp);
	b->engine.qp.initiator = false;
	weft_qp_kick(&b->engine.qp);
	KUNIT_EXPECT_TRUE(test, work_pending(&b->engine.qp.consumer->near));
	KUNIT_EXPECT_TRUE(test, work_pending(&b->engine.qp.worker.work));
	weft_engine_end(&b->engine.qp);
	KUNIT_EXPECT_FALSE(test, work_pending(&b->engine.qp.consumer->near));
	KUNIT_EXPECT_FALSE(test, work_pending(&b->engine.qp.worker.work));
}

/* What starts the worker of one queue pair, as the kernel's own tracepoint tells it. */
struct watch {
	struct tracepoint *queued;
	struct weft_qp *qp;
	u32 starts, unlocked;
};

static void watch_queued(void *data, int cpu, void *pool, struct work_struct *work)
{
	struct watch *watch = data;

	if (work != &watch->qp->worker.work && work != &watch->qp->consumer->near)
		return;
	watch->starts++;
	if (!lockdep_is_held(&watch->qp->post_lock))
		watch->unlocked++;
}

static void watch_find(struct tracepoint *tp, void *data)
{
	struct watch *watch = data;

	if (!strcmp(tp->name, "workqueue_queue_work"))
		watch->queued = tp;
}

/*
 * From the moment in which a ring asks for no doorbell, all who post rely on the one who starts the
 * worker: a thread that could be preempted between the two would stop them. So both are done under
 * post_lock, by a post and by the timer that ends a wait for others.
 */
CASE_WITH(worker_start_locked, struct bench *b, blocked_bench(test))
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };
	struct weft_wq_ctl *ctl = b->engine.qp.sq.mem;
	struct watch watch = { .qp = &b->engine.qp };
	const struct ib_send_wr *bad;

	for_each_kernel_tracepoint(watch_find, &watch);
	KUNIT_ASSERT_NOT_NULL(test, watch.queued);
	KUNIT_ASSERT_EQ(test, tracepoint_probe_register(watch.queued, watch_queued, &watch), 0);
	b->engine.qp.consumer->gather.until = 2;
	weft_ring_need_doorbell(&b->engine.qp.sq, true);
	KUNIT_EXPECT_EQ(test, weft_post_send(&b->engine.qp.ib, &wr, &bad), 0);
	KUNIT_EXPECT_EQ(test, watch.starts, 1U);
	expect_started(test, b, true, "a post");
	b->engine.qp.consumer->gather.until = 0;
	weft_ring_need_doorbell(&b->engine.qp.sq, true);
	KUNIT_EXPECT_EQ(test, weft_post_send(&b->engine.qp.ib, &wr, &bad), 0);
	for (int ms = 0; ms < 1000 && READ_ONCE(ctl->need_doorbell); ms++)
		usleep_range(1000, 2000);
	hrtimer_cancel(&b->engine.qp.consumer->gather.timer);
	KUNIT_EXPECT_EQ(test, watch.starts, 2U);
	KUNIT_EXPECT_EQ(test, watch.unlocked, 0U);
	tracepoint_probe_unregister(watch.queued, watch_queued, &watch);
	tracepoint_synchronize_unregister();
	b->engine.qp.state = IB_QPS_ERR; /* what was posted is completed in error */
}

/* A run of the worker that had tx_lock before its queue pair's end starts it once more. */
static void late_sender(struct work_struct *work)
{
	complete(&queues->done);
	msleep(50); /* the end cancels meanwhile */
	weft_qp_kick(queues->qp);
	weft_qp_within(queues->qp, HZ);
}

/* Nothing is left that such a run has started. */
CASE_WITH(worker_end_beside, struct bench *b, blocked_bench(test))
{
	struct weft_qp *qp = &b->engine.qp;

	qp->worker.work.func = late_sender;
	queue_work(system_wq, &qp->worker.work);
	wait_for_completion(&queues->done);
	weft_engine_end(qp);
	KUNIT_EXPECT_FALSE(test, timer_delete_sync(&qp->worker.timer));
	KUNIT_EXPECT_FALSE(test, cancel_work_sync(&qp->worker.work));
	KUNIT_EXPECT_FALSE(test, cancel_work_sync(&qp->consumer->near));
}

/* Posts that are held have a timer, which starts the worker. */
CASE_WITH(worker_end_gathering, struct bench *b, blocked_bench(test))
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };
	struct weft_gather *gather = &b->engine.qp.consumer->gather;
	const struct ib_send_wr *bad;

	gather->until = 0;
	gather->moment = NSEC_PER_SEC;
	weft_ring_need_doorbell(&b->engine.qp.sq, true);
	KUNIT_EXPECT_EQ(test, weft_post_send(&b->engine.qp.ib, &wr, &bad), 0);
	KUNIT_EXPECT_TRUE(test, hrtimer_active(&gather->timer));
	weft_engine_end(&b->engine.qp);
	KUNIT_EXPECT_FALSE(test, hrtimer_active(&gather->timer));
	KUNIT_EXPECT_EQ(test, work_busy(b->engine.qp.worker.near), 0U);
	KUNIT_EXPECT_EQ(test, work_busy(&b->engine.qp.worker.work), 0U);
	hrtimer_cancel(&gather->timer); /* its memory goes */
}

A_SUITE(worker, bench, worker_start, worker_start_locked, worker_of_program, worker_behind_lane,
	worker_end, worker_end_beside, worker_end_gathering);
