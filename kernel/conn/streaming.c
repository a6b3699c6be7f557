// SPDX-License-Identifier: GPL-2.0
/*
 * How a connection ends whose queue pair has had the stream: the handlers of STREAMING
 * and CLOSING. All are called with the connection's mutex and, if it has one, its
 * queue pair's tx.lock, by table.c.
 */
#include "base/weft.h"
#include "conn/internal.h"
#include "tx/tx.h"

/*
 * The end of streaming, from this end. Receives are flushed at once: what the
 * peer has not got across by now, a local disconnect does not wait for. Still
 * the rest of it is read and dropped, up to the peer's FIN, since closing a
 * socket with unread bytes sends a reset, which may overtake at the peer what
 * we sent last, a Terminate above all.
 */
enum weft_conn_state weft_streaming_qp_ended(struct weft_conn *conn, void *arg)
{
	bool dead = weft_llp_state(conn->llp) == WEFT_LLP_DEAD;

	weft_conn_release_qp(conn);
	weft_cm_ended(conn, false, dead ? -ECONNRESET : 0);
	return conn->llp ? WEFT_CONN_CLOSING : WEFT_CONN_CLOSED;
}

/*
 * The end of streaming, from the peer's end. iWARP knows no half-open streams: what
 * TCP has yet to send is read by nobody, so that a reset takes it back. If hundreds of
 * connections end at once, as those of a peer that is killed, TCP would else keep the
 * processor busy with all that had been posted to them.
 */
enum weft_conn_state weft_streaming_peer_closed(struct weft_conn *conn, void *arg)
{
	weft_conn_release_qp(conn);
	weft_cm_ended(conn, true, 0);
	weft_conn_close(conn, conn->llp && weft_llp_unsent(conn->llp));
	return WEFT_CONN_CLOSED;
}

/* The stream broke, or the peer has left the receive side hanging too long. */
enum weft_conn_state weft_streaming_broken(struct weft_conn *conn, void *arg)
{
	weft_conn_release_qp(conn);
	weft_cm_ended(conn, false, -ECONNRESET);
	weft_conn_close(conn, true);
	return WEFT_CONN_CLOSED;
}

enum weft_conn_state weft_streaming_changed(struct weft_conn *conn, void *arg)
{
	switch (weft_llp_state(conn->llp)) {
	case WEFT_LLP_DEAD:
		return weft_streaming_broken(conn, arg);
	case WEFT_LLP_PEER_CLOSED:
		/* The receive side says when it has read that far. */
		if (!conn->peer_closed)
			weft_conn_set_timer(conn, WEFT_TIME_READ_OUT);
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
	/* Asked first: what was before a FIN that is here by now is, too. */
	enum weft_llp_state state = weft_llp_state(conn->llp);

	weft_conn_drop_unread(conn);
	if (state != WEFT_LLP_PEER_CLOSED && state != WEFT_LLP_DEAD)
		return conn->state;
	weft_conn_close(conn, false);
	return WEFT_CONN_CLOSED;
}
