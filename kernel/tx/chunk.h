/* SPDX-License-Identifier: GPL-2.0 */
/* Chunks: runs of pages that FPDUs are laid out in; see chunk.c. */
#ifndef WEFT_TX_CHUNK_H
#define WEFT_TX_CHUNK_H

#include <linux/types.h>

struct weft_chunk;
struct weft_qp;
struct weft_tx;

void weft_chunk_put(struct weft_tx *tx, u32 index);
bool weft_chunk_has_spares(const struct weft_tx *tx);
void weft_chunk_drop_spares(struct weft_tx *tx);
struct weft_chunk *weft_chunk_room(struct weft_qp *qp, u32 need);

#endif /* WEFT_TX_CHUNK_H */
