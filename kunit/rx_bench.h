/* SPDX-License-Identifier: GPL-2.0 */
/* A receiver, fed by the encoders of wire/. */
#ifndef WEFT_KUNIT_RX_BENCH_H
#define WEFT_KUNIT_RX_BENCH_H

#include "ends.h"

#define TAPE	(64U << 10)

/* A receiver and what it is to be fed. */
struct rx_bench {
	struct end *e;	/* the receiver */
	struct weft_mpa_agreed agreed;	/* what its handshake came to */
	u8 *tape;	/* FPDUs for it */
	u32 len;	/* bytes of them */
	u8 *said;	/* what it answers */
};

END_OF(bench_end, struct rx_bench *r)
{
	end_free(test, r->e);
	KUNIT_EXPECT_EQ(test, fake_end(), 0U);
	kunit_kfree(test, r->tape);
	kunit_kfree(test, r->said);
}

static inline struct rx_bench *bench_new(struct kunit *test, bool crc)
{
	struct rx_bench *r = zeroed(test, sizeof(*r));

	r->tape = zeroed(test, TAPE);
	r->said = zeroed(test, TAPE);
	r->agreed = (struct weft_mpa_agreed){
		.revision = 2, .crc = crc, .extended = true, .ird = 2, .ord = 2,
	};
	r->e = end_make(test);
	KUNIT_ASSERT_EQ(test, end_start(r->e, &r->agreed, true), 0);
	settle();
	at_end(test, bench_end, r);
	return r;
}

static inline void put(struct rx_bench *r, struct weft_ddp_hdr hdr, const void *payload, u32 len)
{
	r->len += fpdu_put(r->tape + r->len, &hdr, payload, len, r->agreed.crc);
}

static inline void feed(struct rx_bench *r)
{
	fake_feed(r->e->fake, r->tape, r->len);
	settle();
}

/* What the receiver ended with: its Terminate, or a layer of 0xff if it sent none. */
static inline struct weft_term terminate(struct rx_bench *r)
{
	struct weft_term why = { .layer = 0xff }, bad;
	struct weft_ddp_hdr hdr;
	u32 n, len, msn;
	u8 op;

	settle();
	len = fake_take(r->e->fake, r->said, TAPE);
	if (!len)
		return why;
	n = weft_ddp_decode(r->said + WEFT_MPA_LEN, get_unaligned_be16(r->said), true, &hdr, &bad);
	if (n && hdr.opcode == WEFT_RDMAP_TERMINATE)
		weft_term_decode(r->said + WEFT_MPA_LEN + n, get_unaligned_be16(r->said) - n, &why,
				 &op, &msn);
	return why;
}

/* What payloads are made of. */
static const u8 text[] =
	"A queue pair takes what comes, in whatever pieces it comes, and makes the same of it.";

#endif /* WEFT_KUNIT_RX_BENCH_H */
