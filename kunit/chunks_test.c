// SPDX-License-Identifier: GPL-2.0
/* Chunks: where FPDUs are laid out, how long their pages are kept, without a queue pair. */
#include <linux/mm.h>
#include <rdma/ib_verbs.h>

#include "base/context.h"
#include "scarce.h"
#include "suite.h"
#include "tx/chunk.h"

#define LARGE	(PAGE_SIZE << 5)

static void chunks_end(struct kunit *test, void *chunks)
{
	weft_chunks_drop(chunks);
}

static struct weft_chunks *chunks_new(struct kunit *test)
{
	struct weft_chunks *chunks = zeroed(test, sizeof(*chunks));

	at_end(test, chunks_end, chunks);
	return chunks;
}

static struct weft_chunk *room(struct kunit *test, struct weft_chunks *chunks, u32 need, u32 left)
{
	struct weft_chunk *c = weft_chunk_room(chunks, need, left, NULL);

	KUNIT_ASSERT_FALSE(test, IS_ERR(c));
	return c;
}

/* FPDUs lie one behind the other as long as they fit; then another chunk is begun. */
CASE_WITH(chunks_fill, struct weft_chunks *chunks, chunks_new(test))
{
	struct weft_chunk *c = must(test, room(test, chunks, 100, 80)), *next;

	KUNIT_EXPECT_EQ(test, c->size, (u32)PAGE_SIZE);
	c->fill = PAGE_SIZE - 100;
	KUNIT_EXPECT_PTR_EQ(test, room(test, chunks, 100, 80), c);
	next = room(test, chunks, 101, 81);
	KUNIT_EXPECT_PTR_EQ(test, next, &chunks->chunk[1]);
	next->fill = next->size;
	/* Two are waiting: that is enough. */
	KUNIT_EXPECT_NULL(test, room(test, chunks, 1, 1));
	KUNIT_EXPECT_TRUE(test, weft_chunks_waiting(chunks));
	weft_chunks_drop(chunks);
	KUNIT_EXPECT_EQ(test, chunks->num, 0U);
	KUNIT_EXPECT_FALSE(test, weft_chunks_waiting(chunks));
}

/* Much to come makes a large one; the oldest moves out, the other up. */
CASE_WITH(chunks_move_up, struct weft_chunks *chunks, chunks_new(test))
{
	struct page *second;

	room(test, chunks, 100, 100)->fill = PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, room(test, chunks, 100, LARGE)->size, (u32)LARGE);
	second = chunks->chunk[1].page;
	weft_chunk_put(chunks, 0);
	KUNIT_EXPECT_EQ(test, chunks->num, 1U);
	KUNIT_EXPECT_PTR_EQ(test, chunks->chunk[0].page, second);
}

/* A worker, as is who runs this, waits for no memory of a process, which is tried again later. */
CASE_WITH(chunks_wait_for_no_owner, struct weft_chunks *chunks, chunks_new(test))
{
	struct weft_ucontext owner = {};

	KUNIT_EXPECT_FALSE(test, gfpflags_allow_blocking(weft_charge_gfp(&owner.ib)));
	KUNIT_EXPECT_TRUE(test, weft_charge_gfp(&owner.ib) & __GFP_ACCOUNT);
	KUNIT_EXPECT_TRUE(test, gfpflags_allow_blocking(weft_charge_gfp(NULL)));
	scarce = (struct scarce){ .pages = true };
	KUNIT_EXPECT_PTR_EQ(test, weft_chunk_room(chunks, 100, 100, &owner.ib), ERR_PTR(-EAGAIN));
	KUNIT_EXPECT_PTR_EQ(test, weft_chunk_room(chunks, 100, 100, NULL), ERR_PTR(-EAGAIN));
	scarce = (struct scarce){};
	KUNIT_EXPECT_EQ(test, chunks->num, 0U);
	KUNIT_EXPECT_NOT_NULL(test, weft_chunk_room(chunks, 100, 100, &owner.ib));
	KUNIT_EXPECT_EQ(test, chunks->num, 1U);
}

/* An empty page gives way to a large chunk for a message that it would cut; any other stays. */
CASE_WITH(chunks_short, struct weft_chunks *chunks, chunks_new(test))
{
	static const struct ib_ucontext payer;
	struct weft_chunk *c = room(test, chunks, 100, 80);

	KUNIT_EXPECT_EQ(test, c->size, (u32)PAGE_SIZE);
	KUNIT_EXPECT_PTR_EQ(test, room(test, chunks, 1000, PAGE_SIZE - WEFT_CHUNK_FRAME), c);
	KUNIT_EXPECT_EQ(test, c->size, (u32)PAGE_SIZE);
	c->fill = 1;
	KUNIT_EXPECT_EQ(test, room(test, chunks, 1000, PAGE_SIZE)->size, (u32)PAGE_SIZE);
	c->sent = 1;
	/* A program's message takes the page as it is. */
	KUNIT_EXPECT_PTR_EQ(test, weft_chunk_room(chunks, 1000, PAGE_SIZE, &payer), c);
	c = room(test, chunks, 1000, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, c->size, (u32)LARGE);
	KUNIT_EXPECT_EQ(test, c->fill, 0U);
	KUNIT_EXPECT_EQ(test, chunks->num, 1U);
}

/* A spare that nobody else holds any more is taken for few bytes as well; another is not. */
CASE_WITH(chunks_spare, struct weft_chunks *chunks, chunks_new(test))
{
	struct page *spare = room(test, chunks, 100, LARGE)->page;

	get_page(spare);
	weft_chunk_put(chunks, 0);
	KUNIT_EXPECT_EQ(test, room(test, chunks, 100, 80)->size, (u32)PAGE_SIZE);
	weft_chunk_put(chunks, 0);
	put_page(spare);
	KUNIT_EXPECT_PTR_EQ(test, room(test, chunks, 100, 80)->page, spare);
	KUNIT_EXPECT_EQ(test, chunks->chunk[0].size, (u32)LARGE);
}

/* A page that nobody else holds is filled again from its start; another is not. */
CASE_WITH(chunks_start_over, struct weft_chunks *chunks, chunks_new(test))
{
	struct weft_chunk *c = room(test, chunks, 100, 100);
	struct page *page = c->page;

	c->fill = 100;
	c->sent = 100;
	get_page(page);
	weft_chunks_taken(chunks);
	KUNIT_EXPECT_EQ(test, c->fill, 100U);
	c->fill = PAGE_SIZE;
	c->sent = PAGE_SIZE;
	c = room(test, chunks, 100, 100);
	KUNIT_EXPECT_PTR_NE(test, c->page, page);
	put_page(page);
	c->fill = 100;
	c->sent = 100;
	weft_chunks_taken(chunks);
	KUNIT_EXPECT_EQ(test, c->fill, 0U);
	KUNIT_EXPECT_EQ(test, c->sent, 0U);
	c->fill = PAGE_SIZE - 50;
	c->sent = PAGE_SIZE - 50;
	page = c->page;
	c = room(test, chunks, 100, 100);
	KUNIT_EXPECT_PTR_EQ(test, c->page, page);
	KUNIT_EXPECT_EQ(test, c->fill, 0U);
}

/* A large one is kept for the next, but not while somebody holds its page. */
CASE_WITH(chunks_are_kept, struct weft_chunks *chunks, chunks_new(test))
{
	struct page *page;

	page = room(test, chunks, 100, LARGE)->page;
	weft_chunk_put(chunks, 0);
	get_page(page);
	KUNIT_EXPECT_PTR_NE(test, room(test, chunks, 100, LARGE)->page, page);
	put_page(page);
	chunks->chunk[0].fill = LARGE;
	KUNIT_EXPECT_PTR_EQ(test, room(test, chunks, 100, LARGE)->page, page);
}

/* An idle one lets large memory go after a while, and keeps a page. */
CASE_WITH(chunks_rest, struct weft_chunks *chunks, chunks_new(test))
{
	room(test, chunks, 100, LARGE);
	chunks->active = jiffies + HZ;
	KUNIT_EXPECT_TRUE(test, weft_chunks_rest(chunks));
	KUNIT_EXPECT_EQ(test, chunks->num, 1U);
	chunks->active = jiffies - HZ;
	KUNIT_EXPECT_FALSE(test, weft_chunks_rest(chunks));
	KUNIT_EXPECT_EQ(test, chunks->num, 0U);
	KUNIT_EXPECT_EQ(test, chunks->num_spares, 0U);
	room(test, chunks, 100, 100);
	KUNIT_EXPECT_FALSE(test, weft_chunks_rest(chunks));
	KUNIT_EXPECT_EQ(test, chunks->num, 1U);
}

/* What a burst needed is not kept by a queue pair that sends little. */
CASE_WITH(chunks_burst, struct weft_chunks *chunks, chunks_new(test))
{
	struct page *held[WEFT_TX_SPARES];

	for (u32 i = 0; i < ARRAY_SIZE(held); i++) {
		held[i] = room(test, chunks, 100, LARGE)->page;
		get_page(held[i]);
		weft_chunk_put(chunks, 0);
	}
	KUNIT_EXPECT_EQ(test, chunks->num_spares, WEFT_TX_SPARES);
	chunks->active = jiffies + HZ;
	KUNIT_EXPECT_TRUE(test, weft_chunks_rest(chunks));
	KUNIT_EXPECT_EQ(test, chunks->num_spares, WEFT_TX_SPARES);
	/* TCP holds all of them, so that many are needed. */
	chunks->many = jiffies - HZ;
	room(test, chunks, 100, LARGE);
	KUNIT_EXPECT_TRUE(test, time_after(chunks->many, jiffies - HZ / 2));
	weft_chunk_put(chunks, 0);
	/* Of the last eight it has let go, so that eight would be enough. */
	for (u32 i = WEFT_TX_SPARES - WEFT_TX_FEW_SPARES; i < ARRAY_SIZE(held); i++)
		put_page(held[i]);
	chunks->many = jiffies - HZ;
	room(test, chunks, 100, LARGE);
	weft_chunk_put(chunks, 0);
	KUNIT_EXPECT_TRUE(test, weft_chunks_rest(chunks));
	KUNIT_EXPECT_EQ(test, chunks->num_spares, WEFT_TX_FEW_SPARES);
	/* The oldest are gone, and the others still its own. */
	KUNIT_EXPECT_EQ(test, page_ref_count(held[0]), 1);
	KUNIT_EXPECT_EQ(test, page_ref_count(held[WEFT_TX_SPARES - 1]), 1);
	for (u32 i = 0; i < WEFT_TX_SPARES - WEFT_TX_FEW_SPARES; i++)
		put_page(held[i]);
}

A_SUITE(chunks, no, chunks_fill, chunks_move_up, chunks_wait_for_no_owner, chunks_short,
	chunks_spare, chunks_start_over, chunks_are_kept, chunks_rest, chunks_burst);
