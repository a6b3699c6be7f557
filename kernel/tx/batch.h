/* SPDX-License-Identifier: GPL-2.0 */
/* The batch; pair/batch.h has its structure. */
#ifndef WEFT_TX_BATCH_H
#define WEFT_TX_BATCH_H

#include "pair/batch.h"
#include "tx/chunk.h"

struct weft_llp;
struct weft_mr;

void weft_lent_add(struct weft_lent *lent, struct page *page, u32 offset, u32 len);
u32 weft_lent_add_region(struct weft_lent *lent, const struct weft_mr *mr, u64 addr, u32 len);
void weft_lent_take_back(struct weft_lent *lent, u32 num, u32 last);
u32 weft_lent_crc(const struct weft_lent *lent, u32 num, u32 last);
void weft_batch_join(struct weft_batch *batch, struct weft_chunk *c, u32 from);
int weft_batch_push(struct weft_batch *batch, struct weft_llp *llp, bool more, bool cork);
void weft_batch_drop(struct weft_batch *batch);

/* Returns true if lent bytes wait to be pushed. */
static inline bool weft_batch_lends(const struct weft_batch *batch)
{
	return batch->lent && batch->lent->num;
}

/*
 * Returns true if the batch must be pushed before an FPDU is laid out, whose payload is lent if
 * @lend. Lent and copied bytes never wait together, because different calls push them and their
 * order would be lost; weft_batch_may_join() is the exception.
 */
static inline bool weft_batch_is_full(const struct weft_batch *batch, bool lend)
{
	const struct weft_lent *lent = batch->lent;

	if (!weft_batch_lends(batch))
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
	return weft_batch_lends(batch) && batch->lent->joined + len <= WEFT_LENT_JOIN &&
	       !batch->lent->taken && batch->lent->num < WEFT_LENT_RUNS;
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
