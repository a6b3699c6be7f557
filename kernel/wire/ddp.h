/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * DDP segments and the RDMAP messages in them (RFC 5041, RFC 5040, RFC 7306):
 * headers as they lie on the wire, to and from a decoded form. A segment is a DDP/RDMAP
 * header (14 bytes tagged, 18 untagged) and payload.
 */
#ifndef WEFT_WIRE_DDP_H
#define WEFT_WIRE_DDP_H

#include <linux/types.h>

#include "bytes.h"
#include "term.h"

#define WEFT_DDP_TAGGED_LEN	14
#define WEFT_DDP_UNTAGGED_LEN	18
#define WEFT_DDP_MAX_LEN	WEFT_DDP_UNTAGGED_LEN
#define WEFT_DDP_TO		6	/* where a tagged header has its offset */
#define WEFT_DDP_QN		6	/* where an untagged one has queue */
#define WEFT_DDP_MSN		10	/* and number, */
#define WEFT_DDP_MO		14	/* and its offset */
/* First byte: T, L, four reserved bits, two of DDP version. */
#define WEFT_DDP_TAGGED		0x80
#define WEFT_DDP_LAST		0x40

/*
 * RDMAP opcodes (RFC 5040, 4.1; RFC 7306, 4). The last two are Weft's own: a SEND
 * whose reserved field (that of an STag to invalidate) holds immediate data. All
 * from 8 on are for peers that agreed to them.
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
 * @tagged: names memory of the receiver (@stag, @to) rather than a queue
 * @last: the last segment of its message
 * @stag: tagged: where the payload goes
 * @to: tagged: offset of this segment's first byte
 * @inv_stag: untagged: STag to invalidate (SEND_INV and SEND_SE_INV), else 0
 * @imm: untagged: immediate data (SEND_IMM and SEND_SE_IMM), else 0
 * @qn: untagged: queue number
 * @msn: untagged: number of the message in its queue, from 1
 * @mo: untagged: offset of this segment within the message
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

/* Length of a header on the wire, without the MPA length field. */
static inline u32 weft_ddp_hdr_len(bool tagged)
{
	return tagged ? WEFT_DDP_TAGGED_LEN : WEFT_DDP_UNTAGGED_LEN;
}

/* Returns true if the header that begins with @first_byte is a tagged one. */
static inline bool weft_ddp_is_tagged(u8 first_byte)
{
	return first_byte & WEFT_DDP_TAGGED;
}

/**
 * weft_ddp_decode() - decode and check one header
 * @buf: the ULPDU's first bytes (after the MPA length)
 * @len: how many bytes of it are there
 * @extended: the opcodes from 8 on, and their queue, exist on this connection
 * @hdr: result; meaningful only on success
 * @err: the reason, for the Terminate message; written only on failure
 *
 * Checks all that can be checked without connection state: that @len covers
 * the header, the DDP and RDMAP versions, that the opcode exists, that it goes
 * with tagged or untagged, and that the queue number is the opcode's.
 * Reserved bits are ignored, as the RFCs ask of a receiver.
 *
 * Return: the header's length in bytes (14 or 18), or 0 and @err.
 */
u32 weft_ddp_decode(const u8 *buf, u32 len, bool extended,
		    struct weft_ddp_hdr *hdr, struct weft_term *err);

/**
 * weft_ddp_encode() - write one header
 * @buf: at least WEFT_DDP_MAX_LEN bytes
 * @hdr: what to write
 *
 * Return: bytes written: 14 or 18.
 */
u32 weft_ddp_encode(u8 *buf, const struct weft_ddp_hdr *hdr);

/**
 * weft_ddp_encode_offset() - write a segment's offset
 * @buf: its header
 * @tagged: whether that is a tagged one
 * @at: the offset, in the tagged buffer or in the message
 */
static inline void weft_ddp_encode_offset(u8 *buf, bool tagged, u64 at)
{
	if (tagged)
		weft_put_be64(buf + WEFT_DDP_TO, at);
	else
		weft_put_be32(buf + WEFT_DDP_MO, (u32)at);
}

/**
 * weft_ddp_encode_place() - write the fields that differ between a message's segments
 * @buf: the header of any of its segments
 * @hdr: gives @last, and @to or @mo
 */
static inline void weft_ddp_encode_place(u8 *buf, const struct weft_ddp_hdr *hdr)
{
	buf[0] = (buf[0] & ~WEFT_DDP_LAST) | (hdr->last ? WEFT_DDP_LAST : 0);
	weft_ddp_encode_offset(buf, hdr->tagged, hdr->tagged ? hdr->to : hdr->mo);
}

/* Reads what differs between headers that are alike; the rest of @hdr is @buf's already. */
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

/**
 * weft_ddp_alike() - are these headers of one kind?
 * @prev: header of a segment that weft_ddp_decode() took
 * @next: as many bytes from the beginning of another segment
 *
 * If so, weft_ddp_decode() takes @next as well, and gives the same but for @last and for the
 * segment's place: @to, or @msn and @mo. None of these can be wrong by itself.
 *
 * Return: true if nothing else differs.
 */
static inline bool weft_ddp_alike(const u8 *prev, const u8 *next)
{
	u64 differs = weft_get_be64(prev) ^ weft_get_be64(next);

	/* DDP and RDMAP control, STag or reserved field; the two bytes behind belong below. */
	if (differs & ~((u64)WEFT_DDP_LAST << 56 | 0xffff))
		return false;
	return weft_ddp_is_tagged(prev[0]) ||
	       weft_get_be32(next + WEFT_DDP_QN) == weft_get_be32(prev + WEFT_DDP_QN);
}

/**
 * weft_ddp_repeats() - is this the header of another segment like that one?
 * @prev: header of a segment that weft_ddp_decode() took
 * @next: as many bytes from the beginning of another segment
 * @tagged: whether @prev is tagged
 * @at: the offset, in the tagged buffer or in the message, that is looked for
 *
 * Each byte of @next is judged once, as it was read then.
 *
 * Return: true if @next differs from @prev in the offset only, and its offset is @at.
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

/*
 * Payload of an Immediate Data message (RFC 7306, 6.2). Verbs have four bytes of
 * immediate data: they are the first four, and the rest is zero.
 */
#define WEFT_IMM_LEN		8

/* Payload of an RDMA Read Request (RFC 5040, 4.4). */
#define WEFT_READ_REQ_LEN	28

/**
 * struct weft_read_req - a decoded RDMAP header of a Read Request
 * @sink_stag: where the requester wants the data
 * @sink_to: offset there
 * @size: how many bytes
 * @src_stag: where the responder takes them from
 * @src_to: offset there
 */
struct weft_read_req {
	u32 sink_stag;
	u64 sink_to;
	u32 size;
	u32 src_stag;
	u64 src_to;
};

/**
 * weft_read_req_encode() - write the payload of a Read Request
 * @buf: at least WEFT_READ_REQ_LEN bytes
 * @req: what to write
 */
void weft_read_req_encode(u8 *buf, const struct weft_read_req *req);

/**
 * weft_read_req_decode() - read the payload of a Read Request
 * @buf: at least WEFT_READ_REQ_LEN bytes
 * @req: result; any 28 bytes make one, so its values are still unchecked
 */
void weft_read_req_decode(const u8 *buf, struct weft_read_req *req);

#endif /* WEFT_WIRE_DDP_H */
