/* SPDX-License-Identifier: GPL-2.0 */
/* Chunks: pages in which FPDUs are laid out until the stream takes them. */
#ifndef WEFT_PAIR_CHUNKS_H
#define WEFT_PAIR_CHUNKS_H

#include <linux/list.h>
#include <linux/types.h>

#include "base/policy.h"

struct page;

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
 * Part of struct weft_tx, under tx.lock.
 */
struct weft_chunks {
	struct weft_chunk chunk[WEFT_TX_CHUNKS];
	u32 num;
	u32 num_spares;
	struct list_head spares;
	unsigned long active;
	unsigned long many;
};

#endif /* WEFT_PAIR_CHUNKS_H */
