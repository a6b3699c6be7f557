// SPDX-License-Identifier: GPL-2.0
/* Messages before delivery: which segment may come, when one is whole, that each comes once. */
#include "rx/inbound.h"
#include "suite.h"
#include "wire/ddp.h"

#define MAX_SGE	2U

static void window_end(struct kunit *test, void *window)
{
	weft_inbox_destroy(window);
}

static struct weft_inbox *window(struct kunit *test)
{
	struct weft_inbox *w = zeroed(test, sizeof(*w));

	KUNIT_ASSERT_EQ(test, weft_inbox_init(w, 1, MAX_SGE, NULL), 0);
	weft_inbox_start(w);
	at_end(test, window_end, w);
	return w;
}

/* The message whose turn it is, if it is whole. */
static struct weft_inbound *ready(const struct weft_inbox *w)
{
	struct weft_inbound *m = weft_inbox_at(w, w->next);

	return m->whole ? m : NULL;
}

/* Places a segment as the receive side does. Returns why it was refused, or 0. */
static u8 segment(struct weft_inbox *w, u32 msn, u32 mo, u32 len, bool last)
{
	u8 code = weft_inbox_refuses(w, msn, mo);

	if (code)
		return code;
	if (last)
		weft_inbound_end(weft_inbox_at(w, msn), len, WEFT_RDMAP_SEND, 0);
	else
		weft_inbound_grow(weft_inbox_at(w, msn), len);
	return 0;
}

/* Each message has a receive of its own, with memory for its SGEs, in either width. */
CASE_WITH(window_has_room, struct weft_inbox *w, window(test))
{
	for (u32 width = 1; width <= WEFT_INBOX; width += WEFT_INBOX - 1) {
		KUNIT_ASSERT_EQ(test, w->size, width);
		for (u32 i = 0; i < width; i++) {
			struct weft_inbound *m = weft_inbox_at(w, w->next + i);

			KUNIT_EXPECT_FALSE(test, m->recv.active);
			for (u32 j = 0; j < MAX_SGE; j++)
				m->recv.sge[j].addr = i * MAX_SGE + j;
		}
		for (u32 i = 0; i < width; i++) {
			struct weft_inbound *m = weft_inbox_at(w, w->next + i);

			for (u32 j = 0; j < MAX_SGE; j++)
				KUNIT_EXPECT_EQ(test, m->recv.sge[j].addr, (u64)i * MAX_SGE + j);
		}
		/* A second time nothing is left to do. */
		KUNIT_ASSERT_EQ(test, weft_inbox_init(w, WEFT_INBOX, MAX_SGE, NULL), 0);
		KUNIT_ASSERT_EQ(test, weft_inbox_init(w, WEFT_INBOX, MAX_SGE, NULL), 0);
		weft_inbox_start(w);
	}
}

/* A message grows by its segments, and is whole with the last. */
CASE_WITH(window_message_grows, struct weft_inbox *w, window(test))
{
	struct weft_inbound *m = weft_inbox_at(w, w->next);

	m->recv.room = 100;
	KUNIT_EXPECT_EQ(test, m->recv.room - m->len, 100ULL);
	KUNIT_EXPECT_EQ(test, segment(w, 1, 0, 30, false), 0);
	KUNIT_EXPECT_EQ(test, segment(w, 1, 30, 30, false), 0);
	KUNIT_EXPECT_EQ(test, m->recv.room - m->len, 40ULL);
	KUNIT_EXPECT_NULL(test, ready(w));
	KUNIT_EXPECT_EQ(test, segment(w, 1, 60, 7, true), 0);
	KUNIT_EXPECT_PTR_EQ(test, ready(w), m);
	KUNIT_EXPECT_EQ(test, m->len, 67U);
}

/* What the last segment tells is there when the message is delivered. */
CASE_WITH(window_message_tells, struct weft_inbox *w, window(test))
{
	weft_inbound_end(weft_inbox_at(w, w->next), 4, WEFT_RDMAP_SEND_SE_INV, 0x1234);
	KUNIT_ASSERT_NOT_NULL(test, ready(w));
	KUNIT_EXPECT_EQ(test, ready(w)->opcode, WEFT_RDMAP_SEND_SE_INV);
	KUNIT_EXPECT_EQ(test, ready(w)->ex, 0x1234U);
}

CASE_WITH(window_refuses, struct weft_inbox *w, window(test))
{
	/* Numbers begin at 1: behind the inbox, and before it. */
	KUNIT_EXPECT_EQ(test, segment(w, 1 + w->size, 0, 4, true), WEFT_DU_MSN_RANGE);
	KUNIT_EXPECT_EQ(test, segment(w, 0, 0, 4, true), WEFT_DU_MSN_RANGE);
	KUNIT_EXPECT_EQ(test, segment(w, U32_MAX, 0, 4, true), WEFT_DU_MSN_RANGE);
	/* In a message: a gap, and a segment that comes twice. */
	KUNIT_EXPECT_EQ(test, segment(w, 1, 1, 4, false), WEFT_DU_MO);
	KUNIT_EXPECT_EQ(test, segment(w, 1, 0, 4, false), 0);
	KUNIT_EXPECT_EQ(test, segment(w, 1, 0, 4, false), WEFT_DU_MO);
	KUNIT_EXPECT_EQ(test, segment(w, 1, 8, 4, true), WEFT_DU_MO);
	/* Nothing of that was noted. */
	KUNIT_EXPECT_EQ(test, w->next, 1U);
	KUNIT_EXPECT_EQ(test, weft_inbox_at(w, w->next)->len, 4U);
	KUNIT_EXPECT_NULL(test, ready(w));
	/* A message is in turn until it is delivered, and no other is. */
	KUNIT_ASSERT_EQ(test, weft_inbox_init(w, WEFT_INBOX, MAX_SGE, NULL), 0);
	weft_inbox_start(w);
	KUNIT_EXPECT_EQ(test, segment(w, 1, 0, 4, false), 0);
	KUNIT_EXPECT_EQ(test, weft_inbox_refuses(w, 1, 4), 0);
	for (u32 i = 1; i <= w->size; i++)
		KUNIT_EXPECT_EQ(test, weft_inbox_refuses(w, 1 + i, 0), WEFT_DU_MSN_RANGE);
	weft_inbox_pass(w);
	KUNIT_EXPECT_EQ(test, weft_inbox_refuses(w, 1, 0), WEFT_DU_MSN_RANGE);
	KUNIT_EXPECT_EQ(test, weft_inbox_refuses(w, 2, 0), 0);
}

/* A whole message is delivered once, and the next begins from nothing. */
CASE_WITH(window_delivers_once, struct weft_inbox *w, window(test))
{
	KUNIT_EXPECT_EQ(test, segment(w, 1, 0, 50, true), 0);
	KUNIT_EXPECT_NOT_NULL(test, ready(w));
	weft_inbox_pass(w);
	KUNIT_EXPECT_NULL(test, ready(w));
	KUNIT_EXPECT_EQ(test, weft_inbox_at(w, w->next)->len, 0U);
	KUNIT_EXPECT_EQ(test, segment(w, 1, 0, 50, true), WEFT_DU_MSN_RANGE);
	KUNIT_EXPECT_EQ(test, segment(w, 2, 0, 0, true), 0);
	KUNIT_EXPECT_NOT_NULL(test, ready(w));
}

/* Numbers go on behind 2^32 - 1 with 0. */
CASE_WITH(window_wraps, struct weft_inbox *w, window(test))
{
	u32 i, msn = U32_MAX - 4;

	w->next = msn;
	for (i = 0; i < 10; i++, msn++) {
		KUNIT_EXPECT_EQ(test, segment(w, msn + w->size, 0, 8, true), WEFT_DU_MSN_RANGE);
		KUNIT_EXPECT_EQ(test, segment(w, msn, 0, 8, false), 0);
		KUNIT_EXPECT_NULL(test, ready(w));
		KUNIT_EXPECT_EQ(test, segment(w, msn, 8, 8, true), 0);
		KUNIT_EXPECT_PTR_EQ(test, ready(w), weft_inbox_at(w, msn));
		weft_inbox_pass(w);
		KUNIT_EXPECT_EQ(test, segment(w, msn, 0, 8, true), WEFT_DU_MSN_RANGE);
	}
	KUNIT_EXPECT_EQ(test, w->next, 5U);
}

/* A new stream knows nothing of what was on its way. */
CASE_WITH(window_starts_anew, struct weft_inbox *w, window(test))
{
	KUNIT_EXPECT_EQ(test, segment(w, 1, 0, 8, true), 0);
	weft_inbox_pass(w);
	weft_inbox_at(w, w->next)->recv.active = true;
	KUNIT_EXPECT_EQ(test, segment(w, 2, 0, 8, true), 0);
	weft_inbox_start(w);
	KUNIT_EXPECT_EQ(test, w->next, 1U);
	KUNIT_EXPECT_NULL(test, ready(w));
	KUNIT_EXPECT_FALSE(test, weft_inbox_at(w, w->next)->recv.active);
	KUNIT_EXPECT_EQ(test, weft_inbox_refuses(w, 1, 0), 0);
}

/* The length of a Write is that of its segments, and the next begins anew. */
static void written_adds_up(struct kunit *test)
{
	struct weft_written w = {};

	weft_written_add(&w, 10, false);
	weft_written_add(&w, 10, false);
	weft_written_add(&w, 5, true);
	KUNIT_EXPECT_EQ(test, w.len, 25U);
	weft_written_add(&w, 3, true);
	KUNIT_EXPECT_EQ(test, w.len, 3U);
	weft_written_add(&w, 4, false);
	KUNIT_EXPECT_EQ(test, w.len, 4U);
	weft_written_add(&w, 0, true);
	KUNIT_EXPECT_EQ(test, w.len, 4U);
}

A_SUITE(inbound, no, window_has_room, window_message_grows, window_message_tells, window_refuses,
	window_delivers_once, window_wraps, window_starts_anew, written_adds_up);
