// SPDX-License-Identifier: GPL-2.0
/*
 * The states and events of a connection.
 *
 * The connection's lane serves posted events, as does a process that ends its own queue pair; a
 * caller of iw_cm serves its accept or reject. Only weft_conn_step() changes the state. A lane
 * waits neither for the mutex nor for the queue pair's tx_lock, because a throttled thread may hold
 * them for long; the thread starts the lane when it unlocks.
 */

#include <linux/lockdep.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "base/trace.h"
#include "base/weft.h"
#include "conn/internal.h"
#include "conn/listener.h"

/* Rounds of a connection in a row, if its events post others. */
#define WEFT_CONN_ROUNDS	4

static DECLARE_WAIT_QUEUE_HEAD(conn_ended);

static enum weft_conn_state on_start(struct weft_conn *conn, void *arg)
{
	if (conn->initiator)
		return weft_cm_start(conn, arg);
	weft_conn_set_timeouts(conn);
	return WEFT_CONN_ACCEPTED;
}

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
 * Comments name the states that a handler may return. An event without a handler is stale, and
 * ignored. Every state but CLOSED ends on STOP. Every state that waits for the peer or the
 * application ends on TIMEOUT, too.
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

/* Takes a connection off its device. References may keep its memory for a while. */
static void conn_retire(struct weft_conn *conn)
{
	struct weft_device *dev = conn->dev;

	if (dev) {
		spin_lock(&dev->conns_lock);
		list_del_init(&conn->entry);
		hash_del(&conn->by_cm);
		spin_unlock(&dev->conns_lock);
		/* From here on the device may go away. */
		wake_up_all(&conn_ended);
	}
	weft_conn_put(conn);
}

static void conn_enter(struct weft_conn *conn, enum weft_conn_state next)
{
	WRITE_ONCE(conn->state, next);
	weft_conn_set_timer(conn, times[next]);

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
		weft_conn_drop_unread(conn);
		weft_llp_shutdown(conn->llp);
		break;
	default:
		break;
	}
	/* The stream does not repeat an event that came before this state. */
	weft_conn_post(conn, WEFT_EV_READABLE);
	weft_conn_post(conn, WEFT_EV_CHANGED);
}

/* Serves one event; @arg is for its handler. May sleep. */
void weft_conn_step(struct weft_conn *conn, enum weft_conn_event event,
		    void *arg)
{
	weft_conn_handler handler = handlers[conn->state][event];
	enum weft_conn_state next;

	lockdep_assert_held(&conn->lock.mutex);
	if (!handler || (event == WEFT_EV_TIMEOUT && weft_conn_in_time(conn)))
		return;
	next = handler(conn, arg);
	if (next == conn->state)
		return;
	trace_weft_conn_state(conn, event, next);
	conn_enter(conn, next);
}

/*
 * Takes the locks under which events are served, or leaves word at the one that is taken, whose
 * holder then starts the lane. @qp: the connection's queue pair or NULL; with a reference, because
 * a handler may release it.
 */
static bool conn_trylock(struct weft_conn *conn, struct weft_qp **qp)
{
	if (!weft_baton_try(&conn->lock, 0))
		return false;
	*qp = conn->qp;
	if (*qp && !weft_baton_try(&(*qp)->tx_lock, WEFT_WANT_CONN)) {
		weft_conn_unlock(conn);
		return false;
	}
	if (*qp)
		weft_qp_get(*qp);
	return true;
}

/* Serves the posted events and those they post, and unlocks. */
static void conn_finish(struct weft_conn *conn, struct weft_qp *qp)
{
	int rounds = WEFT_CONN_ROUNDS, event;
	unsigned long events;

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
}

/* Serves the posted events in the work of a lane; the caller has a reference. */
void weft_conn_serve(struct weft_conn *conn)
{
	struct weft_qp *qp;

	if (conn_trylock(conn, &qp))
		conn_finish(conn, qp);
}

/* See weft_lane_serve_here(). */
static bool conn_serve_here(struct weft_conn *conn)
{
	struct weft_qp *qp;

	if (!conn_trylock(conn, &qp))
		return false;
	if (qp)
		weft_engine_run(qp);
	conn_finish(conn, qp);
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

static void turn_get(struct weft_turn *turn)
{
	weft_conn_get(container_of(turn, struct weft_conn, turn));
}

static void turn_put(struct weft_turn *turn)
{
	weft_conn_put(container_of(turn, struct weft_conn, turn));
}

static void turn_serve(struct weft_turn *turn)
{
	weft_conn_serve(container_of(turn, struct weft_conn, turn));
}

static bool turn_serve_here(struct weft_turn *turn)
{
	return conn_serve_here(container_of(turn, struct weft_conn, turn));
}

static const struct weft_turn_ops turn_ops = {
	.get = turn_get,
	.put = turn_put,
	.serve = turn_serve,
	.serve_here = turn_serve_here,
};

int weft_conn_init(void)
{
	return weft_lane_init(&turn_ops);
}

void weft_conn_exit(void)
{
	weft_lane_exit();
	weft_conn_token_exit();
}
