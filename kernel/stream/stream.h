/* SPDX-License-Identifier: GPL-2.0 */
/* A queue pair on its stream: how the data begins to flow, and how it ends. */
#ifndef WEFT_STREAM_H
#define WEFT_STREAM_H

#include "pair/qp.h"

struct weft_llp;

/* --- for connections --- */

/*
 * Ties a connection that is being set up to a queue pair in INIT (or RTR), and takes over
 * the caller's reference on @user's connection. Until weft_stream_unbind(), moving the
 * queue pair to ERR or destroying it tells the connection by @user's failed(). Returns 0,
 * or -EINVAL in another state or if it is bound already. Process context.
 */
int weft_stream_bind(struct weft_qp *qp, struct weft_qp_user *user);

/*
 * The handshake is over: moves the queue pair to RTS and lets data flow over
 * @llp. From here until weft_stream_stop() the connection passes the stream's
 * readable and writable callbacks on to weft_rx_readable() and
 * weft_tx_writable(). Returns 0; -EINVAL if the user moved the queue pair to ERR
 * meanwhile; or -ENOMEM. Process context, tx.lock held; takes the socket lock.
 */
int weft_stream_start(struct weft_qp *qp, struct weft_llp *llp,
		      const struct weft_mpa_agreed *agreed, bool initiator);

/*
 * Takes a bound queue pair off its stream, before the stream is closed: in SQD reads the bytes
 * that have come, moves the queue pair to ERR, waits until neither transmit nor receive side
 * uses the stream, and completes all work in error. Returns true if done. Returns false if
 * pages are still lent: the work is completed when the pages are back, and the caller has to
 * hasten their return by a reset of the stream. Process context, tx.lock held; may sleep, but
 * never waits for a thread that waits for tx.lock. Harmless when repeated.
 */
bool weft_stream_stop(struct weft_qp *qp);

/*
 * Ends the binding of a queue pair that was stopped, so that it may be bound again. The
 * caller gets the reference on the connection back. Process context.
 */
void weft_stream_unbind(struct weft_qp *qp);

/* --- for verbs --- */

void weft_stream_init(struct weft_qp *qp);
void weft_stream_end(struct weft_qp *qp);
int weft_stream_doorbell(struct weft_qp *qp);
int weft_stream_recv_doorbell(struct weft_qp *qp);
void weft_stream_error(struct weft_qp *qp);
int weft_stream_reset(struct weft_qp *qp);
int weft_stream_drain(struct weft_qp *qp);
bool weft_stream_flush(struct weft_qp *qp);
void weft_stream_run(struct weft_qp *qp);

#endif /* WEFT_STREAM_H */
