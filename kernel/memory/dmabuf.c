// SPDX-License-Identifier: GPL-2.0
/*
 * DMA buffers. The CPU does this device's DMA, so an exporter must have pages that the kernel can
 * read and write. Exporters see a platform device that addresses all memory directly.
 */
#include <linux/dma-buf.h>
#include <linux/dma-direct.h>
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/platform_device.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "base/compat.h"
#include "memory/mr.h"

WEFT_IMPORT_DMA_BUF;

/* The device that exporters see. Its DMA is the CPU's. */
static struct platform_device *dma_device;

/*
 * A DMA buffer in use by a region. Attachment and mapping last until weft_dmabuf_put(), because an
 * exporter may move a buffer that lacks either. dma_buf_vmap() is no alternative: it pins nothing,
 * and users could provoke the kernel warning that it raises when an exporter refuses.
 */
struct weft_dmabuf {
	struct dma_buf *buf; /* the buffer; a reference */
	struct dma_buf_attachment *attach; /* the attachment, which keeps the buffer in place */
	struct sg_table *sgt; /* its pages, mapped through @attach */
};

/*
 * Some exporters give bus addresses only. Where DMA goes through bounce buffers (swiotlb=force,
 * encrypted guests), the unmap would copy these over the pages and over all bytes written there.
 */
static bool dmabuf_has_pages(const struct sg_table *sgt)
{
	struct scatterlist *sg;
	unsigned int i;

	/* This option mangles the list of pages, to catch importers that read it. */
	if (IS_ENABLED(CONFIG_DMABUF_DEBUG))
		return false;
	for_each_sg(sgt->sgl, sg, sgt->orig_nents, i) {
		if (!sg_page(sg) || is_zone_device_page(sg_page(sg)) ||
		    dma_to_phys(&dma_device->dev, sg_dma_address(sg)) != sg_phys(sg))
			return false;
	}
	return true;
}

static void dmabuf_detach(struct weft_dmabuf *d)
{
	dma_buf_unmap_attachment_unlocked(d->attach, d->sgt, DMA_BIDIRECTIONAL);
	dma_buf_detach(d->buf, d->attach);
}

static int dmabuf_attach(struct weft_dmabuf *d, u64 offset, u64 length, struct weft_blocks *blocks)
{
	int ret;

	d->attach = dma_buf_attach(d->buf, &dma_device->dev);
	if (IS_ERR(d->attach))
		return PTR_ERR(d->attach);
	d->sgt = dma_buf_map_attachment_unlocked(d->attach, DMA_BIDIRECTIONAL);
	if (IS_ERR(d->sgt)) {
		dma_buf_detach(d->buf, d->attach);
		return PTR_ERR(d->sgt);
	}
	ret = dmabuf_has_pages(d->sgt) ?
	     weft_blocks_from_sg(blocks, d->sgt, offset, length) : -EOPNOTSUPP;
	if (ret)
		dmabuf_detach(d);
	return ret;
}

/*
 * Refuses atomics (-EOPNOTSUPP), because they would be atomic for CPUs only, and not for the device
 * that shares the buffer. Refuses to write to a file that was opened for reading (-EACCES).
 */
int weft_dmabuf_check_access(const struct weft_dmabuf *d, int access)
{
	if (access & IB_ACCESS_REMOTE_ATOMIC)
		return -EOPNOTSUPP;
	if ((access & IB_ACCESS_LOCAL_WRITE) && !(d->buf->file->f_mode & FMODE_WRITE))
		return -EACCES;
	return 0;
}

/*
 * Takes a part of a DMA buffer into use, and lists it in @blocks. Takes over the reference on @buf,
 * on failure too. The CPU may access the buffer at any time until weft_dmabuf_put(). May sleep.
 * Returns an error pointer: -EOPNOTSUPP if the exporter has no memory that the kernel can use.
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

/* NULL is harmless. May sleep. */
void weft_dmabuf_put(struct weft_dmabuf *d)
{
	if (!d)
		return;
	dma_buf_end_cpu_access(d->buf, DMA_BIDIRECTIONAL);
	dmabuf_detach(d);
	dma_buf_put(d->buf);
	kfree(d);
}

int weft_dmabuf_init(void)
{
	int ret;

	dma_device = platform_device_register_simple("weft-memory", PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(dma_device))
		return PTR_ERR(dma_device);
	ret = dma_coerce_mask_and_coherent(&dma_device->dev, DMA_BIT_MASK(64));
	if (ret)
		platform_device_unregister(dma_device);
	return ret;
}

void weft_dmabuf_exit(void)
{
	platform_device_unregister(dma_device);
}
