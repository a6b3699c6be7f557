// SPDX-License-Identifier: GPL-2.0
/* What ibv_modify_qp() changes, and what it leaves; how iw_cm finds a queue pair by its number. */
#include <linux/cred.h>
#include <linux/pid.h>
#include <linux/sched/task.h>

#include "bench.h"
#include "conn/iwcm.h"
#include "verbs/verbs.h"

#define RW		(IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE)
#define BY_RDMA_CM	(IB_QP_STATE | IB_QP_ACCESS_FLAGS | IB_QP_PORT)

/* One modification; returns what the queue pair grants then. */
static int rights(struct kunit *test, struct bench *b, enum ib_qp_state from,
		  enum ib_qp_state to, int flags, int mask, int result)
{
	struct ib_qp_attr attr = { .qp_state = to, .qp_access_flags = flags, .port_num = 1 };

	b->engine.qp.state = from;
	b->engine.qp.acc.rights = IB_ACCESS_REMOTE_ATOMIC;
	KUNIT_EXPECT_EQ(test, weft_modify_qp(&b->engine.qp.ib, &attr, mask, NULL), result);
	return b->engine.qp.acc.rights;
}

/* rdma_cm grants 0 or no atomics, and means all; whoever else says so means it. */
CASE_WITH(modify_rights, struct bench *b, setup(test, ORD))
{
	KUNIT_EXPECT_EQ(test, rights(test, b, IB_QPS_INIT, IB_QPS_INIT, 0, BY_RDMA_CM, 0),
			WEFT_ACCESS_REMOTE);
	KUNIT_EXPECT_EQ(test, rights(test, b, IB_QPS_INIT, IB_QPS_INIT, RW, BY_RDMA_CM, 0),
			WEFT_ACCESS_REMOTE);
	KUNIT_EXPECT_EQ(test, rights(test, b, IB_QPS_INIT, IB_QPS_RTR, RW, BY_RDMA_CM, 0),
			WEFT_ACCESS_REMOTE);
	KUNIT_EXPECT_EQ(test, rights(test, b, IB_QPS_INIT, IB_QPS_INIT, IB_ACCESS_REMOTE_READ,
				     BY_RDMA_CM, 0), IB_ACCESS_REMOTE_READ);
	KUNIT_EXPECT_EQ(test, rights(test, b, IB_QPS_INIT, IB_QPS_INIT, 0,
				     BY_RDMA_CM | IB_QP_PKEY_INDEX, 0), 0);
	KUNIT_EXPECT_EQ(test, rights(test, b, IB_QPS_INIT, IB_QPS_INIT, RW,
				     BY_RDMA_CM | IB_QP_PKEY_INDEX, 0), RW);
	/* A queue pair that is used again has the rights of a new one, or those it is given. */
	KUNIT_EXPECT_EQ(test, rights(test, b, IB_QPS_ERR, IB_QPS_RESET, 0, IB_QP_STATE, 0),
			WEFT_ACCESS_REMOTE);
	KUNIT_EXPECT_EQ(test, rights(test, b, IB_QPS_ERR, IB_QPS_RESET, IB_ACCESS_REMOTE_READ,
				     IB_QP_STATE | IB_QP_ACCESS_FLAGS, 0), IB_ACCESS_REMOTE_READ);
	/* The door is closed while data flows. */
	KUNIT_EXPECT_EQ(test, rights(test, b, IB_QPS_RTS, 0, 0, IB_QP_ACCESS_FLAGS, 0), 0);
	KUNIT_EXPECT_EQ(test, rights(test, b, IB_QPS_RTS, 0, RW, IB_QP_ACCESS_FLAGS, 0), RW);
	b->engine.qp.state = IB_QPS_RTS;
}

/* What fails has changed nothing. */
CASE_WITH(modify_fails, struct bench *b, setup(test, ORD))
{
	const int mask = IB_QP_STATE | IB_QP_ACCESS_FLAGS;
	struct ib_qp_attr attr = { .qp_state = IB_QPS_SQD, .en_sqd_async_notify = 1 };

	KUNIT_EXPECT_EQ(test, rights(test, b, IB_QPS_INIT, IB_QPS_RTS, RW, mask, -EINVAL),
			IB_ACCESS_REMOTE_ATOMIC);
	KUNIT_EXPECT_EQ(test, rights(test, b, IB_QPS_RTS, IB_QPS_INIT, 0, BY_RDMA_CM, -EINVAL),
			IB_ACCESS_REMOTE_ATOMIC);
	/* An event that would never come */
	b->engine.qp.state = IB_QPS_RTS;
	KUNIT_EXPECT_EQ(test, weft_modify_qp(&b->engine.qp.ib, &attr, IB_QP_STATE |
					     IB_QP_EN_SQD_ASYNC_NOTIFY, NULL), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, weft_qp_state(&b->engine.qp), IB_QPS_RTS);
}

/* iw_cm has its reference from the lookup on; a lookup behind the last reference finds nothing. */
CASE_WITH(modify_found, struct bench *b, setup(test, ORD))
{
	u32 qpn = b->engine.qp.acc.qpn;

	xa_store(&b->dev.qps, qpn, &b->entry, GFP_KERNEL);
	KUNIT_EXPECT_PTR_EQ(test, weft_iw_get_qp(&b->dev.ib, qpn), &b->engine.qp.ib);
	KUNIT_EXPECT_EQ(test, kref_read(&b->entry.refs), 2U);
	weft_qp_put(&b->engine.qp); /* the table's */
	KUNIT_EXPECT_FALSE(test, completion_done(&b->entry.gone));
	weft_iw_add_ref(&b->engine.qp.ib);
	KUNIT_EXPECT_FALSE(test, completion_done(&b->entry.gone));
	weft_iw_rem_ref(&b->engine.qp.ib);
	KUNIT_EXPECT_TRUE(test, completion_done(&b->entry.gone));
	KUNIT_EXPECT_PTR_EQ(test, weft_iw_get_qp(&b->dev.ib, qpn), NULL);
	KUNIT_EXPECT_PTR_EQ(test, weft_qp_get_by_num(&b->dev, qpn), NULL);
	KUNIT_EXPECT_PTR_EQ(test, weft_iw_get_qp(&b->dev.ib, qpn + 1), NULL);
}

/* iw_cm asks with a lock held and interrupts off; kunit/run --debug tells if anybody sleeps. */
CASE_WITH(modify_named, struct bench *b, setup(test, ORD))
{
	struct task_struct *program = must(test, get_pid_task(find_vpid(1), PIDTYPE_PID));
	u32 qpn = b->engine.qp.acc.qpn;
	const struct cred *before;
	unsigned long flags;
	struct cred *cred;

	xa_store(&b->dev.qps, qpn, &b->entry, GFP_KERNEL);
	b->engine.qp.ib.res.task = program;
	spin_lock_irqsave(&b->engine.qp.post_lock, flags);
	KUNIT_EXPECT_PTR_EQ(test, weft_iw_get_qp(&b->dev.ib, qpn), &b->engine.qp.ib);
	spin_unlock_irqrestore(&b->engine.qp.post_lock, flags);
	weft_iw_add_ref(&b->engine.qp.ib);
	weft_iw_rem_ref(&b->engine.qp.ib);
	b->engine.qp.ib.res.task = NULL;
	put_task_struct(program);
	/* The kernel's own is named by its threads, and for who may have it mount. */
	b->engine.qp.owner = NULL;
	KUNIT_EXPECT_PTR_EQ(test, weft_iw_get_qp(&b->dev.ib, qpn), &b->engine.qp.ib);
	weft_iw_add_ref(&b->engine.qp.ib);
	weft_iw_rem_ref(&b->engine.qp.ib);
	cred = must(test, prepare_creds());
	cap_clear(cred->cap_effective);
	before = override_creds(cred);
	current->flags &= ~PF_KTHREAD;
	KUNIT_EXPECT_NULL(test, weft_iw_get_qp(&b->dev.ib, qpn));
	current->flags |= PF_KTHREAD;
	revert_creds(before);
	put_cred(cred);
	KUNIT_EXPECT_EQ(test, kref_read(&b->entry.refs), 1U);
}

struct asks {
	struct work_struct work;
	struct ib_qp *ib;
	int refs;
};

static void ask_and_drop(struct work_struct *work)
{
	struct asks *asks = container_of(work, struct asks, work);

	weft_iw_add_ref(asks->ib);
	asks->refs = kref_read(&to_weft_qp(asks->ib)->entry->refs);
	weft_iw_rem_ref(asks->ib);
}

/* The first weft_iw_add_ref() behind a lookup is the lookup's, whoever else asks in between. */
CASE_WITH(modify_promised, struct bench *b, setup(test, ORD))
{
	struct asks asks = { .ib = &b->engine.qp.ib };
	u32 qpn = b->engine.qp.acc.qpn;

	INIT_WORK_ONSTACK(&asks.work, ask_and_drop);
	xa_store(&b->dev.qps, qpn, &b->entry, GFP_KERNEL);
	KUNIT_ASSERT_PTR_EQ(test, weft_iw_get_qp(&b->dev.ib, qpn), &b->engine.qp.ib);
	queue_work(system_wq, &asks.work);
	flush_work(&asks.work);
	KUNIT_EXPECT_EQ(test, asks.refs, 3); /* the table's, the lookup's, the other task's */
	KUNIT_EXPECT_EQ(test, kref_read(&b->entry.refs), 2U);
	weft_iw_add_ref(&b->engine.qp.ib);
	KUNIT_EXPECT_EQ(test, kref_read(&b->entry.refs), 2U);
	/* An iw_cm that keeps the queue pair while it modifies it */
	weft_iw_add_ref(&b->engine.qp.ib);
	KUNIT_EXPECT_EQ(test, kref_read(&b->entry.refs), 3U);
	weft_iw_rem_ref(&b->engine.qp.ib);
	KUNIT_EXPECT_EQ(test, kref_read(&b->entry.refs), 2U);
	weft_iw_rem_ref(&b->engine.qp.ib);
	KUNIT_EXPECT_FALSE(test, completion_done(&b->entry.gone));
	weft_qp_put(&b->engine.qp); /* the table's */
	KUNIT_EXPECT_TRUE(test, completion_done(&b->entry.gone));
	destroy_work_on_stack(&asks.work);
}

/* A connection that ends when it is served, and so has iw_cm drop the last reference. */
struct ending {
	struct weft_qp_user user;
	struct bench *b;
	bool gone_within;
};

static void ending_post(struct weft_qp_user *user, enum weft_qp_event event)
{
}

static void ending_hold(struct weft_qp_user *user)
{
}

static bool ending_serve(struct weft_qp_user *user)
{
	struct ending *ending = container_of(user, struct ending, user);

	weft_baton_lock(&ending->b->engine.qp.tx_lock);
	weft_engine_unbind(&ending->b->engine.qp);
	weft_qp_unlock(&ending->b->engine.qp);
	weft_qp_put(&ending->b->engine.qp);
	ending->gone_within = completion_done(&ending->b->entry.gone);
	return true;
}

static const struct weft_qp_user_ops ending_ops = {
	.post = ending_post, .hold = ending_hold, .serve = ending_serve,
};

/* iw_cm_disconnect() modifies without a reference: the last one may go meanwhile. */
CASE_WITH(modify_held, struct bench *b, setup(test, ORD))
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_SQD };
	struct ending ending = { .user.ops = &ending_ops, .b = b };

	b->engine.qp.ib.res.task = current;
	b->engine.qp.user = &ending.user;
	KUNIT_EXPECT_EQ(test, weft_modify_qp(&b->engine.qp.ib, &attr, IB_QP_STATE, NULL), 0);
	KUNIT_EXPECT_NULL(test, b->engine.qp.user);
	KUNIT_EXPECT_FALSE(test, ending.gone_within);
	KUNIT_EXPECT_TRUE(test, completion_done(&b->entry.gone));
	b->engine.qp.ib.res.task = NULL;
}

/* Without a last reference it does nothing, and starts nothing behind the destroy. */
CASE_WITH(modify_gone, struct bench *b, setup(test, ORD))
{
	static const enum ib_qp_state states[] = { IB_QPS_SQD, IB_QPS_ERR };
	struct ib_qp_attr attr = {};

	weft_qp_put(&b->engine.qp); /* the table's */
	KUNIT_EXPECT_TRUE(test, completion_done(&b->entry.gone));
	weft_baton_lock(&b->engine.qp.tx_lock); /* a worker leaves word */
	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		attr.qp_state = states[i];
		KUNIT_EXPECT_EQ_MSG(test, -EINVAL,
				    weft_modify_qp(&b->engine.qp.ib, &attr, IB_QP_STATE, NULL),
				    "state %d", states[i]);
		flush_work(&b->engine.qp.worker.work);
		KUNIT_EXPECT_EQ_MSG(test, wanted_of(&b->engine.qp), 0UL, "state %d", states[i]);
		KUNIT_EXPECT_EQ_MSG(test, b->engine.qp.state, IB_QPS_RTS, "state %d", states[i]);
	}
	weft_qp_unlock(&b->engine.qp);
	b->engine.qp.state = IB_QPS_RTS; /* as it should be */
}

A_SUITE(modify, bench, modify_rights, modify_fails, modify_found, modify_named, modify_promised,
	modify_held, modify_gone);
