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

/**
 * weft_alloc_mr() - a region for fast registration, empty as yet
 * @pd: its protection domain
 * @type: IB_MR_TYPE_MEM_REG
 * @max_blocks: how many blocks it may ever have
 *
 * Context: process, may sleep.
 * Return: the region, or an error pointer: -EOPNOTSUPP for another type,
 * -EINVAL past the device's limit, -ENOMEM.
 */
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
	/* Two lists: the next one is made while a peer may still use the last. */
	mr->blocks.addr = kvcalloc(max_blocks, sizeof(*mr->next), GFP_KERNEL_ACCOUNT);
	mr->next = kvcalloc(max_blocks, sizeof(*mr->next), GFP_KERNEL_ACCOUNT);
	if (mr->blocks.addr && mr->next)
		ret = weft_mr_publish(mr);
	if (!ret)
		return &mr->ib;
	weft_mr_destroy(mr);
	return ERR_PTR(ret);
}

/* Adds a block to the next registration. DMA addresses of this device are kernel addresses. */
static int add_block(struct ib_mr *ib, u64 addr)
{
	struct weft_mr *mr = to_weft_mr(ib);

	if (mr->num_next == mr->max_blocks)
		return -ENOMEM;
	mr->next[mr->num_next++] = (void *)(uintptr_t)addr;
	return 0;
}

/**
 * weft_map_mr_sg() - prepare the next registration of a region
 * @ib: the region
 * @sg: its memory
 * @num: entries of @sg
 * @offset: where in the first entry to begin, or NULL
 *
 * Nothing changes before the work request: until then the last registration is in use,
 * unless it is invalidated. Of the kernel's address only the offset in the first block
 * becomes the region's address, since peers are not to learn kernel addresses. The
 * consumer may change the rest of the address.
 *
 * Context: any; nobody else uses @ib meanwhile.
 * Return: the number of entries that fitted, or a negative errno value.
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

/**
 * weft_fast_register() - do a REG_MR
 * @by: the queue pair of a kernel consumer
 * @old: a key the region had
 * @key: the key it is to have, with the same index
 * @access: rights, enum ib_access_flags
 *
 * Takes over the list that weft_map_mr_sg() prepared. Without a new list the memory is
 * that of the last registration.
 *
 * Context: any but hard interrupts.
 * Return: true if done; false if @old names no region of this protection domain, or one
 * that is not for fast registration, or one that is valid now.
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
