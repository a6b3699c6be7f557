// SPDX-License-Identifier: GPL-2.0
/* From 6.2, the plain functions want the caller to hold the buffer's reservation. */
#include <linux/dma-buf.h>

int weft_probe(struct dma_buf *buf, struct iosys_map *map);
int weft_probe(struct dma_buf *buf, struct iosys_map *map)
{
	return dma_buf_vmap_unlocked(buf, map);
}
