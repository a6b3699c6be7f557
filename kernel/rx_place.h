/* SPDX-License-Identifier: GPL-2.0 */
/* What an FPDU means: where its payload goes, and what its end completes. */
#ifndef WEFT_RX_PLACE_H
#define WEFT_RX_PLACE_H

#include <linux/types.h>

#include "uapi/weft-abi.h"
#include "verbs/mr.h"

struct weft_qp;
struct weft_read;
struct weft_rx;

enum weft_rx_verdict {
	WEFT_RX_OK,
	WEFT_RX_WAIT,	/* no receive is posted: stop reading for now */
	WEFT_RX_BAD,	/* the queue pair has failed */
};

enum weft_rx_verdict weft_rx_begin(struct weft_qp *qp);
enum weft_rx_verdict weft_rx_place(struct weft_qp *qp, const u8 *from, u32 len);
enum weft_rx_verdict weft_rx_end(struct weft_qp *qp);
u64 weft_rx_row_room(struct weft_qp *qp, u64 *to);
void weft_rx_row_end(struct weft_qp *qp, u32 fpdus);
void weft_rx_let_go(struct weft_rx *rx);
void weft_rx_refuse(struct weft_qp *qp, u8 layer, u8 etype, u8 code);
enum weft_rx_verdict weft_rx_refuse_key(struct weft_qp *qp,
					enum weft_key_error err);
struct weft_read *weft_rx_oldest_read(struct weft_qp *qp);
void weft_rx_aim_at_read(struct weft_qp *qp, const struct weft_read *read);
enum weft_rx_verdict weft_rx_read_done(struct weft_qp *qp);

/* rx_atomic.c: atomics, of the peer and of ours */
enum weft_rx_verdict weft_rx_begin_atomic_response(struct weft_qp *qp);
enum weft_rx_verdict weft_rx_end_atomic_request(struct weft_qp *qp);
enum weft_rx_verdict weft_rx_end_atomic_response(struct weft_qp *qp);
void weft_rx_flush_receives(struct weft_qp *qp);

#endif /* WEFT_RX_PLACE_H */
