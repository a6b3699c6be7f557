/* SPDX-License-Identifier: GPL-2.0 */
/* DMA buffers: memory of another driver, named by a file descriptor. */
#ifndef WEFT_DMABUF_H
#define WEFT_DMABUF_H

#include <linux/types.h>

struct dma_buf;
struct ib_mr;
struct ib_pd;
struct ib_udata;
struct weft_blocks;
struct weft_dmabuf;

struct weft_dmabuf *weft_dmabuf_get(struct dma_buf *buf, u64 offset, u64 length,
				    int access, struct weft_blocks *blocks);
int weft_dmabuf_check_access(const struct weft_dmabuf *d, int access);
void weft_dmabuf_put(struct weft_dmabuf *d);

int weft_dmabuf_init(void);
void weft_dmabuf_exit(void);

#endif /* WEFT_DMABUF_H */
