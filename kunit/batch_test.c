// SPDX-License-Identifier: GPL-2.0
/* The batch: which bytes may wait together, who holds the lent ones, without a queue pair. */
#include <linux/mm.h>
#include <linux/skbuff.h>
#include <linux/vmalloc.h>

#include "base/compat.h"
#include "memory/mr.h"
#include "suite.h"
#include "tx/batch.h"

/* A batch that lends, and its loan. */
struct lent_bench {
	struct weft_batch batch;	/* the batch */
	struct weft_lent lent;	/* its lent bytes */
	struct ubuf_info ubuf;	/* the loan */
	struct page *page;	/* a page to lend, held once by the test */
};

static void no_call(struct sk_buff *skb, struct ubuf_info *ubuf, bool uncopied)
{
	refcount_dec(&ubuf->refcnt);
}

static const struct weft_ubuf_ops ubuf_ops = { .complete = no_call };

END_OF(bench_end, struct lent_bench *b)
{
	weft_batch_drop(&b->batch);
	put_page(b->page);
}

static struct lent_bench *bench_new(struct kunit *test)
{
	struct lent_bench *b = zeroed(test, sizeof(*b));

	b->batch.lent = &b->lent;
	weft_ubuf_init(&b->ubuf, &ubuf_ops);
	b->page = must(test, alloc_page(GFP_KERNEL));
	at_end(test, bench_end, b);
	return b;
}

/* Lends bytes of the page, as a loan does. */
static void lend(struct lent_bench *b, u32 offset, u32 len)
{
	if (!b->lent.ubuf) {
		net_zcopy_get(&b->ubuf);
		b->lent.ubuf = &b->ubuf;
	}
	weft_lent_add(&b->lent, b->page, offset, len);
	b->lent.len += len;
}

/* Bytes that lie together are one run; each run holds its page until it is taken back. */
CASE_WITH(batch_runs, struct lent_bench *b, bench_new(test))
{
	lend(b, 0, 100);
	lend(b, 100, 28);
	KUNIT_EXPECT_EQ(test, b->lent.num, 1U);
	KUNIT_EXPECT_EQ(test, b->lent.run[0].bv_len, 128U);
	lend(b, 256, 4);
	lend(b, 512, 4);
	KUNIT_EXPECT_EQ(test, b->lent.num, 3U);
	KUNIT_EXPECT_EQ(test, page_ref_count(b->page), 4);
	weft_lent_take_back(&b->lent, 1, 100);
	KUNIT_EXPECT_EQ(test, b->lent.num, 1U);
	KUNIT_EXPECT_EQ(test, b->lent.run[0].bv_len, 100U);
	KUNIT_EXPECT_EQ(test, page_ref_count(b->page), 2);
}

/* Copied bytes do not wait behind lent ones, nor lent ones behind copied ones. */
CASE_WITH(batch_kinds, struct lent_bench *b, bench_new(test))
{
	struct weft_chunk *c;

	KUNIT_EXPECT_FALSE(test, weft_batch_is_full(&b->batch, true));
	KUNIT_EXPECT_FALSE(test, weft_batch_is_full(&b->batch, false));
	c = must(test, weft_chunk_room(&b->batch.chunks, 100, 100, NULL));
	c->fill = 100;
	KUNIT_EXPECT_TRUE(test, weft_batch_is_full(&b->batch, true));
	KUNIT_EXPECT_FALSE(test, weft_batch_is_full(&b->batch, false));
	c->sent = 100;
	lend(b, 0, 100);
	KUNIT_EXPECT_FALSE(test, weft_batch_is_full(&b->batch, true));
	KUNIT_EXPECT_TRUE(test, weft_batch_is_full(&b->batch, false));
}

/* Nothing is added to a loan that ends, that is being sent, or that has too many runs. */
CASE_WITH(batch_full, struct lent_bench *b, bench_new(test))
{
	u32 i;

	lend(b, 0, 4);
	b->lent.closed = true;
	KUNIT_EXPECT_TRUE(test, weft_batch_is_full(&b->batch, true));
	b->lent.closed = false;
	b->lent.taken = 1;
	KUNIT_EXPECT_TRUE(test, weft_batch_is_full(&b->batch, true));
	b->lent.taken = 0;
	for (i = 1; i < WEFT_LENT_RUNS - WEFT_LENT_FPDU_RUNS; i++)
		lend(b, 8 * i, 4);
	KUNIT_EXPECT_FALSE(test, weft_batch_is_full(&b->batch, true));
	lend(b, 8 * i, 4);
	KUNIT_EXPECT_TRUE(test, weft_batch_is_full(&b->batch, true));
}

/* When all is dropped, pages and loan are held by nobody but the test. */
CASE_WITH(batch_drops, struct lent_bench *b, bench_new(test))
{
	lend(b, 0, 4);
	lend(b, 64, 4);
	b->lent.taken = 3;
	KUNIT_EXPECT_EQ(test, refcount_read(&b->ubuf.refcnt), 2U);
	weft_batch_drop(&b->batch);
	KUNIT_EXPECT_EQ(test, refcount_read(&b->ubuf.refcnt), 1U);
	KUNIT_EXPECT_EQ(test, page_ref_count(b->page), 1);
	KUNIT_EXPECT_EQ(test, b->lent.num, 0U);
	KUNIT_EXPECT_EQ(test, b->lent.taken, 0U);
	KUNIT_EXPECT_NULL(test, b->lent.ubuf);
	/* A second time, when the bench ends, nothing is there to be dropped. */
}

/* A small copied FPDU is handed over with the lent bytes before it, in a run behind theirs. */
CASE_WITH(batch_joins, struct lent_bench *b, bench_new(test))
{
	struct weft_chunk *c;

	KUNIT_EXPECT_FALSE(test, weft_batch_may_join(&b->batch, 40));
	c = must(test, weft_chunk_room(&b->batch.chunks, 100, 100, NULL));
	lend(b, 0, 100);
	KUNIT_EXPECT_TRUE(test, weft_batch_may_join(&b->batch, WEFT_LENT_JOIN));
	KUNIT_EXPECT_FALSE(test, weft_batch_may_join(&b->batch, WEFT_LENT_JOIN + 1));
	/* Even if nothing is lent behind it. */
	b->lent.closed = true;
	KUNIT_EXPECT_TRUE(test, weft_batch_may_join(&b->batch, 40));
	/* Nothing was laid out after all. */
	weft_batch_join(&b->batch, c, c->fill);
	KUNIT_EXPECT_EQ(test, b->lent.num, 1U);
	c->fill += 40;
	weft_batch_join(&b->batch, c, c->fill - 40);
	KUNIT_EXPECT_EQ(test, b->lent.num, 2U);
	KUNIT_EXPECT_EQ(test, b->lent.len, 140U);
	KUNIT_EXPECT_PTR_EQ(test, b->lent.run[1].bv_page, c->page);
	KUNIT_EXPECT_EQ(test, b->lent.run[1].bv_len, 40U);
	KUNIT_EXPECT_FALSE(test, weft_chunks_waiting(&b->batch.chunks));
	/* All that join are few bytes, too: they wait for each other. */
	KUNIT_EXPECT_TRUE(test, weft_batch_may_join(&b->batch, WEFT_LENT_JOIN - 40));
	KUNIT_EXPECT_FALSE(test, weft_batch_may_join(&b->batch, WEFT_LENT_JOIN - 39));
	b->lent.taken = 1;
	KUNIT_EXPECT_FALSE(test, weft_batch_may_join(&b->batch, 40));
}

/* Tells how many of @len bytes at @at are lent, of the region @mr. */
static u32 lent_of(struct kunit *test, const struct weft_mr *mr, const void *at, u32 len)
{
	struct weft_lent *lent = zeroed(test, sizeof(*lent));
	u32 n = weft_lent_add_region(lent, mr, (u64)(uintptr_t)at, len);

	weft_lent_take_back(lent, 0, 0);
	return n;
}

/* Only pages are lent: slab memory is used again while its page is held, vmalloc's has no page. */
static void batch_memory(struct kunit *test)
{
	struct weft_mr *all = zeroed(test, sizeof(*all));
	const u32 len = 3 * PAGE_SIZE;
	u8 *pages = must(test, alloc_pages_exact(len, GFP_KERNEL));
	u8 *slab = must(test, kmalloc(256, GFP_KERNEL)), *area = must(test, vmalloc(len));

	all->all_memory = true;
	all->length = U64_MAX;
	KUNIT_EXPECT_EQ(test, lent_of(test, all, pages + 100, len - 100), (u32)(len - 100));
	KUNIT_EXPECT_EQ(test, lent_of(test, all, slab, 256), 0U);
	KUNIT_EXPECT_EQ(test, lent_of(test, all, area, len), 0U);
	/* A DMA buffer's pages may move. */
	all->dmabuf = (struct weft_dmabuf *)all;
	KUNIT_EXPECT_EQ(test, lent_of(test, all, pages, len), 0U);
	KUNIT_EXPECT_EQ(test, page_ref_count(virt_to_page(pages)), 1);
	vfree(area);
	kfree(slab);
	free_pages_exact(pages, len);
}

/* What is left of the segment that the next FPDU begins in. */
static void batch_room(struct kunit *test)
{
	struct weft_batch batch = { .emss = 1000, .room = 1000 };

	weft_batch_advance(&batch, 400);
	KUNIT_EXPECT_EQ(test, batch.room, 600U);
	weft_batch_advance(&batch, 600);
	KUNIT_EXPECT_EQ(test, batch.room, 1000U);
	weft_batch_advance(&batch, 2400);
	KUNIT_EXPECT_EQ(test, batch.room, 600U);
	weft_batch_advance(&batch, 1600);
	KUNIT_EXPECT_EQ(test, batch.room, 1000U);
	KUNIT_EXPECT_EQ(test, batch.laid_out, 5000ULL);
	KUNIT_EXPECT_EQ(test, batch.sent, 0ULL);
}

A_SUITE(batch, no, batch_runs, batch_kinds, batch_full, batch_drops, batch_joins, batch_memory,
	batch_room);
