/* SPDX-License-Identifier: GPL-2.0 */
/* The batch: bytes that are laid out and that the stream has not taken yet. */
#ifndef WEFT_PAIR_BATCH_H
#define WEFT_PAIR_BATCH_H

#include <linux/bvec.h>
#include <linux/sizes.h>
#include <linux/types.h>

#include "pair/chunks.h"

struct ubuf_info;

/* Most runs of bytes handed over at once, and most that a lent FPDU of 64 KiB needs. */
#define WEFT_LENT_RUNS		124
#define WEFT_LENT_FPDU_RUNS	20

/* Most payload of a lent FPDU: with its header it fits the fragments of one packet buffer. */
#define WEFT_LENT_MOST		(15U * SZ_4K)
/* Most bytes of copied FPDUs that are handed over together with lent ones. */
#define WEFT_LENT_JOIN		512U

/* The part of a batch that the stream sends from a program's pages. */
struct weft_lent {
	struct ubuf_info *ubuf;	/* the loan of these bytes, a reference; NULL: none wait */
	struct bio_vec run[WEFT_LENT_RUNS]; /* the bytes, with page references */
	u32 num;		/* number of runs */
	u32 len;		/* bytes in all runs */
	u32 taken;		/* bytes of @len that the stream has taken */
	u32 joined;		/* bytes of @len that were copied */
	bool closed;		/* the loan ends with these bytes */
};

/**
 * struct weft_batch - the bytes between laying out and the stream
 * @chunks: copied bytes, in pages of our own
 * @lent: lent bytes; NULL until the first loan, so small messages test one pointer
 * @laid_out: stream bytes laid out since the start
 * @sent: stream bytes taken since the start
 * @emss: segment size for which the bytes are laid out
 * @room: bytes left in the segment of the next FPDU
 *
 * Copied and lent bytes do not wait together (weft_batch_is_full()), but copied bytes that join
 * lent ones count as lent. Part of struct weft_tx, under tx.lock; a push takes the socket lock.
 */
struct weft_batch {
	struct weft_chunks chunks;
	struct weft_lent *lent;
	u64 laid_out;
	u64 sent;
	u32 emss;
	u32 room;
};

#endif /* WEFT_PAIR_BATCH_H */
