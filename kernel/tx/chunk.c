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

/* Takes the oldest spare unless TCP holds it. TCP releases spares in order: no other is free. */
static struct page *chunk_spare(struct weft_chunks *chunks)
{
	struct page *page;
	u32 n = 0;

	if (!chunks->num_spares)
		return NULL;
	/* More than WEFT_TX_FEW_SPARES are needed if TCP holds the oldest of so many. */
	if (chunks->num_spares > WEFT_TX_FEW_SPARES) {
		list_for_each_entry_reverse(page, &chunks->spares, lru)
			if (++n == WEFT_TX_FEW_SPARES)
				break;
		if (page_ref_count(page) != 1)
			chunks->many = jiffies;
	}
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

/*
 * Returns a chunk with room for an FPDU of @need bytes of a message with @left bytes; NULL if
 * enough bytes wait to be sent; -EAGAIN without memory. A new chunk may be smaller than @need, but
 * has a page. It is charged to @payer (NULL: to nobody). May sleep, but not in a worker for a
 * @payer.
 */
struct weft_chunk *weft_chunk_room(struct weft_chunks *chunks, u32 need, u32 left,
				   const struct ib_ucontext *payer)
{
	struct weft_chunk *c;
	bool empty, is_short;

	if (!chunks->num)
		return chunk_add(chunks, need, left, payer);
	c = &chunks->chunk[chunks->num - 1];
	empty = c->sent == c->fill;
	/*
	 * An empty page, too small for a kernel consumer's message: the page would make the message
	 * two FPDUs, and each such message would allocate and free a second page. For user queue
	 * pairs (@payer set) pages are 5 % cheaper.
	 */
	is_short = weft_rule(WEFT_RULE_LARGE) && !payer && c->size == PAGE_SIZE && empty &&
		   left + WEFT_CHUNK_FRAME > PAGE_SIZE;
	if (!is_short && c->size - c->fill >= need)
		return c;
	if (chunks->num == 1 && empty) {
		if (!is_short && c->size >= need && page_ref_count(c->page) == 1) {
			/* TCP no longer holds it: fill it from the start again. */
			c->fill = 0;
			c->sent = 0;
			return c;
		}
		weft_chunk_put(chunks, 0);
	} else if (chunks->num == WEFT_TX_CHUNKS) {
		return NULL;
	}
	return chunk_add(chunks, need, left, payer);
}

/*
 * Frees memory that an idle queue pair does not need, once the stream has taken all bytes: after
 * WEFT_CHUNK_IDLE without a message at most a page is kept. Returns true if there is memory to free
 * later; then the caller calls again after WEFT_CHUNK_IDLE.
 */
bool weft_chunks_rest(struct weft_chunks *chunks)
{
	bool large = chunks->num && chunks->chunk[0].size > PAGE_SIZE;

	if (!large && !chunks->num_spares)
		return false;
	if (time_before(jiffies, chunks->active + WEFT_CHUNK_IDLE)) {
		/* Small messages do not keep the spares of a burst of large ones. */
		if (time_after(jiffies, chunks->many + WEFT_CHUNK_IDLE))
			chunks_drop_spares(chunks, WEFT_TX_FEW_SPARES);
		return true;
	}
	if (large)
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
