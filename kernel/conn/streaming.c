// SPDX-License-Identifier: GPL-2.0
/*
 * The stream of a connection: its way to the queue pair and back, and the end of a connection that
 * streamed. While a queue pair has the stream, the stream has that queue pair for its owner.
 */
#include "base/weft.h"
#include "conn/conn.h"
#include "llp/transport.h"
#include "pair/qp.h"

/* Callbacks, under the socket lock, while no queue pair has the stream. */

static u32 drop_bytes(void *ctx, struct sk_buff *skb, u32 offset, u32 len)
{
	return len;
}

static void stream_readable(struct weft_llp *llp)
{
	struct weft_conn *conn = llp->owner;

	if (conn->dropping)
		weft_llp_held(llp, read, drop_bytes, NULL);
	else
		weft_conn_post(conn, WEFT_EV_READABLE);
}

/* An event that cannot come, or says nothing here. */
void weft_conn_no_news(struct weft_llp *llp)
{
}

static void stream_changed(struct weft_llp *llp)
{
	weft_conn_post(llp->owner, WEFT_EV_CHANGED);
}

const struct weft_llp_ops weft_conn_stream_ops = {
	.readable = stream_readable,
	.writable = weft_conn_no_news,
	.changed = stream_changed,
};

/*
 * Sets the stream, or takes it away (NULL) before it is closed. Afterwards nobody looks at the old
 * stream any more.
 */
void weft_conn_set_llp(struct weft_conn *conn, struct weft_llp *llp)
{
	struct weft_device *dev = conn->dev;

	lockdep_assert_held(&conn->lock.mutex);
	/* Only its maker knows a connection that has no device. */
	if (!dev) {
		conn->llp = llp;
		return;
	}
	spin_lock(&dev->conns_lock);
	conn->llp = llp;
	spin_unlock(&dev->conns_lock);
}

/*
 * Replaces the stream by one of several connections, as the handshake agreed. Its frames have the
 * CRCs, so that those of the queue pair have none. Returns 0 or a negative errno value.
 */
int weft_conn_spread(struct weft_conn *conn, struct weft_mpa_agreed *agreed)
{
	struct weft_device *dev = conn->dev;
	const struct weft_spread_terms terms = {
		.initiator = conn->initiator,
		.crc = agreed->crc,
		.keepalive = READ_ONCE(dev->settings.value[WEFT_SET_KEEPALIVE]),
		.user_timeout = READ_ONCE(dev->settings.value[WEFT_SET_USER_TIMEOUT]),
		.counters = dev->counters,
	};
	const struct weft_transport *spreader;
	struct weft_llp *first = conn->llp, *llp;

	lockdep_assert_held(&conn->lock.mutex);
	/* Not to be shown any more, because the new stream may end it at once. */
	weft_conn_set_llp(conn, NULL);
	spreader = weft_transport_spreader(&dev->transports);
	llp = spreader->spread(first, &terms, &weft_conn_stream_ops, conn);
	weft_conn_set_llp(conn, IS_ERR(llp) ? first : llp);
	if (IS_ERR(llp))
		return PTR_ERR(llp);
	agreed->crc = false;
	return 0;
}

/* Gives the stream to the queue pair. On error the caller has to release the queue pair. */
int weft_conn_hand_over(struct weft_conn *conn, const struct weft_mpa_agreed *agreed)
{
	struct weft_mpa_agreed terms = *agreed;
	int ret;

	lockdep_assert_held(&conn->lock.mutex);
	lockdep_assert_held(&conn->qp->tx_lock.mutex);
	ret = terms.paths ? weft_conn_spread(conn, &terms) : 0;
	if (ret)
		return ret;
	/* First, so that no callback is lost. A queue pair without a stream ignores callbacks. */
	conn->llp->class->adopt(conn->llp, &weft_engine_ops, conn->qp, false);
	ret = weft_engine_start(conn->qp, conn->llp, &terms, conn->initiator);
	if (ret)
		conn->llp->class->adopt(conn->llp, &weft_conn_stream_ops, conn, false);
	return ret;
}

/*
 * Stops the queue pair in ERR, flushes its work, and unbinds it. May sleep; the caller must not
 * have the socket lock. If TCP still holds pages that the queue pair lent, resets the stream. A
 * card may keep some of the pages even then; when they are back, the worker flushes the work.
 */
void weft_conn_release_qp(struct weft_conn *conn)
{
	struct weft_qp *qp = conn->qp;

	lockdep_assert_held(&conn->lock.mutex);
	if (!qp)
		return;
	lockdep_assert_held(&qp->tx_lock.mutex);
	if (conn->llp && conn->llp->owner == qp)
		conn->llp->class->adopt(conn->llp, &weft_conn_stream_ops, conn, false);
	if (!weft_engine_stop(qp)) {
		weft_conn_close(conn, true);
		/* The reset returns the pages at once, except those that a card still has. */
		weft_engine_stop(qp);
	}
	weft_engine_unbind(qp);
	conn->qp = NULL;
	weft_conn_put(conn);
	weft_qp_put(qp);
}

/* Closes the stream, which no queue pair uses any more. No callback runs afterwards. */
void weft_conn_close(struct weft_conn *conn, bool abort)
{
	struct weft_llp *llp = conn->llp;

	lockdep_assert_held(&conn->lock.mutex);
	if (!llp)
		return;
	weft_conn_set_llp(conn, NULL);
	weft_llp_close(llp, abort);
}

/*
 * Drops all bytes that have come, and those to come. Called before the close, because a socket with
 * unread bytes is closed by a reset, which may reach the peer before our last message. Later bytes
 * are dropped in softirq, because a worker would drop them for as long as the peer sends.
 */
void weft_conn_drop_unread(struct weft_conn *conn)
{
	lockdep_assert_held(&conn->lock.mutex);
	weft_llp_call(conn->llp, lock);
	conn->dropping = true;
	/* The receive side may have asked for an event only when a whole FPDU is here. */
	weft_llp_held(conn->llp, await, 1);
	weft_llp_held(conn->llp, read, drop_bytes, NULL);
	weft_llp_call(conn->llp, unlock);
}

/* --- handlers, for table.c --- */

/*
 * Ends streaming from this end. Messages that have come are delivered. The receives that are left
 * are flushed, because a local disconnect does not wait for messages of the peer. CLOSING drops the
 * peer's bytes up to its FIN, because closing a socket with unread bytes sends a reset, which may
 * reach the peer before our last message, such as a Terminate.
 */
enum weft_conn_state weft_streaming_qp_ended(struct weft_conn *conn, void *arg)
{
	bool dead = conn->llp->class->state(conn->llp) == WEFT_LLP_DEAD;

	weft_conn_release_qp(conn);
	weft_cm_ended(conn, false, dead ? -ECONNRESET : 0);
	return conn->llp ? WEFT_CONN_CLOSING : WEFT_CONN_CLOSED;
}

/*
 * Ends streaming from the peer's end. iWARP has no half-open streams, so nobody will read bytes
 * that TCP has not sent yet, and a reset drops them. Without the reset, a killed peer with hundreds
 * of connections would keep TCP busy with all their bytes.
 */
enum weft_conn_state weft_streaming_peer_closed(struct weft_conn *conn, void *arg)
{
	weft_conn_release_qp(conn);
	weft_cm_ended(conn, true, 0);
	weft_conn_close(conn, conn->llp && weft_llp_call(conn->llp, unsent));
	return WEFT_CONN_CLOSED;
}

/* The stream broke, or the peer took too long. */
enum weft_conn_state weft_streaming_broken(struct weft_conn *conn, void *arg)
{
	weft_conn_release_qp(conn);
	weft_cm_ended(conn, false, -ECONNRESET);
	weft_conn_close(conn, true);
	return WEFT_CONN_CLOSED;
}

enum weft_conn_state weft_streaming_changed(struct weft_conn *conn, void *arg)
{
	enum weft_llp_state state = conn->llp->class->state(conn->llp);

	if (state == WEFT_LLP_DEAD)
		return weft_streaming_broken(conn, arg);
	if (state == WEFT_LLP_PEER_CLOSED && !conn->peer_closed) {
		/* The receive side posts PEER_CLOSED when it has read up to the FIN. */
		weft_conn_set_timer(conn, WEFT_TIME_READ_OUT);
		conn->peer_closed = true;
	}
	return conn->state;
}

/*
 * Ends streaming if the peer is late: with the bytes before its FIN, or with the frame after which
 * we may send. Else the timer is no longer needed.
 */
enum weft_conn_state weft_streaming_timeout(struct weft_conn *conn, void *arg)
{
	if (conn->peer_closed)
		return weft_streaming_broken(conn, arg);
	if (weft_gate_awaits_peer(&conn->qp->gate)) {
		weft_count(conn->dev->counters, WEFT_CNT_CONN_TIMED_OUT, 1);
		return weft_streaming_broken(conn, arg);
	}
	weft_conn_set_timer(conn, 0);
	return conn->state;
}

enum weft_conn_state weft_closing_news(struct weft_conn *conn, void *arg)
{
	/* Asked before the bytes are dropped: all bytes before a FIN seen here have come. */
	enum weft_llp_state state = conn->llp->class->state(conn->llp);

	weft_conn_drop_unread(conn);
	if (state != WEFT_LLP_PEER_CLOSED && state != WEFT_LLP_DEAD)
		return conn->state;
	weft_conn_close(conn, false);
	return WEFT_CONN_CLOSED;
}
