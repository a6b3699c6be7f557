/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * DDP segments and the RDMAP messages in them (RFC 5041, RFC 5040, RFC 7306): headers, payload
 * formats, and the Terminate message.
 */
#ifndef WEFT_WIRE_DDP_H
#define WEFT_WIRE_DDP_H

#include <linux/string.h>
#include <linux/types.h>

#include "bytes.h"

struct weft_term;

#define WEFT_DDP_TAGGED_LEN	14
#define WEFT_DDP_UNTAGGED_LEN	18
#define WEFT_DDP_MAX_LEN	WEFT_DDP_UNTAGGED_LEN
#define WEFT_DDP_TO		6	/* tagged: offset */
#define WEFT_DDP_QN		6	/* untagged: queue number */
#define WEFT_DDP_MSN		10	/* untagged: message number */
#define WEFT_DDP_MO		14	/* untagged: offset */
/* First byte: T, L, four reserved bits, two of DDP version. */
#define WEFT_DDP_TAGGED		0x80
#define WEFT_DDP_LAST		0x40

/*
 * RDMAP opcodes (RFC 5040, 4.1; RFC 7306, 4). Those from 8 on need a peer that agreed to them.
 * The last two are Weft's own: a SEND with immediate data in the field for Invalidate STag.
 */
enum weft_rdmap_op {
	WEFT_RDMAP_WRITE = 0,
	WEFT_RDMAP_READ_REQ = 1,
	WEFT_RDMAP_READ_RESP = 2,
	WEFT_RDMAP_SEND = 3,
	WEFT_RDMAP_SEND_INV = 4,
	WEFT_RDMAP_SEND_SE = 5,
	WEFT_RDMAP_SEND_SE_INV = 6,
	WEFT_RDMAP_TERMINATE = 7,
	WEFT_RDMAP_IMM = 8,
	WEFT_RDMAP_IMM_SE = 9,
	WEFT_RDMAP_ATOMIC_REQ = 10,
	WEFT_RDMAP_ATOMIC_RESP = 11,
	WEFT_RDMAP_SEND_IMM = 12,
	WEFT_RDMAP_SEND_SE_IMM = 13,
};

/* Untagged queue numbers (RFC 5040, 5.1; RFC 7306, 4). */
enum weft_ddp_qn {
	WEFT_QN_SEND = 0,		/* and immediate data */
	WEFT_QN_READ_REQ = 1,		/* and atomic requests */
	WEFT_QN_TERMINATE = 2,
	WEFT_QN_ATOMIC_RESP = 3,
};

/* A decoded DDP/RDMAP header. */
struct weft_ddp_hdr {
	u8 opcode;	/* enum weft_rdmap_op */
	bool tagged;	/* the segment names the receiver's memory (@stag, @to), not a queue */
	bool last;	/* last segment of its message */
	u32 stag;	/* tagged: destination of the payload */
	u64 to;	/* tagged: offset of the segment's first byte */
	u32 inv_stag;	/* untagged: STag to invalidate (SEND_INV and SEND_SE_INV), else 0 */
	u32 imm;	/* untagged: immediate data (SEND_IMM and SEND_SE_IMM), else 0 */
	u32 qn;	/* untagged: queue number */
	u32 msn;	/* untagged: number of the message in its queue, from 1 */
	u32 mo;	/* untagged: offset of the segment within the message */
};

static inline u32 weft_ddp_hdr_len(bool tagged)
{
	return tagged ? WEFT_DDP_TAGGED_LEN : WEFT_DDP_UNTAGGED_LEN;
}

/*
 * Decodes a header, with every check that needs no connection state. Reserved bits are ignored,
 * as the RFCs require. @extended: the connection has the opcodes from 8 on. Returns the header's
 * length, or 0 and the reason for the Terminate message in @err.
 */
u32 weft_ddp_decode(const u8 *buf, u32 len, bool extended,
		    struct weft_ddp_hdr *hdr, struct weft_term *err);

/* Writes a header to at least WEFT_DDP_MAX_LEN bytes. Returns its length. */
u32 weft_ddp_encode(u8 *buf, const struct weft_ddp_hdr *hdr);

static inline void weft_ddp_encode_offset(u8 *buf, bool tagged, u64 at)
{
	if (tagged)
		put_unaligned_be64(at, buf + WEFT_DDP_TO);
	else
		put_unaligned_be32((u32)at, buf + WEFT_DDP_MO);
}

/* Writes the fields that differ between a message's segments to any of their headers. */
static inline void weft_ddp_encode_place(u8 *buf, const struct weft_ddp_hdr *hdr)
{
	buf[0] = (buf[0] & ~WEFT_DDP_LAST) | (hdr->last ? WEFT_DDP_LAST : 0);
	weft_ddp_encode_offset(buf, hdr->tagged, hdr->tagged ? hdr->to : hdr->mo);
}

/* Reads the fields in which two headers differ for which weft_ddp_alike() is true. */
static inline void weft_ddp_decode_place(const u8 *buf, struct weft_ddp_hdr *hdr)
{
	hdr->last = buf[0] & WEFT_DDP_LAST;
	if (hdr->tagged) {
		hdr->to = get_unaligned_be64(buf + WEFT_DDP_TO);
	} else {
		hdr->msn = get_unaligned_be32(buf + WEFT_DDP_MSN);
		hdr->mo = get_unaligned_be32(buf + WEFT_DDP_MO);
	}
}

/*
 * Returns true if @next differs from @prev, which weft_ddp_decode() accepted, at most in the
 * fields of weft_ddp_decode_place(). Any value of those is valid, so @next is valid as well.
 */
static inline bool weft_ddp_alike(const u8 *prev, const u8 *next)
{
	u64 differs = get_unaligned_be64(prev) ^ get_unaligned_be64(next);

	/* Control bytes, and STag or reserved field. The last two bytes are part of TO or QN. */
	if (differs & ~((u64)WEFT_DDP_LAST << 56 | 0xffff))
		return false;
	return (prev[0] & WEFT_DDP_TAGGED) ||
	       get_unaligned_be32(next + WEFT_DDP_QN) == get_unaligned_be32(prev + WEFT_DDP_QN);
}

/*
 * Returns true if @next differs from the accepted @prev in its offset only, which is @at. Each
 * byte of @next is compared once, because a sender on this host may change it in flight.
 */
static inline bool weft_ddp_repeats(const u8 *prev, const u8 *next, bool tagged, u64 at)
{
	if ((get_unaligned_be64(next) ^ get_unaligned_be64(prev)) >> 16)
		return false;
	if (tagged)
		return get_unaligned_be64(next + WEFT_DDP_TO) == at;
	return get_unaligned_be64(next + WEFT_DDP_QN) == get_unaligned_be64(prev + WEFT_DDP_QN) &&
	       get_unaligned_be32(next + WEFT_DDP_MO) == at;
}

/* Payload lengths of Immediate Data (RFC 7306, 6.2) and Read Request (RFC 5040, 4.4). */
#define WEFT_IMM_LEN		8	/* the four bytes of verbs, then four zeros */
#define WEFT_READ_REQ_LEN	28

/* A decoded Read Request: @size bytes go from the responder's memory to the requester's sink. */
struct weft_read_req {
	u32 sink_stag;
	u64 sink_to;
	u32 size;
	u32 src_stag;
	u64 src_to;
};

/* Both need WEFT_READ_REQ_LEN bytes. The decoder checks no value. */
void weft_read_req_encode(u8 *buf, const struct weft_read_req *req);
void weft_read_req_decode(const u8 *buf, struct weft_read_req *req);

/* --- the Terminate message (RFC 5040, 4.8): why a stream ends --- */

enum weft_term_layer {
	WEFT_TERM_RDMAP = 0,
	WEFT_TERM_DDP = 1,
	WEFT_TERM_LLP = 2,	/* MPA */
};

/* Error types of each layer. */
enum {
	WEFT_RDMAP_LOCAL = 0,
	WEFT_RDMAP_PROTECTION = 1,
	WEFT_RDMAP_OPERATION = 2,

	WEFT_DDP_LOCAL = 0,
	WEFT_DDP_TAGGED_BUFFER = 1,
	WEFT_DDP_UNTAGGED_BUFFER = 2,

	WEFT_LLP_MPA = 0,
};

/* Codes of RDMAP errors: remote protection and operation (RFC 5040, 4.8). */
enum {
	WEFT_RP_STAG = 0x00,		/* invalid STag */
	WEFT_RP_BOUNDS = 0x01,
	WEFT_RP_ACCESS = 0x02,
	WEFT_RP_NOT_ASSOCIATED = 0x03,	/* STag of another stream or PD */
	WEFT_RP_WRAP = 0x04,
	WEFT_RP_UNSPECIFIED = 0xff,

	WEFT_RO_VERSION = 0x05,
	WEFT_RO_OPCODE = 0x06,
	WEFT_RO_CATASTROPHIC_STREAM = 0x07,
	WEFT_RO_CATASTROPHIC_GLOBAL = 0x08,
	WEFT_RO_CANNOT_INVALIDATE = 0x09,
	WEFT_RO_UNSPECIFIED = 0xff,
};

/* Codes of DDP errors (RFC 5041, 8.2). */
enum {
	WEFT_DT_STAG = 0x00,
	WEFT_DT_BOUNDS = 0x01,
	WEFT_DT_NOT_ASSOCIATED = 0x02,
	WEFT_DT_WRAP = 0x03,
	WEFT_DT_VERSION = 0x04,

	WEFT_DU_QN = 0x01,
	WEFT_DU_NO_BUFFER = 0x02,	/* MSN: no buffer available */
	WEFT_DU_MSN_RANGE = 0x03,
	WEFT_DU_MO = 0x04,
	WEFT_DU_TOO_LONG = 0x05,
	WEFT_DU_VERSION = 0x06,
};

/* Codes of MPA errors (RFC 5044, 8; RFC 6581, 8). */
enum {
	WEFT_MPA_CLOSED = 0x01,
	WEFT_MPA_CRC = 0x02,
	WEFT_MPA_MARKER = 0x03,
	WEFT_MPA_BAD_HANDSHAKE = 0x04,
	WEFT_MPA_LOCAL = 0x05,
	WEFT_MPA_INSUFFICIENT_IRD = 0x06,
	WEFT_MPA_NO_RTR_MATCH = 0x07,
};

struct weft_term {
	u8 layer;	/* enum weft_term_layer */
	u8 etype;
	u8 code;
};

/* Returns true if the reason is access to memory that the peer may not reach. */
static inline bool weft_term_of_access(const struct weft_term *term)
{
	return (term->layer == WEFT_TERM_RDMAP && term->etype == WEFT_RDMAP_PROTECTION) ||
	       (term->layer == WEFT_TERM_DDP && term->etype == WEFT_DDP_TAGGED_BUFFER &&
		term->code != WEFT_DT_VERSION);
}

/* Control field, DDP segment length, DDP header and, for a Read Request, its RDMAP header. */
#define WEFT_TERM_MAX_LEN	(4 + 2 + 18 + 28)

/*
 * Includes the parts of @segment that RFC 5040, 4.8, allows for this reason. @segment_len is 0, 14,
 * 18 or, with a Read Request's payload, 46; @ulpdu_len is the whole segment's length. Returns the
 * length of the Terminate's payload, at most WEFT_TERM_MAX_LEN.
 */
u32 weft_term_encode(u8 *buf, const struct weft_term *term, const u8 *segment,
		     u32 segment_len, u16 ulpdu_len);

/*
 * Returns false if the control field is truncated. @op and @msn are of the offending message; they
 * are 0xff and 0 if its header is absent or truncated.
 */
bool weft_term_decode(const u8 *buf, u32 len, struct weft_term *term, u8 *op, u32 *msn);

/* --- atomic operations (RFC 7306, 5): payload formats, and the result of an operation --- */

/* Payload lengths of an Atomic Request (RFC 7306, 5.2.1) and of its Response (5.2.2). */
#define WEFT_ATOMIC_REQ_LEN	52
#define WEFT_ATOMIC_RESP_LEN	12
#define WEFT_ATOMIC_LEN		8	/* bytes changed, aligned to eight */

enum weft_atomic_op {
	WEFT_ATOMIC_FETCH_ADD = 0,
	WEFT_ATOMIC_SWAP = 1,
	WEFT_ATOMIC_CMP_SWAP = 2,
};

/* A decoded Atomic Request. */
struct weft_atomic_req {
	u8 op;	/* enum weft_atomic_op, or an unknown operation */
	u32 id;	/* returned in the response */
	u32 stag;	/* the responder's memory */
	u64 to;	/* offset in @stag */
	u64 data;	/* to add, or to store */
	/* FETCH_ADD: each set bit ends a field, which no carry leaves; else the bits to store */
	u64 mask;
	u64 compare;	/* CMP_SWAP: the value to compare with */
	u64 compare_mask;	/* CMP_SWAP: the bits that are compared */
};

struct weft_atomic_resp {
	u32 id;		/* copied from the request */
	u64 original;	/* the value found */
};

static inline bool weft_atomic_op_ok(u8 op)
{
	return op <= WEFT_ATOMIC_CMP_SWAP;
}

/* Returns the value to store where @original was found. The caller has checked req->op. */
u64 weft_atomic_result(const struct weft_atomic_req *req, u64 original);

/* Encoders need room for the whole payload. Decoders check no value and ignore reserved bits. */
void weft_atomic_req_encode(u8 *buf, const struct weft_atomic_req *req);
void weft_atomic_req_decode(const u8 *buf, struct weft_atomic_req *req);
void weft_atomic_resp_encode(u8 *buf, const struct weft_atomic_resp *resp);
void weft_atomic_resp_decode(const u8 *buf, struct weft_atomic_resp *resp);

/* --- a template for the next segments, whose headers often differ in their place only --- */

/* The current segment, or the last one. */
struct weft_template {
	u8 hdr[WEFT_DDP_MAX_LEN];	/* private copy of its header */
	/* @ddp is decoded from @hdr, so the next header can be compared with @hdr */
	bool known;
	u32 len;	/* length of header and payload */
	u32 hdr_len;	/* valid bytes of @hdr; 0: no header to report */
	u32 payload_len;	/* length of the payload */
	/* the decoded header; protected, like all fields, by the owner of the template */
	struct weft_ddp_hdr ddp;
};

/*
 * Decodes @t->hdr, of which @have bytes are present; @t->len is set. On failure @hdr_len is the
 * length of the header that the Terminate shows, or 0 if the header is truncated.
 */
static inline bool weft_template_decode(struct weft_template *t, u32 have, bool extended,
					struct weft_term *err)
{
	u32 len = weft_ddp_decode(t->hdr, have, extended, &t->ddp, err);

	if (!len) {
		len = have ? weft_ddp_hdr_len(t->hdr[0] & WEFT_DDP_TAGGED) : 0;
		t->hdr_len = have >= len ? len : 0;
		t->known = false;
		return false;
	}
	t->hdr_len = len;
	t->payload_len = t->len - len;
	t->known = true;
	return true;
}

/*
 * Switches to @next, WEFT_DDP_MAX_LEN bytes, if it has a header of the same kind. The header is in
 * the first @have bytes, and @t->len is set. Else returns false.
 */
static inline bool weft_template_follow(struct weft_template *t, const u8 *next, u32 have)
{
	if (!t->known || have < t->hdr_len || !weft_ddp_alike(t->hdr, next))
		return false;
	memcpy(t->hdr, next, sizeof(t->hdr));
	weft_ddp_decode_place(t->hdr, &t->ddp);
	t->payload_len = t->len - t->hdr_len;
	return true;
}

static inline u64 weft_template_place(const struct weft_template *t)
{
	return t->ddp.tagged ? t->ddp.to : t->ddp.mo;
}

/* Advances by @bytes of payload, over segments that repeat this one. */
static inline void weft_template_advance(struct weft_template *t, u32 bytes)
{
	if (t->ddp.tagged)
		t->ddp.to += bytes;
	else
		t->ddp.mo += bytes;
	weft_ddp_encode_place(t->hdr, &t->ddp);
}

#endif /* WEFT_WIRE_DDP_H */
