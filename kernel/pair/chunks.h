/* SPDX-License-Identifier: GPL-2.0 */
/* Chunks: runs of pages in which FPDUs are laid out, and which the stream takes. */
#ifndef WEFT_PAIR_CHUNKS_H
#define WEFT_PAIR_CHUNKS_H

#include <linux/list.h>
#include <linux/types.h>

#include "base/policy.h"

struct page;

/**
 * struct weft_chunk - a run of stream bytes waiting to be taken
 * @page: its memory, one compound page; a reference
 * @size: bytes of it
 * @fill: bytes laid out
 * @sent: bytes the stream has taken
 */
struct weft_chunk {
	struct page *page;
	u32 size;
	u32 fill;
	u32 sent;
};

/**
 * struct weft_chunks - the bytes that are laid out and not taken by the stream
 * @chunk: stream bytes waiting, oldest first
 * @num: how many of @chunk
 * @num_spares: how many of @spares
 * @spares: pages of large chunks, of which nothing is laid out any more, and TCP may
 *	still hold some, oldest first; a list by their lru, with a reference on each. Not
 *	to be looked at while there is none, so that zeroed chunks are ready for use
 * @active: when something was last laid out, in jiffies
 * @many: when more than WEFT_TX_FEW_SPARES were last needed, in jiffies
 *
 * A part of struct weft_tx, and protected as such.
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
