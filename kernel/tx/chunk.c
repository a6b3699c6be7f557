// SPDX-License-Identifier: GPL-2.0
/* Chunks: runs of pages that FPDUs are laid out in, and that the stream takes. */
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/jiffies.h>
#include <linux/mm.h>

#include "base/context.h"
#include "tx/chunk.h"

/* A chunk while much is waiting: 128 KiB, two packet buffers' worth. */
#define WEFT_CHUNK_ORDER	5

/* Ends a chunk; those behind it move up. */
void weft_chunk_put(struct weft_chunks *chunks, u32 index)
{
	struct page *page = chunks->chunk[index].page;

	/* A new large one would have to be cleared: soon TCP is through with this. */
	if (chunks->spare_head - chunks->spare_tail < WEFT_TX_SPARES &&
	    chunks->chunk[index].size == PAGE_SIZE << WEFT_CHUNK_ORDER)
		chunks->spare[chunks->spare_head++ % WEFT_TX_SPARES] = page;
	else
		put_page(page);
	chunks->num--;
	for (; index < chunks->num; index++)
		chunks->chunk[index] = chunks->chunk[index + 1];
}

static bool chunks_has_spares(const struct weft_chunks *chunks)
{
	return chunks->spare_head != chunks->spare_tail;
}

/* The oldest, if TCP is through with it; TCP takes and drops them in order. */
static struct page *chunk_spare(struct weft_chunks *chunks)
{
	struct page *page;

	if (!chunks_has_spares(chunks))
		return NULL;
	page = chunks->spare[chunks->spare_tail % WEFT_TX_SPARES];
	if (page_ref_count(page) != 1)
		return NULL;
	chunks->spare_tail++;
	return page;
}

static void chunks_drop_spares(struct weft_chunks *chunks)
{
	for (; chunks_has_spares(chunks); chunks->spare_tail++)
		put_page(chunks->spare[chunks->spare_tail % WEFT_TX_SPARES]);
}

/*
 * A chunk of at least @need bytes, a large one if much is waiting. @payer pays for
 * it; what kernel consumers send is nobody's in particular.
 */
static struct weft_chunk *chunk_add(struct weft_chunks *chunks, u32 need, u32 left,
				    const struct ib_ucontext *payer)
{
	const gfp_t gfp = (payer ? GFP_KERNEL_ACCOUNT : GFP_KERNEL) | __GFP_COMP;
	struct weft_chunk *c = &chunks->chunk[chunks->num];
	int least = get_order(need);
	int order = left + need > PAGE_SIZE ? max(WEFT_CHUNK_ORDER, least) : least;
	struct page *page = NULL;
	struct mem_cgroup *before;

	if (order == WEFT_CHUNK_ORDER)
		page = chunk_spare(chunks);
	before = weft_charge_begin(payer);
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
		return ERR_PTR(-ENOMEM);
	c->page = page;
	c->size = PAGE_SIZE << order;
	c->fill = 0;
	c->sent = 0;
	chunks->num++;
	return c;
}

/**
 * weft_chunk_room() - find room for an FPDU behind what is laid out already
 * @chunks: where to look
 * @need: bytes of it
 * @left: bytes of its message that are to be laid out in all
 * @payer: whose process pays for new memory; NULL: nobody's
 *
 * Context: process, may sleep.
 * Return: a chunk; NULL: enough is waiting to be sent; or -ENOMEM.
 */
struct weft_chunk *weft_chunk_room(struct weft_chunks *chunks, u32 need, u32 left,
				   const struct ib_ucontext *payer)
{
	struct weft_chunk *c;

	if (chunks->num) {
		c = &chunks->chunk[chunks->num - 1];
		if (c->size - c->fill >= need)
			return c;
		if (chunks->num == 1 && c->sent == c->fill) {
			if (page_ref_count(c->page) == 1 && c->size >= need) {
				/* TCP is through with it: from the top. */
				c->fill = 0;
				c->sent = 0;
				return c;
			}
			weft_chunk_put(chunks, 0);
		} else if (chunks->num == WEFT_TX_CHUNKS) {
			return NULL;
		}
	}
	return chunk_add(chunks, need, left, payer);
}

/* The stream has taken all. If TCP is through with it: from the top, so that a message fits. */
void weft_chunks_taken(struct weft_chunks *chunks)
{
	struct weft_chunk *c = &chunks->chunk[0];

	if (!chunks->num || page_ref_count(c->page) != 1)
		return;
	c->fill = 0;
	c->sent = 0;
}

/**
 * weft_chunks_rest() - let memory go that an idle queue pair does not need
 * @chunks: the stream has taken all that is laid out
 *
 * A page is kept at most, after a while.
 *
 * Return: true if there is something to be let go later, WEFT_CHUNK_IDLE from now.
 */
bool weft_chunks_rest(struct weft_chunks *chunks)
{
	bool large = chunks->num && chunks->chunk[0].size > PAGE_SIZE;

	if (!large && !chunks_has_spares(chunks))
		return false;
	if (time_before(jiffies, chunks->active + WEFT_CHUNK_IDLE))
		return true;
	if (large)
		weft_chunk_put(chunks, 0);
	chunks_drop_spares(chunks);
	return false;
}

/* Drops all that is laid out, and the memory with it. */
void weft_chunks_drop(struct weft_chunks *chunks)
{
	while (chunks->num)
		weft_chunk_put(chunks, chunks->num - 1);
	chunks_drop_spares(chunks);
}
