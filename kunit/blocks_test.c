// SPDX-License-Identifier: GPL-2.0
/* From a region's address to its bytes: blocks of pages and of another driver's DMA buffers. */
#include <linux/completion.h>
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/fcntl.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/vmalloc.h>
#include <rdma/ib_verbs.h>

#include "base/baton.h"
#include "memory/mr.h"
#include "suite.h"

#define ORDER	4	/* of 16 pages */
#define PAGES	16

/* Runs in pages of @memory: first page and how many, ended by zero pages. */
struct run {
	u8 first, pages;
};

static void *memory(struct kunit *test)
{
	return must(test, (void *)__get_free_pages(GFP_KERNEL | __GFP_ZERO, ORDER));
}

static void blocks_sizes(struct kunit *test)
{
	static const struct {
		struct run runs[5];
		u32 offset, cut; /* bytes left out at the start and at the end */
		u8 shift;
	} cases[] = {
		{ { { 0, 16 } }, 0, 0, WEFT_ONE_BLOCK }, { { { 3, 1 } }, 5, 7, WEFT_ONE_BLOCK },
		/* neighbours in two entries are one run */
		{ { { 0, 2 }, { 2, 2 } }, 0, 0, WEFT_ONE_BLOCK },
		{ { { 0, 1 }, { 2, 1 }, { 4, 1 } }, 0, 0, PAGE_SHIFT },
		{ { { 0, 4 }, { 8, 4 } }, 0, 0, PAGE_SHIFT + 2 },
		{ { { 4, 4 }, { 0, 4 }, { 8, 4 } }, 100, 200, PAGE_SHIFT + 2 },
		/* only inner edges count: the first run may begin and the last end anywhere */
		{ { { 2, 2 }, { 8, 4 }, { 4, 1 } }, 0, 0, PAGE_SHIFT + 2 },
		{ { { 1, 1 }, { 2, 2 }, { 8, 4 } }, 0, 0, PAGE_SHIFT + 2 },
		{ { { 0, 4 }, { 8, 4 }, { 5, 1 } }, 0, 0, PAGE_SHIFT },
		/* the same memory more than once */
		{ { { 0, 4 }, { 0, 4 }, { 0, 4 } }, 9, 0, PAGE_SHIFT + 2 },
		/* whole entries left out */
		{ { { 1, 1 }, { 8, 8 } }, PAGE_SIZE + 3, 0, WEFT_ONE_BLOCK },
	};
	u8 *mem = memory(test);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct weft_blocks blocks = {};
		u64 total = 0, pos, at;
		struct sg_table sgt;
		struct scatterlist *sg;
		u32 n, num = 0, run;

		while (cases[i].runs[num].pages)
			num++;
		KUNIT_ASSERT_EQ(test, sg_alloc_table(&sgt, num, GFP_KERNEL), 0);
		for_each_sgtable_sg(&sgt, sg, n) {
			const struct run *r = &cases[i].runs[n];

			sg_set_page(sg, virt_to_page(mem + r->first * PAGE_SIZE),
				    r->pages * PAGE_SIZE, 0);
			total += r->pages * PAGE_SIZE;
		}
		total -= cases[i].offset + cases[i].cut;
		KUNIT_ASSERT_EQ(test, weft_blocks_from_sg(&blocks, &sgt, cases[i].offset,
							  total), 0);
		KUNIT_EXPECT_EQ_MSG(test, blocks.shift, cases[i].shift, "case %zu", i);
		/* Every byte in one walk, by an oracle that knows the entries alone */
		pos = 0;
		at = 0;
		for_each_sgtable_sg(&sgt, sg, n) {
			u8 *from = page_address(sg_page(sg));

			for (u32 k = 0; k < sg->length; k++, at++) {
				if (at < cases[i].offset || pos == total)
					continue;
				if (weft_blocks_at(&blocks, pos, 1, &run) != from + k)
					break;
				pos++;
			}
		}
		KUNIT_EXPECT_EQ_MSG(test, pos, total, "case %zu", i);
		weft_blocks_at(&blocks, total - 1, 1, &run);
		KUNIT_EXPECT_EQ(test, run, 1U);
		weft_blocks_free(&blocks);
		KUNIT_EXPECT_EQ(test, weft_blocks_from_sg(&blocks, &sgt, cases[i].offset,
							  total + cases[i].cut + 1), -EINVAL);
		sg_free_table(&sgt);
	}
	free_pages((unsigned long)mem, ORDER);
}

/* --- an exporter of two pages that are not neighbours --- */

/* What it gives, and how often each of its functions is in use. */
struct exporter {
	void *mem, *mapping;
	bool no_pages; /* bus addresses alone, and no kernel mapping */
	dma_addr_t bounce; /* how far from the second page a device finds it; not 0: a copy */
	int pins, maps, vmaps;
	struct completion released;
};

static struct page *exporter_page(struct exporter *e, int i)
{
	return virt_to_page(e->mem + 2 * i * PAGE_SIZE);
}

static int exporter_pin(struct dma_buf_attachment *attach)
{
	struct exporter *e = attach->dmabuf->priv;

	e->pins++;
	return 0;
}

static void exporter_unpin(struct dma_buf_attachment *attach)
{
	struct exporter *e = attach->dmabuf->priv;

	e->pins--;
}

static struct sg_table *exporter_map(struct dma_buf_attachment *attach, enum dma_data_direction dir)
{
	struct exporter *e = attach->dmabuf->priv;
	struct sg_table *sgt;

	sgt = kzalloc(sizeof(*sgt), GFP_KERNEL);
	if (!sgt || sg_alloc_table(sgt, 2, GFP_KERNEL)) {
		kfree(sgt);
		return ERR_PTR(-ENOMEM);
	}
	for (int i = 0; i < 2; i++)
		sg_set_page(&sgt->sgl[i], e->no_pages ? NULL : exporter_page(e, i), PAGE_SIZE, 0);
	if (!e->no_pages && dma_map_sgtable(attach->dev, sgt, dir, 0)) {
		sg_free_table(sgt);
		kfree(sgt);
		return ERR_PTR(-ENOMEM);
	}
	sg_dma_address(&sgt->sgl[1]) += e->bounce;
	e->maps++;
	return sgt;
}

static void exporter_unmap(struct dma_buf_attachment *attach, struct sg_table *sgt,
			   enum dma_data_direction dir)
{
	struct exporter *e = attach->dmabuf->priv;

	e->maps--;
	sg_dma_address(&sgt->sgl[1]) -= e->bounce;
	if (!e->no_pages)
		dma_unmap_sgtable(attach->dev, sgt, dir, 0);
	sg_free_table(sgt);
	kfree(sgt);
}

static int exporter_vmap(struct dma_buf *buf, struct iosys_map *map)
{
	struct exporter *e = buf->priv;
	struct page *pages[] = { exporter_page(e, 0), exporter_page(e, 1) };

	if (e->no_pages)
		return -EOPNOTSUPP;
	e->mapping = vmap(pages, 2, VM_MAP, PAGE_KERNEL);
	if (!e->mapping)
		return -ENOMEM;
	e->vmaps++;
	iosys_map_set_vaddr(map, e->mapping);
	return 0;
}

static void exporter_vunmap(struct dma_buf *buf, struct iosys_map *map)
{
	struct exporter *e = buf->priv;

	e->vmaps--;
	vunmap(e->mapping);
}

static void exporter_release(struct dma_buf *buf)
{
	struct exporter *e = buf->priv;

	complete(&e->released);
}

/* Its memory lies where it lies. */
static const struct dma_buf_ops exporter_at_rest = {
	.map_dma_buf = exporter_map, .unmap_dma_buf = exporter_unmap, .release = exporter_release,
};

/* It moves its memory whenever that is not pinned, mapped for the kernel or not. */
static const struct dma_buf_ops exporter_that_moves = {
	.pin = exporter_pin, .unpin = exporter_unpin, .map_dma_buf = exporter_map,
	.unmap_dma_buf = exporter_unmap, .vmap = exporter_vmap, .vunmap = exporter_vunmap,
	.release = exporter_release,
};

static struct dma_buf *export(struct kunit *test, struct exporter *e,
			      const struct dma_buf_ops *ops, int flags)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);

	e->mem = memory(test);
	init_completion(&e->released);
	info.ops = ops;
	info.size = 2 * PAGE_SIZE;
	info.flags = flags;
	info.priv = e;
	return must(test, dma_buf_export(&info));
}

/* Files of a kernel thread are put by a worker; until then it has a use for @e. */
static void end_export(struct kunit *test, struct exporter *e)
{
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&e->released, 30 * HZ), 0UL);
	KUNIT_EXPECT_EQ(test, e->pins, 0);
	KUNIT_EXPECT_EQ(test, e->maps, 0);
	KUNIT_EXPECT_EQ(test, e->vmaps, 0);
	free_pages((unsigned long)e->mem, ORDER);
}

/* Tries to take a part of a buffer. The answer is the error. */
static int try_get(struct dma_buf *buf, u64 offset, u64 length, int access)
{
	struct weft_blocks blocks = {};
	struct weft_dmabuf *d;

	get_dma_buf(buf);
	d = weft_dmabuf_get(buf, offset, length, access, &blocks);
	if (IS_ERR(d))
		return PTR_ERR(d);
	weft_blocks_free(&blocks);
	weft_dmabuf_put(d);
	return 0;
}

static void dmabuf_with(struct kunit *test, const struct dma_buf_ops *ops)
{
	struct exporter e = {};
	struct dma_buf *buf = export(test, &e, ops, O_RDWR);
	struct weft_blocks blocks = {};
	struct weft_dmabuf *d;
	u32 run;
	u8 *to;

	KUNIT_EXPECT_EQ(test, try_get(buf, PAGE_SIZE, PAGE_SIZE + 1, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, try_get(buf, U64_MAX, 2, 0), -EINVAL);
	d = weft_dmabuf_get(buf, 10, 2 * PAGE_SIZE - 10, IB_ACCESS_LOCAL_WRITE, &blocks);
	KUNIT_ASSERT_EQ(test, PTR_ERR_OR_ZERO(d), 0);
	KUNIT_EXPECT_EQ(test, e.maps, 1);
	KUNIT_EXPECT_EQ(test, e.pins, ops->pin ? 1 : 0);
	to = weft_blocks_at(&blocks, 0, 1, &run);
	*to = 'a';
	to = weft_blocks_at(&blocks, 2 * PAGE_SIZE - 11, 1, &run);
	*to = 'z';
	KUNIT_EXPECT_EQ(test, ((u8 *)page_address(exporter_page(&e, 0)))[10], 'a');
	KUNIT_EXPECT_EQ(test, ((u8 *)page_address(exporter_page(&e, 1)))[PAGE_SIZE - 1], 'z');
	KUNIT_EXPECT_FALSE(test, completion_done(&e.released));
	weft_blocks_free(&blocks);
	weft_dmabuf_put(d);
	end_export(test, &e);
}

static void dmabuf_by_pages(struct kunit *test)
{
	dmabuf_with(test, &exporter_at_rest);
}

/* A kernel mapping would do to reach the bytes, but would not hold them in place. */
static void dmabuf_is_pinned(struct kunit *test)
{
	dmabuf_with(test, &exporter_that_moves);
}

/* No kernel warning either, which would be for every user to bring about. */
static void dmabuf_without_pages(struct kunit *test)
{
	struct exporter e = { .no_pages = true };
	struct dma_buf *buf = export(test, &e, &exporter_that_moves, O_RDWR);

	KUNIT_EXPECT_EQ(test, try_get(buf, 0, PAGE_SIZE, 0), -EOPNOTSUPP);
	dma_buf_put(buf);
	end_export(test, &e);
}

/* The copy would come back over the page at the end, and over all that was written to it. */
static void dmabuf_bounced(struct kunit *test)
{
	struct exporter e = { .bounce = 64 * PAGE_SIZE };
	struct dma_buf *buf = export(test, &e, &exporter_at_rest, O_RDWR);

	KUNIT_EXPECT_EQ(test, try_get(buf, 0, PAGE_SIZE, 0), -EOPNOTSUPP);
	dma_buf_put(buf);
	end_export(test, &e);
}

static void dmabuf_rights(struct kunit *test)
{
	const int write = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE;
	struct exporter e = {};
	struct dma_buf *buf = export(test, &e, &exporter_at_rest, O_RDONLY);

	KUNIT_EXPECT_EQ(test, try_get(buf, 0, PAGE_SIZE, IB_ACCESS_REMOTE_READ), 0);
	KUNIT_EXPECT_EQ(test, try_get(buf, 0, PAGE_SIZE, write), -EACCES);
	dma_buf_put(buf);
	end_export(test, &e);
	reinit_completion(&e.released);
	buf = export(test, &e, &exporter_at_rest, O_RDWR);
	KUNIT_EXPECT_EQ(test, try_get(buf, 0, PAGE_SIZE, write), 0);
	KUNIT_EXPECT_EQ(test, try_get(buf, 0, PAGE_SIZE, write | IB_ACCESS_REMOTE_ATOMIC),
			-EOPNOTSUPP);
	dma_buf_put(buf);
	end_export(test, &e);
}

/* A newer KUnit runs the suites when the module has started. */
static bool module_started;

static int blocks_suite_init(struct kunit_suite *suite)
{
	module_started = weft_workqueue;
	return module_started ? 0 : weft_dmabuf_init();
}

static void blocks_suite_exit(struct kunit_suite *suite)
{
	if (!module_started)
		weft_dmabuf_exit();
}

A_SUITE(blocks, blocks, blocks_sizes, dmabuf_by_pages, dmabuf_is_pinned, dmabuf_without_pages,
	dmabuf_bounced, dmabuf_rights);
