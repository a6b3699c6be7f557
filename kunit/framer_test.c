// SPDX-License-Identifier: GPL-2.0
/* The framer by itself: when it tells of which segment. A header is the first HDR bytes here. */
#include <linux/skbuff.h>

#include "mpa/framer.h"
#include "suite.h"
#include "wire/fpdu.h"

#define HDR	6
#define MOST	256

/* Who is told of segments. */
struct taker {
	struct weft_framer f;	/* the framer */
	u32 begun;	/* segments that began, ended or not */
	u32 ended;	/* how many of them ended */
	u32 waits;	/* how often the next is to wait */
	u32 rows;	/* how often a row was offered */
	u32 len;	/* the length of the one under way */
	u32 got;	/* bytes of it here */
	u8 bytes[MOST];	/* the same */
};

static u8 byte_at(u32 i)
{
	return i * 5 + 3;
}

static enum weft_rx_verdict take_begin(void *ctx, const u8 *head, u32 have, u32 len, u32 *hdr_len)
{
	struct taker *t = ctx;

	if (t->waits) {
		t->waits--;
		return WEFT_RX_WAIT;
	}
	t->begun++;
	if (len < HDR || len > MOST || have != min_t(u32, len, WEFT_SEGMENT_HEAD))
		return WEFT_RX_BAD;
	t->len = len;
	t->got = HDR;
	memcpy(t->bytes, head, HDR);
	*hdr_len = HDR;
	return WEFT_RX_OK;
}

static enum weft_rx_verdict take_place(void *ctx, const u8 *from, u32 len)
{
	struct taker *t = ctx;

	if (len > t->len - t->got)
		return WEFT_RX_BAD;
	memcpy(t->bytes + t->got, from, len);
	t->got += len;
	return WEFT_RX_OK;
}

static enum weft_rx_verdict take_end(void *ctx)
{
	struct taker *t = ctx;

	if (t->got != t->len)
		return WEFT_RX_BAD;
	for (u32 i = 0; i < t->len; i++)
		if (t->bytes[i] != byte_at(i))
			return WEFT_RX_BAD;
	t->ended++;
	return WEFT_RX_OK;
}

static u32 take_row(void *ctx, struct weft_packet *p, u32 offset, u32 end)
{
	struct taker *t = ctx;

	t->rows++;
	return offset;
}

static const struct weft_segment_ops take_ops = {
	.begin = take_begin, .place = take_place, .end = take_end, .row = take_row,
};

static enum weft_rx_verdict take_part(void *ctx, const u8 *from, u32 *len)
{
	struct taker *t = ctx;

	return weft_framer_part(&t->f, from, len, &take_ops, t);
}

static struct taker *taker_of(struct kunit *test, bool crc, bool marks)
{
	struct taker *t = zeroed(test, sizeof(*t));

	weft_framer_start(&t->f, &(struct weft_mpa_agreed){ .crc = crc, .marks_in = marks }, NULL);
	return t;
}

static struct taker *taker(struct kunit *test, bool crc)
{
	return taker_of(test, crc, false);
}

/* Writes an FPDU with a segment of @len bytes. Returns its length. */
static u32 fpdu(u8 *to, u32 len)
{
	u32 end = weft_fpdu_len(len) - WEFT_CRC_LEN, i;

	memset(to, 0, end);
	put_unaligned_be16(len, to);
	for (i = 0; i < len; i++)
		to[WEFT_MPA_LEN + i] = byte_at(i);
	put_unaligned_le32(~crc32c(WEFT_CRC_SEED, to, end), to + end);
	return end + WEFT_CRC_LEN;
}

/* Gives the taker a packet with these bytes. Returns how many were taken. */
static u32 give(struct kunit *test, struct taker *t, const u8 *bytes, u32 len)
{
	struct sk_buff *skb = must(test, alloc_skb(len, GFP_KERNEL));
	struct weft_packet p;
	u32 taken;

	skb_put_data(skb, bytes, len);
	KUNIT_ASSERT_TRUE(test, weft_packet_readable(skb));
	p = weft_packet_begin(skb);
	taken = weft_framer_take(&t->f, &p, 0, len, &take_ops, take_part, t);
	kfree_skb(skb);
	return taken;
}

static void expect_segment(struct kunit *test, const struct taker *t, u32 len)
{
	u32 i, wrong = 0;

	KUNIT_EXPECT_EQ(test, t->len, len);
	for (i = 0; i < len; i++)
		wrong += t->bytes[i] != byte_at(i);
	KUNIT_EXPECT_EQ(test, wrong, 0U);
}

/* Segments of every length, whole and cut in two, with what is in them. */
static void framer_tells(struct kunit *test)
{
	u8 bytes[MOST];
	u32 len, cut, n;

	for (len = HDR; len < 40; len++) {
		n = fpdu(bytes, len);
		for (cut = 0; cut < n; cut++) {
			struct taker *t = taker(test, false);

			if (cut)
				KUNIT_EXPECT_EQ(test, give(test, t, bytes, cut), cut);
			KUNIT_EXPECT_EQ(test, weft_framer_amid(&t->f), cut > 0);
			KUNIT_EXPECT_EQ(test, t->ended, 0U);
			KUNIT_EXPECT_EQ(test, give(test, t, bytes + cut, n - cut), n - cut);
			KUNIT_EXPECT_FALSE(test, weft_framer_amid(&t->f));
			KUNIT_EXPECT_EQ(test, t->begun, 1U);
			KUNIT_EXPECT_EQ(test, t->ended, 1U);
			expect_segment(test, t, len);
			KUNIT_EXPECT_EQ(test, t->f.counts.bytes, n);
			KUNIT_EXPECT_EQ(test, t->f.counts.split, cut ? 1U : 0U);
			kunit_kfree(test, t);
		}
	}
}

/* Under a bad CRC nothing is told: no segment begins, and all of the stream is dropped. */
static void framer_damage(struct kunit *test)
{
	u8 bytes[MOST];
	u32 n = fpdu(bytes, 33), at;

	for (at = WEFT_MPA_LEN; at < n; at++) {
		struct taker *t = taker(test, true);

		bytes[at] ^= 0x10;
		KUNIT_EXPECT_EQ(test, give(test, t, bytes, n), n);
		bytes[at] ^= 0x10;
		KUNIT_EXPECT_EQ(test, t->begun, 0U);
		KUNIT_EXPECT_EQ(test, weft_framer_fault(&t->f), WEFT_FRAMER_CRC);
		KUNIT_EXPECT_EQ(test, weft_framer_fault(&t->f), WEFT_FRAMER_FINE);
		KUNIT_EXPECT_EQ(test, t->f.counts.fpdus, 0U);
		kunit_kfree(test, t);
	}
}

/* With CRCs a part of an FPDU is not told of: it stays in the stream until its CRC is here. */
static void framer_waits_for_the_crc(struct kunit *test)
{
	u8 bytes[2 * MOST];
	u32 first = fpdu(bytes, 33), n = first + fpdu(bytes + first, 50), cut;

	for (cut = first + 1; cut < n; cut++) {
		struct taker *t = taker(test, true);

		KUNIT_EXPECT_EQ(test, give(test, t, bytes, cut), first);
		KUNIT_EXPECT_EQ(test, t->begun, 1U);
		KUNIT_EXPECT_TRUE(test, t->f.ahead);
		kunit_kfree(test, t);
	}
}

/* A segment that waits is begun again, from its first byte, whole or in parts. */
static void framer_begins_again(struct kunit *test)
{
	u8 bytes[MOST];
	u32 n = fpdu(bytes, 33), cut, taken;

	for (cut = 0; cut < n; cut++) {
		struct taker *t = taker(test, false);

		t->waits = 3;
		taken = cut ? give(test, t, bytes, cut) : 0;
		while (t->waits)
			taken += give(test, t, bytes + taken, n - taken);
		KUNIT_EXPECT_LT(test, taken, n);
		KUNIT_EXPECT_EQ(test, t->begun, 0U);
		taken += give(test, t, bytes + taken, n - taken);
		KUNIT_EXPECT_EQ(test, taken, n);
		KUNIT_EXPECT_EQ(test, t->ended, 1U);
		expect_segment(test, t, 33);
		kunit_kfree(test, t);
	}
}

/* While a staged segment waits, no byte behind its FPDU is taken, least of all for its rest. */
CASE_WITH(framer_staged_waits, struct taker *t, taker(test, true))
{
	u8 bytes[2 * MOST];
	u32 first = fpdu(bytes, 33), n = first + fpdu(bytes + first, 50);

	t->f.summed = 0;
	KUNIT_ASSERT_TRUE(test, weft_framer_stage_begin(&t->f));
	t->waits = 1;
	KUNIT_EXPECT_EQ(test, give(test, t, bytes, n), first);
	KUNIT_EXPECT_EQ(test, t->waits, 0U);
	KUNIT_EXPECT_EQ(test, give(test, t, bytes + first, n - first), 0U);
	KUNIT_EXPECT_EQ(test, t->begun, 0U);
	KUNIT_EXPECT_EQ(test, weft_framer_unstage(&t->f, take_part, t), WEFT_RX_OK);
	KUNIT_EXPECT_EQ(test, t->ended, 1U);
	expect_segment(test, t, 33);
	KUNIT_EXPECT_EQ(test, give(test, t, bytes + first, n - first), n - first);
	KUNIT_EXPECT_EQ(test, t->ended, 2U);
	weft_framer_drop(&t->f);
}

/* What its taker refuses ends the stream: the rest is dropped, and told to nobody. */
CASE_WITH(framer_refused, struct taker *t, taker(test, false))
{
	u8 bytes[2 * MOST];
	u32 first = fpdu(bytes, HDR - 1), n = first + fpdu(bytes + first, 50);

	KUNIT_EXPECT_EQ(test, give(test, t, bytes, n), n);
	KUNIT_EXPECT_EQ(test, t->begun, 1U);
	KUNIT_EXPECT_EQ(test, t->ended, 0U);
	KUNIT_EXPECT_EQ(test, weft_framer_fault(&t->f), WEFT_FRAMER_FINE);
}

/* A row is offered where as much follows, and is looked for by length. */
CASE_WITH(framer_rows, struct taker *t, taker(test, false))
{
	struct sk_buff *skb = must(test, alloc_skb(4 * MOST, GFP_KERNEL));
	u8 bytes[4 * MOST];
	u32 one = fpdu(bytes, 50), n = one;
	struct weft_packet p;
	const u8 *segment;

	n += fpdu(bytes + n, 50);
	n += fpdu(bytes + n, 51);
	KUNIT_EXPECT_EQ(test, give(test, t, bytes, n), n);
	KUNIT_EXPECT_EQ(test, t->ended, 3U);
	KUNIT_EXPECT_EQ(test, t->rows, 2U);
	skb_put_data(skb, bytes, n);
	KUNIT_ASSERT_TRUE(test, weft_packet_readable(skb));
	p = weft_packet_begin(skb);
	KUNIT_EXPECT_TRUE(test, weft_framer_like(&p, one, 50, &segment));
	KUNIT_EXPECT_PTR_EQ(test, segment, (const u8 *)skb->data + one + WEFT_MPA_LEN);
	KUNIT_EXPECT_FALSE(test, weft_framer_like(&p, 2 * one, 50, &segment));
	kfree_skb(skb);
}

/* --- markers --- */

/* Segments, over three markers and more. */
static const u32 marked_lengths[] = { 18, 250, 251, 6, 190, 252, 253, 254, 7, 220 };

#define MARKED	ARRAY_SIZE(marked_lengths)

/* Writes FPDUs with these segments, and markers. Returns how long they are. */
static u32 marked(u8 *to, bool crc)
{
	u32 i, k, at = 0, len;
	u8 *segment;

	for (k = 0; k < MARKED; k++) {
		len = marked_lengths[k];
		segment = weft_fpdu_begin_marked(to + at, len, at);
		for (i = 0; i < len; i++)
			segment[i] = byte_at(i);
		at += weft_fpdu_end_marked(to + at, len, at, crc);
	}
	return at;
}

static void marked_end(struct kunit *test, struct taker *t)
{
	weft_framer_drop(&t->f);
	kunit_kfree(test, t);
}

/* Gives the bytes in packets of at most @cut, until the framer finds fault. */
static void give_cut(struct kunit *test, struct taker *t, const u8 *bytes, u32 len, u32 cut)
{
	u32 at, n;

	for (at = 0; at < len && !t->f.fault; at += n) {
		n = min(cut, len - at);
		KUNIT_EXPECT_EQ(test, give(test, t, bytes + at, n), n);
	}
}

/* A stream with markers, cut in two at each byte, and in packets of each length. */
static void framer_markers(struct kunit *test)
{
	u8 *bytes = zeroed(test, 16 * MOST);
	u32 cut, n, way;

	for (way = 0; way < 4; way++) {
		bool crc = way & 1;

		n = marked(bytes, crc);
		for (cut = 1; cut < n; cut += way & 2 && cut > 40 ? 61 : 1) {
			struct taker *t = taker_of(test, crc, true);

			if (way & 2) {
				give_cut(test, t, bytes, n, cut);
			} else {
				KUNIT_EXPECT_EQ(test, give(test, t, bytes, cut), cut);
				KUNIT_EXPECT_EQ(test, give(test, t, bytes + cut, n - cut), n - cut);
			}
			KUNIT_EXPECT_FALSE(test, weft_framer_amid(&t->f));
			KUNIT_EXPECT_EQ_MSG(test, t->ended, (u32)MARKED, "cut at %u, way %u", cut,
					    way);
			KUNIT_EXPECT_EQ(test, t->f.counts.bytes, n);
			KUNIT_EXPECT_EQ(test, weft_framer_fault(&t->f), WEFT_FRAMER_FINE);
			marked_end(test, t);
		}
	}
}

/* A marker that points elsewhere ends the stream, and its FPDU is not placed under a CRC. */
static void framer_wrong_marker(struct kunit *test)
{
	u8 *bytes = zeroed(test, 16 * MOST);
	u32 at, n, way, begun = 0;

	for (way = 0; way < 4; way++) {
		bool crc = way & 1;

		n = marked(bytes, crc);
		for (at = 0; at < n; at += WEFT_MARKER_EVERY) {
			struct taker *t = taker_of(test, crc, true);

			bytes[at + 2] ^= 0x80;
			give_cut(test, t, bytes, n, way & 2 ? 3 : n);
			bytes[at + 2] ^= 0x80;
			KUNIT_EXPECT_EQ(test, weft_framer_fault(&t->f), WEFT_FRAMER_MARKER);
			KUNIT_EXPECT_LT(test, t->ended, (u32)MARKED);
			if (crc)
				KUNIT_EXPECT_EQ(test, t->begun, t->ended);
			begun += t->begun;
			marked_end(test, t);
		}
	}
	KUNIT_EXPECT_GT(test, begun, 0U);
}

/* The reserved half of a marker means nothing, but its CRC covers it. */
static void framer_marker_damage(struct kunit *test)
{
	u8 *bytes = zeroed(test, 16 * MOST);
	u32 at, n, way;

	for (way = 0; way < 2; way++) {
		n = marked(bytes, way);
		for (at = 0; at < n; at += WEFT_MARKER_EVERY) {
			struct taker *t = taker_of(test, way, true);

			bytes[at] ^= 1;
			give_cut(test, t, bytes, n, n);
			bytes[at] ^= 1;
			KUNIT_EXPECT_EQ(test, weft_framer_fault(&t->f),
					way ? WEFT_FRAMER_CRC : WEFT_FRAMER_FINE);
			KUNIT_EXPECT_EQ(test, t->ended == MARKED, !way);
			marked_end(test, t);
		}
	}
}

/* A segment that waits: under a CRC it is here, and is placed later; else its bytes stay. */
static void framer_marked_waits(struct kunit *test)
{
	u8 *bytes = zeroed(test, 16 * MOST);
	u32 n, taken, way, first;

	for (way = 0; way < 2; way++) {
		struct taker *t = taker_of(test, way, true);

		n = marked(bytes, way);
		first = weft_fpdu_len_marked(marked_lengths[0], 0);
		t->waits = 2;
		taken = give(test, t, bytes, n);
		if (way) {
			KUNIT_EXPECT_EQ(test, taken, first);
			KUNIT_EXPECT_EQ(test, give(test, t, bytes + taken, n - taken), 0U);
			KUNIT_EXPECT_EQ(test, t->waits, 1U);
			KUNIT_EXPECT_EQ(test, weft_framer_unstage(&t->f, take_part, t),
					WEFT_RX_WAIT);
			KUNIT_EXPECT_EQ(test, weft_framer_unstage(&t->f, take_part, t), WEFT_RX_OK);
		} else {
			KUNIT_EXPECT_LT(test, taken, first);
			KUNIT_EXPECT_EQ(test, give(test, t, bytes + taken, n - taken), 0U);
		}
		KUNIT_EXPECT_EQ(test, t->waits, 0U);
		KUNIT_EXPECT_EQ(test, give(test, t, bytes + taken, n - taken), n - taken);
		KUNIT_EXPECT_EQ(test, t->ended, (u32)MARKED);
		marked_end(test, t);
	}
}

A_SUITE(framer, no, framer_tells, framer_damage, framer_waits_for_the_crc, framer_begins_again,
	framer_staged_waits, framer_refused, framer_rows, framer_markers, framer_wrong_marker,
	framer_marker_damage, framer_marked_waits);
