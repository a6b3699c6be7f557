// SPDX-License-Identifier: GPL-2.0
/* Streams with markers, read by a reader of its own, which knows only where in the stream it is. */
#include "tx_bench.h"

/* The FPDU read last, without its markers. */
static u8 plain[WEFT_FPDU_ROOM(WEFT_MAX_ULPDU)];

/* Takes the word at @at out of the stream: it is a marker, or one of the FPDU's. */
static void take_word(struct kunit *test, struct tape *tape, u32 at, u32 field, u32 *have)
{
	if (at % 512) {
		memcpy(plain + *have, tape->bytes + at, 4);
		*have += 4;
		return;
	}
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(tape->bytes + at), at < field ? 0 : at - field);
}

/* Reads an FPDU: its markers point to it, its CRC covers them. Returns its length in the stream. */
static u32 read_fpdu(struct kunit *test, struct tape *tape, bool crc)
{
	u32 at = tape->at, have = 0, covered;
	u32 field = at % 512 ? at : at + 4;
	u32 len = weft_fpdu_len(get_unaligned_be16(tape->bytes + field));

	for (; have < len; at += 4) {
		KUNIT_ASSERT_LT(test, at, tape->len);
		take_word(test, tape, at, field, &have);
	}
	covered = at - tape->at - WEFT_CRC_LEN;
	if (crc)
		KUNIT_EXPECT_TRUE(test, weft_crc_good(tape->bytes + at - WEFT_CRC_LEN,
						      crc32c(WEFT_CRC_SEED, tape->bytes + tape->at,
							     covered)));
	len = at - tape->at;
	tape->at = at;
	return len;
}

/* Reads a SEND whose payload is @len bytes at @bytes. Its FPDUs are no longer than a segment. */
static void read_send(struct kunit *test, struct tape *tape, const struct end *e, bool crc,
		      const u8 *bytes, u32 len)
{
	struct weft_ddp_hdr hdr = {};
	struct weft_term why;
	u32 got, ulpdu, n;

	for (got = 0; !hdr.last; got += ulpdu - n) {
		KUNIT_EXPECT_LE(test, read_fpdu(test, tape, crc), e->fake->script.emss);
		ulpdu = get_unaligned_be16(plain);
		n = weft_ddp_decode(plain + WEFT_MPA_LEN, ulpdu, true, &hdr, &why);
		KUNIT_ASSERT_NE(test, n, 0U);
		KUNIT_EXPECT_EQ(test, hdr.opcode, WEFT_RDMAP_SEND);
		KUNIT_EXPECT_EQ(test, hdr.mo, got);
		KUNIT_ASSERT_LE(test, got + ulpdu - n, len);
		KUNIT_EXPECT_EQ(test, memcmp(plain + WEFT_MPA_LEN + n, bytes + got, ulpdu - n), 0);
	}
	KUNIT_EXPECT_EQ(test, got, len);
}

/* With markers too an FPDU keeps to a segment; none is large or lent where the device would. */
static void marker_sends(struct kunit *test)
{
	static const u32 lengths[] = { 0, 1, 100, 480, 508, 512, 1400, 1424, 5000, 70001 };
	static const u32 sizes[] = { 128, 516, 1220, 1448, 8948, 65532 };

	for (u32 i = 0; i < 2 * ARRAY_SIZE(sizes); i++) {
		struct tx_bench *t;

		fake_script.emss = sizes[i / 2];
		fake_script.lends = true;
		t = bench_new(test);
		weft_settings_init(&t->e->b->dev.settings);
		end_fill(t->e, i);
		t->agreed.crc = i & 1;
		t->agreed.marks_out = true;
		start(test, t, true);
		for (u32 k = 0; k < 200; k++) {
			u32 len = k < 2 * ARRAY_SIZE(lengths) ? lengths[k / 2] : k * 5;

			end_post(t->e, end_wr(t->e, WEFT_OP_SEND, k * 31, len));
			KUNIT_EXPECT_EQ(test, end_ring(t->e), 0);
			drain(test, t);
			read_send(test, t->tape, t->e, i & 1, t->e->memory + k * 31, len);
			expect_done(test, t->e, 0x1000 + k, IB_WC_SUCCESS);
		}
		expect_end(test, t);
		end_now(test, t);
	}
}

A_SUITE(marker, fake, marker_sends);
