// SPDX-License-Identifier: GPL-2.0
/*
 * The accepting end of a connection: the peer's Request, our application's answer, our Reply.
 * table.c calls the handlers.
 */
#include <linux/xarray.h>

#include "base/trace.h"
#include "base/weft.h"
#include "conn/conn.h"
#include "pair/qp.h"

/*
 * --- Requests that our application has yet to answer ---
 *
 * If its listener goes away or memory is short, iw_cm silently drops the event of a Request. So the
 * event carries a number and not a pointer with a reference, and if no answer comes, the
 * connection's timeout ends it.
 */

static DEFINE_XARRAY_ALLOC1(tokens);
static u32 next_token;

/* Enters a connection under a new number, @conn->token. The table takes a reference. */
static int token_add(struct weft_conn *conn)
{
	int ret;

	lockdep_assert_held(&conn->lock.mutex);
	weft_conn_get(conn);
	ret = xa_alloc_cyclic(&tokens, &conn->token, conn, xa_limit_32b, &next_token, GFP_KERNEL);
	if (ret < 0) {
		conn->token = 0;
		weft_conn_put(conn);
		return ret;
	}
	return 0;
}

void weft_conn_token_drop(struct weft_conn *conn)
{
	lockdep_assert_held(&conn->lock.mutex);
	if (!conn->token)
		return;
	if (xa_cmpxchg(&tokens, conn->token, conn, NULL, GFP_KERNEL) == conn)
		weft_conn_put(conn);
	conn->token = 0;
}

/* Takes the connection of a number, with its reference, off the table. */
struct weft_conn *weft_conn_token_take(u32 token)
{
	return token ? xa_erase(&tokens, token) : NULL;
}

/* --- the handlers --- */

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
	if (ret < 0 || weft_llp_addresses(conn->llp, &event.local_addr, &event.remote_addr)) {
		weft_conn_close(conn, true);
		return WEFT_CONN_CLOSED;
	}
	trace_weft_mpa_frame(conn, peer, false);
	if (cm_reply(conn, &policy, 0, &reply, &agreed) || token_add(conn))
		return refuse(conn, NULL, 0);

	event.provider_data = (void *)(uintptr_t)conn->token;
	event.ird = peer->enhanced ? min_t(u16, peer->ird, WEFT_MAX_RD_ATOM) : WEFT_MAX_RD_ATOM;
	event.ord = peer->enhanced ? min_t(u16, peer->ord, WEFT_MAX_RD_ATOM) : WEFT_MAX_RD_ATOM;
	weft_cm_private(&event, hs);
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
		weft_cm_outcome(conn, call->id, &agreed, &event);
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
