/* SPDX-License-Identifier: GPL-2.0 */
/*
 * FPDUs that do not lie whole in one packet buffer, where CRCs are in use.
 *
 * Such an FPDU stays in the stream's queue, and the checksum is run over its bytes there,
 * over each byte once. When its trailer has come and the CRC is good, the FPDU is placed
 * from the queue, without a copy. So a header under a bad CRC never names memory.
 *
 * If the queue is too small for the whole FPDU, its bytes are copied to the stage: pages of
 * our own, for one FPDU at most, from which it is placed.
 */
#ifndef WEFT_RX_SPLIT_H
#define WEFT_RX_SPLIT_H

#include <linux/types.h>

struct weft_llp;
struct weft_qp;
struct weft_rx;

/* Takes bytes of an FPDU that is placed from the stage; says how many it took. */
typedef u32 (*weft_rx_taker)(struct weft_qp *qp, const u8 *from, u32 len);

void weft_rx_split_begin(struct weft_rx *rx);
u32 weft_rx_split_need(const struct weft_rx *rx);
bool weft_rx_split_ready(struct weft_rx *rx, struct weft_llp *llp);
u32 weft_rx_stage_take(struct weft_qp *qp, const u8 *from, u32 len,
		       weft_rx_taker take);
bool weft_rx_unstage(struct weft_qp *qp, weft_rx_taker take);
void weft_rx_stage_free(struct weft_rx *rx);

#endif /* WEFT_RX_SPLIT_H */
