/* SPDX-License-Identifier: GPL-2.0 */
/* The receive side's functions; pair/rx.h has the structure. */
#ifndef WEFT_RX_H
#define WEFT_RX_H

#include "pair/rx.h"

struct weft_qp;

int weft_rx_init(struct weft_qp *qp);
void weft_rx_destroy(struct weft_rx *rx);
void weft_rx_start(struct weft_qp *qp);
void weft_rx_stop(struct weft_rx *rx);
void weft_rx_readable(struct weft_qp *qp);
void weft_rx_run(struct weft_qp *qp);
int weft_rx_doorbell(struct weft_qp *qp);

#endif /* WEFT_RX_H */
