// SPDX-License-Identifier: GPL-2.0
/*
 * The states and events of a connection, and iw_cm's calls that begin some.
 *
 * The connection's lane serves posted events, as does a process that ends its own queue pair; a
 * caller of iw_cm serves its accept or reject. Only weft_conn_step() changes the state. A lane
 * waits neither for the mutex nor for the queue pair's tx_lock, because a throttled thread may hold
 * them for long; the thread starts the lane when it unlocks.
 */
#include <linux/capability.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <rdma/rdma_cm.h>

#include "base/trace.h"
#include "base/weft.h"
#include "conn/conn.h"
#include "llp/transport.h"
#include "pair/qp.h"

/* Rounds of a connection without a pause, if its events post others. */
#define WEFT_CONN_ROUNDS	4

static DECLARE_WAIT_QUEUE_HEAD(conn_ended);

static enum weft_conn_state on_drop(struct weft_conn *conn, void *arg)
{
	weft_conn_close(conn, true);
	return WEFT_CONN_CLOSED;
}

static enum weft_conn_state on_no_request(struct weft_conn *conn, void *arg)
{
	weft_count(conn->dev->counters, WEFT_CNT_CONN_TIMED_OUT, 1);
	return on_drop(conn, arg);
}

static enum weft_conn_state on_stop_new(struct weft_conn *conn, void *arg)
{
	return conn->initiator ? weft_cm_qp_gone(conn, arg) : on_drop(conn, arg);
}

/* A peer that leaves before it was answered cannot be answered. */
static enum weft_conn_state on_pending_changed(struct weft_conn *conn, void *arg)
{
	enum weft_llp_state state = conn->llp->class->state(conn->llp);

	if (state == WEFT_LLP_PEER_CLOSED || state == WEFT_LLP_DEAD)
		return on_drop(conn, arg);
	return conn->state;
}

/*
 * Comments name the states that a handler may return. An event without a handler is stale, and
 * ignored. Every state but CLOSED ends on STOP. Every state that waits for the peer or the
 * application ends on TIMEOUT, too.
 */
static const weft_conn_handler
handlers[WEFT_CONN_NUM_STATES][WEFT_CONN_NUM_EVENTS] = {
	[WEFT_CONN_NEW] = {
		[WEFT_EV_START] = weft_cm_start, /* CONNECTING, ACCEPTED, CLOSED */
		[WEFT_EV_STOP] = on_stop_new,			/* CLOSED */
		[WEFT_EV_EVICT] = on_drop,			/* CLOSED */
		[WEFT_EV_QP_FAILED] = weft_cm_qp_gone,		/* CLOSED */
		[WEFT_EV_QP_CLOSING] = weft_cm_qp_gone,		/* CLOSED */
	},
	[WEFT_CONN_CONNECTING] = {
		[WEFT_EV_CHANGED] = weft_cm_connected,	/* REQUESTED, CLOSED */
		[WEFT_EV_TIMEOUT] = weft_cm_no_reply,		/* CLOSED */
		[WEFT_EV_STOP] = weft_cm_qp_gone,		/* CLOSED */
		[WEFT_EV_QP_FAILED] = weft_cm_qp_gone,		/* CLOSED */
		[WEFT_EV_QP_CLOSING] = weft_cm_qp_gone,		/* CLOSED */
	},
	[WEFT_CONN_REQUESTED] = {
		/* STREAMING; CONNECTING: again, with revision 1; CLOSING, CLOSED */
		[WEFT_EV_READABLE] = weft_cm_reply,
		[WEFT_EV_CHANGED] = weft_cm_reply,
		[WEFT_EV_TIMEOUT] = weft_cm_no_reply,		/* CLOSED */
		[WEFT_EV_STOP] = weft_cm_qp_gone,		/* CLOSED */
		[WEFT_EV_QP_FAILED] = weft_cm_qp_gone,		/* CLOSED */
		[WEFT_EV_QP_CLOSING] = weft_cm_qp_gone,		/* CLOSED */
	},
	[WEFT_CONN_ACCEPTED] = {
		/* PENDING; CLOSED, also if refused */
		[WEFT_EV_READABLE] = weft_cm_request,
		[WEFT_EV_CHANGED] = weft_cm_request,
		[WEFT_EV_TIMEOUT] = on_no_request,		/* CLOSED */
		[WEFT_EV_STOP] = on_drop,			/* CLOSED */
		[WEFT_EV_EVICT] = on_drop,			/* CLOSED */
	},
	[WEFT_CONN_PENDING] = {
		[WEFT_EV_ACCEPT] = weft_cm_accept,	/* STREAMING, CLOSED */
		[WEFT_EV_REJECT] = weft_cm_reject,		/* CLOSED */
		[WEFT_EV_CHANGED] = on_pending_changed,		/* CLOSED */
		[WEFT_EV_TIMEOUT] = weft_cm_no_answer,		/* CLOSED */
		[WEFT_EV_STOP] = on_drop,			/* CLOSED */
	},
	[WEFT_CONN_STREAMING] = {
		[WEFT_EV_QP_FAILED] = weft_streaming_qp_ended,	/* CLOSING, CLOSED */
		[WEFT_EV_QP_CLOSING] = weft_streaming_qp_ended,	/* CLOSING, CLOSED */
		[WEFT_EV_PEER_CLOSED] = weft_streaming_peer_closed,		/* CLOSED */
		[WEFT_EV_CHANGED] = weft_streaming_changed,	/* CLOSED */
		[WEFT_EV_TIMEOUT] = weft_streaming_timeout,	/* CLOSED */
		[WEFT_EV_STOP] = weft_streaming_broken,			/* CLOSED */
	},
	[WEFT_CONN_CLOSING] = {
		[WEFT_EV_CHANGED] = weft_closing_news,		/* CLOSED */
		[WEFT_EV_TIMEOUT] = on_drop,			/* CLOSED */
		[WEFT_EV_STOP] = on_drop,			/* CLOSED */
	},
};

static const unsigned long times[WEFT_CONN_NUM_STATES] = {
	[WEFT_CONN_CONNECTING] = WEFT_TIME_CONNECT,
	[WEFT_CONN_REQUESTED] = WEFT_TIME_REPLY,
	[WEFT_CONN_ACCEPTED] = WEFT_TIME_REQUEST,
	[WEFT_CONN_PENDING] = WEFT_TIME_ANSWER,
	[WEFT_CONN_STREAMING] = WEFT_TIME_READY,
	[WEFT_CONN_CLOSING] = WEFT_TIME_CLOSE,
};

/* Serves one event; @arg is for its handler. May sleep. */
void weft_conn_step(struct weft_conn *conn, enum weft_conn_event event, void *arg)
{
	weft_conn_handler handler = handlers[conn->state][event];
	struct weft_device *dev = conn->dev;
	enum weft_conn_state next;

	lockdep_assert_held(&conn->lock.mutex);
	/* While the state has time left, TIMEOUT comes from an earlier state's timer. */
	if (!handler || (event == WEFT_EV_TIMEOUT &&
			 (!conn->limited || time_before(jiffies, conn->deadline))))
		return;
	next = handler(conn, arg);
	if (next == conn->state)
		return;
	trace_weft_conn_state(conn, event, next);
	WRITE_ONCE(conn->state, next);
	weft_conn_set_timer(conn, times[next]);
	if (conn->listener && next != WEFT_CONN_ACCEPTED)
		weft_listener_leave(conn);
	if (conn->token && next != WEFT_CONN_PENDING)
		weft_conn_token_drop(conn);
	if (next >= WEFT_CONN_STREAMING) {
		kfree(conn->hs);
		conn->hs = NULL;
	}
	if (next == WEFT_CONN_CLOSED) {
		if (dev) {
			spin_lock(&dev->conns_lock);
			list_del_init(&conn->entry);
			hash_del(&conn->by_cm);
			spin_unlock(&dev->conns_lock);
			/* From here on the device may go away. */
			wake_up_all(&conn_ended);
		}
		weft_conn_put(conn); /* references may keep its memory for a while */
		return;
	}
	if (next == WEFT_CONN_CLOSING) {
		weft_conn_drop_unread(conn);
		weft_llp_shutdown(conn->llp);
	}
	/* The stream does not repeat an event that came before this state. */
	weft_conn_post(conn, WEFT_EV_READABLE);
	weft_conn_post(conn, WEFT_EV_CHANGED);
}

/*
 * Serves the posted events and those they post, in the work of a lane or, with @run, in a process
 * that ends its own queue pair, which is run first. The caller has a reference. Returns true if
 * there is a queue pair and no lock was taken. The holder of a taken lock starts the lane
 * afterwards.
 */
bool weft_conn_serve(struct weft_conn *conn, bool run)
{
	int rounds = WEFT_CONN_ROUNDS, event;
	unsigned long events;
	struct weft_qp *qp;

	if (!weft_baton_try(&conn->lock, 0))
		return false;
	qp = conn->qp;
	if (qp && !weft_baton_try(&qp->tx_lock, WEFT_WANT_CONN)) {
		weft_conn_unlock(conn);
		return false;
	}
	if (qp)
		kref_get(&qp->entry->refs); /* a handler may release it */
	if (run && qp)
		weft_engine_run(qp);
	do {
		events = xchg(&conn->events, 0);
		for_each_set_bit(event, &events, WEFT_EV_NUM_POSTED)
			weft_conn_step(conn, event, NULL);
		/* Events of a queue pair that was bound meanwhile are for its own tx_lock. */
	} while (READ_ONCE(conn->events) && (!conn->qp || conn->qp == qp) && --rounds);
	if (qp) {
		weft_qp_unlock(qp);
		weft_qp_put(qp);
	}
	weft_conn_unlock(conn);
	return qp;
}

static bool conn_none(struct weft_device *dev)
{
	bool none;

	spin_lock(&dev->conns_lock);
	none = list_empty(&dev->conns);
	spin_unlock(&dev->conns_lock);
	return none;
}

/*
 * Ends every connection and listener of a device, to which nobody adds new ones. Sleeps until none
 * of their work runs.
 */
void weft_conn_stop_all(struct weft_device *dev)
{
	struct weft_conn *conn;

	weft_listener_stop_all(dev);

	spin_lock(&dev->conns_lock);
	list_for_each_entry(conn, &dev->conns, entry)
		weft_conn_post(conn, WEFT_EV_STOP);
	spin_unlock(&dev->conns_lock);

	wait_event(conn_ended, conn_none(dev));
	flush_workqueue(weft_conn_wq);
}

/* --- iw_cm's calls. After an error of connect or accept no event follows --- */

/*
 * Opens a connection. Among the errors: -EADDRNOTAVAIL if the device belongs to another network
 * namespace, -EPERM if the application may not use the queue pair.
 */
int weft_iw_connect(struct iw_cm_id *id, struct iw_cm_conn_param *param)
{
	/* IPv6 has the port at the same place. */
	const struct sockaddr_in *peer = (const struct sockaddr_in *)&id->m_remote_addr;
	struct weft_device *dev = to_weft_device(id->device);
	const struct rdma_cm_id *owner = id->context;
	const struct weft_transport *transport;
	struct weft_handshake *hs;
	struct weft_conn *conn;
	int ret;

	if (!weft_cm_param_ok(dev, param) ||
	    id->m_local_addr.ss_family != id->m_remote_addr.ss_family)
		return -EINVAL;
	/* For a loopback address rdma_cm takes any device, even of another namespace. */
	if (!rdma_dev_access_netns(&dev->ib, owner->route.addr.dev_addr.net))
		return -EADDRNOTAVAIL;

	conn = weft_conn_new(true, dev->lane);
	if (!conn)
		return -ENOMEM;
	hs = conn->hs;
	hs->private_len = param->private_data_len;
	memcpy(hs->private_data, param->private_data, param->private_data_len);

	kref_get(&conn->refs);
	weft_baton_lock(&conn->lock);
	id->add_ref(id);
	conn->cm_id = id;
	weft_conn_attach(conn, dev);
	weft_conn_set_context(conn, id->context);
	transport = weft_transport_for(&dev->transports, ntohs(peer->sin_port));
	ret = weft_cm_open_stream(conn, transport->class, false);
	if (!ret)
		ret = weft_cm_bind_qp(conn, id, param->qpn);
	if (!ret) {
		hs->policy = weft_conn_policy(conn);
		hs->policy.ird = param->ird;
		hs->policy.ord = param->ord;
		weft_conn_post(conn, WEFT_EV_START);
	} else {
		weft_cm_forget(conn);
		weft_conn_step(conn, WEFT_EV_EVICT, NULL);
	}
	weft_conn_unlock(conn);
	weft_conn_put(conn);
	return ret;
}

static int cm_answer(enum weft_conn_event event, struct weft_cm_call *call)
{
	struct weft_conn *conn;

	/* The peer may have left, or the timeout may have come first. */
	call->ret = -ECONNRESET;
	conn = weft_conn_token_take((uintptr_t)call->id->provider_data);
	if (!conn)
		return call->ret;
	weft_baton_lock(&conn->lock);
	weft_conn_step(conn, event, call);
	weft_conn_unlock(conn);
	weft_conn_put(conn);
	return call->ret;
}

/* Accepts a connection. Among the errors: -EPERM if the application may not use the queue pair. */
int weft_iw_accept(struct iw_cm_id *id, struct iw_cm_conn_param *param)
{
	struct weft_cm_call call = { .id = id, .param = param };

	return cm_answer(WEFT_EV_ACCEPT, &call);
}

/* Refuses a connection. Returns -ECONNRESET if the connection has ended meanwhile. */
int weft_iw_reject(struct iw_cm_id *id, const void *pdata, u8 pdata_len)
{
	struct weft_cm_call call = {
		.id = id,
		.private_data = pdata,
		.private_len = pdata_len,
	};

	return cm_answer(WEFT_EV_REJECT, &call);
}
