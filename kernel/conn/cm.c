// SPDX-License-Identifier: GPL-2.0
/*
 * The identifiers of iw_cm and the queue pairs that it names, for both ends of a connection.
 *
 * rdma_cm, the only user of iw_cm, passes its own identifier as the context of iw_cm's. That holds
 * the application's network namespace, in which all its sockets are opened. Neither the device nor
 * the calling process need be in that namespace: when a device is added, the adding process makes
 * the listeners of every application.
 *
 * iw_cm expects one CONNECT_REPLY for each connect that returned 0 (it waits without a timeout),
 * one ESTABLISHED for each accept that returned 0, and after either success at most one DISCONNECT
 * and then one CLOSE. A connection has a @cm_id while one of these is due. The event handler only
 * queues, so it is called under our mutex.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/sched/signal.h>
#include <rdma/rdma_cm.h>

#include "base/compat.h"
#include "base/context.h"
#include "base/weft.h"
#include "conn/conn.h"
#include "pair/qp.h"

bool weft_cm_param_ok(const struct weft_device *dev, const struct iw_cm_conn_param *param)
{
	static_assert(WEFT_MAX_RD_ATOM < WEFT_MPA_RD_UNSET); /* as struct weft_mpa_policy asks */

	return weft_limit_allows(dev, WEFT_LIMIT_RD_ATOM, param->ird) &&
	       weft_limit_allows(dev, WEFT_LIMIT_RD_ATOM, param->ord) &&
	       param->private_data_len <= WEFT_MPA_MAX_PRIVATE - WEFT_MPA_V2_LEN;
}

/*
 * Returns true if a task is the caller's user's and has no more rights than the caller. As with
 * ptrace, a program that was started with added rights (of another user or group, or capabilities)
 * is not its starter's, and a program that gave rights up is not its new user's.
 */
static bool cm_same_user(struct task_struct *task)
{
	const struct cred *caller = current_cred(), *cred;
	const kuid_t uid = caller->uid;
	const kgid_t gid = caller->gid;
	bool same;

	rcu_read_lock();
	cred = __task_cred(task);
	same = uid_eq(cred->uid, uid) && uid_eq(cred->euid, uid) && uid_eq(cred->suid, uid) &&
	       gid_eq(cred->gid, gid) && gid_eq(cred->egid, gid) && gid_eq(cred->sgid, gid) &&
	       cred->user_ns == caller->user_ns &&
	       cap_issubset(cred->cap_permitted, caller->cap_permitted);
	rcu_read_unlock();
	/* commit_creds() writes dumpable before the credentials. Pairs with its smp_wmb(). */
	smp_rmb();
	return same && weft_task_is_dumpable(task);
}

/* A reference that weft_iw_get_qp() took. */
struct weft_promise {
	struct hlist_node node; /* in the list of the queue pair's entry */
	/* The caller, whose next weft_iw_add_ref() gets this reference; only compared */
	const struct task_struct *task;
};

/*
 * Takes one more reference, or the one that weft_iw_get_qp() took for this task. A count of
 * promises is not enough: another task could take this task's reference, and drop it before this
 * task asks.
 */
void weft_iw_add_ref(struct ib_qp *ib)
{
	struct weft_qp *qp = to_weft_qp(ib);
	struct weft_promise *promise;
	unsigned long flags;

	spin_lock_irqsave(&qp->lock, flags);
	hlist_for_each_entry(promise, &qp->entry->promised, node) {
		if (promise->task == current)
			break;
	}
	if (promise)
		hlist_del(&promise->node);
	spin_unlock_irqrestore(&qp->lock, flags);
	if (!promise)
		kref_get(&qp->entry->refs);
	kfree(promise);
}

/* Drops a reference that weft_iw_add_ref() took. */
void weft_iw_rem_ref(struct ib_qp *ib)
{
	weft_qp_put(to_weft_qp(ib));
}

/*
 * Finds a queue pair for iw_cm, whose next call in this task is weft_iw_add_ref(). Takes the
 * reference already, because the queue pair may be destroyed between the two calls.
 *
 * The calling process may name its own queue pair, another of its user's, or with CAP_NET_ADMIN any
 * process's. iw_cm keeps the queue pair until iwpmd answers, and the owner waits for that.
 * weft_cm_bind_qp() decides later whether the connection may have it.
 *
 * The kernel names its own queue pairs in its threads, or in a process that mounts or attaches
 * storage, which takes CAP_SYS_ADMIN.
 */
struct ib_qp *weft_iw_get_qp(struct ib_device *ib, int qpn)
{
	struct weft_promise *promise = kmalloc(sizeof(*promise), GFP_ATOMIC);
	struct task_struct *maker;
	unsigned long flags;
	struct weft_qp *qp;
	bool may;

	if (!promise)
		return NULL;
	qp = weft_qp_get_by_num(to_weft_device(ib), qpn);
	if (!qp)
		goto free;
	/* The core keeps the task as long as the queue pair. */
	maker = qp->ib.res.task;
	if (!qp->owner)
		may = current->flags & PF_KTHREAD || capable(CAP_SYS_ADMIN);
	else
		may = (maker && (same_thread_group(maker, current) || cm_same_user(maker))) ||
		      capable(CAP_NET_ADMIN);
	if (!may)
		goto put;
	promise->task = current;
	spin_lock_irqsave(&qp->lock, flags);
	hlist_add_head(&promise->node, &qp->entry->promised);
	spin_unlock_irqrestore(&qp->lock, flags);
	return &qp->ib;

put:
	weft_qp_put(qp);
free:
	kfree(promise);
	return NULL;
}

/*
 * Binds the queue pair that the application named, and may connect. Returns 0, -EINVAL or -EPERM.
 *
 * iw_cm passes on only its number, which anybody can guess, and a process that connects another's
 * queue pair gets the data posted there. In the kernel, rdma_cm's identifier names the queue pair.
 * A process may connect its own, one of its user's in the same network namespace, or as an
 * administrator any process's.
 */
int weft_cm_bind_qp(struct weft_conn *conn, const struct iw_cm_id *id, u32 qpn)
{
	struct weft_qp *qp = weft_qp_get_by_num(conn->dev, qpn);
	const struct rdma_cm_id *owner = id->context;
	struct task_struct *maker;
	bool may;
	int ret;

	lockdep_assert_held(&conn->lock.mutex);
	if (!qp)
		return -EINVAL;
	maker = qp->ib.res.task;
	if (!qp->owner || owner->qp)
		may = owner->qp == &qp->ib;
	else
		may = (maker && same_thread_group(maker, current)) ||
		      (maker && cm_same_user(maker) &&
		       qp->net_cookie == owner->route.addr.dev_addr.net->net_cookie) ||
		      capable(CAP_NET_ADMIN);
	if (!may) {
		weft_qp_put(qp);
		return -EPERM;
	}
	kref_get(&conn->refs);
	ret = weft_engine_bind(qp, &conn->user);
	if (ret) {
		weft_conn_put(conn);
		weft_qp_put(qp);
		return ret;
	}
	/* The queue pair may have failed already; its event waits for the mutex. */
	conn->qp = qp;
	conn->qpn = qpn;
	weft_lane_move(conn, qp->owner ?
		       container_of(qp->owner, const struct weft_ucontext, ib)->lane :
		       qp->dev->lane);
	return 0;
}

void weft_cm_forget(struct weft_conn *conn)
{
	conn->cm_id->rem_ref(conn->cm_id);
	conn->cm_id = NULL;
	weft_conn_set_context(conn, NULL);
}

/* Tells the application that its connection is over. The queue pair has been released. */
void weft_cm_ended(struct weft_conn *conn, bool by_peer, int status)
{
	struct iw_cm_id *id = conn->cm_id;
	struct iw_cm_event event = {
		.local_addr = id->m_local_addr,
		.remote_addr = id->m_remote_addr,
	};

	lockdep_assert_held(&conn->lock.mutex);
	if (status)
		weft_count(conn->dev->counters, WEFT_CNT_CONN_BROKEN, 1);
	if (by_peer) {
		event.event = IW_CM_EVENT_DISCONNECT;
		id->event_handler(id, &event);
	}
	event.event = IW_CM_EVENT_CLOSE;
	event.status = status;
	id->event_handler(id, &event);
	weft_cm_forget(conn);
}
