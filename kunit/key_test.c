// SPDX-License-Identifier: GPL-2.0
/* The checks of a key: which, whose, for what, and where. Peers name memory at will. */
#include "memory/mr.h"
#include "suite.h"

#define STAG	0x00012342U
#define IOVA	0x100000ULL
#define LENGTH	0x3001ULL
#define ALL_RIGHTS (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ | \
		    IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC)

/* Two protection domains, of which only the addresses matter. */
static struct ib_pd pd, other_pd;

static struct weft_mr *region(struct kunit *test, u64 iova, u64 length)
{
	struct weft_mr *mr = zeroed(test, sizeof(*mr));

	mr->stag = STAG;
	mr->pd = &pd;
	mr->access = ALL_RIGHTS;
	mr->iova = iova;
	mr->length = length;
	return mr;
}

/* What a request for write access to this range is answered. */
static int at(const struct weft_mr *mr, u64 addr, u64 len)
{
	return weft_mr_check(mr, STAG, &pd, 0, addr, len, IB_ACCESS_REMOTE_WRITE);
}

CASE_WITH(key_inside, struct weft_mr *mr, region(test, IOVA, LENGTH))
{
	KUNIT_EXPECT_EQ(test, at(mr, IOVA, 1), WEFT_KEY_OK);
	KUNIT_EXPECT_EQ(test, at(mr, IOVA, LENGTH), WEFT_KEY_OK);
	KUNIT_EXPECT_EQ(test, at(mr, IOVA + LENGTH - 1, 1), WEFT_KEY_OK);
	KUNIT_EXPECT_EQ(test, at(mr, IOVA + 4095, 2), WEFT_KEY_OK);
}

CASE_WITH(key_outside, struct weft_mr *mr, region(test, IOVA, LENGTH))
{
	KUNIT_EXPECT_EQ(test, at(mr, IOVA - 1, 1), WEFT_KEY_BOUNDS);
	KUNIT_EXPECT_EQ(test, at(mr, IOVA - 1, 2), WEFT_KEY_BOUNDS);
	KUNIT_EXPECT_EQ(test, at(mr, IOVA + LENGTH, 1), WEFT_KEY_BOUNDS);
	KUNIT_EXPECT_EQ(test, at(mr, IOVA + LENGTH - 1, 2), WEFT_KEY_BOUNDS);
	KUNIT_EXPECT_EQ(test, at(mr, IOVA, LENGTH + 1), WEFT_KEY_BOUNDS);
	KUNIT_EXPECT_EQ(test, at(mr, IOVA - 1, LENGTH + 2), WEFT_KEY_BOUNDS);
	KUNIT_EXPECT_EQ(test, at(mr, 0, 1), WEFT_KEY_BOUNDS);
	KUNIT_EXPECT_EQ(test, at(mr, 0, U64_MAX), WEFT_KEY_BOUNDS);
	KUNIT_EXPECT_EQ(test, at(mr, U64_MAX, 1), WEFT_KEY_BOUNDS);
	/* A length whose low half alone would fit */
	KUNIT_EXPECT_EQ(test, at(mr, IOVA, BIT_ULL(32) + 1), WEFT_KEY_BOUNDS);
}

/* Small enough to ask about every byte, one at a time. */
static void key_against_oracle(struct kunit *test)
{
	const u64 first = 5, length = 7, top = 20;
	struct weft_mr *mr = region(test, first, length);

	for (u64 addr = 0; addr < top; addr++) {
		for (u64 len = 1; len < top; len++) {
			bool inside = true;

			for (u64 byte = addr; byte < addr + len; byte++)
				inside &= byte >= first && byte < first + length;
			KUNIT_EXPECT_EQ_MSG(test, at(mr, addr, len) == WEFT_KEY_OK, inside,
					    "addr %llu len %llu", addr, len);
		}
	}
}

CASE_WITH(key_wraps, struct weft_mr *mr, region(test, IOVA, LENGTH))
{
	KUNIT_EXPECT_EQ(test, at(mr, U64_MAX, 2), WEFT_KEY_WRAP);
	KUNIT_EXPECT_EQ(test, at(mr, 1, U64_MAX), WEFT_KEY_BOUNDS);
	KUNIT_EXPECT_EQ(test, at(mr, 2, U64_MAX), WEFT_KEY_WRAP);
	KUNIT_EXPECT_EQ(test, at(mr, U64_MAX, U64_MAX), WEFT_KEY_WRAP);
	/* Ends inside the region once it has gone round */
	KUNIT_EXPECT_EQ(test, at(mr, IOVA + 0x1000, U64_MAX - 0xf00), WEFT_KEY_WRAP);
	/* A region may itself end where addresses end. */
	mr = region(test, U64_MAX - 4095, 4096);
	KUNIT_EXPECT_EQ(test, at(mr, U64_MAX - 4095, 4096), WEFT_KEY_OK);
	KUNIT_EXPECT_EQ(test, at(mr, U64_MAX, 1), WEFT_KEY_OK);
	KUNIT_EXPECT_EQ(test, at(mr, U64_MAX, 2), WEFT_KEY_WRAP);
	KUNIT_EXPECT_EQ(test, at(mr, U64_MAX - 4096, 2), WEFT_KEY_BOUNDS);
}

/* The kernel's own region has no bounds, yet nothing goes round the end. */
CASE_WITH(key_all_memory, struct weft_mr *mr, region(test, 0, 0))
{
	mr->all_memory = true;
	KUNIT_EXPECT_EQ(test, at(mr, 0, 1), WEFT_KEY_OK);
	KUNIT_EXPECT_EQ(test, at(mr, U64_MAX, 1), WEFT_KEY_OK);
	KUNIT_EXPECT_EQ(test, at(mr, U64_MAX, 2), WEFT_KEY_WRAP);
	KUNIT_EXPECT_EQ(test, weft_mr_check(mr, STAG, &other_pd, 0, 0, 1, 0), WEFT_KEY_PD);
}

CASE_WITH(key_rights, struct weft_mr *mr, region(test, IOVA, LENGTH))
{
	static const int rights[] = {
		IB_ACCESS_LOCAL_WRITE, IB_ACCESS_REMOTE_READ,
		IB_ACCESS_REMOTE_WRITE, IB_ACCESS_REMOTE_ATOMIC,
	};

	for (size_t have = 0; have < ARRAY_SIZE(rights); have++) {
		mr->access = rights[have];
		for (size_t need = 0; need < ARRAY_SIZE(rights); need++)
			KUNIT_EXPECT_EQ_MSG(test,
					    weft_mr_check(mr, STAG, &pd, 0, IOVA, 1, rights[need]),
					    have == need ? WEFT_KEY_OK : WEFT_KEY_ACCESS,
					    "has %#x, needs %#x", rights[have], rights[need]);
		/* One of two is not enough. */
		KUNIT_EXPECT_EQ(test, weft_mr_check(mr, STAG, &pd, 0, IOVA, 1, rights[have] |
						    rights[(have + 1) % 4]), WEFT_KEY_ACCESS);
	}

	/* Reading for a send of one's own needs no right. */
	mr->access = 0;
	KUNIT_EXPECT_EQ(test, weft_mr_check(mr, STAG, &pd, 0, IOVA, 1, 0), WEFT_KEY_OK);
	KUNIT_EXPECT_EQ(test, at(mr, IOVA, 1), WEFT_KEY_ACCESS);
}

CASE_WITH(key_domain, struct weft_mr *mr, region(test, IOVA, LENGTH))
{
	KUNIT_EXPECT_EQ(test, weft_mr_check(mr, STAG, &other_pd, 0, IOVA, 1, IB_ACCESS_REMOTE_READ),
			WEFT_KEY_PD);
	KUNIT_EXPECT_EQ(test, weft_mr_check(mr, STAG, NULL, 0, IOVA, 1, IB_ACCESS_REMOTE_READ),
			WEFT_KEY_PD);
}

/* The low byte changes with each use of a slot: yesterday's key is no key. */
CASE_WITH(key_stale, struct weft_mr *mr, region(test, IOVA, LENGTH))
{
	for (unsigned int bit = 0; bit < 32; bit++)
		KUNIT_EXPECT_EQ_MSG(test, weft_mr_check(mr, STAG ^ BIT(bit), &pd, 0, IOVA,
							1, IB_ACCESS_REMOTE_READ), WEFT_KEY_UNKNOWN,
				    "bit %u", bit);
}

/* No byte is touched, so no bound is broken; the key must still be good. */
CASE_WITH(key_zero_length, struct weft_mr *mr, region(test, IOVA, LENGTH))
{
	KUNIT_EXPECT_EQ(test, at(mr, IOVA, 0), WEFT_KEY_OK);
	KUNIT_EXPECT_EQ(test, at(mr, IOVA + LENGTH, 0), WEFT_KEY_OK);
	KUNIT_EXPECT_EQ(test, at(mr, 0, 0), WEFT_KEY_OK);
	KUNIT_EXPECT_EQ(test, at(mr, U64_MAX, 0), WEFT_KEY_OK);
	KUNIT_EXPECT_EQ(test, weft_mr_check(mr, STAG ^ 1, &pd, 0, IOVA, 0, 0), WEFT_KEY_UNKNOWN);
	KUNIT_EXPECT_EQ(test, weft_mr_check(mr, STAG, &other_pd, 0, IOVA, 0, 0), WEFT_KEY_PD);
	mr->access = IB_ACCESS_REMOTE_READ;
	KUNIT_EXPECT_EQ(test, at(mr, IOVA, 0), WEFT_KEY_ACCESS);
}

/* An empty region has not one byte, and is no way to all memory either. */
CASE_WITH(key_empty_region, struct weft_mr *mr, region(test, IOVA, 0))
{
	KUNIT_EXPECT_EQ(test, at(mr, IOVA, 0), WEFT_KEY_OK);
	KUNIT_EXPECT_EQ(test, at(mr, IOVA, 1), WEFT_KEY_BOUNDS);
	KUNIT_EXPECT_EQ(test, at(mr, 0, U64_MAX), WEFT_KEY_BOUNDS);
}

A_SUITE(key, no, key_inside, key_outside, key_against_oracle, key_wraps, key_all_memory, key_rights,
	key_domain, key_stale, key_zero_length, key_empty_region);
