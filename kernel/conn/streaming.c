// SPDX-License-Identifier: GPL-2.0
/* The end of a connection whose queue pair has had the stream. table.c calls the handlers. */
#include "base/weft.h"
#include "conn/conn.h"

/*
 * Ends streaming from this end. Messages that have come are delivered. The receives that are left
 * are flushed, because a local disconnect does not wait for messages of the peer. CLOSING drops the
 * peer's bytes up to its FIN, because closing a socket with unread bytes sends a reset, which may
 * reach the peer before our last message, such as a Terminate.
 */
enum weft_conn_state weft_streaming_qp_ended(struct weft_conn *conn, void *arg)
{
	bool dead = weft_llp_state(conn->llp) == WEFT_LLP_DEAD;

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
	enum weft_llp_state state = weft_llp_state(conn->llp);

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
	enum weft_llp_state state = weft_llp_state(conn->llp);

	weft_conn_drop_unread(conn);
	if (state != WEFT_LLP_PEER_CLOSED && state != WEFT_LLP_DEAD)
		return conn->state;
	weft_conn_close(conn, false);
	return WEFT_CONN_CLOSED;
}
