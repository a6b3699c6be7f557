// SPDX-License-Identifier: GPL-2.0
/*
 * DMA buffers. The processor does this device's DMA, so what is wanted of an
 * exporter is the pages of memory that a kernel can read and write. It is told of
 * a device that addresses all memory as it is.
 */
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/platform_device.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "base/compat.h"
#include "memory/blocks.h"
#include "memory/dmabuf.h"

WEFT_IMPORT_DMA_BUF;

/* Stands for the processor where an exporter asks who will use its pages. */
static struct platform_device *dma_device;

/**
 * struct weft_dmabuf - a DMA buffer in use by a region
 * @buf: the buffer; a reference
 * @attach: the attachment, which keeps the buffer where it is
 * @sgt: its pages, mapped by way of @attach
 *
 * The exporter may move a buffer that nobody has attached to and mapped, even one
 * that has a kernel mapping. So both are kept until weft_dmabuf_put(). The mapping
 * dma_buf_vmap() makes is not used at all: it pins nothing by itself, and it raises
 * a kernel warning where an exporter refuses, which users could bring about.
 */
struct weft_dmabuf {
	struct dma_buf *buf;
	struct dma_buf_attachment *attach;
	struct sg_table *sgt;
};

/* Whether every entry has pages: some exporters give bus addresses alone. */
static bool dmabuf_has_pages(const struct sg_table *sgt)
{
	struct scatterlist *sg;
	unsigned int i;

	/* There the core makes the list of pages unreadable, to find who looks. */
	if (IS_ENABLED(CONFIG_DMABUF_DEBUG))
		return false;
	for_each_sg(sgt->sgl, sg, sgt->orig_nents, i) {
		if (!sg_page(sg) || is_zone_device_page(sg_page(sg)))
			return false;
	}
	return true;
}

/* Attaches, maps, and lists the pages. */
static int dmabuf_attach(struct weft_dmabuf *d, u64 offset, u64 length,
			 struct weft_blocks *blocks)
{
	int ret;

	d->attach = dma_buf_attach(d->buf, &dma_device->dev);
	if (IS_ERR(d->attach))
		return PTR_ERR(d->attach);
	d->sgt = dma_buf_map_attachment_unlocked(d->attach, DMA_BIDIRECTIONAL);
	ret = PTR_ERR_OR_ZERO(d->sgt);
	if (ret)
		goto detach;
	ret = dmabuf_has_pages(d->sgt) ?
	     weft_blocks_from_sg(blocks, d->sgt, offset, length) : -EOPNOTSUPP;
	if (!ret)
		return 0;
	dma_buf_unmap_attachment_unlocked(d->attach, d->sgt, DMA_BIDIRECTIONAL);
detach:
	dma_buf_detach(d->buf, d->attach);
	return ret;
}

static void dmabuf_detach(struct weft_dmabuf *d)
{
	dma_buf_unmap_attachment_unlocked(d->attach, d->sgt, DMA_BIDIRECTIONAL);
	dma_buf_detach(d->buf, d->attach);
}

/**
 * weft_dmabuf_check_access() - can a DMA buffer be used with these rights?
 * @d: the buffer
 * @access: enum ib_access_flags
 *
 * Who was given a buffer to read does not write it by way of a region. An atomic
 * would be one step for processors alone, not for the device the buffer is shared
 * with. Any context.
 *
 * Return: 0; -EOPNOTSUPP for remote atomics; -EACCES for the right to write what
 * was opened to be read.
 */
int weft_dmabuf_check_access(const struct weft_dmabuf *d, int access)
{
	if (access & IB_ACCESS_REMOTE_ATOMIC)
		return -EOPNOTSUPP;
	if ((access & IB_ACCESS_LOCAL_WRITE) && !(d->buf->file->f_mode & FMODE_WRITE))
		return -EACCES;
	return 0;
}

/**
 * weft_dmabuf_get() - take a part of a DMA buffer into use
 * @buf: the buffer; takes over a reference, on failure too
 * @offset: first byte of it
 * @length: how many, not 0
 * @access: what it is to be used for, enum ib_access_flags
 * @blocks: result: where they lie
 *
 * From here until weft_dmabuf_put() the processor may access the buffer at any
 * time. Process context.
 *
 * Return: what to give to weft_dmabuf_put(), or an error pointer: -EINVAL if
 * the part lies outside; -EOPNOTSUPP if the exporter has no memory a kernel can
 * use; -ENOMEM; as weft_dmabuf_check_access(); or the exporter's own.
 */
struct weft_dmabuf *weft_dmabuf_get(struct dma_buf *buf, u64 offset, u64 length,
				    int access, struct weft_blocks *blocks)
{
	struct weft_dmabuf *d;
	int ret = -EINVAL;
	u64 end;

	if (check_add_overflow(offset, length, &end) || end > buf->size)
		goto put;
	ret = -ENOMEM;
	d = kzalloc(sizeof(*d), GFP_KERNEL_ACCOUNT);
	if (!d)
		goto put;
	d->buf = buf;
	ret = weft_dmabuf_check_access(d, access);
	if (!ret)
		ret = dmabuf_attach(d, offset, length, blocks);
	if (ret)
		goto free;
	ret = dma_buf_begin_cpu_access(d->buf, DMA_BIDIRECTIONAL);
	if (!ret)
		return d;
	weft_blocks_free(blocks);
	dmabuf_detach(d);
free:
	kfree(d);
put:
	dma_buf_put(buf);
	return ERR_PTR(ret);
}

/* Ends the use of a DMA buffer. NULL is harmless. Process context. */
void weft_dmabuf_put(struct weft_dmabuf *d)
{
	if (!d)
		return;
	dma_buf_end_cpu_access(d->buf, DMA_BIDIRECTIONAL);
	dmabuf_detach(d);
	dma_buf_put(d->buf);
	kfree(d);
}

/* Makes the device that exporters are told of. 0 or a negative errno value. */
int weft_dmabuf_init(void)
{
	int ret;

	dma_device = platform_device_register_simple("weft-memory",
						     PLATFORM_DEVID_NONE,
						     NULL, 0);
	if (IS_ERR(dma_device))
		return PTR_ERR(dma_device);
	ret = dma_coerce_mask_and_coherent(&dma_device->dev, DMA_BIT_MASK(64));
	if (ret)
		platform_device_unregister(dma_device);
	return ret;
}

/* No region uses a DMA buffer any more. */
void weft_dmabuf_exit(void)
{
	platform_device_unregister(dma_device);
}
