/* SPDX-License-Identifier: GPL-2.0 */
/* Blocks: equal runs of memory, by which a region finds its bytes. */
#ifndef WEFT_BLOCKS_H
#define WEFT_BLOCKS_H

#include <linux/bits.h>
#include <linux/minmax.h>
#include <linux/types.h>

struct sg_table;

/* The shift of a region that is one run of kernel addresses. */
#define WEFT_ONE_BLOCK	63

/**
 * struct weft_blocks - where a region's bytes lie
 * @addr: kernel address of each block, in the region's order
 * @first: offset of the region's first byte in the first block
 * @mask: a block's size less one
 * @shift: log2 of a block's size, or WEFT_ONE_BLOCK
 *
 * Blocks are as large as the memory allows. So a byte is found in one step, and the list
 * of a region in huge pages has one entry a huge page.
 */
struct weft_blocks {
	void **addr;
	u64 first;
	u64 mask;
	u8 shift;
};

/* Sets the blocks' size to 1 << @shift. */
static inline void weft_blocks_set_size(struct weft_blocks *blocks, u8 shift)
{
	blocks->shift = shift;
	blocks->mask = BIT_ULL(shift) - 1;
}

/**
 * weft_blocks_at() - find a byte
 * @blocks: where the region's bytes lie
 * @pos: the byte's distance from the region's first, within the region
 * @len: how many bytes are wanted from there
 * @run: written: how many of them lie together; at least 1 if @len is
 *
 * Context: any.
 * Return: the byte's address.
 */
static inline void *weft_blocks_at(const struct weft_blocks *blocks, u64 pos,
				   u32 len, u32 *run)
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
