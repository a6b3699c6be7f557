/* SPDX-License-Identifier: GPL-2.0 */
/* Chunks: pages in which FPDUs are laid out until the stream takes them. */
#ifndef WEFT_TX_CHUNK_H
#define WEFT_TX_CHUNK_H

#include <linux/list.h>
#include <linux/mm.h>
#include <linux/types.h>

#include "base/policy.h"

struct ib_ucontext;

/* A run of stream bytes waiting to be taken. */
struct weft_chunk {
	struct page *page;	/* one compound page, a reference */
	u32 size;		/* bytes of @page */
	u32 fill;		/* bytes laid out */
	u32 sent;		/* bytes that the stream has taken */
};

/**
 * struct weft_chunks - the copied bytes that the stream has not taken
 * @chunk: the chunks, oldest first
 * @num: number of chunks
 * @num_spares: number of spares
 * @spares: referenced large pages for reuse, oldest first, linked by lru; TCP may still use some.
 *	Not initialized while @num_spares is 0, so that zeroed chunks are ready for use
 * @active: when bytes were last laid out, in jiffies
 * @many: when more than WEFT_TX_FEW_SPARES were last needed, in jiffies
 *
 * Part of struct weft_tx, under tx_lock.
 */
struct weft_chunks {
	struct weft_chunk chunk[WEFT_TX_CHUNKS];
	u32 num;
	u32 num_spares;
	struct list_head spares;
	unsigned long active;
	unsigned long many;
};

/* The most that the header and trailer of an FPDU take. */
#define WEFT_CHUNK_FRAME	64

void weft_chunk_put(struct weft_chunks *chunks, u32 index);
struct weft_chunk *weft_chunk_room(struct weft_chunks *chunks, u32 need, u32 left,
				   const struct ib_ucontext *payer);
bool weft_chunks_rest(struct weft_chunks *chunks);
void weft_chunks_drop(struct weft_chunks *chunks);

/*
 * The stream has taken all bytes. Starts the first chunk anew unless TCP holds it, so that the next
 * message is contiguous.
 */
static inline void weft_chunks_taken(struct weft_chunks *chunks)
{
	struct weft_chunk *c = &chunks->chunk[0];

	if (!chunks->num || page_ref_count(c->page) != 1)
		return;
	c->fill = 0;
	c->sent = 0;
}

/* Returns true if a chunk has bytes that the stream has not taken. */
static inline bool weft_chunks_waiting(const struct weft_chunks *chunks)
{
	return chunks->num > 1 ||
	       (chunks->num && chunks->chunk[0].sent < chunks->chunk[0].fill);
}

#endif /* WEFT_TX_CHUNK_H */
