/* SPDX-License-Identifier: GPL-2.0 */
/* Chunks: runs of pages that FPDUs are laid out in, and that the stream takes. */
#ifndef WEFT_PAIR_CHUNKS_H
#define WEFT_PAIR_CHUNKS_H

#include <linux/types.h>

struct page;

/* Chunks built ahead of the stream, at most. */
#define WEFT_TX_CHUNKS	2
/* How many large chunks that TCP may still hold are kept to be used again: 1 MiB. */
#define WEFT_TX_SPARES	8U

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
 * struct weft_chunks - what is laid out and was not taken
 * @chunk: stream bytes waiting, oldest first
 * @num: how many of @chunk
 * @spare_head: next free entry of @spare
 * @spare_tail: oldest
 * @spare: pages of large chunks that the stream has taken all of and TCP may not
 *	be through with, a ring; a reference each
 * @active: when something was last laid out, in jiffies
 *
 * A part of the transmit side, and protected as that.
 */
struct weft_chunks {
	struct weft_chunk chunk[WEFT_TX_CHUNKS];
	u32 num;
	u32 spare_head;
	u32 spare_tail;
	struct page *spare[WEFT_TX_SPARES];
	unsigned long active;
};

#endif /* WEFT_PAIR_CHUNKS_H */
