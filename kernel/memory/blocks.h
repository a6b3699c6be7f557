/* SPDX-License-Identifier: GPL-2.0 */
/* Blocks: runs of memory of one size, by which a region finds its bytes. */
#ifndef WEFT_BLOCKS_H
#define WEFT_BLOCKS_H

#include <linux/bits.h>
#include <linux/minmax.h>
#include <linux/types.h>

struct sg_table;

/* The shift of a region that is one run of kernel addresses. */
#define WEFT_ONE_BLOCK	63

/*
 * Where a region's bytes lie. Blocks are as large as the memory allows, so that a byte is found in
 * one step.
 */
struct weft_blocks {
	void **addr; /* kernel address of each block, in the region's order */
	u64 first; /* offset of the region's first byte in the first block */
	u64 mask; /* block size - 1 */
	u8 shift; /* log2 of the block size, or WEFT_ONE_BLOCK */
};

static inline void weft_blocks_set_size(struct weft_blocks *blocks, u8 shift)
{
	blocks->shift = shift;
	blocks->mask = BIT_ULL(shift) - 1;
}

/* Finds the byte at @pos; @run: how many of the @len bytes from there are contiguous. */
static inline void *weft_blocks_at(const struct weft_blocks *blocks, u64 pos, u32 len, u32 *run)
{
	u64 offset;

	pos += blocks->first;
	offset = pos & blocks->mask;
	*run = min_t(u64, len, blocks->mask + 1 - offset);
	return blocks->addr[pos >> blocks->shift] + offset;
}

int weft_blocks_from_sg(struct weft_blocks *blocks, const struct sg_table *sgt,
			u64 offset, u64 length);
int weft_blocks_from_run(struct weft_blocks *blocks, void *addr);
void weft_blocks_free(struct weft_blocks *blocks);

#endif /* WEFT_BLOCKS_H */
