/* SPDX-License-Identifier: GPL-2.0 */
/* Chunks, of which pair/chunks.h has the structure; see chunk.c. */
#ifndef WEFT_TX_CHUNK_H
#define WEFT_TX_CHUNK_H

#include "pair/chunks.h"

struct ib_ucontext;

/* How long an idle queue pair keeps its large chunks: new ones have to be cleared. */
#define WEFT_CHUNK_IDLE		(HZ / 4)

void weft_chunk_put(struct weft_chunks *chunks, u32 index);
struct weft_chunk *weft_chunk_room(struct weft_chunks *chunks, u32 need, u32 left,
				   const struct ib_ucontext *payer);
void weft_chunks_taken(struct weft_chunks *chunks);
bool weft_chunks_rest(struct weft_chunks *chunks);
void weft_chunks_drop(struct weft_chunks *chunks);

/* Returns true if a chunk has bytes that the stream has not taken. */
static inline bool weft_chunks_waiting(const struct weft_chunks *chunks)
{
	return chunks->num > 1 ||
	       (chunks->num && chunks->chunk[0].sent < chunks->chunk[0].fill);
}

#endif /* WEFT_TX_CHUNK_H */
