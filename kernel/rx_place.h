/* SPDX-License-Identifier: GPL-2.0 */
/* What an FPDU means: where its payload goes, and what its end completes. */
#ifndef WEFT_RX_PLACE_H
#define WEFT_RX_PLACE_H

#include <linux/types.h>

struct weft_qp;

enum weft_rx_verdict {
	WEFT_RX_OK,
	WEFT_RX_WAIT,	/* no receive is posted: stop reading for now */
	WEFT_RX_BAD,	/* the queue pair has failed */
};

enum weft_rx_verdict weft_rx_begin(struct weft_qp *qp);
enum weft_rx_verdict weft_rx_place(struct weft_qp *qp, const u8 *from, u32 len);
enum weft_rx_verdict weft_rx_end(struct weft_qp *qp);
void weft_rx_refuse(struct weft_qp *qp, u8 layer, u8 etype, u8 code);
void weft_rx_flush_receives(struct weft_qp *qp);

#endif /* WEFT_RX_PLACE_H */
