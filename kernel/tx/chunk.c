// SPDX-License-Identifier: GPL-2.0
/* Chunks: runs of pages that FPDUs are laid out in, and that the stream takes. */
#include <linux/gfp.h>
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/slab.h>

#include "base/context.h"
#include "base/weft.h"
#include "pair/qp.h"
#include "queue/ring.h"
#include "tx/chunk.h"
#include "tx/tx.h"

void weft_chunk_put(struct weft_tx *tx, u32 index)
{
	struct page *page = tx->chunk[index].page;

	/* A new large one would have to be cleared: soon TCP is through with this. */
	if (tx->spare_head - tx->spare_tail < WEFT_TX_SPARES &&
	    tx->chunk[index].size == PAGE_SIZE << WEFT_CHUNK_ORDER)
		tx->spare[tx->spare_head++ % WEFT_TX_SPARES] = page;
	else
		put_page(page);
	tx->num_chunks--;
	for (; index < tx->num_chunks; index++)
		tx->chunk[index] = tx->chunk[index + 1];
}

bool weft_chunk_has_spares(const struct weft_tx *tx)
{
	return tx->spare_head != tx->spare_tail;
}

/* The oldest, if TCP is through with it; TCP takes and drops them in order. */
static struct page *weft_chunk_spare(struct weft_tx *tx)
{
	struct page *page;

	if (!weft_chunk_has_spares(tx))
		return NULL;
	page = tx->spare[tx->spare_tail % WEFT_TX_SPARES];
	if (page_ref_count(page) != 1)
		return NULL;
	tx->spare_tail++;
	return page;
}

void weft_chunk_drop_spares(struct weft_tx *tx)
{
	for (; weft_chunk_has_spares(tx); tx->spare_tail++)
		put_page(tx->spare[tx->spare_tail % WEFT_TX_SPARES]);
}

/*
 * A chunk of at least @need bytes, a large one if much is waiting. Its owner pays for
 * it; what kernel consumers send is nobody's in particular.
 */
static struct weft_chunk *weft_chunk_add(struct weft_qp *qp, u32 need)
{
	const gfp_t gfp = (qp->owner ? GFP_KERNEL_ACCOUNT : GFP_KERNEL) | __GFP_COMP;
	struct weft_tx *tx = &qp->tx;
	struct weft_chunk *c = &tx->chunk[tx->num_chunks];
	int least = get_order(need);
	int order = tx->msg.left + need > PAGE_SIZE ? max(WEFT_CHUNK_ORDER, least) : least;
	struct page *page = NULL;
	struct mem_cgroup *before;

	if (order == WEFT_CHUNK_ORDER)
		page = weft_chunk_spare(tx);
	before = weft_charge_begin(qp->owner);
	/* Large ones are a convenience: take what is to be had at once. */
	while (!page && order > least) {
		page = alloc_pages((gfp & ~__GFP_DIRECT_RECLAIM) |
				   __GFP_NOWARN | __GFP_NORETRY, order);
		if (!page)
			order--;
	}
	if (!page)
		page = alloc_pages(gfp, order);
	weft_charge_end(before);
	if (!page)
		return NULL;
	c->page = page;
	c->size = PAGE_SIZE << order;
	c->fill = 0;
	c->sent = 0;
	tx->num_chunks++;
	return c;
}

/*
 * Finds room for an FPDU behind what is laid out already. NULL: enough is
 * waiting to be sent.
 */
struct weft_chunk *weft_chunk_room(struct weft_qp *qp, u32 need)
{
	struct weft_tx *tx = &qp->tx;
	struct weft_chunk *c;

	if (tx->num_chunks) {
		c = &tx->chunk[tx->num_chunks - 1];
		if (c->size - c->fill >= need)
			return c;
		if (tx->num_chunks == 1 && c->sent == c->fill) {
			if (page_ref_count(c->page) == 1 && c->size >= need) {
				/* TCP is through with it: from the top. */
				c->fill = 0;
				c->sent = 0;
				return c;
			}
			weft_chunk_put(tx, 0);
		} else if (tx->num_chunks == WEFT_TX_CHUNKS) {
			return NULL;
		}
	}
	c = weft_chunk_add(qp, need);
	if (!c)
		weft_qp_fail(qp, NULL, IB_EVENT_QP_FATAL);
	return c;
}
