// SPDX-License-Identifier: GPL-2.0
/* Chunks: runs of pages in which FPDUs are laid out, and which the stream takes. */
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/jiffies.h>
#include <linux/mm.h>

#include "base/context.h"
#include "base/policy.h"
#include "tx/chunk.h"

/* Removes a chunk from the list, and keeps a large one as a spare. */
void weft_chunk_put(struct weft_chunks *chunks, u32 index)
{
	struct page *page = chunks->chunk[index].page;

	/* A new large chunk would have to be cleared, and TCP will release this one soon. */
	if (weft_rule(WEFT_RULE_SPARES) && chunks->num_spares < WEFT_TX_SPARES &&
	    chunks->chunk[index].size == PAGE_SIZE << WEFT_CHUNK_ORDER) {
		if (!chunks->num_spares++)
			INIT_LIST_HEAD(&chunks->spares);
		list_add_tail(&page->lru, &chunks->spares);
	} else {
		put_page(page);
	}
	chunks->num--;
	for (; index < chunks->num; index++)
		chunks->chunk[index] = chunks->chunk[index + 1];
}

/* Returns true if more than WEFT_TX_FEW_SPARES are needed: TCP holds the oldest of so many. */
static bool chunks_need_many(struct weft_chunks *chunks)
{
	struct page *page;
	u32 n = 0;

	if (chunks->num_spares <= WEFT_TX_FEW_SPARES)
		return false;
	list_for_each_entry_reverse(page, &chunks->spares, lru)
		if (++n == WEFT_TX_FEW_SPARES)
			break;
	return page_ref_count(page) != 1;
}

/* Takes the oldest spare unless TCP holds it. TCP releases spares in order: no other is free. */
static struct page *chunk_spare(struct weft_chunks *chunks)
{
	struct page *page;

	if (!chunks->num_spares)
		return NULL;
	if (chunks_need_many(chunks))
		chunks->many = jiffies;
	page = list_first_entry(&chunks->spares, struct page, lru);
	if (page_ref_count(page) != 1)
		return NULL;
	list_del(&page->lru);
	chunks->num_spares--;
	return page;
}

/* Drops all spares but the newest @keep. */
static void chunks_drop_spares(struct weft_chunks *chunks, u32 keep)
{
	struct page *page;

	for (; chunks->num_spares > keep; chunks->num_spares--) {
		page = list_first_entry(&chunks->spares, struct page, lru);
		list_del(&page->lru);
		put_page(page);
	}
}

/*
 * Allocates a chunk, a large one if the message has many bytes left. If free memory is fragmented,
 * a page is enough, because an FPDU may be shorter than a segment. The memory is charged to
 * @payer's process, or for kernel consumers (NULL) to nobody.
 */
static struct weft_chunk *chunk_add(struct weft_chunks *chunks, u32 need, u32 left,
				    const struct ib_ucontext *payer)
{
	const gfp_t gfp = weft_charge_gfp(payer) | __GFP_COMP | __GFP_NOWARN;
	struct weft_chunk *c = &chunks->chunk[chunks->num];
	int order = left + need > PAGE_SIZE ? WEFT_CHUNK_ORDER : 0;
	/* Even for few bytes: a spare costs nothing, but a new page has to be cleared. */
	struct page *page = chunk_spare(chunks);
	struct mem_cgroup *before;

	if (page)
		order = WEFT_CHUNK_ORDER;
	before = weft_charge_begin(payer);
	/* A large chunk is only faster: take a smaller one rather than wait for memory. */
	while (!page && order) {
		page = alloc_pages((gfp & ~(__GFP_DIRECT_RECLAIM | __GFP_HIGH)) | __GFP_NORETRY,
				   order);
		if (!page)
			order--;
	}
	if (!page)
		page = alloc_pages(gfp, 0);
	weft_charge_end(before);
	if (!page)
		return ERR_PTR(-EAGAIN);
	c->page = page;
	c->size = PAGE_SIZE << order;
	c->fill = 0;
	c->sent = 0;
	chunks->num++;
	return c;
}

/* As weft_chunk_room(), if the last chunk has no room. */
struct weft_chunk *weft_chunk_next(struct weft_chunks *chunks, u32 need, u32 left,
				   const struct ib_ucontext *payer)
{
	struct weft_chunk *c;

	if (chunks->num) {
		c = &chunks->chunk[chunks->num - 1];
		if (chunks->num == 1 && c->sent == c->fill) {
			if (page_ref_count(c->page) == 1 && c->size >= need &&
			    !weft_chunk_is_short(c, left, payer)) {
				/* TCP no longer holds it: fill it from the start again. */
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

/* As weft_chunks_rest(), if there is such memory. */
bool weft_chunks_free(struct weft_chunks *chunks)
{
	if (time_before(jiffies, chunks->active + WEFT_CHUNK_IDLE)) {
		/* Small messages do not keep the spares of a burst of large ones. */
		if (time_after(jiffies, chunks->many + WEFT_CHUNK_IDLE))
			chunks_drop_spares(chunks, WEFT_TX_FEW_SPARES);
		return true;
	}
	if (weft_chunks_large(chunks))
		weft_chunk_put(chunks, 0);
	chunks_drop_spares(chunks, 0);
	return false;
}

/* Drops all bytes that are laid out, and frees their memory. */
void weft_chunks_drop(struct weft_chunks *chunks)
{
	while (chunks->num)
		weft_chunk_put(chunks, chunks->num - 1);
	chunks_drop_spares(chunks, 0);
}
