// SPDX-License-Identifier: GPL-2.0
/*
 * Connections: references, events, and the table of states and events.
 *
 * All that happens to a connection is an event. What comes from the stream, a
 * queue pair or the clock is posted: a bit is set, and the connection's work
 * serves it under the connection's mutex. What iw_cm asks for and waits on is
 * stepped through by its caller, under the same mutex. weft_conn_step() looks
 * the handler up and moves to the state that it names; nothing else moves.
 *
 * While a queue pair has the stream, readable and writable go past all this,
 * straight to its receive and transmit sides.
 */

#include <linux/net.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <linux/xarray.h>

#include "conn_internal.h"
#include "device.h"
#include "rx.h"
#include "trace.h"
#include "tx.h"
#include "verbs/qp.h"

struct workqueue_struct *weft_conn_wq;

/* Woken whenever a connection leaves its device's list. */
static DECLARE_WAIT_QUEUE_HEAD(conn_ended);

/*
 * Requests that our application has yet to answer. iw_cm drops such an event
 * without a word if its listener goes away or memory is short, so it is given
 * a number, not a pointer: one that is never used again costs nothing, and the
 * connection's own limit of time ends it.
 */
static DEFINE_XARRAY_ALLOC1(tokens);
static u32 next_token;

/* --- references --- */

/**
 * weft_conn_get() - take a reference
 * @conn: connection that the caller has a reference on
 *
 * Context: any.
 */
void weft_conn_get(struct weft_conn *conn)
{
	kref_get(&conn->refs);
}

static void conn_free(struct kref *refs)
{
	struct weft_conn *conn = container_of(refs, struct weft_conn, refs);

	kfree(conn->hs);
	kfree(conn);
}

/**
 * weft_conn_put() - drop a reference
 * @conn: connection
 *
 * Context: any.
 */
void weft_conn_put(struct weft_conn *conn)
{
	kref_put(&conn->refs, conn_free);
}

/**
 * weft_conn_token_add() - make a connection known by a number
 * @conn: connection
 *
 * Context: process, @conn->mutex held. The table holds a reference.
 * Return: 0 and the number in @conn->token, or -ENOMEM, -EBUSY.
 */
int weft_conn_token_add(struct weft_conn *conn)
{
	int ret;

	weft_conn_get(conn);
	ret = xa_alloc_cyclic(&tokens, &conn->token, conn, xa_limit_32b,
			      &next_token, GFP_KERNEL);
	if (ret < 0) {
		conn->token = 0;
		weft_conn_put(conn);
		return ret;
	}
	return 0;
}

/**
 * weft_conn_token_drop() - make a connection's number unknown again
 * @conn: connection
 *
 * Context: process, @conn->mutex held. Harmless if it was taken or dropped.
 */
void weft_conn_token_drop(struct weft_conn *conn)
{
	if (!conn->token)
		return;
	if (xa_cmpxchg(&tokens, conn->token, conn, NULL, GFP_KERNEL) == conn)
		weft_conn_put(conn);
	conn->token = 0;
}

/**
 * weft_conn_token_take() - find a connection by its number, once
 * @token: the number
 *
 * Context: process, no connection's mutex held.
 * Return: the connection with the table's reference, now the caller's, or NULL.
 */
struct weft_conn *weft_conn_token_take(u32 token)
{
	return token ? xa_erase(&tokens, token) : NULL;
}

/* --- events --- */

/**
 * weft_conn_post() - have an event served
 * @conn: connection that the caller has a reference on
 * @event: one of those that are posted
 *
 * Context: any.
 */
void weft_conn_post(struct weft_conn *conn, enum weft_conn_event event)
{
	set_bit(event, &conn->events);
	weft_conn_get(conn);
	if (!queue_work(weft_conn_wq, &conn->work))
		weft_conn_put(conn);
}

static void conn_work(struct work_struct *work)
{
	struct weft_conn *conn = container_of(work, struct weft_conn, work);
	unsigned long events;
	int event;

	mutex_lock(&conn->mutex);
	/* What is posted from here on has the work queued again. */
	events = xchg(&conn->events, 0);
	for_each_set_bit(event, &events, WEFT_EV_NUM_POSTED)
		weft_conn_step(conn, event, NULL);
	mutex_unlock(&conn->mutex);
	weft_conn_put(conn);
}

static void conn_timer(struct work_struct *work)
{
	struct weft_conn *conn = container_of(to_delayed_work(work),
					      struct weft_conn, timer);

	weft_conn_post(conn, WEFT_EV_TIMEOUT);
	weft_conn_put(conn);
}

/* Gives the state @time from now; 0: all the time in the world. */
static void conn_limit(struct weft_conn *conn, unsigned long time)
{
	conn->limited = time;
	if (time) {
		conn->deadline = jiffies + time;
		weft_conn_get(conn);
		if (mod_delayed_work(weft_conn_wq, &conn->timer, time))
			weft_conn_put(conn);
	} else if (cancel_delayed_work(&conn->timer)) {
		weft_conn_put(conn);
	}
}

/* A timer that was too late to be cancelled posts for a state that is gone. */
static bool conn_in_time(struct weft_conn *conn)
{
	return !conn->limited || time_before(jiffies, conn->deadline);
}

/**
 * weft_conn_qp_failed() - the queue pair is in ERR
 * @conn: its connection
 *
 * Context: any.
 */
void weft_conn_qp_failed(struct weft_conn *conn)
{
	weft_conn_post(conn, WEFT_EV_QP_FAILED);
}

/**
 * weft_conn_qp_closing() - the queue pair has sent what it had and wants to end
 * @conn: its connection
 *
 * Context: any.
 */
void weft_conn_qp_closing(struct weft_conn *conn)
{
	weft_conn_post(conn, WEFT_EV_QP_CLOSING);
}

/**
 * weft_conn_peer_closed() - the receive side has read the peer's last byte
 * @conn: its connection
 *
 * Context: any.
 */
void weft_conn_peer_closed(struct weft_conn *conn)
{
	weft_conn_post(conn, WEFT_EV_PEER_CLOSED);
}

/* --- the stream --- */

/* The callbacks run with the socket lock held, which @streaming goes by. */

static void stream_readable(struct weft_llp *llp)
{
	struct weft_conn *conn = llp->owner;

	if (conn->streaming)
		weft_rx_readable(conn->streaming);
	else
		weft_conn_post(conn, WEFT_EV_READABLE);
}

static void stream_writable(struct weft_llp *llp)
{
	struct weft_conn *conn = llp->owner;

	if (conn->streaming)
		weft_tx_writable(conn->streaming);
}

static void stream_changed(struct weft_llp *llp)
{
	weft_conn_post(llp->owner, WEFT_EV_CHANGED);
}

const struct weft_llp_ops weft_conn_stream_ops = {
	.readable = stream_readable,
	.writable = stream_writable,
	.changed = stream_changed,
};

static void conn_set_streaming(struct weft_conn *conn, struct weft_qp *qp)
{
	weft_llp_lock(conn->llp);
	conn->streaming = qp;
	weft_llp_unlock(conn->llp);
}

/**
 * weft_conn_stream() - give the stream to the queue pair
 * @conn: connection whose handshake is over and whose queue pair is bound
 * @agreed: what was settled
 *
 * Context: process, @conn->mutex held.
 * Return: 0, or -EINVAL and the like if the queue pair cannot take it (any
 * more); then it has to be released.
 */
int weft_conn_stream(struct weft_conn *conn,
		     const struct weft_mpa_agreed *agreed)
{
	int ret;

	/* First, so that no callback is lost; until it has the stream, it ignores them. */
	conn_set_streaming(conn, conn->qp);
	ret = weft_qp_start(conn->qp, conn->llp, agreed, conn->initiator);
	if (ret)
		conn_set_streaming(conn, NULL);
	return ret;
}

/**
 * weft_conn_release_qp() - end the queue pair's part in the connection
 * @conn: connection
 *
 * The queue pair is left in ERR with all its work flushed. Nothing if there is
 * none, or it was released before. If TCP still holds pages that the queue pair lent,
 * the stream is closed too, by a reset.
 *
 * Context: process, @conn->mutex held, no socket lock; sleeps until transmit
 * and receive side have let go of the stream.
 */
void weft_conn_release_qp(struct weft_conn *conn)
{
	struct weft_qp *qp = conn->qp;

	if (!qp)
		return;
	if (conn->streaming)
		conn_set_streaming(conn, NULL);
	if (!weft_qp_stop(qp)) {
		weft_conn_close(conn, true);
		/* That brings the pages back: here and now, save what a card still has. */
		weft_qp_stop(qp);
	}
	weft_qp_unbind(qp);
	conn->qp = NULL;
	weft_conn_put(conn);
	weft_qp_put(qp);
}

/**
 * weft_conn_close() - close the stream
 * @conn: connection whose queue pair has been released
 * @abort: with a reset, else in order
 *
 * Context: process, @conn->mutex held. No callback runs after it.
 */
void weft_conn_close(struct weft_conn *conn, bool abort)
{
	if (!conn->llp)
		return;
	weft_llp_close(conn->llp, abort);
	conn->llp = NULL;
}

/**
 * weft_conn_set_timeouts() - give the stream the device's limits of time
 * @conn: connection with a stream
 *
 * Context: process, @conn->mutex held.
 */
void weft_conn_set_timeouts(struct weft_conn *conn)
{
	const struct weft_settings *settings = &conn->dev->settings;

	weft_llp_set_timeouts(conn->llp,
			      weft_setting(settings, WEFT_SET_KEEPALIVE),
			      weft_setting(settings, WEFT_SET_USER_TIMEOUT));
}

/* --- what happens in which state (the handshake's part is in cm.c) --- */

static enum weft_conn_state on_start(struct weft_conn *conn, void *arg)
{
	if (conn->initiator)
		return weft_cm_start(conn, arg);
	weft_conn_set_timeouts(conn);
	return WEFT_CONN_ACCEPTED;
}

/* Nobody but the peer knows of the connection, or will ask for it. */
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
	return conn->initiator ? weft_cm_qp_gone(conn, arg) :
				 on_drop(conn, arg);
}

/* A peer that leaves before it was answered cannot be answered. */
static enum weft_conn_state on_pending_changed(struct weft_conn *conn,
					       void *arg)
{
	switch (weft_llp_state(conn->llp)) {
	case WEFT_LLP_PEER_CLOSED:
	case WEFT_LLP_DEAD:
		return on_drop(conn, arg);
	default:
		return conn->state;
	}
}

/*
 * The end of streaming, from this end. Receives are flushed at once: what the
 * peer has not got across by now, a local disconnect does not wait for. Still
 * the rest of it is read and dropped, up to the peer's FIN, since closing a
 * socket with unread bytes sends a reset, which may overtake at the peer what
 * we sent last, a Terminate above all.
 */
static enum weft_conn_state on_qp_ended(struct weft_conn *conn, void *arg)
{
	bool dead = weft_llp_state(conn->llp) == WEFT_LLP_DEAD;

	weft_conn_release_qp(conn);
	weft_cm_ended(conn, false, dead ? -ECONNRESET : 0);
	return conn->llp ? WEFT_CONN_CLOSING : WEFT_CONN_CLOSED;
}

/* The end of streaming, from the peer's end. iWARP knows no half-open streams. */
static enum weft_conn_state on_peer_closed(struct weft_conn *conn, void *arg)
{
	weft_conn_release_qp(conn);
	weft_cm_ended(conn, true, 0);
	weft_conn_close(conn, false);
	return WEFT_CONN_CLOSED;
}

/* The stream broke, or the peer has left the receive side hanging too long. */
static enum weft_conn_state on_broken(struct weft_conn *conn, void *arg)
{
	weft_conn_release_qp(conn);
	weft_cm_ended(conn, false, -ECONNRESET);
	weft_conn_close(conn, true);
	return WEFT_CONN_CLOSED;
}

static enum weft_conn_state on_streaming_changed(struct weft_conn *conn,
						 void *arg)
{
	switch (weft_llp_state(conn->llp)) {
	case WEFT_LLP_DEAD:
		return on_broken(conn, arg);
	case WEFT_LLP_PEER_CLOSED:
		/* The receive side says when it has read that far. */
		if (!conn->peer_closed)
			conn_limit(conn, WEFT_LIMIT_READ_OUT);
		conn->peer_closed = true;
		break;
	default:
		break;
	}
	return conn->state;
}

/*
 * Time is up for the peer, if we wait for something: for the rest of what it
 * sent before its FIN, or for the frame that says that we may send.
 */
static enum weft_conn_state on_streaming_timeout(struct weft_conn *conn,
						 void *arg)
{
	if (conn->peer_closed)
		return on_broken(conn, arg);
	if (weft_tx_awaits_peer(conn->qp)) {
		weft_count(conn->dev->counters, WEFT_CNT_CONN_TIMED_OUT, 1);
		return on_broken(conn, arg);
	}
	conn_limit(conn, 0);
	return conn->state;
}

static u32 drop_bytes(void *ctx, struct sk_buff *skb, u32 offset, u32 len)
{
	return len;
}

static enum weft_conn_state on_closing_news(struct weft_conn *conn, void *arg)
{
	/* Asked first: what was before a FIN that is here by now is, too. */
	enum weft_llp_state state = weft_llp_state(conn->llp);

	weft_llp_lock(conn->llp);
	weft_llp_read(conn->llp, drop_bytes, NULL);
	weft_llp_unlock(conn->llp);

	if (state != WEFT_LLP_PEER_CLOSED && state != WEFT_LLP_DEAD)
		return conn->state;
	weft_conn_close(conn, false);
	return WEFT_CONN_CLOSED;
}

/*
 * The table. A cell that is missing: the event means nothing in that state, as
 * one that was posted for an earlier state. Every state has a way out on STOP,
 * and on TIMEOUT: STREAMING only while it waits for the peer.
 */
static const weft_conn_handler
handlers[WEFT_CONN_NUM_STATES][WEFT_CONN_NUM_EVENTS] = {
	[WEFT_CONN_NEW] = {
		[WEFT_EV_START] = on_start,	/* CONNECTING, ACCEPTED, CLOSED */
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
		/* PENDING; CLOSING: refused; CLOSED */
		[WEFT_EV_READABLE] = weft_cm_request,
		[WEFT_EV_CHANGED] = weft_cm_request,
		[WEFT_EV_TIMEOUT] = on_no_request,		/* CLOSED */
		[WEFT_EV_STOP] = on_drop,			/* CLOSED */
		[WEFT_EV_EVICT] = on_drop,			/* CLOSED */
	},
	[WEFT_CONN_PENDING] = {
		[WEFT_EV_ACCEPT] = weft_cm_accept, /* STREAMING, CLOSING, CLOSED */
		[WEFT_EV_REJECT] = weft_cm_reject,		/* CLOSING */
		[WEFT_EV_CHANGED] = on_pending_changed,		/* CLOSED */
		[WEFT_EV_TIMEOUT] = weft_cm_no_answer,		/* CLOSING */
		[WEFT_EV_STOP] = on_drop,			/* CLOSED */
	},
	[WEFT_CONN_STREAMING] = {
		[WEFT_EV_QP_FAILED] = on_qp_ended,	/* CLOSING, CLOSED */
		[WEFT_EV_QP_CLOSING] = on_qp_ended,	/* CLOSING, CLOSED */
		[WEFT_EV_PEER_CLOSED] = on_peer_closed,		/* CLOSED */
		[WEFT_EV_CHANGED] = on_streaming_changed,	/* CLOSED */
		[WEFT_EV_TIMEOUT] = on_streaming_timeout,	/* CLOSED */
		[WEFT_EV_STOP] = on_broken,			/* CLOSED */
	},
	[WEFT_CONN_CLOSING] = {
		[WEFT_EV_READABLE] = on_closing_news,		/* CLOSED */
		[WEFT_EV_CHANGED] = on_closing_news,		/* CLOSED */
		[WEFT_EV_TIMEOUT] = on_drop,			/* CLOSED */
		[WEFT_EV_STOP] = on_drop,			/* CLOSED */
	},
};

static const unsigned long limits[WEFT_CONN_NUM_STATES] = {
	[WEFT_CONN_CONNECTING] = WEFT_LIMIT_CONNECT,
	[WEFT_CONN_REQUESTED] = WEFT_LIMIT_REPLY,
	[WEFT_CONN_ACCEPTED] = WEFT_LIMIT_REQUEST,
	[WEFT_CONN_PENDING] = WEFT_LIMIT_ANSWER,
	[WEFT_CONN_STREAMING] = WEFT_LIMIT_READY,
	[WEFT_CONN_CLOSING] = WEFT_LIMIT_CLOSE,
};

/* The last of a connection; references may keep its memory a while. */
static void conn_retire(struct weft_conn *conn)
{
	struct weft_device *dev = conn->dev;

	if (dev) {
		spin_lock(&dev->conns_lock);
		list_del_init(&conn->entry);
		spin_unlock(&dev->conns_lock);
		/* From here on the device may go away. */
		wake_up_all(&conn_ended);
	}
	weft_conn_put(conn);
}

static void conn_enter(struct weft_conn *conn, enum weft_conn_state next)
{
	conn->state = next;
	conn_limit(conn, limits[next]);

	/* What belongs to the states behind us. */
	if (next != WEFT_CONN_ACCEPTED)
		weft_listener_leave(conn);
	if (next != WEFT_CONN_PENDING)
		weft_conn_token_drop(conn);
	if (next >= WEFT_CONN_STREAMING) {
		kfree(conn->hs);
		conn->hs = NULL;
	}

	switch (next) {
	case WEFT_CONN_CLOSED:
		conn_retire(conn);
		return;
	case WEFT_CONN_CLOSING:
		weft_llp_shutdown(conn->llp);
		break;
	default:
		break;
	}
	/* What came before we were in this state is not announced again. */
	weft_conn_post(conn, WEFT_EV_READABLE);
	weft_conn_post(conn, WEFT_EV_CHANGED);
}

/**
 * weft_conn_step() - let an event happen
 * @conn: connection that the caller has a reference on
 * @event: the event
 * @arg: for its handler
 *
 * Context: process, @conn->mutex held; may sleep.
 */
void weft_conn_step(struct weft_conn *conn, enum weft_conn_event event,
		    void *arg)
{
	weft_conn_handler handler = handlers[conn->state][event];
	enum weft_conn_state next;

	if (!handler || (event == WEFT_EV_TIMEOUT && conn_in_time(conn)))
		return;
	next = handler(conn, arg);
	if (next == conn->state)
		return;
	trace_weft_conn_state(conn, event, next);
	conn_enter(conn, next);
}

/* --- the beginning and the end --- */

/**
 * weft_conn_new() - make a connection
 * @initiator: this end opens it
 *
 * The caller puts it together, attaches it to a device and posts START, or
 * EVICT if it has to give it up.
 *
 * Context: process, may sleep.
 * Return: the connection, in NEW, with one reference that leaving for CLOSED
 * drops; or NULL.
 */
struct weft_conn *weft_conn_new(bool initiator)
{
	struct weft_conn *conn = kzalloc(sizeof(*conn), GFP_KERNEL);

	if (!conn)
		return NULL;
	conn->hs = kzalloc(sizeof(*conn->hs), GFP_KERNEL);
	if (!conn->hs) {
		kfree(conn);
		return NULL;
	}
	kref_init(&conn->refs);
	INIT_LIST_HEAD(&conn->entry);
	INIT_LIST_HEAD(&conn->half_open);
	mutex_init(&conn->mutex);
	INIT_WORK(&conn->work, conn_work);
	INIT_DELAYED_WORK(&conn->timer, conn_timer);
	conn->initiator = initiator;
	conn->state = WEFT_CONN_NEW;
	return conn;
}

/**
 * weft_conn_attach() - count a new connection among a device's
 * @conn: connection in NEW
 * @dev: device
 *
 * Context: process.
 */
void weft_conn_attach(struct weft_conn *conn, struct weft_device *dev)
{
	conn->dev = dev;
	spin_lock(&dev->conns_lock);
	list_add_tail(&conn->entry, &dev->conns);
	spin_unlock(&dev->conns_lock);
}

/**
 * weft_conn_info() - what an operator may want to know of a connection
 * @conn: connection that the caller has a reference on
 * @info: where it goes
 *
 * Context: process, may sleep.
 */
void weft_conn_info(struct weft_conn *conn, struct weft_conn_info *info)
{
	static const char *const names[WEFT_CONN_NUM_STATES] = {
		[WEFT_CONN_NEW] = "new",
		[WEFT_CONN_CONNECTING] = "connecting",
		[WEFT_CONN_REQUESTED] = "requested",
		[WEFT_CONN_ACCEPTED] = "accepted",
		[WEFT_CONN_PENDING] = "pending",
		[WEFT_CONN_STREAMING] = "streaming",
		[WEFT_CONN_CLOSING] = "closing",
		[WEFT_CONN_CLOSED] = "closed",
	};

	memset(info, 0, sizeof(*info));
	mutex_lock(&conn->mutex);
	info->state = names[conn->state];
	info->initiator = conn->initiator;
	/* Addresses that are not to be had stay of family 0. */
	if (conn->llp)
		weft_cm_names(conn->llp, &info->local, &info->remote);
	mutex_unlock(&conn->mutex);
}

/**
 * weft_conn_find() - find the connection of a cm_id of rdma_cm's
 * @dev: device
 * @cm_context: the cm_id
 *
 * Context: process.
 * Return: the connection with a reference for the caller, or NULL.
 */
struct weft_conn *weft_conn_find(struct weft_device *dev, const void *cm_context)
{
	struct weft_conn *conn, *found = NULL;

	spin_lock(&dev->conns_lock);
	list_for_each_entry(conn, &dev->conns, entry) {
		if (READ_ONCE(conn->cm_context) == cm_context) {
			weft_conn_get(conn);
			found = conn;
			break;
		}
	}
	spin_unlock(&dev->conns_lock);
	return found;
}

static bool conn_none(struct weft_device *dev)
{
	bool none;

	spin_lock(&dev->conns_lock);
	none = list_empty(&dev->conns);
	spin_unlock(&dev->conns_lock);
	return none;
}

/**
 * weft_conn_stop_all() - end every connection and listener of a device
 * @dev: device; nobody begins new ones
 *
 * Context: process, sleeps until none is left and none of their work runs.
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

/**
 * weft_conn_init() - prepare for connections
 *
 * Context: module load.
 * Return: 0 or -ENOMEM.
 */
int weft_conn_init(void)
{
	/*
	 * One after the other, in the order of the events: a program that
	 * opens several connections may count on the peer seeing them in that
	 * order (perftest does). Nothing on it waits for a peer.
	 */
	weft_conn_wq = alloc_ordered_workqueue("weft-conn", WQ_MEM_RECLAIM);
	return weft_conn_wq ? 0 : -ENOMEM;
}

/**
 * weft_conn_exit() - undo weft_conn_init()
 *
 * Context: module unload; every device has been stopped.
 */
void weft_conn_exit(void)
{
	destroy_workqueue(weft_conn_wq);
	xa_destroy(&tokens);
}
