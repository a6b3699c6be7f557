// SPDX-License-Identifier: GPL-2.0
/*
 * The wire layer as the kernel compiles and runs it: with the kernel's CRC32C,
 * its compiler flags and its string functions. The full set of tests runs in
 * user space (tests/unit); this one is its core.
 */

#include <kunit/test.h>
#include <linux/string.h>
#include <linux/types.h>

#include "atomic.h"
#include "bytes.h"
#include "crc.h"
#include "ddp.h"
#include "mpa.h"
#include "negotiate.h"
#include "plan.h"
#include "term.h"

/* An RDMA Write of "hello" in one FPDU, whose CRC tshark calls good. */
static const u8 write_fpdu[] = {
	0x00, 0x13, 0xc1, 0x40, 0x12, 0x34, 0x56, 0x78, 0x11, 0x22, 0x33, 0x44,
	0x55, 0x66, 0x77, 0x88, 0x68, 0x65, 0x6c, 0x6c, 0x6f, 0x00, 0x00, 0x00,
	0xca, 0xf2, 0xfa, 0x17,
};

/* The ULPDU of an RDMA Read Request: DDP header, then RDMAP header. */
static const u8 read_req[] = {
	0x41, 0x41, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00,
	0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0xaa, 0xbb, 0xcc, 0xdd, 0x01, 0x02,
	0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x00, 0x00, 0x10, 0x00, 0x55, 0x66,
	0x77, 0x88, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
};

static void expect_crc(struct kunit *test, const u8 *data, u32 len,
		       const u8 *want)
{
	u32 crc = weft_crc_update(WEFT_CRC_SEED, data, len);
	u8 trailer[WEFT_CRC_LEN];

	weft_crc_put(trailer, crc);
	KUNIT_EXPECT_EQ(test, memcmp(trailer, want, sizeof(trailer)), 0);
	KUNIT_EXPECT_TRUE(test, weft_crc_good(want, crc));
	trailer[0] ^= 1;
	KUNIT_EXPECT_FALSE(test, weft_crc_good(trailer, crc));
}

/* RFC 3720, B.4, and an FPDU. */
static void crc_vectors(struct kunit *test)
{
	u8 data[32];
	u32 i;

	memset(data, 0, sizeof(data));
	expect_crc(test, data, 32, "\xaa\x36\x91\x8a");
	memset(data, 0xff, sizeof(data));
	expect_crc(test, data, 32, "\x43\xab\xa8\x62");
	for (i = 0; i < 32; i++)
		data[i] = (u8)i;
	expect_crc(test, data, 32, "\x4e\x79\xdd\x46");
	for (i = 0; i < 32; i++)
		data[i] = (u8)(31 - i);
	expect_crc(test, data, 32, "\x5c\xdb\x3f\x11");

	expect_crc(test, write_fpdu, sizeof(write_fpdu) - WEFT_CRC_LEN,
		   write_fpdu + sizeof(write_fpdu) - WEFT_CRC_LEN);
}

static void crc_in_pieces(struct kunit *test)
{
	u32 whole = weft_crc_update(WEFT_CRC_SEED, write_fpdu, 24);
	u32 cut, crc;

	for (cut = 0; cut <= 24; cut++) {
		crc = weft_crc_update(WEFT_CRC_SEED, write_fpdu, cut);
		crc = weft_crc_update(crc, write_fpdu + cut, 24 - cut);
		KUNIT_EXPECT_EQ(test, crc, whole);
	}
}

static void ddp_known_headers(struct kunit *test)
{
	u8 buf[WEFT_DDP_MAX_LEN];
	struct weft_ddp_hdr hdr;
	struct weft_read_req req;
	struct weft_term err;

	KUNIT_ASSERT_EQ(test, weft_ddp_decode(write_fpdu + 2, 19, false,
					      &hdr, &err), 14U);
	KUNIT_EXPECT_EQ(test, hdr.opcode, WEFT_RDMAP_WRITE);
	KUNIT_EXPECT_TRUE(test, hdr.tagged && hdr.last);
	KUNIT_EXPECT_EQ(test, hdr.stag, 0x12345678U);
	KUNIT_EXPECT_EQ(test, hdr.to, 0x1122334455667788ULL);
	KUNIT_EXPECT_EQ(test, weft_ddp_encode(buf, &hdr), 14U);
	KUNIT_EXPECT_EQ(test, memcmp(buf, write_fpdu + 2, 14), 0);

	KUNIT_ASSERT_EQ(test, weft_ddp_decode(read_req, sizeof(read_req), false,
					      &hdr, &err), 18U);
	KUNIT_EXPECT_EQ(test, hdr.opcode, WEFT_RDMAP_READ_REQ);
	KUNIT_EXPECT_EQ(test, hdr.qn, (u32)WEFT_QN_READ_REQ);
	KUNIT_EXPECT_EQ(test, hdr.msn, 1U);
	KUNIT_EXPECT_EQ(test, weft_ddp_encode(buf, &hdr), 18U);
	KUNIT_EXPECT_EQ(test, memcmp(buf, read_req, 18), 0);

	weft_read_req_decode(read_req + 18, &req);
	KUNIT_EXPECT_EQ(test, req.sink_stag, 0xaabbccddU);
	KUNIT_EXPECT_EQ(test, req.sink_to, 0x0102030405060708ULL);
	KUNIT_EXPECT_EQ(test, req.size, 4096U);
	KUNIT_EXPECT_EQ(test, req.src_stag, 0x55667788U);
	KUNIT_EXPECT_EQ(test, req.src_to, 0x1112131415161718ULL);
}

/* A good header with bytes of it overwritten, and what is wrong with it then. */
struct ddp_refusal {
	const char *what;
	bool tagged;
	u8 at;
	u8 value;
	u8 len;
	struct weft_term err;
};

static const struct ddp_refusal ddp_refusals[] = {
	{ "nothing at all", true, 0, 0xc1, 0, { 1, 0, 0 } },
	{ "tagged, cut short", true, 0, 0xc1, 13, { 1, 0, 0 } },
	{ "untagged, cut short", false, 0, 0x41, 17, { 1, 0, 0 } },
	{ "tagged, DDP version 2", true, 0, 0xc2, 14, { 1, 1, 4 } },
	{ "untagged, DDP version 0", false, 0, 0x40, 18, { 1, 2, 6 } },
	{ "queue 3", false, 9, 3, 18, { 1, 2, 1 } },
	{ "queue 1 << 24", false, 6, 1, 18, { 1, 2, 1 } },
	{ "RDMAP version 0", true, 1, 0x00, 14, { 0, 2, 5 } },
	{ "RDMAP version 2", false, 1, 0x81, 18, { 0, 2, 5 } },
	{ "opcode 8", true, 1, 0x48, 14, { 0, 2, 6 } },
	{ "opcode 15", false, 1, 0x4f, 18, { 0, 2, 6 } },
	{ "a tagged Send", true, 1, 0x43, 14, { 0, 2, 6 } },
	{ "an untagged Write", false, 1, 0x40, 18, { 0, 2, 6 } },
	{ "a Read Request on queue 0", false, 9, 0, 18, { 0, 2, 6 } },
};

static void ddp_refuses(struct kunit *test)
{
	const struct ddp_refusal *r = ddp_refusals;
	struct weft_ddp_hdr hdr;
	struct weft_term err;
	u8 buf[WEFT_DDP_MAX_LEN];

	for (; r < ddp_refusals + ARRAY_SIZE(ddp_refusals); r++) {
		memcpy(buf, r->tagged ? write_fpdu + 2 : read_req, sizeof(buf));
		buf[r->at] = r->value;
		KUNIT_EXPECT_EQ_MSG(test,
				    weft_ddp_decode(buf, r->len, false, &hdr,
						    &err),
				    0U, "%s", r->what);
		KUNIT_EXPECT_EQ_MSG(test, memcmp(&err, &r->err, sizeof(err)), 0,
				    "%s: layer %u type %u code %u", r->what,
				    err.layer, err.etype, err.code);
	}
}

/* What exists for peers that agreed to it, and for them alone. */
static void ddp_extended(struct kunit *test)
{
	static const struct {
		u8 opcode, qn;
	} forms[] = {
		{ WEFT_RDMAP_IMM, 0 }, { WEFT_RDMAP_IMM_SE, 0 },
		{ WEFT_RDMAP_ATOMIC_REQ, 1 }, { WEFT_RDMAP_ATOMIC_RESP, 3 },
		{ WEFT_RDMAP_SEND_IMM, 0 }, { WEFT_RDMAP_SEND_SE_IMM, 0 },
	};
	u8 buf[WEFT_DDP_MAX_LEN], again[WEFT_DDP_MAX_LEN];
	struct weft_ddp_hdr hdr;
	struct weft_term err;
	u32 i, qn;

	for (i = 0; i < ARRAY_SIZE(forms); i++) {
		for (qn = 0; qn < 5; qn++) {
			bool good = qn == forms[i].qn;

			memcpy(buf, read_req, sizeof(buf));
			buf[1] = 0x40 | forms[i].opcode;
			buf[9] = qn;
			KUNIT_EXPECT_EQ(test, weft_ddp_decode(buf, 18, true,
							      &hdr, &err),
					good ? 18U : 0U);
			if (good) {
				KUNIT_EXPECT_EQ(test, weft_ddp_encode(again, &hdr), 18U);
				KUNIT_EXPECT_EQ(test, memcmp(again, buf, 18), 0);
			}
			KUNIT_EXPECT_EQ(test, weft_ddp_decode(buf, 18, false,
							      &hdr, &err), 0U);
		}
	}
	memcpy(buf, read_req, sizeof(buf));
	buf[1] = 0x40 | WEFT_RDMAP_SEND_SE_IMM;
	buf[9] = 0;
	memcpy(buf + 2, "\x11\x22\x33\x44", 4);
	KUNIT_ASSERT_EQ(test, weft_ddp_decode(buf, 18, true, &hdr, &err), 18U);
	KUNIT_EXPECT_EQ(test, hdr.imm, 0x11223344U);
	KUNIT_EXPECT_EQ(test, hdr.inv_stag, 0U);
}

static void atomic_results(struct kunit *test)
{
	static const struct {
		struct weft_atomic_req req;
		u64 found, left;
	} cases[] = {
		{ { .op = WEFT_ATOMIC_FETCH_ADD, .data = 2 }, U64_MAX, 1 },
		/* Fields of 32 bits: no carry from one to the other. */
		{ { .op = WEFT_ATOMIC_FETCH_ADD, .data = 0x0000000100000001ULL,
		    .mask = 0x8000000080000000ULL },
		  0x00000001ffffffffULL, 0x0000000200000000ULL },
		{ { .op = WEFT_ATOMIC_SWAP, .data = 0x1111, .mask = 0xff },
		  0xaaaa, 0xaa11 },
		{ { .op = WEFT_ATOMIC_CMP_SWAP, .data = 7, .mask = U64_MAX,
		    .compare = 5, .compare_mask = U64_MAX }, 5, 7 },
		{ { .op = WEFT_ATOMIC_CMP_SWAP, .data = 7, .mask = U64_MAX,
		    .compare = 5, .compare_mask = U64_MAX }, 6, 6 },
		{ { .op = WEFT_ATOMIC_CMP_SWAP, .data = 7, .mask = 0xf,
		    .compare = 0x5ff, .compare_mask = 0xf00 }, 0x533, 0x537 },
	};
	struct weft_atomic_req out;
	u8 buf[WEFT_ATOMIC_REQ_LEN];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		weft_atomic_req_encode(buf, &cases[i].req);
		weft_atomic_req_decode(buf, &out);
		KUNIT_EXPECT_EQ_MSG(test, weft_atomic_result(&out, cases[i].found),
				    cases[i].left, "case %u", i);
	}
}

static void term_shows_the_segment(struct kunit *test)
{
	static const struct weft_term access = {
		WEFT_TERM_RDMAP, WEFT_RDMAP_PROTECTION, WEFT_RP_ACCESS
	};
	static const struct weft_term bad_crc = {
		WEFT_TERM_LLP, WEFT_LLP_MPA, WEFT_MPA_CRC
	};
	u8 buf[WEFT_TERM_MAX_LEN];
	struct weft_term term;
	u32 len;
	u8 op;

	len = weft_term_encode(buf, &access, read_req, sizeof(read_req), 46);
	KUNIT_ASSERT_EQ(test, len, (u32)WEFT_TERM_MAX_LEN);
	KUNIT_EXPECT_EQ(test, memcmp(buf, "\x01\x02\xe0\x00\x00\x2e", 6), 0);
	KUNIT_EXPECT_EQ(test, memcmp(buf + 6, read_req, sizeof(read_req)), 0);
	KUNIT_ASSERT_TRUE(test, weft_term_decode(buf, len, &term, &op));
	KUNIT_EXPECT_EQ(test, memcmp(&term, &access, sizeof(term)), 0);
	KUNIT_EXPECT_EQ(test, op, WEFT_RDMAP_READ_REQ);

	/* Cut anywhere, it is read as far as it goes. */
	while (len-- > 0)
		KUNIT_EXPECT_EQ(test, weft_term_decode(buf, len, &term, &op), len >= 4);

	len = weft_term_encode(buf, &bad_crc, read_req, sizeof(read_req), 46);
	KUNIT_ASSERT_EQ(test, len, 4U);
	KUNIT_EXPECT_EQ(test, memcmp(buf, "\x20\x02\x00\x00", 4), 0);
	KUNIT_ASSERT_TRUE(test, weft_term_decode(buf, len, &term, &op));
	KUNIT_EXPECT_EQ(test, op, 0xff);
}

static const u8 mpa_request[] =
	"MPA ID Req Frame\x50\x02\x00\x07\x80\x04\xc0\x08xyz";

#define MPA_REQUEST_LEN	(sizeof(mpa_request) - 1)

static void mpa_round_trip(struct kunit *test)
{
	struct weft_mpa_frame frame;
	u8 *buf = kunit_kzalloc(test, WEFT_MPA_MAX_FRAME, GFP_KERNEL);
	u32 len;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	KUNIT_EXPECT_EQ(test, weft_mpa_total_len(mpa_request),
			(u32)MPA_REQUEST_LEN);
	KUNIT_ASSERT_EQ(test, weft_mpa_decode(mpa_request, MPA_REQUEST_LEN,
					      false, &frame), 24U);
	KUNIT_EXPECT_EQ(test, frame.revision, 2);
	KUNIT_EXPECT_TRUE(test, frame.crc && frame.enhanced && frame.p2p);
	KUNIT_EXPECT_FALSE(test, frame.markers || frame.reject || frame.reply);
	KUNIT_EXPECT_EQ(test, frame.rtr, WEFT_RTR_WRITE | WEFT_RTR_READ);
	KUNIT_EXPECT_EQ(test, frame.ird, 4);
	KUNIT_EXPECT_EQ(test, frame.ord, 8);
	KUNIT_EXPECT_EQ(test, frame.private_len, 3);

	len = weft_mpa_encode(buf, &frame, "xyz");
	KUNIT_ASSERT_EQ(test, len, (u32)MPA_REQUEST_LEN);
	KUNIT_EXPECT_EQ(test, memcmp(buf, mpa_request, len), 0);

	frame.private_len = WEFT_MPA_MAX_PRIVATE - WEFT_MPA_V2_LEN + 1;
	KUNIT_EXPECT_EQ(test, weft_mpa_encode(buf, &frame, mpa_request), 0U);
}

/* A good request with a byte of it overwritten, or cut. */
struct mpa_refusal {
	const char *what;
	u8 at;
	u8 value;
	u8 len;
};

static const struct mpa_refusal mpa_refusals[] = {
	{ "key", 0, 'm', MPA_REQUEST_LEN },
	{ "a reply's key", 9, 'p', MPA_REQUEST_LEN },
	{ "key's end", 15, 'E', MPA_REQUEST_LEN },
	{ "flag R in a request", 16, 0x70, MPA_REQUEST_LEN },
	{ "revision 0", 17, 0, MPA_REQUEST_LEN },
	{ "revision 3", 17, 3, MPA_REQUEST_LEN },
	{ "too much private data", 18, 0x02, MPA_REQUEST_LEN },
	{ "length too small", 19, 6, MPA_REQUEST_LEN },
	{ "length too large", 19, 8, MPA_REQUEST_LEN },
	{ "no room for IRD and ORD", 19, 3, 23 },
	{ "header cut short", 0, 'M', 19 },
	{ "nothing", 0, 'M', 0 },
};

static void mpa_refuses(struct kunit *test)
{
	const struct mpa_refusal *r = mpa_refusals;
	struct weft_mpa_frame frame;
	u8 buf[MPA_REQUEST_LEN];

	for (; r < mpa_refusals + ARRAY_SIZE(mpa_refusals); r++) {
		memcpy(buf, mpa_request, sizeof(buf));
		buf[r->at] = r->value;
		KUNIT_EXPECT_EQ_MSG(test,
				    weft_mpa_decode(buf, r->len, false, &frame),
				    0U, "%s", r->what);
	}
	KUNIT_EXPECT_EQ(test, weft_mpa_decode(mpa_request, MPA_REQUEST_LEN,
					      true, &frame), 0U);
	KUNIT_EXPECT_TRUE(test, weft_mpa_key_prefix_ok("MPA ID Re", 9, true));
	KUNIT_EXPECT_FALSE(test, weft_mpa_key_prefix_ok("GET ", 1, false));
}

/* One planned FPDU against the rules; false stops a sweep that would flood. */
static bool fpdu_ok(u32 emss, u32 room, bool tagged, u32 left)
{
	u32 hdr = weft_ddp_hdr_len(tagged);
	bool fits = left <= room && weft_fpdu_len(hdr + left) <= room;
	struct weft_fpdu f;

	if (!weft_plan_fpdu(emss, emss, room, tagged, left, &f))
		return !fits && room < WEFT_PLAN_MIN_ROOM && room < emss;
	return f.len <= room && f.len % 4 == 0 &&
	       f.len == weft_fpdu_len(hdr + f.payload) &&
	       f.last == fits && f.payload <= left &&
	       f.last == (f.payload == left) && (f.last || f.len == room);
}

static void plan_sweep(struct kunit *test)
{
	u32 emss, room, left;

	for (emss = WEFT_MIN_EMSS; emss <= 144; emss += 4)
		for (room = 4; room <= emss; room += 4)
			for (left = 0; left <= 2 * emss; left++) {
				KUNIT_ASSERT_TRUE(test, fpdu_ok(emss, room,
								true, left));
				KUNIT_ASSERT_TRUE(test, fpdu_ok(emss, room,
								false, left));
			}
	KUNIT_EXPECT_TRUE(test, fpdu_ok(1448, 1448, true, 0xffffffffU));
}

/* Messages of many sizes in a row: every FPDU keeps to its segment. */
static void plan_train(struct kunit *test)
{
	u32 emss = 1448, room = emss, size, left, sum;
	struct weft_fpdu f;

	for (size = 0; size < 5000; size += 7) {
		left = size;
		sum = 0;
		do {
			while (!weft_plan_fpdu(emss, emss, room, true, left,
					       &f)) {
				KUNIT_ASSERT_LT(test, room, WEFT_PLAN_MIN_ROOM);
				room = emss;
			}
			KUNIT_ASSERT_LE(test, f.len, room);
			room -= f.len;
			if (!room)
				room = emss;
			left -= f.payload;
			sum += f.payload;
		} while (!f.last);
		KUNIT_ASSERT_EQ(test, sum, size);
	}
}

static void two_ends_agree(struct kunit *test)
{
	struct weft_mpa_policy a = {
		.revision = 2, .crc = WEFT_CRC_OFF, .rtr = 7, .p2p = true,
		.ird = 16, .ord = 8,
	};
	struct weft_mpa_policy b = {
		.revision = 2, .crc = WEFT_CRC_PREFERRED,
		.rtr = WEFT_RTR_READ | WEFT_RTR_SEND, .ird = 4, .ord = 32,
	};
	struct weft_mpa_agreed here, there;
	struct weft_mpa_frame req, reply;

	weft_mpa_request(&a, 0, &req);
	KUNIT_ASSERT_EQ(test, weft_mpa_answer(&req, &b, 0, &reply, &there), 0);
	KUNIT_ASSERT_EQ(test, weft_mpa_settle(&req, &reply, &a, &here), 0);
	KUNIT_EXPECT_TRUE(test, here.crc && there.crc);
	KUNIT_EXPECT_TRUE(test, here.p2p && there.p2p);
	KUNIT_EXPECT_EQ(test, here.rtr, WEFT_RTR_READ);
	KUNIT_EXPECT_EQ(test, there.rtr, WEFT_RTR_READ);
	KUNIT_EXPECT_EQ(test, here.ord, 4);
	KUNIT_EXPECT_EQ(test, there.ird, 4);
	KUNIT_EXPECT_EQ(test, there.ord, 16);

	KUNIT_EXPECT_FALSE(test, here.extended || there.extended);
	a.extend = true;
	b.extend = true;
	weft_mpa_request(&a, 0, &req);
	KUNIT_ASSERT_EQ(test, weft_mpa_answer(&req, &b, 0, &reply, &there), 0);
	KUNIT_ASSERT_EQ(test, weft_mpa_settle(&req, &reply, &a, &here), 0);
	KUNIT_EXPECT_TRUE(test, here.extended && there.extended);
	reply.extend = true; /* an echo */
	KUNIT_ASSERT_EQ(test, weft_mpa_settle(&req, &reply, &a, &here), 0);
	KUNIT_EXPECT_FALSE(test, here.extended);

	reply.ord = 17;
	KUNIT_EXPECT_EQ(test, weft_mpa_settle(&req, &reply, &a, &here),
			WEFT_MPA_INSUFFICIENT_IRD);
	b.rtr = 0;
	KUNIT_EXPECT_EQ(test, weft_mpa_answer(&req, &b, 0, &reply, &there),
			WEFT_MPA_NO_RTR_MATCH);
	KUNIT_EXPECT_TRUE(test, reply.reject);
	KUNIT_EXPECT_EQ(test, weft_mpa_settle(&req, &reply, &a, &here),
			WEFT_MPA_BAD_HANDSHAKE);
	b.revision = 1;
	KUNIT_EXPECT_EQ(test, weft_mpa_answer(&req, &b, 0, &reply, &there),
			WEFT_MPA_BAD_HANDSHAKE);
	KUNIT_EXPECT_EQ(test, reply.revision, 1);
}

static struct kunit_case weft_wire_cases[] = {
	KUNIT_CASE(crc_vectors),
	KUNIT_CASE(crc_in_pieces),
	KUNIT_CASE(ddp_known_headers),
	KUNIT_CASE(ddp_refuses),
	KUNIT_CASE(ddp_extended),
	KUNIT_CASE(atomic_results),
	KUNIT_CASE(term_shows_the_segment),
	KUNIT_CASE(mpa_round_trip),
	KUNIT_CASE(mpa_refuses),
	KUNIT_CASE(plan_sweep),
	KUNIT_CASE(plan_train),
	KUNIT_CASE(two_ends_agree),
	{}
};

static struct kunit_suite weft_wire_suite = {
	.name = "weft_wire",
	.test_cases = weft_wire_cases,
};

kunit_test_suites(&weft_wire_suite);
