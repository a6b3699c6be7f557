// SPDX-License-Identifier: GPL-2.0
/*
 * The end that opens a connection: TCP's handshake, our Request, the peer's Reply. table.c calls
 * the handlers.
 */
#include <net/ipv6.h>

#include "base/trace.h"
#include "base/weft.h"
#include "conn/conn.h"

/* Reports the outcome to the application. @agreed is valid only with status 0. */
static void report_reply(struct weft_conn *conn, int status, const struct weft_mpa_agreed *agreed)
{
	struct iw_cm_id *id = conn->cm_id;
	struct iw_cm_event event = {
		.event = IW_CM_EVENT_CONNECT_REPLY,
		.status = status,
		.local_addr = id->local_addr,
		.remote_addr = id->remote_addr,
	};

	/* iw_cm keeps the addresses, and has iwpmd forget them. */
	if (!status)
		weft_cm_outcome(conn, id, agreed, &event);
	if (!status || status == -ECONNREFUSED)
		weft_cm_private(&event, conn->hs);
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

static void addr_clear_port(struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET)
		((struct sockaddr_in *)addr)->sin_port = 0;
	else
		((struct sockaddr_in6 *)addr)->sin6_port = 0;
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
	struct weft_llp *llp;
	int ret;

	llp = class->open(weft_cm_net(id), local.ss_family, &weft_conn_stream_ops, conn);
	if (IS_ERR(llp))
		return PTR_ERR(llp);
	weft_conn_set_llp(conn, llp);
	weft_conn_set_timeouts(conn);

	if (id->tos_set)
		llp->class->set_tos(llp, id->tos);
	if (many && local.ss_family == AF_INET)
		((struct sockaddr_in *)&local)->sin_addr.s_addr = htonl(INADDR_ANY);
	else if (many)
		((struct sockaddr_in6 *)&local)->sin6_addr = in6addr_any;
	if (any_port)
		addr_clear_port(&local);
	ret = llp->class->bind(llp, &local, many);
	if (ret != -EADDRINUSE)
		return ret;
	/*
	 * rdma_cm picked the port from a space of its own, without asking TCP. Any other port will
	 * do, because the peer learns the port from the packets.
	 */
	addr_clear_port(&local);
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

/* Connects, from NEW or, for another try, from REQUESTED. */
enum weft_conn_state weft_cm_start(struct weft_conn *conn, void *arg)
{
	const struct sockaddr_storage *peer = &conn->cm_id->m_remote_addr;
	int ret = conn->llp->class->connect(conn->llp, peer);

	lockdep_assert_held(&conn->lock.mutex);
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
	enum weft_llp_state state = weft_llp_state(conn->llp);
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
		if (weft_mpa_lacks_crc(&hs->policy, &hs->peer))
			weft_cm_log_no_crc(conn);
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
