/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Headers of DDP segments and of RDMAP messages in them (RFC 5041, RFC 5040, RFC 7306). */
#ifndef WEFT_WIRE_DDP_H
#define WEFT_WIRE_DDP_H

#include <linux/types.h>

#include "bytes.h"
#include "term.h"

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

/**
 * struct weft_ddp_hdr - a decoded DDP/RDMAP header
 * @opcode: enum weft_rdmap_op
 * @tagged: the segment names the receiver's memory (@stag, @to), not a queue
 * @last: last segment of its message
 * @stag: tagged: destination of the payload
 * @to: tagged: offset of the segment's first byte
 * @inv_stag: untagged: STag to invalidate (SEND_INV and SEND_SE_INV), else 0
 * @imm: untagged: immediate data (SEND_IMM and SEND_SE_IMM), else 0
 * @qn: untagged: queue number
 * @msn: untagged: number of the message in its queue, from 1
 * @mo: untagged: offset of the segment within the message
 */
struct weft_ddp_hdr {
	u8 opcode;
	bool tagged;
	bool last;
	u32 stag;
	u64 to;
	u32 inv_stag;
	u32 imm;
	u32 qn;
	u32 msn;
	u32 mo;
};

static inline u32 weft_ddp_hdr_len(bool tagged)
{
	return tagged ? WEFT_DDP_TAGGED_LEN : WEFT_DDP_UNTAGGED_LEN;
}

static inline bool weft_ddp_is_tagged(u8 first_byte)
{
	return first_byte & WEFT_DDP_TAGGED;
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
		weft_put_be64(buf + WEFT_DDP_TO, at);
	else
		weft_put_be32(buf + WEFT_DDP_MO, (u32)at);
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
		hdr->to = weft_get_be64(buf + WEFT_DDP_TO);
	} else {
		hdr->msn = weft_get_be32(buf + WEFT_DDP_MSN);
		hdr->mo = weft_get_be32(buf + WEFT_DDP_MO);
	}
}

/*
 * Returns true if @next differs from @prev, which weft_ddp_decode() accepted, at most in the
 * fields of weft_ddp_decode_place(). Any value of those is valid, so @next is valid as well.
 */
static inline bool weft_ddp_alike(const u8 *prev, const u8 *next)
{
	u64 differs = weft_get_be64(prev) ^ weft_get_be64(next);

	/* Control bytes, and STag or reserved field. The last two bytes are part of TO or QN. */
	if (differs & ~((u64)WEFT_DDP_LAST << 56 | 0xffff))
		return false;
	return weft_ddp_is_tagged(prev[0]) ||
	       weft_get_be32(next + WEFT_DDP_QN) == weft_get_be32(prev + WEFT_DDP_QN);
}

/*
 * Returns true if @next differs from the accepted @prev in its offset only, which is @at. Each
 * byte of @next is compared once, because a sender on this host may change it in flight.
 */
static inline bool weft_ddp_repeats(const u8 *prev, const u8 *next, bool tagged,
				    u64 at)
{
	if ((weft_get_be64(next) ^ weft_get_be64(prev)) >> 16)
		return false;
	if (tagged)
		return weft_get_be64(next + WEFT_DDP_TO) == at;
	return weft_get_be64(next + WEFT_DDP_QN) == weft_get_be64(prev + WEFT_DDP_QN) &&
	       weft_get_be32(next + WEFT_DDP_MO) == at;
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

#endif /* WEFT_WIRE_DDP_H */
