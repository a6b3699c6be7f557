/* SPDX-License-Identifier: GPL-2.0 */
/* The batch: bytes that are laid out and that the stream has not taken yet. */
#ifndef WEFT_TX_BATCH_H
#define WEFT_TX_BATCH_H

#include <linux/bvec.h>
#include <linux/types.h>

#include "tx/chunk.h"

struct ubuf_info;
struct weft_llp;
struct weft_mr;

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
 * lent ones count as lent. Part of struct weft_tx, under tx_lock; a push takes the socket lock.
 */
struct weft_batch {
	struct weft_chunks chunks;
	struct weft_lent *lent;
	u64 laid_out;
	u64 sent;
	u32 emss;
	u32 room;
};

void weft_lent_add(struct weft_lent *lent, struct page *page, u32 offset, u32 len);
u32 weft_lent_add_region(struct weft_lent *lent, const struct weft_mr *mr, u64 addr, u32 len);
void weft_lent_take_back(struct weft_lent *lent, u32 num, u32 last);
void weft_batch_join(struct weft_batch *batch, struct weft_chunk *c, u32 from);
int weft_batch_push(struct weft_batch *batch, struct weft_llp *llp, bool more, bool cork);
void weft_batch_drop(struct weft_batch *batch);

/*
 * Returns true if the batch must be pushed before an FPDU is laid out, whose payload is lent if
 * @lend. Lent and copied bytes never wait together, because different calls push them and their
 * order would be lost; weft_batch_may_join() is the exception.
 */
static inline bool weft_batch_is_full(const struct weft_batch *batch, bool lend)
{
	const struct weft_lent *lent = batch->lent;

	if (!lent || !lent->num)
		return lend && weft_chunks_waiting(&batch->chunks);
	return !lend || lent->closed || lent->taken ||
	       lent->num > WEFT_LENT_RUNS - WEFT_LENT_FPDU_RUNS;
}

/*
 * Returns true if weft_batch_join() may push @len copied bytes, headers included, together with the
 * lent bytes that wait. A SEND that announces a lent WRITE would otherwise be one more packet,
 * which the peer acknowledges as well.
 */
static inline bool weft_batch_may_join(const struct weft_batch *batch, u32 len)
{
	const struct weft_lent *lent = batch->lent;

	return lent && lent->num && lent->joined + len <= WEFT_LENT_JOIN &&
	       !lent->taken && lent->num < WEFT_LENT_RUNS;
}

/* Counts an FPDU of @len bytes as laid out. */
static inline void weft_batch_advance(struct weft_batch *batch, u32 len)
{
	batch->laid_out += len;
	if (len < batch->room)
		batch->room -= len;
	else if (len == batch->room)
		batch->room = batch->emss;
	else
		batch->room = batch->emss - (len - batch->room) % batch->emss;
}

#endif /* WEFT_TX_BATCH_H */
