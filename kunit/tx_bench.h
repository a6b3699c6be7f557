/* SPDX-License-Identifier: GPL-2.0 */
/* An end that sends, and what its stream was given, read by the decoders of wire/. */
#ifndef WEFT_KUNIT_TX_BENCH_H
#define WEFT_KUNIT_TX_BENCH_H

#include <linux/sizes.h>
#include <linux/vmalloc.h>

#include "ends.h"

#define MOST	SZ_2M

/* What a stream was given. */
struct tape {
	u8 *bytes;	/* all of it */
	u32 len;	/* how many */
	u32 start[4096];	/* where each packet buffer began */
	u32 starts;	/* how many of these */
	u32 at;	/* what was read of it */
};

/* The end, what its stream was given, and what the handshake settled. */
struct tx_bench {
	struct end *e;
	struct tape *tape;
	struct weft_mpa_agreed agreed;
	struct weft_ddp_hdr hdr;	/* of the FPDU that was read last */
	const u8 *payload;	/* of the same, @n bytes */
	u32 n;
};

END_OF(bench_end, struct tx_bench *t)
{
	end_free(test, t->e);
	vfree(t->tape->bytes);
	vfree(t->tape);
	KUNIT_EXPECT_EQ(test, fake_end(), 0U);
}

static inline struct tx_bench *bench_new(struct kunit *test)
{
	struct tx_bench *t = zeroed(test, sizeof(*t));

	t->tape = must(test, vzalloc(sizeof(*t->tape)));
	t->tape->bytes = must(test, vzalloc(MOST));
	t->agreed = (struct weft_mpa_agreed){
		.revision = 2, .crc = true, .extended = true, .ird = 2, .ord = 2,
	};
	t->e = end_make(test);
	t->e->b->dev.settings.value[WEFT_SET_FPDU] = WEFT_FPDU_SEGMENT;
	end_fill(t->e, 1);
	at_end(test, bench_end, t);
	return t;
}

static inline void start(struct kunit *test, struct tx_bench *t, bool initiator)
{
	KUNIT_ASSERT_EQ(test, end_start(t->e, &t->agreed, initiator), 0);
	settle();
}

/* An initiator that may send. */
static inline struct tx_bench *started(struct kunit *test)
{
	struct tx_bench *t = bench_new(test);

	start(test, t, true);
	return t;
}

/* Takes one packet buffer of the stream. Returns how many bytes that were. */
static inline u32 take_one(struct kunit *test, struct tx_bench *t)
{
	struct tape *tape = t->tape;
	u32 n = fake_take(t->e->fake, tape->bytes + tape->len, MOST - tape->len);

	if (n) {
		KUNIT_ASSERT_LT(test, tape->starts, (u32)ARRAY_SIZE(tape->start));
		tape->start[tape->starts++] = tape->len;
		tape->len += n;
	}
	return n;
}

/* Takes what the stream has. Returns how many bytes that were. */
static inline u32 take(struct kunit *test, struct tx_bench *t)
{
	u32 n, all = 0;

	while ((n = take_one(test, t)))
		all += n;
	return all;
}

/* Has all be sent that can be, and takes it. */
static inline void drain(struct kunit *test, struct tx_bench *t)
{
	int quiet = 0;

	while (quiet < 3) {
		settle();
		quiet = take(test, t) ? 0 : quiet + 1;
	}
}

/* Reads the next FPDU. False: there is none. */
static inline bool next_fpdu(struct kunit *test, struct tx_bench *t)
{
	struct tape *tape = t->tape;
	const u8 *at = tape->bytes + tape->at;
	u32 ulpdu, all, n;
	struct weft_term why;

	if (tape->at == tape->len)
		return false;
	KUNIT_ASSERT_LE(test, tape->at + WEFT_MPA_LEN, tape->len);
	ulpdu = get_unaligned_be16(at);
	all = weft_fpdu_len(ulpdu);
	KUNIT_ASSERT_LE(test, tape->at + all, tape->len);
	n = weft_ddp_decode(at + WEFT_MPA_LEN, ulpdu, t->agreed.extended, &t->hdr, &why);
	KUNIT_ASSERT_NE(test, n, 0U);
	t->payload = at + WEFT_MPA_LEN + n;
	t->n = ulpdu - n;
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(at + WEFT_MPA_LEN + ulpdu, 0,
					     all - WEFT_CRC_LEN - WEFT_MPA_LEN - ulpdu), NULL);
	if (t->agreed.crc)
		KUNIT_EXPECT_TRUE(test, weft_crc_good(at + all - WEFT_CRC_LEN,
						      crc32c(WEFT_CRC_SEED, at,
							     all - WEFT_CRC_LEN)));
	tape->at += all;
	return true;
}

static inline void expect_fpdu(struct kunit *test, struct tx_bench *t, u8 opcode)
{
	KUNIT_ASSERT_TRUE(test, next_fpdu(test, t));
	KUNIT_EXPECT_EQ(test, t->hdr.opcode, opcode);
}

/* The next message is as @next, its payload is @bytes. Returns its FPDUs. */
static inline u32 expect_message(struct kunit *test, struct tx_bench *t,
			  struct weft_ddp_hdr next, const void *bytes, u32 len)
{
	const struct weft_ddp_hdr *hdr = &t->hdr;
	u32 got = 0, n, fpdus = 0, before = t->tape->at;

	next.last = false;
	do {
		if (!next_fpdu(test, t)) {
			KUNIT_FAIL(test, "the message of %u bytes has %u", len, got);
			return fpdus;
		}
		n = t->n;
		KUNIT_ASSERT_LE(test, got + n, len);
		next.last = got + n == len;
		KUNIT_EXPECT_EQ(test, hdr->opcode, next.opcode);
		KUNIT_EXPECT_EQ(test, hdr->tagged, next.tagged);
		KUNIT_EXPECT_EQ(test, hdr->last, next.last);
		KUNIT_EXPECT_EQ(test, hdr->stag, next.stag);
		KUNIT_EXPECT_EQ(test, hdr->to, next.to);
		KUNIT_EXPECT_EQ(test, hdr->qn, next.qn);
		KUNIT_EXPECT_EQ(test, hdr->msn, next.msn);
		KUNIT_EXPECT_EQ(test, hdr->mo, next.mo);
		KUNIT_EXPECT_EQ(test, hdr->inv_stag, next.inv_stag);
		KUNIT_EXPECT_EQ(test, hdr->imm, next.imm);
		KUNIT_EXPECT_EQ_MSG(test, memcmp(t->payload, bytes + got, n), 0,
				    "%u bytes at %u of a message", n, got);
		got += n;
		if (next.tagged)
			next.to += n;
		else
			next.mo += n;
		fpdus++;
		/* A message that failed once has said enough. */
		if (hdr->last != next.last)
			return fpdus;
	} while (!next.last);
	KUNIT_EXPECT_GT(test, t->tape->at, before);
	return fpdus;
}

static inline void expect_end(struct kunit *test, struct tx_bench *t)
{
	KUNIT_EXPECT_EQ(test, t->tape->at, t->tape->len);
}

/* Each FPDU lies in one segment, wherever packet buffers begin. */
static inline void expect_segments(struct kunit *test, struct tx_bench *t, u32 emss)
{
	struct tape *tape = t->tape;
	u32 at, len, packet = 0, wrong = 0;

	for (at = 0; at < tape->len; at += len) {
		while (packet + 1 < tape->starts && tape->start[packet + 1] <= at)
			packet++;
		len = weft_fpdu_len(get_unaligned_be16(tape->bytes + at));
		wrong += (at - tape->start[packet]) % emss + len > emss;
		wrong += packet + 1 < tape->starts && at + len > tape->start[packet + 1];
	}
	KUNIT_EXPECT_EQ_MSG(test, wrong, 0U, "segments of %u", emss);
}

#endif /* WEFT_KUNIT_TX_BENCH_H */
