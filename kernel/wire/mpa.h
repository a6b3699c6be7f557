/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The MPA connection setup (RFC 5044, 7.1; enhanced by RFC 6581): Request and
 * Reply frames to and from a decoded form.
 */
#ifndef WEFT_WIRE_MPA_H
#define WEFT_WIRE_MPA_H

#include <linux/types.h>

#define WEFT_MPA_HDR_LEN	20	/* key, flags, revision, private data length */
#define WEFT_MPA_V2_LEN		4	/* IRD and ORD, first in the private data */
#define WEFT_MPA_MAX_PRIVATE	512	/* on the wire, WEFT_MPA_V2_LEN included */
#define WEFT_MPA_MAX_FRAME	(WEFT_MPA_HDR_LEN + WEFT_MPA_MAX_PRIVATE)
#define WEFT_MPA_MAX_RD		0x3fff	/* the 14 bits of IRD and ORD */

/* Ready-to-receive indications of enhanced setup, a set of bits. */
enum weft_rtr {
	WEFT_RTR_SEND = 1 << 0,		/* zero-length SEND */
	WEFT_RTR_WRITE = 1 << 1,	/* zero-length RDMA Write */
	WEFT_RTR_READ = 1 << 2,		/* zero-length RDMA Read */
};

/**
 * struct weft_mpa_frame - a decoded Request or Reply
 * @reply: a Reply frame, else a Request
 * @revision: 1 or 2
 * @markers: the sender wants markers in what it receives (flag M)
 * @crc: the sender wants CRCs used (flag C)
 * @reject: the connection is refused (flag R; replies only)
 * @enhanced: IRD and ORD are present (flag S; revision 2 only)
 * @extend: the sender offers what goes beyond the RFCs' minimum (requests only)
 * @extended: the sender takes that offer (replies only)
 * @paths: with @extend or @extended: and several paths (path.h) as well
 * @p2p: enhanced: peer-to-peer, an RTR indication will follow (control flag A)
 * @rtr: enhanced: RTR kinds the sender offers or chose (flags B, C, D), bits of enum weft_rtr
 * @ird: enhanced: inbound reads the sender can take
 * @ord: enhanced: outbound reads the sender wants
 * @private_len: bytes of the application's private data (without the 4 of @enhanced)
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

/**
 * weft_mpa_total_len() - how long is the frame that begins like this?
 * @buf: at least WEFT_MPA_HDR_LEN bytes received
 *
 * Return: the whole frame's length in bytes, or 0 if its private data would
 * exceed WEFT_MPA_MAX_PRIVATE.
 */
u32 weft_mpa_total_len(const u8 *buf);

/**
 * weft_mpa_key_prefix_ok() - can these first bytes still become a frame?
 * @buf: bytes received so far
 * @len: how many (only the first 16 matter)
 * @reply: expecting a Reply, else a Request
 *
 * Lets a peer that speaks something else be refused at its first wrong byte.
 *
 * Return: true if they can.
 */
bool weft_mpa_key_prefix_ok(const u8 *buf, u32 len, bool reply);

/**
 * weft_mpa_decode() - decode and check one whole frame
 * @buf: the frame
 * @len: its length; must be weft_mpa_total_len()
 * @reply: expecting a Reply, else a Request
 * @frame: result; meaningful only on success
 *
 * Refuses: a wrong key, a revision other than 1 and 2, a length that
 * disagrees, flag R in a Request, flag S without room for IRD and ORD.
 * Reserved bits are ignored, and with revision 1 flag S is one of them. The three that
 * Weft uses for @extend, @extended and @paths are decoded in any frame; weft_mpa_settle() knows
 * an echo of them.
 *
 * Return: the offset of the application's private data in @buf, or 0.
 */
u32 weft_mpa_decode(const u8 *buf, u32 len, bool reply,
		    struct weft_mpa_frame *frame);

/**
 * weft_mpa_encode() - write one frame
 * @buf: at least WEFT_MPA_MAX_FRAME bytes
 * @frame: what to write
 * @private_data: @frame->private_len bytes; may be NULL if that is 0
 *
 * Return: bytes written, or 0 if the frame cannot be encoded: too much private data, IRD
 * or ORD beyond 14 bits, enhanced setup with revision 1.
 */
u32 weft_mpa_encode(u8 *buf, const struct weft_mpa_frame *frame,
		    const u8 *private_data);

/**
 * weft_mpa_decode_depths() - decode the two words of enhanced setup
 * @buf: WEFT_MPA_V2_LEN bytes
 * @frame: result: IRD, ORD and the RTR indications
 */
void weft_mpa_decode_depths(const u8 *buf, struct weft_mpa_frame *frame);

/**
 * weft_mpa_encode_depths() - write the two words of enhanced setup
 * @buf: WEFT_MPA_V2_LEN bytes
 * @frame: IRD, ORD and the RTR indications
 *
 * Return: true; false if IRD or ORD is beyond 14 bits or the revision is 1.
 */
bool weft_mpa_encode_depths(u8 *buf, const struct weft_mpa_frame *frame);

#endif /* WEFT_WIRE_MPA_H */
