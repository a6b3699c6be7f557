// SPDX-License-Identifier: GPL-2.0
/* Fast registration: the consumer prepares a list of blocks, and a work request applies it. */
#include <linux/log2.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "base/limit.h"
#include "base/weft.h"
#include "memory/fastreg.h"
#include "memory/mr.h"

/* Makes a region for fast registration, which is invalid until its first REG_MR. */
struct ib_mr *weft_alloc_mr(struct ib_pd *pd, enum ib_mr_type type,
			    u32 max_blocks)
{
	struct weft_mr *mr;
	int ret = -ENOMEM;

	if (type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_blocks ||
	    !weft_limit_allows(to_weft_device(pd->device),
			       WEFT_LIMIT_FAST_BLOCKS, max_blocks))
		return ERR_PTR(-EINVAL);
	mr = weft_mr_create(pd, WEFT_MR_FAST);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->max_blocks = max_blocks;
	/* Two lists, because the next one is made while a peer may still use the last. */
	mr->blocks.addr = kvcalloc(max_blocks, sizeof(*mr->next), GFP_KERNEL_ACCOUNT);
	mr->next = kvcalloc(max_blocks, sizeof(*mr->next), GFP_KERNEL_ACCOUNT);
	if (mr->blocks.addr && mr->next)
		ret = weft_mr_publish(mr);
	if (!ret)
		return &mr->ib;
	weft_mr_destroy(mr);
	return ERR_PTR(ret);
}

/* The DMA addresses of this device are kernel addresses. */
static int add_block(struct ib_mr *ib, u64 addr)
{
	struct weft_mr *mr = to_weft_mr(ib);

	if (mr->num_next == mr->max_blocks)
		return -ENOMEM;
	mr->next[mr->num_next++] = (void *)(uintptr_t)addr;
	return 0;
}

/*
 * Prepares the next registration of a region; until the REG_MR the last one stays in use. The
 * region's address keeps only the offset in the first block, because peers must not learn kernel
 * addresses; the consumer may change the rest. Only the caller uses @ib meanwhile.
 */
int weft_map_mr_sg(struct ib_mr *ib, struct scatterlist *sg, int num,
		   unsigned int *offset)
{
	struct weft_mr *mr = to_weft_mr(ib);
	int ret;

	if (mr->kind != WEFT_MR_FAST || ib->page_size < SZ_4K ||
	    !is_power_of_2(ib->page_size))
		return -EINVAL;
	mr->num_next = 0;
	ret = ib_sg_to_pages(ib, sg, num, offset, add_block);
	ib->iova &= ib->page_size - 1;
	return ret;
}

/*
 * Does a REG_MR: applies the list of weft_map_mr_sg(). Without a new list the region keeps the
 * memory of its last registration. @old: any key that the region had; @key: its next, with the same
 * index. Not in hard interrupts.
 */
bool weft_fast_register(struct weft_accessor *by, u32 old, u32 key, int access)
{
	struct weft_mr *mr = weft_mr_find(by->dev, old);
	bool ok;

	if (!mr)
		return false;
	ok = mr->kind == WEFT_MR_FAST && mr->pd == by->pd &&
	     old >> 8 == key >> 8;
	if (ok) {
		write_lock_bh(&mr->lock);
		ok = mr->invalid;
		if (ok) {
			if (mr->num_next) {
				swap(mr->blocks.addr, mr->next);
				mr->num_next = 0;
				weft_blocks_set_size(&mr->blocks,
						     ilog2(mr->ib.page_size));
				mr->blocks.first = mr->ib.iova &
						   (mr->ib.page_size - 1);
				mr->iova = mr->ib.iova;
				mr->length = mr->ib.length;
			}
			mr->access = access;
			mr->stag = key;
			mr->invalid = false;
		}
		write_unlock_bh(&mr->lock);
	}
	weft_mr_drop(mr);
	return ok;
}
