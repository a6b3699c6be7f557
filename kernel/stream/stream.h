/* SPDX-License-Identifier: GPL-2.0 */
/* A queue pair on its stream: how the data begins to flow, and how it ends. */
#ifndef WEFT_STREAM_H
#define WEFT_STREAM_H

#include "pair/qp.h"

struct weft_llp;

/* --- for connections --- */

/*
 * Binds a connection to a queue pair in INIT or RTR, with the caller's reference on @user. Until
 * weft_stream_unbind(), @user's failed() reports a move to ERR or a destruction. Returns -EINVAL in
 * another state or if a connection is bound. Process context.
 */
int weft_stream_bind(struct weft_qp *qp, struct weft_qp_user *user);

/*
 * After the handshake: moves the queue pair to RTS and lets data flow over @llp, whose owner @qp is
 * already, with weft_stream_ops, so that no event is lost; without data flowing it ignores them.
 * Returns -ENOMEM, or -EINVAL if the user moved the queue pair to ERR.
 */
extern const struct weft_llp_ops weft_stream_ops;
int weft_stream_start(struct weft_qp *qp, struct weft_llp *llp,
		      const struct weft_mpa_agreed *agreed, bool initiator);

/*
 * Takes a queue pair off its stream, before the stream is closed: in SQD reads the bytes that have
 * come, moves to ERR, and when neither side uses the stream, completes all work in error. Returns
 * false if pages are still lent: the work completes when they are back, and the caller resets the
 * stream to hasten that. Never waits for a thread that waits for tx.lock. Harmless when repeated.
 */
bool weft_stream_stop(struct weft_qp *qp);

/* Ends the binding of a stopped queue pair, and gives the reference on the connection back. */
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
