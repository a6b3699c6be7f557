/* SPDX-License-Identifier: GPL-2.0 */
/* A queue pair, whole. */
#ifndef WEFT_WHOLE_H
#define WEFT_WHOLE_H

#include "pair/qp.h"
#include "rx/rx.h"
#include "tx/tx.h"

/**
 * struct weft_engine - a queue pair with its two directions
 * @qp: what both directions and the rooms above share
 * @tx: the transmit side, under @qp's tx_lock
 * @rx: the receive side, under the socket lock while there is a stream
 *
 * The RDMA core allocates it whole, for @qp.ib at its begin.
 */
struct weft_engine {
	struct weft_qp qp;
	struct weft_tx tx;
	struct weft_rx rx;
};

#endif /* WEFT_WHOLE_H */
