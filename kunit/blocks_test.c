// SPDX-License-Identifier: GPL-2.0
/*
 * The way from a region's address to its bytes: blocks as large as the memory
 * allows, of pages and of another driver's DMA buffers.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "compat.h"
#include "verbs/blocks.h"
#include "verbs/dmabuf.h"

#define ORDER	4	/* of 16 pages */
#define PAGES	16

/* Runs in pages of @memory: first page and how many, ended by zero pages. */
struct run {
	u8 first, pages;
};

static void *memory(struct kunit *test)
{
	void *p = (void *)__get_free_pages(GFP_KERNEL | __GFP_ZERO, ORDER);

	KUNIT_ASSERT_NOT_NULL(test, p);
	return p;
}

static void blocks_sizes(struct kunit *test)
{
	static const struct {
		struct run runs[5];
		u32 offset, cut; /* bytes left out at the start and at the end */
		u8 shift;
	} cases[] = {
		{ { { 0, 16 } }, 0, 0, WEFT_ONE_BLOCK },
		{ { { 3, 1 } }, 5, 7, WEFT_ONE_BLOCK },
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
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
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
			u32 k;

			for (k = 0; k < sg->length; k++, at++) {
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

struct exporter {
	void *mem;
	void *mapping;
	bool maps; /* makes kernel mappings, and no other way */
	int users;
	struct completion released;
};

static struct page *exporter_page(struct exporter *e, int i)
{
	return virt_to_page(e->mem + 2 * i * PAGE_SIZE);
}

static struct sg_table *exporter_pages(struct dma_buf_attachment *attach,
				       enum dma_data_direction dir)
{
	struct exporter *e = attach->dmabuf->priv;
	struct sg_table *sgt;
	int i;

	if (e->maps)
		return ERR_PTR(-EPERM);
	sgt = kzalloc(sizeof(*sgt), GFP_KERNEL);
	if (!sgt || sg_alloc_table(sgt, 2, GFP_KERNEL))
		return ERR_PTR(-ENOMEM);
	for (i = 0; i < 2; i++)
		sg_set_page(&sgt->sgl[i], exporter_page(e, i), PAGE_SIZE, 0);
	e->users++;
	return sgt;
}

static void exporter_unmap(struct dma_buf_attachment *attach, struct sg_table *sgt,
			   enum dma_data_direction dir)
{
	struct exporter *e = attach->dmabuf->priv;

	e->users--;
	sg_free_table(sgt);
	kfree(sgt);
}

static int exporter_vmap(struct dma_buf *buf, struct iosys_map *map)
{
	struct exporter *e = buf->priv;
	struct page *pages[] = { exporter_page(e, 0), exporter_page(e, 1) };

	e->mapping = vmap(pages, 2, VM_MAP, PAGE_KERNEL);
	if (!e->mapping)
		return -ENOMEM;
	e->users++;
	iosys_map_set_vaddr(map, e->mapping);
	return 0;
}

static void exporter_vunmap(struct dma_buf *buf, struct iosys_map *map)
{
	struct exporter *e = buf->priv;

	e->users--;
	vunmap(e->mapping);
}

static void exporter_release(struct dma_buf *buf)
{
	struct exporter *e = buf->priv;

	complete(&e->released);
}

static const struct dma_buf_ops exporter_of_pages = {
	.map_dma_buf = exporter_pages,
	.unmap_dma_buf = exporter_unmap,
	.release = exporter_release,
};

static const struct dma_buf_ops exporter_of_mappings = {
	.map_dma_buf = exporter_pages,
	.unmap_dma_buf = exporter_unmap,
	.vmap = exporter_vmap,
	.vunmap = exporter_vunmap,
	.release = exporter_release,
};

static void dmabuf_with(struct kunit *test, bool maps)
{
	struct exporter e = { .mem = memory(test), .maps = maps };
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct weft_blocks blocks = {};
	struct weft_dmabuf *d;
	struct dma_buf *buf;
	u32 run;
	u8 *to;

	init_completion(&e.released);
	info.ops = maps ? &exporter_of_mappings : &exporter_of_pages;
	info.size = 2 * PAGE_SIZE;
	info.priv = &e;
	buf = dma_buf_export(&info);
	KUNIT_ASSERT_FALSE(test, IS_ERR(buf));

	get_dma_buf(buf);
	d = weft_dmabuf_get(buf, PAGE_SIZE, PAGE_SIZE + 1, &blocks);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(d), -EINVAL);
	get_dma_buf(buf);
	d = weft_dmabuf_get(buf, U64_MAX, 2, &blocks);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(d), -EINVAL);

	d = weft_dmabuf_get(buf, 10, 2 * PAGE_SIZE - 10, &blocks);
	KUNIT_ASSERT_EQ(test, PTR_ERR_OR_ZERO(d), 0);
	KUNIT_EXPECT_EQ(test, e.users, 1);
	to = weft_blocks_at(&blocks, 0, 1, &run);
	*to = 'a';
	to = weft_blocks_at(&blocks, 2 * PAGE_SIZE - 11, 1, &run);
	*to = 'z';
	KUNIT_EXPECT_EQ(test, ((u8 *)page_address(exporter_page(&e, 0)))[10], 'a');
	KUNIT_EXPECT_EQ(test, ((u8 *)page_address(exporter_page(&e, 1)))[PAGE_SIZE - 1], 'z');
	KUNIT_EXPECT_FALSE(test, completion_done(&e.released));
	weft_blocks_free(&blocks);
	weft_dmabuf_put(d);
	KUNIT_EXPECT_EQ(test, e.users, 0);
	/* Files of a kernel thread are put by a worker; until then it has a use for @e. */
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&e.released, 30 * HZ), 0UL);
	free_pages((unsigned long)e.mem, ORDER);
}

static void dmabuf_by_mapping(struct kunit *test)
{
	dmabuf_with(test, true);
}

static void dmabuf_by_pages(struct kunit *test)
{
	dmabuf_with(test, false);
}

/* The module has not started yet when the suites run. */
static int blocks_suite_init(struct kunit_suite *suite)
{
	return weft_dmabuf_init();
}

static void blocks_suite_exit(struct kunit_suite *suite)
{
	weft_dmabuf_exit();
}

static struct kunit_case blocks_cases[] = {
	KUNIT_CASE(blocks_sizes),
	KUNIT_CASE(dmabuf_by_mapping),
	KUNIT_CASE(dmabuf_by_pages),
	{}
};

static struct kunit_suite blocks_suite = {
	.name = "weft_blocks",
	.suite_init = blocks_suite_init,
	.suite_exit = blocks_suite_exit,
	.test_cases = blocks_cases,
};

kunit_test_suite(blocks_suite);
