// SPDX-License-Identifier: GPL-2.0
/*
 * The handshake of both ends: TCP's, our Request and the peer's Reply; or the peer's Request, our
 * application's answer and our Reply. table.c calls the handlers.
 */
#include <linux/xarray.h>
#include <net/ipv6.h>
#include <rdma/rdma_cm.h>

#include "base/trace.h"
#include "base/weft.h"
#include "conn/conn.h"
#include "pair/qp.h"

/*
 * Puts the outcome of a handshake in an event. A dead stream has no addresses. rdma_cm takes the
 * initiator's depth from @ird, and its resources from @ord, and neither is more than ours.
 */
static void put_outcome(const struct weft_conn *conn, const struct iw_cm_id *id,
			const struct weft_mpa_agreed *agreed, struct iw_cm_event *event)
{
	if (conn->llp->class->addresses(conn->llp, &event->local_addr, &event->remote_addr)) {
		event->local_addr = id->m_local_addr;
		event->remote_addr = id->m_remote_addr;
	}
	event->ird = min_t(u16, agreed->ord, WEFT_MAX_RD_ATOM);
	event->ord = min_t(u16, agreed->ird, WEFT_MAX_RD_ATOM);
}

/*
 * Logs a refusal for the operator if it is for lack of CRCs; the application learns only of a
 * failure.
 */
static void log_no_crc(struct weft_conn *conn, const struct weft_mpa_policy *policy)
{
	struct sockaddr_storage local, remote;

	if (!weft_mpa_lacks_crc(policy, &conn->hs->peer))
		return;
	weft_count(conn->dev->counters, WEFT_CNT_CONN_WITHOUT_CRC, 1);
	if (!conn->llp->class->addresses(conn->llp, &local, &remote))
		ibdev_warn_ratelimited(&conn->dev->ib,
				       "peer %pISpc refused: it does not ask for CRCs, and the setting crc is 'required'\n",
				       &remote);
}

/* --- the end that opens a connection --- */

/* Reports the outcome to the application. @agreed is valid only with status 0. */
static void report_reply(struct weft_conn *conn, int status, const struct weft_mpa_agreed *agreed)
{
	struct weft_handshake *hs = conn->hs;
	struct iw_cm_id *id = conn->cm_id;
	struct iw_cm_event event = {
		.event = IW_CM_EVENT_CONNECT_REPLY,
		.status = status,
		.local_addr = id->local_addr,
		.remote_addr = id->remote_addr,
	};

	/* iw_cm keeps the addresses, and has iwpmd forget them. */
	if (!status)
		put_outcome(conn, id, agreed, &event);
	if (!status || status == -ECONNREFUSED) {
		event.private_data = hs->buf + hs->peer_private;
		event.private_data_len = min_t(u16, hs->peer.private_len, U8_MAX);
	}
	/* The handler copies the private data, and fails only without memory for it. */
	if (id->event_handler(id, &event)) {
		event.private_data_len = 0;
		id->event_handler(id, &event);
	}
	if (status)
		weft_cm_forget(conn);
}

static enum weft_conn_state connect_failed(struct weft_conn *conn, int error)
{
	switch (error) {
	case -ECONNREFUSED:
		weft_count(conn->dev->counters, WEFT_CNT_CONN_REFUSED_BY_PEER, 1);
		break;
	case -EHOSTUNREACH:
	case -ENETUNREACH:
	case -EHOSTDOWN:
		/* The only error that rdma_cm reports as "unreachable". */
		error = -ETIMEDOUT;
		fallthrough;
	case -ETIMEDOUT:
		weft_count(conn->dev->counters, WEFT_CNT_CONN_TIMED_OUT, 1);
		break;
	default:
		weft_count(conn->dev->counters, WEFT_CNT_CONN_FAILED, 1);
		break;
	}
	weft_conn_release_qp(conn);
	report_reply(conn, error, NULL);
	weft_conn_close(conn, true);
	return WEFT_CONN_CLOSED;
}

/*
 * Opens a stream and binds it to our address: to the port that rdma_cm picked, or to any. A stream
 * that may use all addresses of the host survives the loss of one path. For a listener the address
 * that it listens on decides.
 */
int weft_cm_open_stream(struct weft_conn *conn, const struct weft_llp_class *class, bool any_port)
{
	bool many = class->many_homes && READ_ONCE(*class->many_homes);
	struct iw_cm_id *id = conn->cm_id;
	struct sockaddr_storage local = id->m_local_addr;
	const struct weft_settings *settings = &conn->dev->settings;
	const struct rdma_cm_id *owner = id->context;
	struct weft_llp *llp;
	int ret;

	llp = class->open(owner->route.addr.dev_addr.net, local.ss_family,
			  &weft_conn_stream_ops, conn);
	if (IS_ERR(llp))
		return PTR_ERR(llp);
	weft_conn_set_llp(conn, llp);
	class->set_timeouts(llp, READ_ONCE(settings->value[WEFT_SET_KEEPALIVE]),
			    READ_ONCE(settings->value[WEFT_SET_USER_TIMEOUT]));

	if (id->tos_set)
		llp->class->set_tos(llp, id->tos);
	if (many && local.ss_family == AF_INET)
		((struct sockaddr_in *)&local)->sin_addr.s_addr = htonl(INADDR_ANY);
	else if (many)
		((struct sockaddr_in6 *)&local)->sin6_addr = in6addr_any;
	/* IPv6 has the port at the same place. */
	if (any_port)
		((struct sockaddr_in *)&local)->sin_port = 0;
	ret = llp->class->bind(llp, &local, many);
	if (ret != -EADDRINUSE)
		return ret;
	/*
	 * rdma_cm picked the port from a space of its own, without asking TCP. Any other port will
	 * do, because the peer learns the port from the packets.
	 */
	((struct sockaddr_in *)&local)->sin_port = 0;
	return llp->class->bind(llp, &local, many);
}

/* Replaces the stream by a new one that is not connected yet. */
static int open_again(struct weft_conn *conn, bool any_port)
{
	struct weft_llp *first = conn->llp;
	int ret;

	weft_conn_set_llp(conn, NULL);
	ret = weft_cm_open_stream(conn, first->class, any_port);
	/* The first is of the application's cgroup: charge that, and keep to its firewall rules. */
	if (!ret)
		ret = conn->llp->class->charge_like(conn->llp, first);
	weft_llp_close(first, true);
	return ret;
}

/* NEW: connects; the initiator does so again from REQUESTED. The responder awaits the Request. */
enum weft_conn_state weft_cm_start(struct weft_conn *conn, void *arg)
{
	const struct weft_settings *settings = &conn->dev->settings;
	const struct sockaddr_storage *peer;
	int ret;

	lockdep_assert_held(&conn->lock.mutex);
	if (!conn->initiator) {
		conn->llp->class->set_timeouts(conn->llp,
					       READ_ONCE(settings->value[WEFT_SET_KEEPALIVE]),
					       READ_ONCE(settings->value[WEFT_SET_USER_TIMEOUT]));
		return WEFT_CONN_ACCEPTED;
	}
	peer = &conn->cm_id->m_remote_addr;
	ret = conn->llp->class->connect(conn->llp, peer);
	/*
	 * Another connection uses this pair of ports. rdma_cm lets connections share a port (RTRS
	 * does so for all connections of a session), but TCP tells connections apart by their
	 * ports.
	 */
	if (ret == -EADDRNOTAVAIL) {
		ret = open_again(conn, true);
		if (!ret)
			ret = conn->llp->class->connect(conn->llp, peer);
	}
	if (ret)
		return connect_failed(conn, ret);
	return WEFT_CONN_CONNECTING;
}

/* Connects again with revision 1: the peer does not know revision 2, or closed the stream. */
static enum weft_conn_state connect_again(struct weft_conn *conn)
{
	struct weft_handshake *hs = conn->hs;
	int ret;

	hs->policy.revision = 1;
	memset(&hs->peer, 0, sizeof(hs->peer));
	hs->got = 0;
	hs->total = 0;
	ret = open_again(conn, false);
	return ret ? connect_failed(conn, ret) : weft_cm_start(conn, NULL);
}

/* CONNECTING: sends the Request once TCP is connected. */
enum weft_conn_state weft_cm_connected(struct weft_conn *conn, void *arg)
{
	enum weft_llp_state state = conn->llp->class->state(conn->llp);
	struct weft_handshake *hs = conn->hs;
	int ret;

	lockdep_assert_held(&conn->lock.mutex);
	if (state == WEFT_LLP_CONNECTING)
		return conn->state;
	if (state == WEFT_LLP_DEAD)
		return connect_failed(conn, conn->llp->class->error(conn->llp) ?: -ECONNREFUSED);
	weft_mpa_request(&hs->policy, hs->private_len, &hs->request);
	ret = weft_handshake_send(conn->llp, &hs->request, hs->private_data);
	if (!ret)
		trace_weft_mpa_frame(conn, &hs->request, true);
	return ret ? connect_failed(conn, ret) : WEFT_CONN_REQUESTED;
}

/* REQUESTED: reads the Reply, as far as it has come, and starts the queue pair. */
enum weft_conn_state weft_cm_reply(struct weft_conn *conn, void *arg)
{
	struct weft_handshake *hs = conn->hs;
	struct weft_mpa_agreed agreed;
	int ret;

	lockdep_assert_held(&conn->lock.mutex);
	ret = weft_handshake_read(hs, conn->llp, true);
	if (!ret)
		return conn->state;
	if (ret < 0) {
		if (!hs->got && ret != -EPROTO && hs->request.revision > 1)
			return connect_again(conn);
		return connect_failed(conn, ret);
	}
	trace_weft_mpa_frame(conn, &hs->peer, false);

	if (weft_mpa_outdated(&hs->request, &hs->peer))
		return connect_again(conn);
	if (hs->peer.reject)
		return connect_failed(conn, -ECONNREFUSED);
	ret = weft_mpa_settle(&hs->request, &hs->peer, &hs->policy, &agreed);
	if (ret) {
		log_no_crc(conn, &hs->policy);
		weft_count(conn->dev->counters, WEFT_CNT_CONN_FAILED, 1);
		weft_count(conn->dev->counters, WEFT_CNT_TX_TERMINATES, 1);
		/*
		 * The peer is in full operation, so it gets a Terminate. If this fails, the stream
		 * is dead, and CLOSING notices.
		 */
		weft_handshake_terminate(conn->llp, hs->request.crc || hs->peer.crc,
					 hs->peer.markers, ret);
		weft_conn_release_qp(conn);
		report_reply(conn, -EPROTO, NULL);
		return WEFT_CONN_CLOSING;
	}
	if (weft_conn_hand_over(conn, &agreed))
		return connect_failed(conn, -ECONNABORTED);

	weft_count(conn->dev->counters, WEFT_CNT_CONN_OPENED, 1);
	report_reply(conn, 0, &agreed);
	return WEFT_CONN_STREAMING;
}

enum weft_conn_state weft_cm_no_reply(struct weft_conn *conn, void *arg)
{
	lockdep_assert_held(&conn->lock.mutex);
	return connect_failed(conn, -ETIMEDOUT);
}

/* The queue pair or the device is lost before the peer has answered. */
enum weft_conn_state weft_cm_qp_gone(struct weft_conn *conn, void *arg)
{
	lockdep_assert_held(&conn->lock.mutex);
	return connect_failed(conn, -ECONNABORTED);
}

/* --- the end that accepts a connection --- */

/*
 * Requests that our application has yet to answer. If its listener goes away or memory is short,
 * iw_cm silently drops the event of a Request. So the event carries a number and not a pointer with
 * a reference, and if no answer comes, the connection's timeout ends it.
 */
static DEFINE_XARRAY_ALLOC1(tokens);
static u32 next_token;

/* Takes a connection off the table, unless weft_conn_token_take() has done so. */
void weft_conn_token_drop(struct weft_conn *conn)
{
	lockdep_assert_held(&conn->lock.mutex);
	if (xa_cmpxchg(&tokens, conn->token, conn, NULL, GFP_KERNEL) == conn)
		weft_conn_put(conn);
	conn->token = 0;
}

/* Takes the connection of a number, with its reference, off the table. */
struct weft_conn *weft_conn_token_take(u32 token)
{
	return token ? xa_erase(&tokens, token) : NULL;
}

/*
 * Refuses the peer by a Reject with a FIN behind it. TCP waits for the peer's FIN without us, and
 * limits the number of such sockets, so thousands of refused peers that never close cost no more.
 */
static enum weft_conn_state refuse(struct weft_conn *conn,
				   const void *private_data, u16 private_len)
{
	struct weft_mpa_policy policy = weft_conn_policy(conn);
	struct weft_mpa_agreed agreed;
	struct weft_mpa_frame reply;

	weft_count(conn->dev->counters, WEFT_CNT_CONN_REFUSED_BY_US, 1);
	weft_mpa_answer(&conn->hs->peer, &policy, private_len, &reply, &agreed);
	reply.reject = true;
	reply.markers = false;
	reply.extended = false;
	reply.paths = false;
	/* If this fails, the stream is dead or memory is short for long. */
	weft_handshake_send(conn->llp, &reply, private_data);
	trace_weft_mpa_frame(conn, &reply, true);
	weft_conn_drop_unread(conn);
	weft_conn_close(conn, false);
	return WEFT_CONN_CLOSED;
}

/*
 * ACCEPTED: reads the Request, as far as it has come, and announces it. Refuses it at once if no
 * answer could grant it, such as one for no CRCs where CRCs are required.
 */
enum weft_conn_state weft_cm_request(struct weft_conn *conn, void *arg)
{
	struct iw_cm_event event = { .event = IW_CM_EVENT_CONNECT_REQUEST };
	struct weft_mpa_policy policy = weft_conn_policy(conn);
	struct weft_handshake *hs = conn->hs;
	const struct weft_mpa_frame *peer = &hs->peer;
	struct weft_mpa_agreed agreed;
	struct weft_mpa_frame reply;
	struct iw_cm_id *id;
	int ret;

	lockdep_assert_held(&conn->lock.mutex);
	ret = weft_handshake_read(hs, conn->llp, false);
	if (!ret)
		return conn->state;
	if (ret < 0 || conn->llp->class->addresses(conn->llp, &event.local_addr,
						   &event.remote_addr)) {
		weft_conn_close(conn, true);
		return WEFT_CONN_CLOSED;
	}
	trace_weft_mpa_frame(conn, peer, false);
	if (weft_mpa_answer(peer, &policy, 0, &reply, &agreed)) {
		log_no_crc(conn, &policy);
		return refuse(conn, NULL, 0);
	}
	/* The table takes a reference. */
	kref_get(&conn->refs);
	if (xa_alloc_cyclic(&tokens, &conn->token, conn, xa_limit_32b, &next_token,
			    GFP_KERNEL) < 0) {
		conn->token = 0;
		weft_conn_put(conn);
		return refuse(conn, NULL, 0);
	}

	event.provider_data = (void *)(uintptr_t)conn->token;
	event.ird = peer->enhanced ? min_t(u16, peer->ird, WEFT_MAX_RD_ATOM) : WEFT_MAX_RD_ATOM;
	event.ord = peer->enhanced ? min_t(u16, peer->ord, WEFT_MAX_RD_ATOM) : WEFT_MAX_RD_ATOM;
	event.private_data = hs->buf + hs->peer_private;
	event.private_data_len = min_t(u16, peer->private_len, U8_MAX);
	ret = -ECONNABORTED;
	spin_lock(&weft_listen_lock);
	id = conn->listener->id;
	if (id)
		ret = id->event_handler(id, &event); /* fails if the backlog is full */
	spin_unlock(&weft_listen_lock);
	weft_listener_leave(conn);
	return ret ? refuse(conn, NULL, 0) : WEFT_CONN_PENDING;
}

enum weft_conn_state weft_cm_no_answer(struct weft_conn *conn, void *arg)
{
	lockdep_assert_held(&conn->lock.mutex);
	weft_count(conn->dev->counters, WEFT_CNT_CONN_TIMED_OUT, 1);
	return refuse(conn, NULL, 0);
}

enum weft_conn_state weft_cm_reject(struct weft_conn *conn, void *arg)
{
	struct weft_cm_call *call = arg;

	lockdep_assert_held(&conn->lock.mutex);
	call->ret = 0;
	return refuse(conn, call->private_data, call->private_len);
}

/* Accepts. iw_cm does not retry a failed accept, so after an error the peer gets a Reject. */
enum weft_conn_state weft_cm_accept(struct weft_conn *conn, void *arg)
{
	struct iw_cm_event event = { .event = IW_CM_EVENT_ESTABLISHED };
	enum weft_conn_state next = WEFT_CONN_CLOSED;
	struct weft_cm_call *call = arg;
	const struct iw_cm_conn_param *param = call->param;
	struct weft_mpa_policy policy = weft_conn_policy(conn);
	struct weft_mpa_agreed agreed;
	struct weft_mpa_frame reply;
	struct weft_qp *qp;

	lockdep_assert_held(&conn->lock.mutex);
	call->ret = -EINVAL;
	if (!weft_cm_param_ok(conn->dev, param))
		return refuse(conn, NULL, 0);
	policy.ird = param->ird;
	policy.ord = param->ord;
	if (weft_mpa_answer(&conn->hs->peer, &policy, param->private_data_len, &reply, &agreed)) {
		log_no_crc(conn, &policy);
		return refuse(conn, NULL, 0);
	}

	call->ret = conn->llp->class->charge(conn->llp);
	if (!call->ret)
		call->ret = weft_cm_bind_qp(conn, call->id, param->qpn);
	if (call->ret)
		return refuse(conn, NULL, 0);

	/* The caller is the owner, and may wait for the lock; see base/baton.h. */
	qp = conn->qp;
	kref_get(&qp->entry->refs);
	weft_baton_lock(&qp->tx_lock);
	/* The Reply first, because FPDUs of the queue pair must follow it. */
	call->ret = weft_handshake_send(conn->llp, &reply, param->private_data);
	if (!call->ret) {
		trace_weft_mpa_frame(conn, &reply, true);
		call->ret = weft_conn_hand_over(conn, &agreed);
	}
	if (!call->ret) {
		weft_count(conn->dev->counters, WEFT_CNT_CONN_ACCEPTED, 1);
		conn->cm_id = call->id;
		conn->cm_id->add_ref(conn->cm_id);
		weft_conn_set_context(conn, call->id->context);
		put_outcome(conn, call->id, &agreed, &event);
		conn->cm_id->event_handler(conn->cm_id, &event);
		next = WEFT_CONN_STREAMING;
	} else {
		weft_conn_release_qp(conn);
		weft_conn_close(conn, true);
	}
	weft_qp_unlock(qp);
	weft_qp_put(qp);
	return next;
}
