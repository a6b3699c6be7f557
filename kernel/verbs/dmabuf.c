// SPDX-License-Identifier: GPL-2.0
/*
 * DMA buffers. The processor does this device's DMA, so what is wanted of an
 * exporter is memory that a kernel can read and write: by a mapping of the
 * exporter's own, or else by its pages, for which it is told of a device that
 * addresses all memory as it is.
 */
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/platform_device.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "../compat.h"
#include "blocks.h"
#include "dmabuf.h"
#include "mr.h"

WEFT_IMPORT_DMA_BUF;

/* Stands for the processor where an exporter asks who will use its pages. */
static struct platform_device *weft_dma_device;

/**
 * struct weft_dmabuf - a DMA buffer in use by a region
 * @buf: the buffer; a reference
 * @map: the exporter's mapping, if it makes them
 * @attach: else the attachment by which its pages are held
 * @sgt: the pages, with @attach
 */
struct weft_dmabuf {
	struct dma_buf *buf;
	struct iosys_map map;
	struct dma_buf_attachment *attach;
	struct sg_table *sgt;
};

/* By the exporter's mapping. */
static int weft_dmabuf_map(struct weft_dmabuf *d, u64 offset,
			   struct weft_blocks *blocks)
{
	int rv = weft_dma_buf_vmap(d->buf, &d->map);

	if (rv) {
		iosys_map_clear(&d->map);
		return rv;
	}
	/* Memory of a bus wants functions of its own. */
	rv = d->map.is_iomem ? -EOPNOTSUPP :
	     weft_blocks_from_run(blocks, d->map.vaddr + offset);
	if (rv) {
		weft_dma_buf_vunmap(d->buf, &d->map);
		iosys_map_clear(&d->map);
	}
	return rv;
}

/* Whether every entry has pages: some exporters give bus addresses alone. */
static bool weft_dmabuf_has_pages(const struct sg_table *sgt)
{
	struct scatterlist *sg;
	unsigned int i;

	/* There the exporter's pages are made unreadable, to find who looks. */
	if (IS_ENABLED(CONFIG_DMABUF_DEBUG))
		return false;
	for_each_sg(sgt->sgl, sg, sgt->orig_nents, i) {
		if (!sg_page(sg) || is_zone_device_page(sg_page(sg)))
			return false;
	}
	return true;
}

/* By the exporter's pages. */
static int weft_dmabuf_attach(struct weft_dmabuf *d, u64 offset, u64 length,
			      struct weft_blocks *blocks)
{
	int rv;

	d->attach = dma_buf_attach(d->buf, &weft_dma_device->dev);
	if (IS_ERR(d->attach))
		return PTR_ERR(d->attach);
	d->sgt = dma_buf_map_attachment_unlocked(d->attach, DMA_BIDIRECTIONAL);
	rv = PTR_ERR_OR_ZERO(d->sgt);
	if (rv)
		goto detach;
	rv = weft_dmabuf_has_pages(d->sgt) ?
	     weft_blocks_from_sg(blocks, d->sgt, offset, length) : -EOPNOTSUPP;
	if (!rv)
		return 0;
	dma_buf_unmap_attachment_unlocked(d->attach, d->sgt, DMA_BIDIRECTIONAL);
detach:
	dma_buf_detach(d->buf, d->attach);
	d->sgt = NULL;
	d->attach = NULL;
	return rv;
}

static void weft_dmabuf_release(struct weft_dmabuf *d)
{
	if (d->sgt) {
		dma_buf_unmap_attachment_unlocked(d->attach, d->sgt,
						  DMA_BIDIRECTIONAL);
		dma_buf_detach(d->buf, d->attach);
	} else {
		weft_dma_buf_vunmap(d->buf, &d->map);
	}
}

/**
 * weft_dmabuf_get() - take a part of a DMA buffer into use
 * @buf: the buffer; takes over a reference, on failure too
 * @offset: first byte of it
 * @length: how many, not 0
 * @blocks: result: where they lie
 *
 * From here until weft_dmabuf_put() the processor may access the buffer at any
 * time. Process context.
 *
 * Return: what to give to weft_dmabuf_put(), or an error pointer: -EINVAL if
 * the part lies outside; -EOPNOTSUPP if the exporter has no memory a kernel can
 * use; -ENOMEM; or the exporter's own.
 */
struct weft_dmabuf *weft_dmabuf_get(struct dma_buf *buf, u64 offset, u64 length,
				    struct weft_blocks *blocks)
{
	struct weft_dmabuf *d;
	int rv = -EINVAL;
	u64 end;

	if (check_add_overflow(offset, length, &end) || end > buf->size)
		goto put;
	rv = -ENOMEM;
	d = kzalloc(sizeof(*d), GFP_KERNEL);
	if (!d)
		goto put;
	d->buf = buf;
	rv = weft_dmabuf_map(d, offset, blocks);
	if (rv)
		rv = weft_dmabuf_attach(d, offset, length, blocks);
	if (rv)
		goto free;
	rv = dma_buf_begin_cpu_access(d->buf, DMA_BIDIRECTIONAL);
	if (!rv)
		return d;
	weft_blocks_free(blocks);
	weft_dmabuf_release(d);
free:
	kfree(d);
put:
	dma_buf_put(buf);
	return ERR_PTR(rv);
}

/* Ends the use of a DMA buffer. NULL is harmless. Process context. */
void weft_dmabuf_put(struct weft_dmabuf *d)
{
	if (!d)
		return;
	dma_buf_end_cpu_access(d->buf, DMA_BIDIRECTIONAL);
	weft_dmabuf_release(d);
	dma_buf_put(d->buf);
	kfree(d);
}

/**
 * weft_reg_user_mr_dmabuf() - register a part of a DMA buffer
 * @pd: its protection domain
 * @offset: first byte in the buffer
 * @length: bytes
 * @iova: the address that work requests use for the first byte
 * @fd: names the buffer
 * @access: rights
 * @udata: unused
 *
 * Return: the region, or an error pointer: -EINVAL for a range that wraps
 * around or is empty, or an @fd that is no DMA buffer; -EBADF; and as
 * weft_dmabuf_get().
 */
struct ib_mr *weft_reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length,
				      u64 iova, int fd, int access,
				      struct ib_udata *udata)
{
	struct dma_buf *buf;
	struct weft_mr *mr;
	u64 end;
	int rv;

	if (access & IB_ZERO_BASED)
		iova = 0;
	if (!length || check_add_overflow(iova, length - 1, &end))
		return ERR_PTR(-EINVAL);
	mr = weft_mr_create(pd, WEFT_MR_REGION);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->access = access;
	mr->iova = iova;
	mr->length = length;
	buf = dma_buf_get(fd);
	rv = PTR_ERR_OR_ZERO(buf);
	if (rv)
		goto destroy;
	mr->dmabuf = weft_dmabuf_get(buf, offset, length, &mr->blocks);
	rv = PTR_ERR_OR_ZERO(mr->dmabuf);
	if (rv)
		mr->dmabuf = NULL;
	else
		rv = weft_mr_publish(mr);
	if (!rv)
		return &mr->ib;
destroy:
	weft_mr_destroy(mr);
	return ERR_PTR(rv);
}

/* Makes the device that exporters are told of. 0 or a negative errno value. */
int weft_dmabuf_init(void)
{
	int rv;

	weft_dma_device = platform_device_register_simple("weft-memory",
							  PLATFORM_DEVID_NONE,
							  NULL, 0);
	if (IS_ERR(weft_dma_device))
		return PTR_ERR(weft_dma_device);
	rv = dma_coerce_mask_and_coherent(&weft_dma_device->dev, DMA_BIT_MASK(64));
	if (rv)
		platform_device_unregister(weft_dma_device);
	return rv;
}

/* No region uses a DMA buffer any more. */
void weft_dmabuf_exit(void)
{
	platform_device_unregister(weft_dma_device);
}
