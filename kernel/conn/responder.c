// SPDX-License-Identifier: GPL-2.0
/*
 * The accepting end of a connection: the peer's Request, our application's answer, our Reply.
 * table.c calls the handlers.
 */
#include "base/trace.h"
#include "base/weft.h"
#include "conn/conn.h"
#include "pair/qp.h"

/* As weft_mpa_answer(), and logs a lack of CRCs. */
static int cm_reply(struct weft_conn *conn, const struct weft_mpa_policy *policy, u16 private_len,
		    struct weft_mpa_frame *reply, struct weft_mpa_agreed *agreed)
{
	const struct weft_mpa_frame *request = &conn->hs->peer;
	int ret = weft_mpa_answer(request, policy, private_len, reply, agreed);

	if (ret && weft_mpa_lacks_crc(policy, request))
		weft_cm_log_no_crc(conn);
	return ret;
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

	weft_conn_count(conn, WEFT_CNT_CONN_REFUSED_BY_US);
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
	struct weft_mpa_agreed agreed;
	struct weft_mpa_frame reply;
	int ret;

	lockdep_assert_held(&conn->lock.mutex);
	ret = weft_handshake_read(hs, conn->llp, false);
	if (!ret)
		return conn->state;
	if (ret < 0 || weft_llp_addresses(conn->llp, &event.local_addr, &event.remote_addr)) {
		weft_conn_close(conn, true);
		return WEFT_CONN_CLOSED;
	}
	trace_weft_mpa_frame(conn, &hs->peer, false);
	if (cm_reply(conn, &policy, 0, &reply, &agreed) || weft_conn_token_add(conn))
		return refuse(conn, NULL, 0);

	event.provider_data = (void *)(uintptr_t)conn->token;
	event.ird = weft_cm_rd(hs->peer.enhanced ? hs->peer.ird : WEFT_MPA_RD_UNSET);
	event.ord = weft_cm_rd(hs->peer.enhanced ? hs->peer.ord : WEFT_MPA_RD_UNSET);
	weft_cm_private(&event, hs);
	/* Fails if the listener is gone or its backlog is full. */
	if (weft_listener_deliver(conn, &event))
		return refuse(conn, NULL, 0);
	return WEFT_CONN_PENDING;
}

enum weft_conn_state weft_cm_no_answer(struct weft_conn *conn, void *arg)
{
	lockdep_assert_held(&conn->lock.mutex);
	weft_conn_count(conn, WEFT_CNT_CONN_TIMED_OUT);
	return refuse(conn, NULL, 0);
}

enum weft_conn_state weft_cm_reject(struct weft_conn *conn, void *arg)
{
	struct weft_cm_call *call = arg;

	lockdep_assert_held(&conn->lock.mutex);
	call->ret = 0;
	return refuse(conn, call->private_data, call->private_len);
}

/* Sends the Reply and gives the stream to the queue pair. */
static enum weft_conn_state accept_bound(struct weft_conn *conn, struct weft_cm_call *call,
					 const struct weft_mpa_frame *reply,
					 const struct weft_mpa_agreed *agreed)
{
	struct iw_cm_event event = { .event = IW_CM_EVENT_ESTABLISHED };

	lockdep_assert_held(&conn->qp->tx_lock.mutex);
	/* The Reply first, because FPDUs of the queue pair must follow it. */
	call->ret = weft_handshake_send(conn->llp, reply, call->param->private_data);
	if (!call->ret)
		trace_weft_mpa_frame(conn, reply, true);
	if (!call->ret)
		call->ret = weft_conn_hand_over(conn, agreed);
	if (call->ret) {
		weft_conn_release_qp(conn);
		weft_conn_close(conn, true);
		return WEFT_CONN_CLOSED;
	}

	weft_conn_count(conn, WEFT_CNT_CONN_ACCEPTED);
	conn->cm_id = call->id;
	conn->cm_id->add_ref(conn->cm_id);
	weft_conn_set_context(conn, call->id->context);
	weft_cm_outcome(conn, call->id, agreed, &event);
	conn->cm_id->event_handler(conn->cm_id, &event);
	return WEFT_CONN_STREAMING;
}

/* Accepts. iw_cm does not retry a failed accept, so after an error the peer gets a Reject. */
enum weft_conn_state weft_cm_accept(struct weft_conn *conn, void *arg)
{
	struct weft_cm_call *call = arg;
	const struct iw_cm_conn_param *param = call->param;
	struct weft_mpa_policy policy = weft_conn_policy(conn);
	struct weft_mpa_agreed agreed;
	struct weft_mpa_frame reply;
	enum weft_conn_state next;
	struct weft_qp *qp;

	lockdep_assert_held(&conn->lock.mutex);
	call->ret = -EINVAL;
	if (!weft_cm_param_ok(conn->dev, param))
		return refuse(conn, NULL, 0);
	policy.ird = param->ird;
	policy.ord = param->ord;
	if (cm_reply(conn, &policy, param->private_data_len, &reply, &agreed))
		return refuse(conn, NULL, 0);

	call->ret = conn->llp->class->charge(conn->llp);
	if (!call->ret)
		call->ret = weft_cm_bind_qp(conn, call->id, param->qpn);
	if (call->ret)
		return refuse(conn, NULL, 0);

	/* The caller is the owner, and may wait for the lock; see base/baton.h. */
	qp = conn->qp;
	weft_qp_get(qp);
	weft_baton_lock(&qp->tx_lock);
	next = accept_bound(conn, call, &reply, &agreed);
	weft_qp_unlock(qp);
	weft_qp_put(qp);
	return next;
}
