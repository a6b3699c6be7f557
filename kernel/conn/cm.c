// SPDX-License-Identifier: GPL-2.0
/*
 * What the ends of a connection ask of iw_cm's identifiers, and tell them.
 *
 * iw_cm counts on us for: one CONNECT_REPLY for each connect that returned 0
 * (it waits for it, however long), one ESTABLISHED for each accept that
 * returned 0, and after either success at most one DISCONNECT and then exactly
 * one CLOSE. @cm_id of the connection is set while such a debt is open. Its
 * event handler queues and returns, so it is called with our mutex held.
 */

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <net/ipv6.h>
#include <rdma/rdma_cm.h>

#include "base/limit.h"
#include "base/weft.h"
#include "conn/internal.h"
#include "pair/qp.h"

/**
 * weft_cm_net() - the network namespace of an application's connection
 * @id: iw_cm's identifier, of a listener or of a connection
 *
 * All sockets are opened there. iw_cm does not know it, nor need a device be in
 * it, nor the calling process: a device that is added gets the listeners of
 * every application from whoever adds it. But rdma_cm, the only user of iw_cm,
 * has its own identifier as context, with struct rdma_cm_id in first place, and
 * holds the namespace for as long as that exists.
 *
 * Context: any, as long as iw_cm calls us for @id or waits for our event.
 * Return: the namespace, without a reference.
 */
struct net *weft_cm_net(const struct iw_cm_id *id)
{
	const struct rdma_cm_id *owner = id->context;

	return owner->route.addr.dev_addr.net;
}

/* IRD and ORD in an event: what is not known is what we could do at most. */
u8 weft_cm_rd(u16 rd)
{
	return min_t(u16, rd, WEFT_MAX_RD_ATOM);
}

bool weft_cm_param_ok(const struct weft_device *dev,
		      const struct iw_cm_conn_param *param)
{
	return weft_limit_allows(dev, WEFT_LIMIT_RD_ATOM, param->ird) &&
	       weft_limit_allows(dev, WEFT_LIMIT_RD_ATOM, param->ord) &&
	       param->private_data_len <= WEFT_MPA_MAX_PRIVATE - WEFT_MPA_V2_LEN;
}

/* The peer's private data in an event, as much as fits. */
void weft_cm_private(struct iw_cm_event *event, struct weft_handshake *hs)
{
	event->private_data = hs->buf + hs->peer_private;
	event->private_data_len = min_t(u16, hs->peer.private_len, U8_MAX);
}

/*
 * Whether an application may connect a queue pair. iw_cm passes on no more of it
 * than its number, which anybody can guess, and who connects another's queue
 * pair gets what that has posted.
 *
 * A consumer in the kernel has rdma_cm make its queue pair, which therefore knows
 * it. A process does not: there the caller has to be the process that made it,
 * or another of the same user and network namespace, or an administrator.
 */
static bool cm_may_bind(const struct weft_qp *qp, const struct iw_cm_id *id)
{
	const struct rdma_cm_id *owner = id->context;
	struct task_struct *maker = qp->ib.res.task;

	if (!qp->owner || owner->qp)
		return owner->qp == &qp->ib;
	/* The core keeps it until the queue pair, on which we have a reference, is gone. */
	if (maker && same_thread_group(maker, current))
		return true;
	if (maker && uid_eq(task_uid(maker), current_uid()) &&
	    qp->net_cookie == weft_cm_net(id)->net_cookie)
		return true;
	return capable(CAP_NET_ADMIN);
}

/*
 * Ties the connection to the queue pair that the application named with @id. In
 * the application's context.
 */
int weft_cm_bind_qp(struct weft_conn *conn, const struct iw_cm_id *id, u32 qpn)
{
	struct weft_qp *qp = weft_qp_get_by_num(conn->dev, qpn);
	int ret;

	lockdep_assert_held(&conn->mutex);
	if (!qp)
		return -EINVAL;
	if (!cm_may_bind(qp, id)) {
		weft_qp_put(qp);
		return -EPERM;
	}
	weft_conn_get(conn);
	ret = weft_stream_bind(qp, &conn->user);
	if (ret) {
		weft_conn_put(conn);
		weft_qp_put(qp);
		return ret;
	}
	/* It may have failed already; that waits for the mutex. */
	conn->qp = qp;
	conn->qpn = qpn;
	weft_lane_move(&conn->turn, weft_qp_lane(qp));
	return 0;
}

void weft_conn_count(struct weft_conn *conn, enum weft_counter which)
{
	weft_count(conn->dev->counters, which, 1);
}

/*
 * Says that a peer is refused since it does not ask for CRCs. An operator who
 * requires them learns so which peers to look at; the application learns only
 * that the connection failed.
 */
void weft_cm_tell_no_crc(struct weft_conn *conn)
{
	struct sockaddr_storage local, remote;

	weft_conn_count(conn, WEFT_CNT_CONN_WITHOUT_CRC);
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

/**
 * weft_cm_ended() - tell the application that its connection is over
 * @conn: connection that was established; its queue pair is released
 * @by_peer: the peer closed it in order
 * @status: 0, or what went wrong
 *
 * Context: process, @conn->mutex held.
 */
void weft_cm_ended(struct weft_conn *conn, bool by_peer, int status)
{
	struct iw_cm_id *id = conn->cm_id;
	struct iw_cm_event event = {
		.local_addr = id->m_local_addr,
		.remote_addr = id->m_remote_addr,
	};

	lockdep_assert_held(&conn->mutex);
	if (status)
		weft_conn_count(conn, WEFT_CNT_CONN_BROKEN);
	if (by_peer) {
		event.event = IW_CM_EVENT_DISCONNECT;
		id->event_handler(id, &event);
	}
	event.event = IW_CM_EVENT_CLOSE;
	event.status = status;
	id->event_handler(id, &event);
	weft_cm_forget(conn);
}
