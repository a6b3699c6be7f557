/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The engine of a queue pair: how data begins to flow over its stream, when a thread sends, how the
 * flow ends. Only this room knows both directions; the rooms above see struct weft_qp alone.
 */
#ifndef WEFT_ENGINE_H
#define WEFT_ENGINE_H

#include "pair/qp.h"

struct ib_qp_init_attr;
struct weft_llp;

/* --- for connections --- */

/*
 * Binds a connection to a queue pair in INIT or RTR, with the caller's reference on @user. Until
 * weft_engine_unbind(), @user's post() reports a move to ERR or a destruction (WEFT_QP_FAILED).
 * Returns -EINVAL in another state or if a connection is bound. Process context.
 */
int weft_engine_bind(struct weft_qp *qp, struct weft_qp_user *user);

/*
 * After the handshake: moves the queue pair to RTS and lets data flow over @llp, whose owner @qp is
 * already, with weft_engine_ops, so that no event is lost; without data flowing it ignores them.
 * Returns -ENOMEM, or -EINVAL if the user moved the queue pair to ERR.
 */
extern const struct weft_llp_ops weft_engine_ops;
int weft_engine_start(struct weft_qp *qp, struct weft_llp *llp,
		      const struct weft_mpa_agreed *agreed, bool initiator);

/*
 * Takes a queue pair off its stream, before the stream is closed: in SQD reads the bytes that have
 * come, moves to ERR, and when neither side uses the stream, completes all work in error. Returns
 * false if pages are still lent: the work completes when they are back, and the caller resets the
 * stream to hasten that. Never waits for a thread that waits for tx_lock. Harmless when repeated.
 */
bool weft_engine_stop(struct weft_qp *qp);

/* Ends the binding of a stopped queue pair, and gives the reference on the connection back. */
void weft_engine_unbind(struct weft_qp *qp);

/* --- for verbs --- */

/* What a queue pair has done, for people: each number may be a little old. */
struct weft_flow {
	u64 tx_fpdus;		/* since the queue pair was made */
	u64 tx_bytes;
	u64 rx_fpdus;
	u64 rx_bytes;
	u64 tx_taken;		/* bytes that the stream has taken since its start */
	u64 tx_waiting;		/* bytes that are laid out, and that the stream has not taken */
	u32 tx_segment;		/* segment size */
	u32 tx_longest;		/* longest FPDU; WEFT_FPDU_ONE_SEGMENT: a segment */
	u32 rx_kept_most;	/* most bytes of memory that early segments took */
	bool rx_stalled;	/* a SEND waits for a receive */
};

void weft_engine_glance(const struct weft_qp *qp, struct weft_flow *flow);
int weft_engine_init(struct weft_qp *qp, const struct ib_qp_init_attr *attr);
int weft_engine_for_kernel(struct weft_qp *qp);
void weft_engine_destroy(struct weft_qp *qp);
void weft_engine_end(struct weft_qp *qp);
int weft_engine_doorbell(struct weft_qp *qp);
int weft_engine_post_recv(struct weft_qp *qp);
int weft_engine_recv_doorbell(struct weft_qp *qp);
void weft_engine_error(struct weft_qp *qp);
int weft_engine_reset(struct weft_qp *qp);
int weft_engine_drain(struct weft_qp *qp);
bool weft_engine_flush(struct weft_qp *qp);
void weft_engine_run(struct weft_qp *qp);

#endif /* WEFT_ENGINE_H */
