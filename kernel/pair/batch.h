/* SPDX-License-Identifier: GPL-2.0 */
/* The batch: bytes of a connection that are laid out and not yet taken by the stream. */
#ifndef WEFT_PAIR_BATCH_H
#define WEFT_PAIR_BATCH_H

#include <linux/bvec.h>
#include <linux/sizes.h>
#include <linux/types.h>

#include "pair/chunks.h"

struct ubuf_info;

/* Runs of bytes handed over at once, and the most that a lent FPDU of 64 KiB needs. */
#define WEFT_LENT_RUNS		124
#define WEFT_LENT_FPDU_RUNS	20

/* The most payload of a lent FPDU: with its header it is in as many runs as a packet buffer has. */
#define WEFT_LENT_MOST		(15U * SZ_4K)
/* The most bytes of copied FPDUs that are handed over together with lent ones. */
#define WEFT_LENT_JOIN		512U

/**
 * struct weft_lent - the part of a batch that the stream sends from where it lies
 * @ubuf: the loan that these bytes belong to, a reference; NULL: no bytes wait
 * @run: the bytes, with a reference on each page
 * @num: how many of @run
 * @len: bytes in all of @run
 * @taken: how many of @len the stream has taken
 * @joined: how many of @len were copied
 * @closed: the loan ends with these bytes
 */
struct weft_lent {
	struct ubuf_info *ubuf;
	struct bio_vec run[WEFT_LENT_RUNS];
	u32 num;
	u32 len;
	u32 taken;
	u32 joined;
	bool closed;
};

/**
 * struct weft_batch - the bytes between laying out and the stream
 * @chunks: those that were copied, in memory of ours
 * @lent: those that were not; NULL: nothing was ever lent, which is all that a small message
 *	has to ask
 * @laid_out: stream bytes laid out since the start
 * @sent: stream bytes taken since the start
 * @emss: segment size for which they are laid out
 * @room: bytes left in the segment of the next FPDU
 *
 * Bytes of one of the two kinds wait at a time: see weft_batch_is_full(). Copied bytes that join
 * lent ones count as lent.
 *
 * A part of struct weft_tx, and protected as such. To push takes the socket lock as well.
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
