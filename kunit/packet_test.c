// SPDX-License-Identifier: GPL-2.0
/* Reading packet buffers as cards with fragments and lists make them. */
#include <linux/skbuff.h>

#include "base/compat.h"

/* As older kernels know no fragments in a device's memory, a buffer has them by its mark. */
#define UNREADABLE	0x00bad000U
static bool fake_readable(const struct sk_buff *skb)
{
	return skb->mark != UNREADABLE && skb_frags_readable(skb);
}

#undef skb_frags_readable
#define skb_frags_readable fake_readable
#include "llp/packet.h"
#include "suite.h"

#define LINEAR	5
#define FRAGS	2
#define IN_FRAG	7
#define IN_SKB	(LINEAR + FRAGS * IN_FRAG)
#define MOST	(3 * IN_SKB)

static u8 byte_at(u32 offset)
{
	return offset * 7 + 1;
}

/* One buffer whose bytes are those from @start in the packet; none of them linear. */
static struct sk_buff *buffer(struct kunit *test, u32 start, u32 linear)
{
	struct sk_buff *skb = must(test, alloc_skb(64, GFP_KERNEL));
	u32 i, n, at = start;

	for (i = 0; i < linear; i++)
		*(u8 *)skb_put(skb, 1) = byte_at(at++);
	for (n = 0; n < FRAGS; n++) {
		struct page *page = must(test, alloc_page(GFP_KERNEL));
		u32 where = 100 * n + 3;

		for (i = 0; i < IN_FRAG; i++)
			((u8 *)page_address(page))[where + i] = byte_at(at++);
		skb_add_rx_frag(skb, n, page, where, IN_FRAG, PAGE_SIZE);
	}
	return skb;
}

static void append(struct sk_buff *root, struct sk_buff *child)
{
	struct sk_buff **at = &skb_shinfo(root)->frag_list;

	while (*at)
		at = &(*at)->next;
	*at = child;
	root->len += child->len;
	root->data_len += child->len;
}

/* All bytes of it, by pieces of every length from every offset. */
static void expect_bytes(struct kunit *test, struct sk_buff *skb, const char *what)
{
	struct weft_packet p;
	u32 from, len, i, wrong = 0;
	u8 got[MOST];

	KUNIT_ASSERT_LE(test, skb->len, (u32)MOST);
	KUNIT_ASSERT_TRUE(test, weft_packet_readable(skb));
	p = weft_packet_begin(skb);
	for (len = 1; len <= skb->len; len++) {
		/* Forwards, and back to the front for the next length. */
		for (from = 0; from + len <= skb->len; from++) {
			memset(got, 0, sizeof(got));
			weft_packet_copy(&p, from, got, len);
			for (i = 0; i < len; i++)
				wrong += got[i] != byte_at(from + i);
		}
	}
	/* Backwards, a byte at a time. */
	for (from = skb->len; from-- > 0;) {
		weft_packet_copy(&p, from, got, 1);
		wrong += got[0] != byte_at(from);
	}
	KUNIT_EXPECT_EQ_MSG(test, wrong, 0U, "%s", what);
}

CASE_WITH(packet_fragments, struct sk_buff *skb, buffer(test, 0, LINEAR))
{
	expect_bytes(test, skb, "a linear part and fragments");
	kfree_skb(skb);
	skb = buffer(test, 0, 0);
	expect_bytes(test, skb, "fragments alone");
	kfree_skb(skb);
}

CASE_WITH(packet_list, struct sk_buff *skb, buffer(test, 0, LINEAR))
{
	append(skb, buffer(test, skb->len, 0));
	append(skb, buffer(test, skb->len, LINEAR));
	expect_bytes(test, skb, "a list of buffers");
	kfree_skb(skb);
}

/* Refused before a byte of it is looked at. */
static void packet_list_in_list(struct kunit *test)
{
	struct sk_buff *skb = buffer(test, 0, LINEAR), *child = buffer(test, 0, LINEAR);

	append(child, buffer(test, 0, 0));
	append(skb, child);
	KUNIT_EXPECT_FALSE(test, weft_packet_readable(skb));
	kfree_skb(skb);
}

/* In the packet itself, or in any buffer of its list. */
static void packet_unreadable(struct kunit *test)
{
	struct sk_buff *skb = buffer(test, 0, LINEAR), *child = buffer(test, 0, LINEAR);

	append(skb, buffer(test, 0, 0));
	append(skb, child);
	KUNIT_EXPECT_TRUE(test, weft_packet_readable(skb));
	child->mark = UNREADABLE;
	KUNIT_EXPECT_FALSE(test, weft_packet_readable(skb));
	child->mark = 0;
	skb->mark = UNREADABLE;
	KUNIT_EXPECT_FALSE(test, weft_packet_readable(skb));
#ifdef HAVE_SKB_FRAGS_READABLE
	skb->mark = 0;
	skb->unreadable = true;
	KUNIT_EXPECT_FALSE(test, weft_packet_readable(skb));
#endif
	kfree_skb(skb);
}

A_SUITE(packet, no, packet_fragments, packet_list, packet_list_in_list, packet_unreadable);
