// SPDX-License-Identifier: GPL-2.0
/*
 * iw_cm: its operations, its events, and the states of a connection between.
 *
 * iw_cm counts on us for: one CONNECT_REPLY for each connect that returned 0
 * (it waits for it, however long), one ESTABLISHED for each accept that
 * returned 0, and after either success at most one DISCONNECT and then exactly
 * one CLOSE. @cm_id of the connection is set while such a debt is open. Its
 * event handler queues and returns, so it is called with our mutex held.
 */

#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <net/ipv6.h>

#include "conn_internal.h"
#include "device.h"
#include "trace.h"
#include "verbs/qp.h"

/* What a caller of iw_cm's wants of a connection in PENDING. */
struct cm_call {
	struct iw_cm_id *id;
	const struct iw_cm_conn_param *param;
	const void *private_data;
	u8 private_len;
	int ret;
};

/**
 * weft_cm_names() - both addresses of a stream, as rdma_cm knows them
 * @llp: the stream
 * @local: this end's
 * @remote: the peer's
 *
 * A socket of both families reports IPv4 addresses in IPv6's dress.
 *
 * Context: process.
 * Return: 0 or the stream's error.
 */
int weft_cm_names(struct weft_llp *llp, struct sockaddr_storage *local,
		  struct sockaddr_storage *remote)
{
	struct sockaddr_storage *addr[] = { local, remote };
	int ret, i;

	memset(local, 0, sizeof(*local));
	memset(remote, 0, sizeof(*remote));
	ret = weft_llp_names(llp, local, remote);
	if (ret)
		return ret;

	for (i = 0; i < ARRAY_SIZE(addr); i++) {
		struct sockaddr_in6 v6 = *(struct sockaddr_in6 *)addr[i];
		struct sockaddr_in *v4 = (struct sockaddr_in *)addr[i];

		if (v6.sin6_family != AF_INET6 ||
		    !ipv6_addr_v4mapped(&v6.sin6_addr))
			continue;
		memset(addr[i], 0, sizeof(*addr[i]));
		v4->sin_family = AF_INET;
		v4->sin_port = v6.sin6_port;
		v4->sin_addr.s_addr = v6.sin6_addr.s6_addr32[3];
	}
	return 0;
}

/* IRD and ORD in an event: what is not known is what we could do at most. */
static u8 event_rd(u16 rd)
{
	return min_t(u16, rd, WEFT_MAX_RD_ATOM);
}

static bool cm_param_ok(const struct weft_device *dev,
			const struct iw_cm_conn_param *param)
{
	return weft_limit_allows(dev, WEFT_LIMIT_RD_ATOM, param->ird) &&
	       weft_limit_allows(dev, WEFT_LIMIT_RD_ATOM, param->ord) &&
	       param->private_data_len <= WEFT_MPA_MAX_PRIVATE - WEFT_MPA_V2_LEN;
}

/* The peer's private data in an event, as much as fits. */
static void event_private(struct iw_cm_event *event, struct weft_handshake *hs)
{
	event->private_data = hs->buf + hs->peer_private;
	event->private_data_len = min_t(u16, hs->peer.private_len, U8_MAX);
}

/* Ties the connection to the application's queue pair. */
static int cm_bind_qp(struct weft_conn *conn, u32 qpn)
{
	struct weft_qp *qp = weft_qp_get_by_num(conn->dev, qpn);
	int ret;

	if (!qp)
		return -EINVAL;
	weft_conn_get(conn);
	ret = weft_qp_bind(qp, conn);
	if (ret) {
		weft_conn_put(conn);
		weft_qp_put(qp);
		return ret;
	}
	/* It may have failed already; that waits for the mutex. */
	conn->qp = qp;
	conn->qpn = qpn;
	return 0;
}

static void conn_count(struct weft_conn *conn, enum weft_counter which)
{
	weft_count(conn->dev->counters, which, 1);
}

/* --- telling iw_cm --- */

static void cm_forget(struct weft_conn *conn)
{
	conn->cm_id->rem_ref(conn->cm_id);
	conn->cm_id = NULL;
	WRITE_ONCE(conn->cm_context, NULL);
}

/* Tells the initiator's application how it ended; @agreed only on success. */
static void tell_reply(struct weft_conn *conn, int status,
		       const struct weft_mpa_agreed *agreed)
{
	struct iw_cm_id *id = conn->cm_id;
	struct iw_cm_event event = {
		.event = IW_CM_EVENT_CONNECT_REPLY,
		.status = status,
		.local_addr = id->local_addr,
		.remote_addr = id->remote_addr,
	};

	if (!status) {
		event.local_addr = id->m_local_addr;
		event.remote_addr = id->m_remote_addr;
		weft_cm_names(conn->llp, &event.local_addr, &event.remote_addr);
		/* Seen from here: reads we may have out, and may be asked for. */
		event.ird = event_rd(agreed->ord);
		event.ord = event_rd(agreed->ird);
	}
	if (!status || status == -ECONNREFUSED)
		event_private(&event, conn->hs);

	/* It copies the private data, and fails only if it cannot. */
	if (id->event_handler(id, &event)) {
		event.private_data_len = 0;
		id->event_handler(id, &event);
	}
	if (status)
		cm_forget(conn);
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

	if (status)
		conn_count(conn, WEFT_CNT_CONN_BROKEN);
	if (by_peer) {
		event.event = IW_CM_EVENT_DISCONNECT;
		id->event_handler(id, &event);
	}
	event.event = IW_CM_EVENT_CLOSE;
	event.status = status;
	id->event_handler(id, &event);
	cm_forget(conn);
}

/* --- the initiator --- */

/* Every way in which a connection does not come about. */
static enum weft_conn_state connect_failed(struct weft_conn *conn, int error)
{
	switch (error) {
	case -EHOSTUNREACH:
	case -ENETUNREACH:
	case -EHOSTDOWN:
		/* The one that rdma_cm makes "unreachable" of. */
		error = -ETIMEDOUT;
		break;
	default:
		break;
	}
	switch (error) {
	case -ECONNREFUSED:
		conn_count(conn, WEFT_CNT_CONN_REFUSED_BY_PEER);
		break;
	case -ETIMEDOUT:
		conn_count(conn, WEFT_CNT_CONN_TIMED_OUT);
		break;
	default:
		conn_count(conn, WEFT_CNT_CONN_FAILED);
		break;
	}
	weft_conn_release_qp(conn);
	tell_reply(conn, error, NULL);
	weft_conn_close(conn, true);
	return WEFT_CONN_CLOSED;
}

static void addr_clear_port(struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET)
		((struct sockaddr_in *)addr)->sin_port = 0;
	else
		((struct sockaddr_in6 *)addr)->sin6_port = 0;
}

/* Opens the stream and binds it to our address. */
static int connect_prepare(struct weft_conn *conn)
{
	struct iw_cm_id *id = conn->cm_id;
	struct sockaddr_storage local = id->m_local_addr;
	struct weft_llp *llp;
	int ret;

	llp = weft_llp_open(dev_net(conn->dev->netdev), local.ss_family,
			    &weft_conn_stream_ops, conn);
	if (IS_ERR(llp))
		return PTR_ERR(llp);
	conn->llp = llp;
	weft_conn_set_timeouts(conn);

	if (id->tos_set) {
		ret = weft_llp_set_tos(llp, id->tos);
		if (ret)
			return ret;
	}
	ret = weft_llp_bind(llp, &local, false);
	if (ret != -EADDRINUSE)
		return ret;
	/*
	 * rdma_cm has a port space of its own and picks there without asking
	 * TCP. The peer learns the port from the packets, so any will do.
	 */
	addr_clear_port(&local);
	return weft_llp_bind(llp, &local, false);
}

/**
 * weft_cm_start() - begin to connect
 * @conn: connection in NEW, or in REQUESTED for another try
 * @arg: unused
 *
 * Context: process, @conn->mutex held.
 * Return: CONNECTING or CLOSED.
 */
enum weft_conn_state weft_cm_start(struct weft_conn *conn, void *arg)
{
	int ret = weft_llp_connect(conn->llp, &conn->cm_id->m_remote_addr);

	if (ret)
		return connect_failed(conn, ret);
	return WEFT_CONN_CONNECTING;
}

/*
 * Again, from the start, with revision 1: the peer answered our Request of
 * revision 2 with one of revision 1, or hung up at the sight of it.
 */
static enum weft_conn_state connect_again(struct weft_conn *conn)
{
	struct weft_handshake *hs = conn->hs;
	int ret;

	weft_conn_close(conn, true);
	hs->policy.revision = 1;
	memset(&hs->peer, 0, sizeof(hs->peer));
	hs->got = 0;
	hs->total = 0;
	ret = connect_prepare(conn);
	return ret ? connect_failed(conn, ret) : weft_cm_start(conn, NULL);
}

/**
 * weft_cm_connected() - TCP's handshake may be over
 * @conn: connection in CONNECTING
 * @arg: unused
 *
 * Context: process, @conn->mutex held.
 * Return: CONNECTING (not yet), REQUESTED or CLOSED.
 */
enum weft_conn_state weft_cm_connected(struct weft_conn *conn, void *arg)
{
	struct weft_handshake *hs = conn->hs;
	int ret;

	switch (weft_llp_state(conn->llp)) {
	case WEFT_LLP_CONNECTING:
		return conn->state;
	case WEFT_LLP_DEAD:
		ret = weft_llp_error(conn->llp);
		return connect_failed(conn, ret ?: -ECONNREFUSED);
	default:
		break;
	}

	weft_mpa_request(&hs->policy, hs->private_len, &hs->request);
	ret = weft_handshake_send(conn->llp, &hs->request, hs->private_data);
	if (!ret)
		trace_weft_mpa_frame(conn, &hs->request, true);
	return ret ? connect_failed(conn, ret) : WEFT_CONN_REQUESTED;
}

/*
 * The peer has accepted on terms that we cannot keep. It is in full operation,
 * so it is told by a Terminate; one that wants markers could not read ours.
 */
static enum weft_conn_state connect_disagreed(struct weft_conn *conn, u8 code)
{
	struct weft_handshake *hs = conn->hs;

	if (hs->peer.markers)
		return connect_failed(conn, -EPROTO);
	conn_count(conn, WEFT_CNT_CONN_FAILED);
	conn_count(conn, WEFT_CNT_TX_TERMINATES);
	/* If it does not go out, the stream is dead, and CLOSING notices. */
	weft_handshake_terminate(conn->llp, hs->request.crc || hs->peer.crc,
				 code);
	weft_conn_release_qp(conn);
	tell_reply(conn, -EPROTO, NULL);
	return WEFT_CONN_CLOSING;
}

/**
 * weft_cm_reply() - some of the Reply may be here
 * @conn: connection in REQUESTED
 * @arg: unused
 *
 * Context: process, @conn->mutex held.
 * Return: REQUESTED (not yet), STREAMING, CONNECTING (again), CLOSING (a Reply
 * that will not do) or CLOSED.
 */
enum weft_conn_state weft_cm_reply(struct weft_conn *conn, void *arg)
{
	struct weft_handshake *hs = conn->hs;
	struct weft_mpa_agreed agreed;
	int ret;

	ret = weft_handshake_read(hs, conn->llp, true);
	if (!ret)
		return conn->state;
	if (ret < 0) {
		if (!hs->got && hs->request.revision > 1)
			return connect_again(conn);
		return connect_failed(conn, ret);
	}
	trace_weft_mpa_frame(conn, &hs->peer, false);

	if (hs->peer.revision < hs->request.revision)
		return connect_again(conn);
	if (hs->peer.reject)
		return connect_failed(conn, -ECONNREFUSED);
	ret = weft_mpa_settle(&hs->request, &hs->peer, &hs->policy, &agreed);
	if (ret)
		return connect_disagreed(conn, ret);
	if (weft_conn_stream(conn, &agreed))
		return connect_failed(conn, -ECONNABORTED);

	conn_count(conn, WEFT_CNT_CONN_OPENED);
	tell_reply(conn, 0, &agreed);
	return WEFT_CONN_STREAMING;
}

/**
 * weft_cm_no_reply() - the peer takes too long
 * @conn: connection in CONNECTING or REQUESTED
 * @arg: unused
 *
 * Context: process, @conn->mutex held.
 * Return: CLOSED.
 */
enum weft_conn_state weft_cm_no_reply(struct weft_conn *conn, void *arg)
{
	return connect_failed(conn, -ETIMEDOUT);
}

/**
 * weft_cm_qp_gone() - the queue pair, or the device, is lost before the peer
 *	has answered
 * @conn: initiator's connection before STREAMING
 * @arg: unused
 *
 * Context: process, @conn->mutex held.
 * Return: CLOSED.
 */
enum weft_conn_state weft_cm_qp_gone(struct weft_conn *conn, void *arg)
{
	return connect_failed(conn, -ECONNABORTED);
}

/**
 * weft_iw_connect() - iw_cm: open a connection
 * @id: whose connection; its addresses say from where to where
 * @param: the application's wishes
 *
 * Context: process, may sleep.
 * Return: 0, and a CONNECT_REPLY follows, or an error, and none does.
 */
int weft_iw_connect(struct iw_cm_id *id, struct iw_cm_conn_param *param)
{
	struct weft_device *dev = to_weft_device(id->device);
	struct weft_handshake *hs;
	struct weft_conn *conn;
	int ret;

	if (!cm_param_ok(dev, param) ||
	    id->m_local_addr.ss_family != id->m_remote_addr.ss_family)
		return -EINVAL;

	conn = weft_conn_new(true);
	if (!conn)
		return -ENOMEM;
	hs = conn->hs;
	hs->policy = weft_settings_policy(&dev->settings);
	hs->policy.ird = param->ird;
	hs->policy.ord = param->ord;
	hs->private_len = param->private_data_len;
	memcpy(hs->private_data, param->private_data, param->private_data_len);

	weft_conn_get(conn);
	mutex_lock(&conn->mutex);
	id->add_ref(id);
	conn->cm_id = id;
	conn->cm_context = id->context;
	weft_conn_attach(conn, dev);
	ret = connect_prepare(conn);
	if (!ret)
		ret = cm_bind_qp(conn, param->qpn);
	if (!ret) {
		weft_conn_post(conn, WEFT_EV_START);
	} else {
		cm_forget(conn);
		weft_conn_step(conn, WEFT_EV_EVICT, NULL);
	}
	mutex_unlock(&conn->mutex);
	weft_conn_put(conn);
	return ret;
}

/* --- the responder --- */

/* Refuses the peer, who reads the FIN behind it as the end. */
static enum weft_conn_state refuse(struct weft_conn *conn,
				   const void *private_data, u16 private_len)
{
	struct weft_mpa_policy policy = weft_settings_policy(&conn->dev->settings);
	struct weft_mpa_agreed agreed;
	struct weft_mpa_frame reply;

	conn_count(conn, WEFT_CNT_CONN_REFUSED_BY_US);
	weft_mpa_answer(&conn->hs->peer, &policy, private_len, &reply, &agreed);
	reply.reject = true;
	reply.p2p = false;
	reply.rtr = 0;
	/* If it does not go out, the stream is dead, and CLOSING notices. */
	weft_handshake_send(conn->llp, &reply, private_data);
	trace_weft_mpa_frame(conn, &reply, true);
	return WEFT_CONN_CLOSING;
}

/**
 * weft_cm_request() - some of the Request may be here
 * @conn: connection in ACCEPTED
 * @arg: unused
 *
 * What cannot be granted whatever the application says, markers in what we
 * send for one, is refused here with a Reject.
 *
 * Context: process, @conn->mutex held.
 * Return: ACCEPTED (not yet), PENDING, CLOSING or CLOSED.
 */
enum weft_conn_state weft_cm_request(struct weft_conn *conn, void *arg)
{
	struct iw_cm_event event = { .event = IW_CM_EVENT_CONNECT_REQUEST };
	struct weft_mpa_policy policy = weft_settings_policy(&conn->dev->settings);
	struct weft_handshake *hs = conn->hs;
	struct weft_mpa_agreed agreed;
	struct weft_mpa_frame reply;
	int ret;

	ret = weft_handshake_read(hs, conn->llp, false);
	if (!ret)
		return conn->state;
	if (ret < 0 ||
	    weft_cm_names(conn->llp, &event.local_addr, &event.remote_addr)) {
		weft_conn_close(conn, true);
		return WEFT_CONN_CLOSED;
	}
	trace_weft_mpa_frame(conn, &hs->peer, false);
	if (weft_mpa_answer(&hs->peer, &policy, 0, &reply, &agreed) ||
	    weft_conn_token_add(conn))
		return refuse(conn, NULL, 0);

	event.provider_data = (void *)(uintptr_t)conn->token;
	event.ird = event_rd(hs->peer.enhanced ? hs->peer.ird :
						 WEFT_MPA_RD_UNSET);
	event.ord = event_rd(hs->peer.enhanced ? hs->peer.ord :
						 WEFT_MPA_RD_UNSET);
	event_private(&event, hs);
	/* It fails if the listener is gone or its backlog is full. */
	if (weft_listener_deliver(conn, &event))
		return refuse(conn, NULL, 0);
	return WEFT_CONN_PENDING;
}

/**
 * weft_cm_no_answer() - our application takes too long
 * @conn: connection in PENDING
 * @arg: unused
 *
 * Context: process, @conn->mutex held.
 * Return: CLOSING.
 */
enum weft_conn_state weft_cm_no_answer(struct weft_conn *conn, void *arg)
{
	conn_count(conn, WEFT_CNT_CONN_TIMED_OUT);
	return refuse(conn, NULL, 0);
}

/**
 * weft_cm_reject() - our application refuses
 * @conn: connection in PENDING
 * @arg: struct cm_call
 *
 * Context: process, @conn->mutex held.
 * Return: CLOSING.
 */
enum weft_conn_state weft_cm_reject(struct weft_conn *conn, void *arg)
{
	struct cm_call *call = arg;

	call->ret = 0;
	return refuse(conn, call->private_data, call->private_len);
}

/**
 * weft_cm_accept() - our application accepts
 * @conn: connection in PENDING
 * @arg: struct cm_call
 *
 * A failed accept is final to iw_cm, so the peer is told.
 *
 * Context: process, @conn->mutex held.
 * Return: STREAMING, CLOSING (refused) or CLOSED.
 */
enum weft_conn_state weft_cm_accept(struct weft_conn *conn, void *arg)
{
	struct cm_call *call = arg;
	const struct iw_cm_conn_param *param = call->param;
	struct weft_mpa_policy policy = weft_settings_policy(&conn->dev->settings);
	struct iw_cm_event event = { .event = IW_CM_EVENT_ESTABLISHED };
	struct weft_mpa_agreed agreed;
	struct weft_mpa_frame reply;

	call->ret = -EINVAL;
	if (!cm_param_ok(conn->dev, param))
		return refuse(conn, NULL, 0);
	policy.ird = param->ird;
	policy.ord = param->ord;
	if (weft_mpa_answer(&conn->hs->peer, &policy, param->private_data_len,
			    &reply, &agreed))
		return refuse(conn, NULL, 0);

	call->ret = cm_bind_qp(conn, param->qpn);
	if (call->ret)
		return refuse(conn, NULL, 0);

	/* The Reply first: what the queue pair sends must follow it. */
	call->ret = weft_handshake_send(conn->llp, &reply, param->private_data);
	if (!call->ret)
		trace_weft_mpa_frame(conn, &reply, true);
	if (!call->ret)
		call->ret = weft_conn_stream(conn, &agreed);
	if (call->ret) {
		weft_conn_release_qp(conn);
		weft_conn_close(conn, true);
		return WEFT_CONN_CLOSED;
	}

	conn_count(conn, WEFT_CNT_CONN_ACCEPTED);
	conn->cm_id = call->id;
	conn->cm_id->add_ref(conn->cm_id);
	WRITE_ONCE(conn->cm_context, call->id->context);
	weft_cm_names(conn->llp, &event.local_addr, &event.remote_addr);
	event.ird = event_rd(agreed.ord);
	event.ord = event_rd(agreed.ird);
	conn->cm_id->event_handler(conn->cm_id, &event);
	return WEFT_CONN_STREAMING;
}

static int cm_answer(enum weft_conn_event event, struct cm_call *call)
{
	struct weft_conn *conn;

	/* The peer, or its limit of time, may have been quicker. */
	call->ret = -ECONNRESET;
	conn = weft_conn_token_take((uintptr_t)call->id->provider_data);
	if (!conn)
		return call->ret;
	mutex_lock(&conn->mutex);
	weft_conn_step(conn, event, call);
	mutex_unlock(&conn->mutex);
	weft_conn_put(conn);
	return call->ret;
}

/**
 * weft_iw_accept() - iw_cm: accept a connection
 * @id: made by iw_cm from a CONNECT_REQUEST
 * @param: the application's wishes
 *
 * Context: process, may sleep.
 * Return: 0, and ESTABLISHED was sent, or an error, and no event follows.
 */
int weft_iw_accept(struct iw_cm_id *id, struct iw_cm_conn_param *param)
{
	struct cm_call call = { .id = id, .param = param };

	return cm_answer(WEFT_EV_ACCEPT, &call);
}

/**
 * weft_iw_reject() - iw_cm: refuse a connection
 * @id: made by iw_cm from a CONNECT_REQUEST
 * @pdata: private data for the peer
 * @pdata_len: bytes of it
 *
 * Context: process, may sleep.
 * Return: 0, or -ECONNRESET if there is nobody left to refuse.
 */
int weft_iw_reject(struct iw_cm_id *id, const void *pdata, u8 pdata_len)
{
	struct cm_call call = {
		.id = id,
		.private_data = pdata,
		.private_len = pdata_len,
	};

	return cm_answer(WEFT_EV_REJECT, &call);
}
