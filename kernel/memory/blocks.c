// SPDX-License-Identifier: GPL-2.0
/* Blocks: their size, and the list of them. */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "memory/mr.h"

/*
 * One run of adjacent physical pages. They are adjacent in kernel addresses as well, because a
 * 64-bit kernel has no high memory.
 */
struct weft_run {
	struct scatterlist *sg;	/* the entry behind the run; NULL: none */
	unsigned int left;	/* entries from @sg on */
	u64 skip;		/* bytes of the table still to be skipped */
	u64 want;		/* bytes of the region behind the run */
	void *addr;
	u64 len;
};

/* Goes to the next run. Returns true if there is one before the region ends. */
static bool run_next(struct weft_run *r)
{
	r->len = 0;
	while (r->left && r->want) {
		u64 len = r->sg->length;
		void *addr = page_address(sg_page(r->sg)) + r->sg->offset;

		if (r->skip >= len) {
			r->skip -= len;
		} else {
			addr += r->skip;
			len = min(len - r->skip, r->want);
			if (r->len && r->addr + r->len != addr)
				return true;
			if (!r->len)
				r->addr = addr;
			r->skip = 0;
			r->len += len;
			r->want -= len;
		}
		r->left--;
		r->sg = sg_next(r->sg);
		cond_resched();
	}
	return r->len;
}

static struct weft_run run_start(const struct sg_table *sgt, u64 offset, u64 length)
{
	return (struct weft_run){
		.sg = sgt->sgl,
		.left = sgt->orig_nents,
		.skip = offset,
		.want = length,
	};
}

/*
 * Lists the blocks of a region that begins at @offset of @sgt; the pages must outlive @blocks. The
 * block size is the largest power of two on which every run but the first begins and every run but
 * the last ends. May sleep. Returns -EINVAL if @sgt is too short.
 */
int weft_blocks_from_sg(struct weft_blocks *blocks, const struct sg_table *sgt,
			u64 offset, u64 length)
{
	struct weft_run r = run_start(sgt, offset, length);
	u64 edges = 0, at, num = 0, i = 0;
	bool first = true;

	while (run_next(&r)) {
		if (!first)
			edges |= (uintptr_t)r.addr;
		if (r.want)
			edges |= (uintptr_t)r.addr + r.len;
		if (first)
			blocks->first = (uintptr_t)r.addr;
		first = false;
	}
	if (first || r.want)
		return -EINVAL;
	if (!edges) {
		r = run_start(sgt, offset, length);
		run_next(&r);
		return weft_blocks_from_run(blocks, r.addr);
	}
	weft_blocks_set_size(blocks, __ffs64(edges));
	blocks->first &= blocks->mask;
	num = (blocks->first + length - 1) >> blocks->shift;
	num++;
	blocks->addr = kvmalloc_array(num, sizeof(*blocks->addr),
				      GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!blocks->addr)
		return -ENOMEM;
	r = run_start(sgt, offset, length);
	while (run_next(&r)) {
		at = (uintptr_t)r.addr & ~(BIT_ULL(blocks->shift) - 1);
		for (; at < (uintptr_t)r.addr + r.len; at += BIT_ULL(blocks->shift)) {
			if (WARN_ON_ONCE(i == num))
				break;
			blocks->addr[i++] = (void *)(uintptr_t)at;
		}
	}
	return 0;
}

/* Describes memory that is one run of kernel addresses, from @addr on. */
int weft_blocks_from_run(struct weft_blocks *blocks, void *addr)
{
	blocks->addr = kvmalloc_array(1, sizeof(*blocks->addr), GFP_KERNEL_ACCOUNT);
	if (!blocks->addr)
		return -ENOMEM;
	blocks->addr[0] = addr;
	blocks->first = 0;
	weft_blocks_set_size(blocks, WEFT_ONE_BLOCK);
	return 0;
}

/* Frees the list, not the memory. An empty list is harmless. */
void weft_blocks_free(struct weft_blocks *blocks)
{
	kvfree(blocks->addr);
	blocks->addr = NULL;
}
