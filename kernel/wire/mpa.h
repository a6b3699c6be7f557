/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* MPA connection setup (RFC 5044, 7.1; enhanced by RFC 6581): Request and Reply frames. */
#ifndef WEFT_WIRE_MPA_H
#define WEFT_WIRE_MPA_H

#include <linux/types.h>

#define WEFT_MPA_HDR_LEN	20	/* key, flags, revision, private data length */
#define WEFT_MPA_V2_LEN		4	/* IRD and ORD, first in the private data */
#define WEFT_MPA_MAX_PRIVATE	512	/* on the wire, WEFT_MPA_V2_LEN included */
#define WEFT_MPA_MAX_FRAME	(WEFT_MPA_HDR_LEN + WEFT_MPA_MAX_PRIVATE)
#define WEFT_MPA_MAX_RD		0x3fff	/* the 14 bits of IRD and ORD */

/* Ready-to-receive (RTR) indications of enhanced setup, a set of bits. */
enum weft_rtr {
	WEFT_RTR_SEND = 1 << 0,		/* zero-length SEND */
	WEFT_RTR_WRITE = 1 << 1,	/* zero-length RDMA Write */
	WEFT_RTR_READ = 1 << 2,		/* zero-length RDMA Read */
};

/**
 * struct weft_mpa_frame - a decoded Request or Reply
 * @reply: a Reply, else a Request
 * @revision: 1 or 2
 * @markers: the sender wants to receive markers (flag M)
 * @crc: the sender wants CRCs (flag C)
 * @reject: the connection is refused (flag R; only in a Reply)
 * @enhanced: IRD and ORD are present (flag S; revision 2 only)
 * @extend: the sender offers Weft's extensions (only in a Request)
 * @extended: the sender accepts that offer (only in a Reply)
 * @paths: with @extend or @extended: several paths (path.h), too
 * @p2p: enhanced: peer-to-peer, the initiator will send an RTR indication (control flag A)
 * @rtr: enhanced: RTR kinds offered or chosen (flags B, C, D), bits of enum weft_rtr
 * @ird: enhanced: inbound reads that the sender can take
 * @ord: enhanced: outbound reads that the sender wants
 * @private_len: bytes of the application's private data, without IRD and ORD
 */
struct weft_mpa_frame {
	bool reply;
	u8 revision;
	bool markers;
	bool crc;
	bool reject;
	bool enhanced;
	bool extend;
	bool extended;
	bool paths;
	bool p2p;
	u8 rtr;
	u16 ird;
	u16 ord;
	u16 private_len;
};

/* Returns a frame's length from its first WEFT_MPA_HDR_LEN bytes; 0: too much private data. */
u32 weft_mpa_total_len(const u8 *buf);

/* Returns false for the first bytes of another protocol, so that its peer is refused early. */
bool weft_mpa_key_prefix_ok(const u8 *buf, u32 len, bool reply);

/*
 * Decodes a frame of @len bytes, which weft_mpa_total_len() gave. Reserved bits are ignored, and
 * flag S is reserved in revision 1. @extend, @extended and @paths are decoded in any frame, and
 * weft_mpa_settle() detects echoes. Returns the offset of the private data; 0: malformed.
 */
u32 weft_mpa_decode(const u8 *buf, u32 len, bool reply,
		    struct weft_mpa_frame *frame);

/* Returns the length, at most WEFT_MPA_MAX_FRAME, or 0 if @frame is invalid. */
u32 weft_mpa_encode(u8 *buf, const struct weft_mpa_frame *frame,
		    const u8 *private_data);

/* The words with IRD, ORD and RTR kinds. Encoding fails with revision 1, and beyond 14 bits. */
void weft_mpa_decode_depths(const u8 *buf, struct weft_mpa_frame *frame);

bool weft_mpa_encode_depths(u8 *buf, const struct weft_mpa_frame *frame);

#endif /* WEFT_WIRE_MPA_H */
