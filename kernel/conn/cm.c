// SPDX-License-Identifier: GPL-2.0
/*
 * The identifiers and events of iw_cm, for both ends of a connection.
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

#include "base/address.h"
#include "base/compat.h"
#include "base/weft.h"
#include "conn/conn.h"
#include "llp/transport.h"
#include "pair/qp.h"

/*
 * Returns the application's network namespace, in which all its sockets are opened, without a
 * reference. Neither the device nor the calling process need be in that namespace: when a device is
 * added, the adding process makes the listeners of every application. rdma_cm, the only user of
 * iw_cm, passes its own identifier as context, which holds the namespace.
 */
struct net *weft_cm_net(const struct iw_cm_id *id)
{
	const struct rdma_cm_id *owner = id->context;

	return owner->route.addr.dev_addr.net;
}

/* Returns the class that the settings have for connections to the responder's port. */
const struct weft_llp_class *weft_cm_class(struct weft_device *dev,
					   const struct sockaddr_storage *responder)
{
	return weft_transport_for(&dev->transports, weft_addr_port(responder))->class;
}

bool weft_cm_param_ok(const struct weft_device *dev, const struct iw_cm_conn_param *param)
{
	static_assert(WEFT_MAX_RD_ATOM < WEFT_MPA_RD_UNSET); /* as struct weft_mpa_policy asks */

	return weft_limit_allows(dev, WEFT_LIMIT_RD_ATOM, param->ird) &&
	       weft_limit_allows(dev, WEFT_LIMIT_RD_ATOM, param->ord) &&
	       param->private_data_len <= WEFT_MPA_MAX_PRIVATE - WEFT_MPA_V2_LEN;
}

/*
 * Puts the outcome of a handshake in an event. A dead stream has no addresses. rdma_cm takes the
 * initiator's depth from @ird, and its resources from @ord, and neither is more than ours.
 */
void weft_cm_outcome(const struct weft_conn *conn, const struct iw_cm_id *id,
		     const struct weft_mpa_agreed *agreed, struct iw_cm_event *event)
{
	if (weft_llp_addresses(conn->llp, &event->local_addr, &event->remote_addr)) {
		event->local_addr = id->m_local_addr;
		event->remote_addr = id->m_remote_addr;
	}
	event->ird = min_t(u16, agreed->ord, WEFT_MAX_RD_ATOM);
	event->ord = min_t(u16, agreed->ird, WEFT_MAX_RD_ATOM);
}

/* Puts the peer's private data in an event, as much as fits. */
void weft_cm_private(struct iw_cm_event *event, struct weft_handshake *hs)
{
	event->private_data = hs->buf + hs->peer_private;
	event->private_data_len = min_t(u16, hs->peer.private_len, U8_MAX);
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

/*
 * Returns true if the calling process may name a queue pair to iw_cm: its own, another of its
 * user's, or with CAP_NET_ADMIN any process's. iw_cm keeps the queue pair until iwpmd answers, and
 * the owner waits for that. cm_may_bind() decides later whether the connection may have it.
 *
 * The kernel names its own queue pairs in its threads, or in a process that mounts or attaches
 * storage, which takes CAP_SYS_ADMIN.
 */
bool weft_cm_may_name(const struct weft_qp *qp)
{
	struct task_struct *maker = qp->ib.res.task;

	/* The core keeps the task as long as the queue pair. */
	if (!qp->owner)
		return current->flags & PF_KTHREAD || capable(CAP_SYS_ADMIN);
	if (maker && (same_thread_group(maker, current) || cm_same_user(maker)))
		return true;
	return capable(CAP_NET_ADMIN);
}

/*
 * Returns true if the application may connect a queue pair. iw_cm passes on only its number, which
 * anybody can guess, and a process that connects another's queue pair gets the data posted there.
 * In the kernel, rdma_cm's identifier names the queue pair. A process may connect its own, one of
 * its user's in the same network namespace, or as an administrator any process's.
 */
static bool cm_may_bind(const struct weft_qp *qp, const struct iw_cm_id *id)
{
	const struct rdma_cm_id *owner = id->context;
	struct task_struct *maker = qp->ib.res.task;

	if (!qp->owner || owner->qp)
		return owner->qp == &qp->ib;
	if (maker && same_thread_group(maker, current))
		return true;
	if (maker && cm_same_user(maker) && qp->net_cookie == weft_cm_net(id)->net_cookie)
		return true;
	return capable(CAP_NET_ADMIN);
}

/* Binds the queue pair that the application named. Returns 0, -EINVAL or -EPERM. */
int weft_cm_bind_qp(struct weft_conn *conn, const struct iw_cm_id *id, u32 qpn)
{
	struct weft_qp *qp = weft_qp_get_by_num(conn->dev, qpn);
	int ret;

	lockdep_assert_held(&conn->lock.mutex);
	if (!qp)
		return -EINVAL;
	if (!cm_may_bind(qp, id)) {
		weft_qp_put(qp);
		return -EPERM;
	}
	weft_conn_get(conn);
	ret = weft_engine_bind(qp, &conn->user);
	if (ret) {
		weft_conn_put(conn);
		weft_qp_put(qp);
		return ret;
	}
	/* The queue pair may have failed already; its event waits for the mutex. */
	conn->qp = qp;
	conn->qpn = qpn;
	weft_lane_move(conn, weft_qp_lane(qp));
	return 0;
}

/* Logs a refusal for lack of CRCs, for the operator; the application learns only of a failure. */
void weft_cm_log_no_crc(struct weft_conn *conn)
{
	struct sockaddr_storage local, remote;

	weft_count(conn->dev->counters, WEFT_CNT_CONN_WITHOUT_CRC, 1);
	if (!weft_llp_addresses(conn->llp, &local, &remote))
		ibdev_warn_ratelimited(&conn->dev->ib,
				       "peer %pISpc refused: it does not ask for CRCs, and the setting crc is 'required'\n",
				       &remote);
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
