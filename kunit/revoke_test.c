// SPDX-License-Identifier: GPL-2.0
/* Fast registration and memory windows: what their keys name, for whom, and that an end is one. */
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/sizes.h>

#include "base/compat.h"
#include "base/weft.h"
#include "base/baton.h"
#include "memory/mr.h"
#include "suite.h"
#include "uapi/weft-abi.h"

#define PAGES	4
#define BYTES	(PAGES * PAGE_SIZE)
#define IOVA	0x7f0000000000ULL
#define REMOTE_WRITE (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE)

struct bench {
	struct weft_device dev;
	struct ib_pd pd, other_pd;
	struct weft_accessor qp, other_qp;
	struct page *page[PAGES];
	struct scatterlist sg[PAGES];
	struct weft_mr *region;
};

END_OF(teardown, struct bench *b)
{
	if (b->region)
		KUNIT_EXPECT_EQ(test, weft_dereg_mr(&b->region->ib, NULL), 0);
	KUNIT_EXPECT_TRUE(test, xa_empty(&b->dev.mrs));
	KUNIT_EXPECT_EQ(test, atomic_read(&b->dev.num_mr), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&b->dev.num_mw), 0);
	xa_destroy(&b->dev.mrs);
	kfree(b->dev.local);
	for (int i = 0; i < PAGES; i++)
		__free_page(b->page[i]);
}

static struct bench *setup(struct kunit *test)
{
	struct bench *b = zeroed(test, sizeof(*b));

	xa_init_flags(&b->dev.mrs, XA_FLAGS_ALLOC);
	b->dev.local = must(test, weft_mr_new_local(&b->dev));
	b->pd.device = &b->dev.ib;
	b->other_pd.device = &b->dev.ib;
	b->qp = (struct weft_accessor){
		.dev = &b->dev, .pd = &b->pd, .kernel = true, .qpn = 17,
		.rights = WEFT_ACCESS_REMOTE,
	};
	b->other_qp = b->qp;
	b->other_qp.qpn = 18;
	sg_init_table(b->sg, PAGES);
	/* In reverse, so that pages that happen to be neighbours do not look it. */
	for (int i = PAGES - 1; i >= 0; i--) {
		b->page[i] = must(test, alloc_page(GFP_KERNEL | __GFP_ZERO));
		sg_set_page(&b->sg[i], b->page[i], PAGE_SIZE, 0);
		sg_dma_address(&b->sg[i]) = (uintptr_t)page_address(b->page[i]);
		sg_dma_len(&b->sg[i]) = PAGE_SIZE;
	}
	at_end(test, teardown, b);
	return b;
}

/* Writes like a peer. The answer is the key's. */
static int peer_writes(struct weft_accessor *by, u32 stag, u64 addr, const void *from, u32 len)
{
	enum weft_key_error err;
	struct weft_mr *mr;

	mr = weft_mr_access(by, by->pd, stag, addr, len, IB_ACCESS_REMOTE_WRITE, &err);
	if (!mr)
		return err;
	weft_mr_write(mr, addr, from, len);
	weft_mr_access_end(mr);
	return WEFT_KEY_OK;
}

/* --- fast registration --- */

static struct weft_mr *fast(struct kunit *test, struct bench *b)
{
	struct ib_mr *ib = must(test, weft_alloc_mr(&b->pd, IB_MR_TYPE_MEM_REG, PAGES));

	ib->page_size = PAGE_SIZE;
	return to_weft_mr(ib);
}

CASE_WITH(fast_life, struct bench *b, setup(test))
{
	struct weft_mr *mr = fast(test, b);
	u32 key = ib_inc_rkey(mr->ib.rkey);
	unsigned int offset = 100;
	u8 bytes[PAGE_SIZE / 8];
	u64 at;

	memset(bytes, 0x5a, sizeof(bytes));
	KUNIT_EXPECT_EQ(test, weft_map_mr_sg(&mr->ib, b->sg, PAGES, &offset), PAGES);
	KUNIT_EXPECT_EQ(test, mr->ib.iova, 100ULL);
	KUNIT_EXPECT_EQ(test, mr->ib.length, BYTES - 100ULL);
	KUNIT_EXPECT_EQ(test, peer_writes(&b->qp, mr->ib.rkey, 100, bytes, 1), WEFT_KEY_UNKNOWN);
	KUNIT_EXPECT_TRUE(test, weft_fast_register(&b->qp, mr->ib.rkey, key, REMOTE_WRITE));
	KUNIT_EXPECT_EQ(test, peer_writes(&b->qp, mr->ib.rkey, 100, bytes, 1), WEFT_KEY_UNKNOWN);
	at = 2 * PAGE_SIZE - 3;
	KUNIT_EXPECT_EQ(test, peer_writes(&b->qp, key, at, bytes, sizeof(bytes)), WEFT_KEY_OK);
	KUNIT_EXPECT_NOT_NULL(test, memchr_inv(page_address(b->page[1]), 0, PAGE_SIZE));
	KUNIT_EXPECT_EQ(test, memcmp(page_address(b->page[1]) + PAGE_SIZE - 3, bytes, 3), 0);
	KUNIT_EXPECT_EQ(test, memcmp(page_address(b->page[2]), bytes, sizeof(bytes) - 3), 0);
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(page_address(b->page[0]), 0, PAGE_SIZE), NULL);
	KUNIT_EXPECT_EQ(test, peer_writes(&b->qp, key, BYTES - 1, bytes, 1), WEFT_KEY_OK);
	KUNIT_EXPECT_EQ(test, peer_writes(&b->qp, key, BYTES, bytes, 1), WEFT_KEY_BOUNDS);
	KUNIT_EXPECT_EQ(test, peer_writes(&b->qp, key, 99, bytes, 1), WEFT_KEY_BOUNDS);
	KUNIT_EXPECT_EQ(test, weft_invalidate(&b->qp, key, true), WEFT_KEY_OK);
	KUNIT_EXPECT_EQ(test, peer_writes(&b->qp, key, 100, bytes, 1), WEFT_KEY_UNKNOWN);
	/* A peer names what is there; the owner may say it once more. */
	KUNIT_EXPECT_EQ(test, weft_invalidate(&b->qp, key, true), WEFT_KEY_UNKNOWN);
	KUNIT_EXPECT_EQ(test, weft_invalidate(&b->qp, key, false), WEFT_KEY_OK);
	KUNIT_EXPECT_EQ(test, weft_dereg_mr(&mr->ib, NULL), 0);
}

/* A list made while the last registration is in use does not show in it. */
CASE_WITH(fast_next, struct bench *b, setup(test))
{
	struct weft_mr *mr = fast(test, b);
	u32 key = mr->ib.rkey, next = ib_inc_rkey(key);

	KUNIT_EXPECT_EQ(test, weft_map_mr_sg(&mr->ib, b->sg, 1, NULL), 1);
	KUNIT_EXPECT_TRUE(test, weft_fast_register(&b->qp, key, key, REMOTE_WRITE));
	KUNIT_EXPECT_EQ(test, weft_map_mr_sg(&mr->ib, b->sg + 2, 2, NULL), 2);
	KUNIT_EXPECT_EQ(test, peer_writes(&b->qp, key, PAGE_SIZE, "x", 1), WEFT_KEY_BOUNDS);
	KUNIT_EXPECT_EQ(test, peer_writes(&b->qp, key, 0, "x", 1), WEFT_KEY_OK);
	KUNIT_EXPECT_EQ(test, *(u8 *)page_address(b->page[0]), 'x');
	KUNIT_EXPECT_EQ(test, *(u8 *)page_address(b->page[2]), 0);
	/* Valid as it is, it cannot be registered again. */
	KUNIT_EXPECT_FALSE(test, weft_fast_register(&b->qp, key, next, REMOTE_WRITE));
	/* Its owner may say any key it had, and put it where it likes. */
	KUNIT_EXPECT_EQ(test, weft_invalidate(&b->qp, next, false), WEFT_KEY_OK);
	mr->ib.iova |= 0xabcd00000000;
	KUNIT_EXPECT_TRUE(test, weft_fast_register(&b->qp, key, next, REMOTE_WRITE));
	KUNIT_EXPECT_EQ(test, peer_writes(&b->qp, key, 0xabcd00000000, "y", 1), WEFT_KEY_UNKNOWN);
	KUNIT_EXPECT_EQ(test, peer_writes(&b->qp, next, PAGE_SIZE, "y", 1), WEFT_KEY_BOUNDS);
	KUNIT_EXPECT_EQ(test, peer_writes(&b->qp, next, 0xabcd00000000 + PAGE_SIZE, "y", 1),
			WEFT_KEY_OK);
	KUNIT_EXPECT_EQ(test, *(u8 *)page_address(b->page[0]), 'x');
	KUNIT_EXPECT_EQ(test, *(u8 *)page_address(b->page[3]), 'y');
	KUNIT_EXPECT_EQ(test, weft_dereg_mr(&mr->ib, NULL), 0);
}

CASE_WITH(fast_refused, struct bench *b, setup(test))
{
	struct weft_mr *mr = fast(test, b);
	u32 key = mr->ib.rkey;
	struct ib_mr *ib = weft_alloc_mr(&b->pd, IB_MR_TYPE_SG_GAPS, 1);

	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(ib), -EOPNOTSUPP);
	ib = weft_alloc_mr(&b->pd, IB_MR_TYPE_MEM_REG, WEFT_MAX_FAST_BLOCKS + 1);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(ib), -EINVAL);
	ib = weft_alloc_mr(&b->pd, IB_MR_TYPE_MEM_REG, WEFT_MAX_FAST_BLOCKS);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(ib), 0);
	if (!IS_ERR(ib))
		KUNIT_EXPECT_EQ(test, weft_dereg_mr(ib, NULL), 0);
	KUNIT_EXPECT_EQ(test, weft_map_mr_sg(&mr->ib, b->sg, PAGES, NULL), PAGES);
	/* Another index, none at all, and another protection domain */
	KUNIT_EXPECT_FALSE(test, weft_fast_register(&b->qp, key, key + 0x100, 0));
	KUNIT_EXPECT_FALSE(test, weft_fast_register(&b->qp, key + 0x100, key + 0x100, 0));
	b->qp.pd = &b->other_pd;
	KUNIT_EXPECT_FALSE(test, weft_fast_register(&b->qp, key, key, 0));
	b->qp.pd = &b->pd;
	/* What no peer was let into is not a peer's to invalidate. */
	KUNIT_EXPECT_TRUE(test, weft_fast_register(&b->qp, key, key, IB_ACCESS_LOCAL_WRITE));
	KUNIT_EXPECT_EQ(test, weft_invalidate(&b->qp, key, true), WEFT_KEY_ACCESS);
	KUNIT_EXPECT_EQ(test, weft_invalidate(&b->qp, key ^ 1, true), WEFT_KEY_UNKNOWN);
	b->qp.pd = &b->other_pd;
	KUNIT_EXPECT_EQ(test, weft_invalidate(&b->qp, key, false), WEFT_KEY_PD);
	b->qp.pd = &b->pd;
	KUNIT_EXPECT_EQ(test, weft_invalidate(&b->qp, key, false), WEFT_KEY_OK);
	KUNIT_EXPECT_EQ(test, weft_dereg_mr(&mr->ib, NULL), 0);
}

/* lkey 0 is for the kernel's own work requests and for nothing else. */
CASE_WITH(local_key, struct bench *b, setup(test))
{
	u64 addr = (uintptr_t)page_address(b->page[0]);
	enum weft_key_error err;
	struct weft_mr *mr;

	mr = must(test, weft_mr_access(&b->qp, &b->pd, 0, addr, 4, IB_ACCESS_LOCAL_WRITE, &err));
	weft_mr_write(mr, addr, "weft", 4);
	weft_mr_access_end(mr);
	KUNIT_EXPECT_EQ(test, memcmp(page_address(b->page[0]), "weft", 4), 0);
	KUNIT_EXPECT_EQ(test, peer_writes(&b->qp, 0, addr, "x", 1), WEFT_KEY_UNKNOWN);
	KUNIT_EXPECT_PTR_EQ(test, weft_mr_access(&b->qp, &b->pd, 0, addr, 1,
						 IB_ACCESS_REMOTE_READ, &err), NULL);
	KUNIT_EXPECT_EQ(test, weft_invalidate(&b->qp, 0, true), WEFT_KEY_UNKNOWN);
	b->qp.kernel = false;
	KUNIT_EXPECT_PTR_EQ(test, weft_mr_access(&b->qp, &b->pd, 0, addr, 1, 0, &err), NULL);
	KUNIT_EXPECT_EQ(test, err, WEFT_KEY_UNKNOWN);
}

/* --- windows --- */

/* An ordinary region of all pages. */
static void region(struct kunit *test, struct bench *b, int access)
{
	struct sg_table sgt = { .sgl = b->sg, .nents = PAGES, .orig_nents = PAGES };

	b->region = must(test, weft_mr_create(&b->pd, WEFT_MR_REGION));
	b->region->access = access;
	b->region->iova = IOVA;
	b->region->length = BYTES;
	KUNIT_ASSERT_EQ(test, weft_blocks_from_sg(&b->region->blocks, &sgt, 0, BYTES), 0);
	KUNIT_ASSERT_EQ(test, weft_mr_publish(b->region), 0);
}

static void window(struct kunit *test, struct bench *b, struct weft_mw *mw, enum ib_mw_type type)
{
	memset(mw, 0, sizeof(*mw));
	mw->ib.device = &b->dev.ib;
	mw->ib.pd = &b->pd;
	mw->ib.type = type;
	KUNIT_ASSERT_EQ(test, weft_alloc_mw(&mw->ib, NULL), 0);
}

static struct weft_bind draft(struct bench *b)
{
	return (struct weft_bind){
		.addr = IOVA + PAGE_SIZE - 2, .length = PAGE_SIZE, .lkey = b->region->stag,
		.access = IB_ACCESS_REMOTE_WRITE,
	};
}

#define MAY_BIND (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_MW_BIND)

CASE_WITH(window_type_1, struct bench *b, setup(test))
{
	enum weft_key_error err;
	struct weft_bind bind;
	struct weft_mw mw;
	u32 key, next;

	region(test, b, MAY_BIND);
	window(test, b, &mw, IB_MW_TYPE_1);
	key = mw.ib.rkey;
	bind = draft(b);
	KUNIT_EXPECT_EQ(test, peer_writes(&b->qp, key, bind.addr, "x", 1), WEFT_KEY_UNKNOWN);
	KUNIT_EXPECT_TRUE(test, weft_mw_bind(&b->qp, key, key, &bind));
	KUNIT_EXPECT_EQ(test, weft_dereg_mr(&b->region->ib, NULL), -EBUSY);
	/* Its own bounds and rights; the region has no right for peers at all. */
	KUNIT_EXPECT_EQ(test, peer_writes(&b->qp, key, bind.addr, "abcd", 4), WEFT_KEY_OK);
	KUNIT_EXPECT_EQ(test, memcmp(page_address(b->page[0]) + PAGE_SIZE - 2, "ab", 2), 0);
	KUNIT_EXPECT_EQ(test, memcmp(page_address(b->page[1]), "cd", 2), 0);
	KUNIT_EXPECT_EQ(test, peer_writes(&b->qp, key, bind.addr - 1, "x", 1), WEFT_KEY_BOUNDS);
	KUNIT_EXPECT_EQ(test, peer_writes(&b->qp, key, bind.addr + PAGE_SIZE, "x", 1),
			WEFT_KEY_BOUNDS);
	KUNIT_EXPECT_EQ(test, peer_writes(&b->qp, b->region->stag, bind.addr, "x", 1),
			WEFT_KEY_ACCESS);
	KUNIT_EXPECT_PTR_EQ(test, weft_mr_access(&b->qp, &b->pd, key, bind.addr, 1,
						 IB_ACCESS_REMOTE_READ, &err), NULL);
	KUNIT_EXPECT_PTR_EQ(test, weft_mr_access(&b->qp, &b->pd, key, bind.addr, 1, 0, &err), NULL);
	KUNIT_EXPECT_EQ(test, err, WEFT_KEY_ACCESS);
	/* For every queue pair of the domain */
	KUNIT_EXPECT_EQ(test, peer_writes(&b->other_qp, key, bind.addr, "x", 1), WEFT_KEY_OK);
	b->other_qp.pd = &b->other_pd;
	KUNIT_EXPECT_EQ(test, peer_writes(&b->other_qp, key, bind.addr, "x", 1), WEFT_KEY_PD);
	/* Only a bind ends it. */
	KUNIT_EXPECT_EQ(test, weft_invalidate(&b->qp, key, true), WEFT_KEY_ACCESS);
	KUNIT_EXPECT_EQ(test, weft_invalidate(&b->qp, key, false), WEFT_KEY_ACCESS);
	next = ib_inc_rkey(key);
	bind.addr = IOVA;
	KUNIT_EXPECT_TRUE(test, weft_mw_bind(&b->qp, key, next, &bind));
	KUNIT_EXPECT_EQ(test, peer_writes(&b->qp, key, IOVA, "x", 1), WEFT_KEY_UNKNOWN);
	KUNIT_EXPECT_EQ(test, peer_writes(&b->qp, next, IOVA, "x", 1), WEFT_KEY_OK);
	KUNIT_EXPECT_EQ(test, atomic_read(&b->region->windows), 1);
	bind.length = 0;
	bind.lkey = 0;
	KUNIT_EXPECT_TRUE(test, weft_mw_bind(&b->qp, next, next, &bind));
	KUNIT_EXPECT_EQ(test, peer_writes(&b->qp, next, IOVA, "x", 1), WEFT_KEY_UNKNOWN);
	KUNIT_EXPECT_EQ(test, atomic_read(&b->region->windows), 0);
	KUNIT_EXPECT_EQ(test, weft_dealloc_mw(&mw.ib), 0);
}

CASE_WITH(window_type_2, struct bench *b, setup(test))
{
	struct weft_bind bind;
	struct weft_mw mw;
	u32 key;

	region(test, b, MAY_BIND);
	window(test, b, &mw, IB_MW_TYPE_2);
	key = mw.ib.rkey;
	bind = draft(b);
	bind.access |= IB_ZERO_BASED;
	KUNIT_EXPECT_EQ(test, weft_invalidate(&b->qp, key, false), WEFT_KEY_UNKNOWN);
	KUNIT_EXPECT_TRUE(test, weft_mw_bind(&b->qp, key, key, &bind));
	KUNIT_EXPECT_EQ(test, peer_writes(&b->qp, key, 0, "abcd", 4), WEFT_KEY_OK);
	KUNIT_EXPECT_EQ(test, memcmp(page_address(b->page[1]), "cd", 2), 0);
	KUNIT_EXPECT_EQ(test, peer_writes(&b->qp, key, PAGE_SIZE, "x", 1), WEFT_KEY_BOUNDS);
	KUNIT_EXPECT_EQ(test, peer_writes(&b->qp, key, bind.addr, "x", 1), WEFT_KEY_BOUNDS);
	/* Bound, it is nobody else's and cannot be bound again. */
	KUNIT_EXPECT_EQ(test, peer_writes(&b->other_qp, key, 0, "x", 1), WEFT_KEY_PD);
	KUNIT_EXPECT_EQ(test, weft_invalidate(&b->other_qp, key, true), WEFT_KEY_PD);
	KUNIT_EXPECT_EQ(test, weft_invalidate(&b->other_qp, key, false), WEFT_KEY_PD);
	KUNIT_EXPECT_FALSE(test, weft_mw_bind(&b->qp, key, ib_inc_rkey(key), &bind));
	KUNIT_EXPECT_EQ(test, atomic_read(&b->region->windows), 1);
	KUNIT_EXPECT_EQ(test, weft_invalidate(&b->qp, key, true), WEFT_KEY_OK);
	KUNIT_EXPECT_EQ(test, atomic_read(&b->region->windows), 0);
	KUNIT_EXPECT_EQ(test, weft_invalidate(&b->qp, key, true), WEFT_KEY_UNKNOWN);
	KUNIT_EXPECT_EQ(test, peer_writes(&b->qp, key, 0, "x", 1), WEFT_KEY_UNKNOWN);
	/* It dies with its queue pair, and only with that one. */
	KUNIT_EXPECT_TRUE(test, weft_mw_bind(&b->qp, key, key, &bind));
	weft_mw_forget(&b->other_qp);
	KUNIT_EXPECT_EQ(test, peer_writes(&b->qp, key, 0, "x", 1), WEFT_KEY_OK);
	weft_mw_forget(&b->qp);
	KUNIT_EXPECT_EQ(test, peer_writes(&b->qp, key, 0, "x", 1), WEFT_KEY_UNKNOWN);
	KUNIT_EXPECT_EQ(test, atomic_read(&b->region->windows), 0);
	/* Freed while bound */
	KUNIT_EXPECT_TRUE(test, weft_mw_bind(&b->qp, key, key, &bind));
	KUNIT_EXPECT_EQ(test, weft_dealloc_mw(&mw.ib), 0);
}

/* Each bind has one thing wrong with it. */
CASE_WITH(window_refused, struct bench *b, setup(test))
{
	static const enum ib_mw_type types[] = { IB_MW_TYPE_1, IB_MW_TYPE_2 };
	struct weft_bind bind, wrong[8];
	struct weft_mw mw;
	struct weft_mr *mr;
	u32 key;

	region(test, b, MAY_BIND);
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		window(test, b, &mw, types[i]);
		key = mw.ib.rkey;
		for (u32 n = 0; n < ARRAY_SIZE(wrong); n++)
			wrong[n] = draft(b);
		wrong[0].lkey ^= 1;
		wrong[1].lkey = 0;
		wrong[2].lkey = key; /* a window of a window */
		wrong[3].addr = IOVA - 1;
		wrong[4].length = BYTES;
		wrong[5].length = U64_MAX;
		wrong[6].access |= IB_ACCESS_MW_BIND;
		wrong[7].reserved = 1;
		for (u32 n = 0; n < ARRAY_SIZE(wrong); n++)
			KUNIT_EXPECT_FALSE_MSG(test, weft_mw_bind(&b->qp, key, key, &wrong[n]),
					       "bind %u", n);
		bind = draft(b);
		KUNIT_EXPECT_FALSE(test, weft_mw_bind(&b->qp, key, key ^ 0x100, &bind));
		KUNIT_EXPECT_FALSE(test, weft_mw_bind(&b->qp, b->region->stag,
						      b->region->stag, &bind));
		b->qp.pd = &b->other_pd;
		KUNIT_EXPECT_FALSE(test, weft_mw_bind(&b->qp, key, key, &bind));
		b->qp.pd = &b->pd;
		b->region->pd = &b->other_pd;
		KUNIT_EXPECT_FALSE(test, weft_mw_bind(&b->qp, key, key, &bind));
		b->region->pd = &b->pd;
		b->region->access = IB_ACCESS_LOCAL_WRITE;
		KUNIT_EXPECT_FALSE(test, weft_mw_bind(&b->qp, key, key, &bind));
		b->region->access = IB_ACCESS_MW_BIND;
		KUNIT_EXPECT_FALSE(test, weft_mw_bind(&b->qp, key, key, &bind));
		bind.access = IB_ACCESS_REMOTE_ATOMIC;
		KUNIT_EXPECT_FALSE(test, weft_mw_bind(&b->qp, key, key, &bind));
		bind.access = IB_ACCESS_REMOTE_READ;
		KUNIT_EXPECT_TRUE(test, weft_mw_bind(&b->qp, key, key, &bind));
		b->region->access = MAY_BIND;
		KUNIT_EXPECT_EQ(test, weft_dealloc_mw(&mw.ib), 0);
		KUNIT_EXPECT_EQ(test, atomic_read(&b->region->windows), 0);
	}

	/* Type 2 is not bound to nothing, and type 1 has no addresses of its own. */
	window(test, b, &mw, IB_MW_TYPE_2);
	bind = draft(b);
	bind.length = 0;
	KUNIT_EXPECT_FALSE(test, weft_mw_bind(&b->qp, mw.ib.rkey, mw.ib.rkey, &bind));
	KUNIT_EXPECT_EQ(test, weft_dealloc_mw(&mw.ib), 0);
	window(test, b, &mw, IB_MW_TYPE_1);
	bind = draft(b);
	bind.access |= IB_ZERO_BASED;
	KUNIT_EXPECT_FALSE(test, weft_mw_bind(&b->qp, mw.ib.rkey, mw.ib.rkey, &bind));
	/* Nor are regions that come and go, or are everything, for windows. */
	mr = fast(test, b);
	KUNIT_EXPECT_EQ(test, weft_map_mr_sg(&mr->ib, b->sg, PAGES, NULL), PAGES);
	KUNIT_EXPECT_TRUE(test, weft_fast_register(&b->qp, mr->stag, mr->stag, MAY_BIND));
	bind = (struct weft_bind){ .length = 1, .lkey = mr->stag };
	KUNIT_EXPECT_FALSE(test, weft_mw_bind(&b->qp, mw.ib.rkey, mw.ib.rkey, &bind));
	KUNIT_EXPECT_EQ(test, weft_dereg_mr(&mr->ib, NULL), 0);
	KUNIT_EXPECT_EQ(test, weft_dealloc_mw(&mw.ib), 0);
}

/* Who may not bind to a region does not keep it from ending, not for a moment. */
CASE_WITH(window_holds_its_own, struct bench *b, setup(test))
{
	struct weft_bind bind;
	struct weft_mw mw;
	struct weft_mr *mr;

	region(test, b, MAY_BIND);
	window(test, b, &mw, IB_MW_TYPE_2);
	bind = draft(b);
	mw.mr->pd = &b->other_pd;
	KUNIT_EXPECT_FALSE(test, weft_mw_hold(b->region, mw.mr, &bind));
	mw.mr->pd = &b->pd;
	bind.lkey ^= 1;
	KUNIT_EXPECT_FALSE(test, weft_mw_hold(b->region, mw.mr, &bind));
	bind = draft(b);
	b->region->all_memory = true;
	KUNIT_EXPECT_FALSE(test, weft_mw_hold(b->region, mw.mr, &bind));
	b->region->all_memory = false;
	KUNIT_EXPECT_EQ(test, atomic_read(&b->region->windows), 0);
	mr = fast(test, b);
	bind.lkey = mr->stag;
	KUNIT_EXPECT_FALSE(test, weft_mw_hold(mr, mw.mr, &bind));
	KUNIT_EXPECT_EQ(test, weft_dereg_mr(&mr->ib, NULL), 0);
	bind = draft(b);
	KUNIT_EXPECT_TRUE(test, weft_mw_hold(b->region, mw.mr, &bind));
	KUNIT_EXPECT_EQ(test, weft_dereg_mr(&b->region->ib, NULL), -EBUSY);
	atomic_set(&b->region->windows, -1); /* it is about to end */
	KUNIT_EXPECT_FALSE(test, weft_mw_hold(b->region, mw.mr, &bind));
	atomic_set(&b->region->windows, 0);
	KUNIT_EXPECT_EQ(test, weft_dealloc_mw(&mw.ib), 0);
}

/* --- keys --- */

/* Whoever was given one key knows nothing of the next. */
CASE_WITH(keys_are_apart, struct bench *b, setup(test))
{
	u32 near = 0, last = 0, i;
	struct weft_mr *mr[32];

	for (i = 0; i < ARRAY_SIZE(mr); i++) {
		mr[i] = fast(test, b);
		if (i && abs((s32)(mr[i]->stag >> 8) - (s32)last) <= 256)
			near++;
		last = mr[i]->stag >> 8;
	}
	/* One pair in 16 million / 512 is near by chance. */
	KUNIT_EXPECT_LE(test, near, 1U);
	for (i = 0; i < ARRAY_SIZE(mr); i++)
		KUNIT_EXPECT_EQ(test, weft_dereg_mr(&mr[i]->ib, NULL), 0);
}

/* The search for a place goes round. */
CASE_WITH(keys_go_round, struct bench *b, setup(test))
{
	static const u32 from[] = { 7, 7, WEFT_LAST_KEY, WEFT_LAST_KEY, 1 };
	static const u32 got[] = { 7, 8, WEFT_LAST_KEY, 1, 2 };
	u32 index, i;

	for (i = 0; i < ARRAY_SIZE(from); i++) {
		KUNIT_EXPECT_EQ(test, weft_mr_reserve(&b->dev.mrs, from[i], &index), 0);
		KUNIT_EXPECT_EQ(test, index, got[i]);
		KUNIT_EXPECT_PTR_EQ(test, weft_mr_find(&b->dev, index << 8), NULL);
	}
	for (i = 0; i < ARRAY_SIZE(got); i++)
		xa_release(&b->dev.mrs, got[i]);
}

/* No key of an ordinary region is ended by a work request, whoever posts it. */
CASE_WITH(region_stays, struct bench *b, setup(test))
{
	region(test, b, REMOTE_WRITE);
	KUNIT_EXPECT_EQ(test, weft_invalidate(&b->qp, b->region->stag, true), WEFT_KEY_ACCESS);
	KUNIT_EXPECT_EQ(test, weft_invalidate(&b->qp, b->region->stag, false), WEFT_KEY_ACCESS);
	KUNIT_EXPECT_EQ(test, weft_invalidate(&b->qp, b->region->stag ^ 1, true), WEFT_KEY_UNKNOWN);
	KUNIT_EXPECT_EQ(test, peer_writes(&b->qp, b->region->stag, IOVA, "x", 1), WEFT_KEY_OK);
}

/* Changes the region, which stays what it is. Returns 0 or a negative errno value. */
static int rereg(struct bench *b, int flags, int access, struct ib_pd *pd)
{
	struct ib_mr *mr = weft_rereg_user_mr(&b->region->ib, flags, 0, 0, 0, access, pd, NULL);

	return mr && !IS_ERR(mr) ? -EEXIST : PTR_ERR_OR_ZERO(mr);
}

/* Rights and domain change together with the key. New memory is the lab's to test. */
CASE_WITH(region_changes, struct bench *b, setup(test))
{
	struct weft_bind bind;
	struct weft_mw mw;
	u32 key;

	region(test, b, MAY_BIND | IB_ACCESS_REMOTE_WRITE);
	window(test, b, &mw, IB_MW_TYPE_1);
	key = b->region->stag;
	bind = draft(b);
	KUNIT_EXPECT_TRUE(test, weft_mw_bind(&b->qp, mw.ib.rkey, mw.ib.rkey, &bind));
	KUNIT_EXPECT_EQ(test, rereg(b, IB_MR_REREG_ACCESS, IB_ACCESS_REMOTE_READ, NULL), -EBUSY);
	KUNIT_EXPECT_EQ(test, peer_writes(&b->qp, key, IOVA, "x", 1), WEFT_KEY_OK);
	KUNIT_EXPECT_EQ(test, weft_dealloc_mw(&mw.ib), 0);
	KUNIT_EXPECT_EQ(test, rereg(b, IB_MR_REREG_PD, 0, &b->other_pd), 0);
	KUNIT_EXPECT_NE(test, b->region->ib.rkey, key);
	KUNIT_EXPECT_EQ(test, b->region->ib.rkey >> 8, key >> 8);
	KUNIT_EXPECT_EQ(test, peer_writes(&b->qp, key, IOVA, "x", 1), WEFT_KEY_UNKNOWN);
	key = b->region->ib.rkey;
	KUNIT_EXPECT_EQ(test, peer_writes(&b->qp, key, IOVA, "x", 1), WEFT_KEY_PD);
	b->qp.pd = &b->other_pd;
	KUNIT_EXPECT_EQ(test, peer_writes(&b->qp, key, IOVA, "x", 1), WEFT_KEY_OK);
	KUNIT_EXPECT_EQ(test, rereg(b, IB_MR_REREG_ACCESS, IB_ACCESS_REMOTE_READ, NULL), 0);
	key = b->region->ib.rkey;
	KUNIT_EXPECT_EQ(test, peer_writes(&b->qp, key, IOVA, "x", 1), WEFT_KEY_ACCESS);
	KUNIT_EXPECT_EQ(test, atomic_read(&b->region->windows), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&b->dev.num_mr), 1);
	/* A change makes no further region, so the device's limit does not refuse it. */
	atomic_set(&b->dev.num_mr, WEFT_MAX_MR);
	KUNIT_EXPECT_EQ(test, rereg(b, IB_MR_REREG_ACCESS, IB_ACCESS_REMOTE_WRITE, NULL), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&b->dev.num_mr), WEFT_MAX_MR);
	atomic_set(&b->dev.num_mr, 1);
}

/* The device has as many regions as it says, and one again when one of them is gone. */
CASE_WITH(region_number, struct bench *b, setup(test))
{
	struct weft_mr *mr;

	atomic_set(&b->dev.num_mr, WEFT_MAX_MR - 1);
	mr = must(test, weft_mr_create(&b->pd, WEFT_MR_REGION));
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(weft_mr_create(&b->pd, WEFT_MR_REGION)), -ENOMEM);
	weft_mr_destroy(mr);
	mr = must(test, weft_mr_create(&b->pd, WEFT_MR_REGION));
	weft_mr_destroy(mr);
	KUNIT_EXPECT_EQ(test, atomic_read(&b->dev.num_mr), WEFT_MAX_MR - 1);
	atomic_set(&b->dev.num_mr, 0);
}

/* --- an end waits for who is inside --- */

struct end {
	struct bench *b;
	u32 key;
	int result;
	bool begun, over;
	struct completion done;
};

static int end_by_invalidate(void *arg)
{
	struct end *e = arg;

	WRITE_ONCE(e->begun, true);
	e->result = weft_invalidate(&e->b->qp, e->key, false);
	WRITE_ONCE(e->over, true);
	/* Once that is known, the module may be gone. */
	kthread_complete_and_exit(&e->done, 0);
}

static void end_waits(struct kunit *test)
{
	bool begun = false, early = true;
	struct bench *b;
	struct weft_mr *mr, *held;
	struct task_struct *task;
	enum weft_key_error err;
	struct end e;

	if (num_online_cpus() < 2)
		kunit_skip(test, "one processor: nobody can be inside meanwhile");
	b = setup(test);
	mr = fast(test, b);
	KUNIT_EXPECT_EQ(test, weft_map_mr_sg(&mr->ib, b->sg, PAGES, NULL), PAGES);
	KUNIT_EXPECT_TRUE(test, weft_fast_register(&b->qp, mr->stag, mr->stag, REMOTE_WRITE));
	e = (struct end){ .b = b, .key = mr->stag };
	init_completion(&e.done);
	task = must(test, kthread_create(end_by_invalidate, &e, "weft_end"));
	migrate_disable();
	kthread_bind(task, cpumask_any_but(cpu_online_mask, raw_smp_processor_id()));
	/* Bottom halves are off from here: the other one has a processor of its own. */
	held = weft_mr_access(&b->qp, &b->pd, mr->stag, 0, 1, IB_ACCESS_REMOTE_WRITE, &err);
	wake_up_process(task);
	if (held) {
		for (int ms = 0; ms < 5000 && !begun; ms++) {
			mdelay(1);
			begun = READ_ONCE(e.begun);
		}
		mdelay(100);
		early = READ_ONCE(e.over);
		weft_mr_write(held, 0, "x", 1);
		weft_mr_access_end(held);
	}
	migrate_enable();
	wait_for_completion(&e.done);
	KUNIT_EXPECT_NOT_NULL(test, held);
	KUNIT_EXPECT_TRUE(test, begun);
	KUNIT_EXPECT_FALSE(test, early);
	KUNIT_EXPECT_EQ(test, e.result, WEFT_KEY_OK);
	KUNIT_EXPECT_EQ(test, peer_writes(&b->qp, mr->stag, 0, "y", 1), WEFT_KEY_UNKNOWN);
	KUNIT_EXPECT_EQ(test, weft_dereg_mr(&mr->ib, NULL), 0);
}

/* What the key allows, a queue pair may not; its owner's own accesses are no peer's. */
CASE_WITH(queue_pair_refuses, struct bench *b, setup(test))
{
	enum weft_key_error err;
	struct weft_mr *mr;
	u32 key;

	region(test, b, REMOTE_WRITE);
	key = b->region->stag;
	KUNIT_EXPECT_EQ(test, peer_writes(&b->qp, key, IOVA, "x", 1), WEFT_KEY_OK);
	b->qp.rights = IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC;
	KUNIT_EXPECT_EQ(test, peer_writes(&b->qp, key, IOVA, "y", 1), WEFT_KEY_ACCESS);
	KUNIT_EXPECT_EQ(test, peer_writes(&b->other_qp, key, IOVA, "z", 1), WEFT_KEY_OK);
	b->qp.rights = 0;
	mr = weft_mr_access(&b->qp, &b->pd, key, IOVA, 1, IB_ACCESS_LOCAL_WRITE, &err);
	KUNIT_EXPECT_NOT_NULL(test, mr);
	if (mr)
		weft_mr_access_end(mr);
}

/* The region of all memory that kernel consumers can have: addresses are the kernel's own. */
CASE_WITH(all_memory, struct bench *b, setup(test))
{
	struct ib_mr *ib = must(test, weft_get_dma_mr(&b->pd, REMOTE_WRITE));
	u8 bytes[PAGE_SIZE / 8], read[PAGE_SIZE / 8];
	enum weft_key_error err;
	struct weft_mr *mr;
	u64 at = (uintptr_t)page_address(b->page[0]) + 8;

	memset(bytes, 0x5a, sizeof(bytes));
	KUNIT_EXPECT_EQ(test, peer_writes(&b->qp, ib->rkey, at, bytes, sizeof(bytes)), WEFT_KEY_OK);
	KUNIT_EXPECT_EQ(test, memcmp((void *)(uintptr_t)at, bytes, sizeof(bytes)), 0);
	/* Of its protection domain, with its rights, and not round the end of all addresses. */
	KUNIT_EXPECT_NULL(test, weft_mr_access(&b->qp, &b->other_pd, ib->rkey, at, 8,
					       IB_ACCESS_REMOTE_WRITE, &err));
	KUNIT_EXPECT_NULL(test, weft_mr_access(&b->qp, &b->pd, ib->rkey, at, 8,
					       IB_ACCESS_REMOTE_READ, &err));
	KUNIT_EXPECT_NULL(test, weft_mr_access(&b->qp, &b->pd, ib->rkey, U64_MAX - 3, 8,
					       IB_ACCESS_REMOTE_WRITE, &err));
	mr = weft_mr_access(&b->qp, &b->pd, ib->rkey, at, sizeof(bytes),
			    IB_ACCESS_REMOTE_WRITE, &err);
	KUNIT_ASSERT_NOT_NULL(test, mr);
	memset(bytes, 0xa5, sizeof(bytes));
	weft_mr_write(mr, at, bytes, sizeof(bytes));
	weft_mr_read(mr, at, read, sizeof(read));
	KUNIT_EXPECT_EQ(test, memcmp(read, bytes, sizeof(read)), 0);
	KUNIT_EXPECT_PTR_EQ(test, weft_mr_word(mr, at), (u64 *)(uintptr_t)at);
	KUNIT_EXPECT_NULL(test, weft_mr_word(mr, at + 4));
	weft_mr_access_end(mr);
	KUNIT_EXPECT_EQ(test, weft_dereg_mr(ib, NULL), 0);
}

A_SUITE(revoke, no, fast_life, fast_next, fast_refused, local_key, all_memory, window_type_1,
	window_type_2, window_refused, window_holds_its_own, keys_are_apart, keys_go_round,
	region_stays, region_changes, region_number, end_waits, queue_pair_refuses);
