/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * MPA connection setup (RFC 5044, 7.1; enhanced by RFC 6581): Request and Reply frames, and the
 * negotiation, all by pure functions.
 */
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

/* A decoded Request or Reply. */
struct weft_mpa_frame {
	bool reply;	/* a Reply, else a Request */
	u8 revision;	/* 1 or 2 */
	bool markers;	/* the sender wants to receive markers (flag M) */
	bool crc;	/* the sender wants CRCs (flag C) */
	bool reject;	/* the connection is refused (flag R; only in a Reply) */
	bool enhanced;	/* IRD and ORD are present (flag S; revision 2 only) */
	bool extend;	/* the sender offers Weft's extensions (only in a Request) */
	bool extended;	/* the sender accepts that offer (only in a Reply) */
	bool paths;	/* with @extend or @extended: several paths (path.h), too */
	/* enhanced: peer-to-peer, the initiator will send an RTR indication (control flag A) */
	bool p2p;
	u8 rtr;	/* enhanced: RTR kinds offered or chosen (flags B, C, D), bits of enum weft_rtr */
	u16 ird;	/* enhanced: inbound reads that the sender can take */
	u16 ord;	/* enhanced: outbound reads that the sender wants */
	u16 private_len;	/* bytes of the application's private data, without IRD and ORD */
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
u32 weft_mpa_decode(const u8 *buf, u32 len, bool reply, struct weft_mpa_frame *frame);

/* Returns the length, at most WEFT_MPA_MAX_FRAME, or 0 if @frame is invalid. */
u32 weft_mpa_encode(u8 *buf, const struct weft_mpa_frame *frame, const u8 *private_data);

/* The words with IRD, ORD and RTR kinds. Encoding fails with revision 1, and beyond 14 bits. */
void weft_mpa_decode_depths(const u8 *buf, struct weft_mpa_frame *frame);

bool weft_mpa_encode_depths(u8 *buf, const struct weft_mpa_frame *frame);

/* --- negotiation --- */

/* IRD or ORD that is left to the applications (RFC 6581, 9.1). */
#define WEFT_MPA_RD_UNSET	WEFT_MPA_MAX_RD

/*
 * If either frame has flag C, both ends use CRCs (RFC 5044), so OFF uses them with a peer that
 * asks. REQUIRED refuses a peer that does not ask, because that peer may not check CRCs.
 */
enum weft_crc_policy {
	WEFT_CRC_OFF = 0,
	WEFT_CRC_PREFERRED = 1,
	WEFT_CRC_REQUIRED = 2,
};

/* The terms that this end wants. */
struct weft_mpa_policy {
	u8 revision;	/* highest MPA revision to use, 1 or 2 */
	u8 crc;	/* enum weft_crc_policy */
	/* RTR kinds that the initiator can send or the responder take, bits of enum weft_rtr */
	u8 rtr;
	bool p2p;	/* initiator: ask for peer-to-peer setup; a responder follows the Request */
	bool extend;	/* use Weft's extensions with a peer that has them */
	bool paths;	/* with @extend: use several paths with a peer that can */
	bool markers;	/* ask the peer to send markers */
	u16 ird;	/* inbound reads that this end can take, less than WEFT_MPA_RD_UNSET */
	u16 ord;	/* outbound reads that this end wants, less than WEFT_MPA_RD_UNSET */
};

/* The terms that both ends agreed on. */
struct weft_mpa_agreed {
	u8 revision;	/* of the Reply */
	bool crc;	/* generate and check CRCs */
	bool p2p;	/* the initiator sends an RTR indication before the responder may send */
	u8 rtr;	/* its kind: exactly one bit of enum weft_rtr with @p2p, else 0 */
	bool extended;	/* both ends use the extensions */
	bool paths;	/* frames of path.h follow the Reply, with CRCs if @crc, without markers */
	bool marks_out;	/* the peer wants markers from this end */
	bool marks_in;	/* this end wants markers from the peer */
	u16 ird;	/* inbound reads that the peer may have outstanding here */
	u16 ord;	/* outbound reads that this end may have outstanding at the peer */
};

bool weft_mpa_lacks_crc(const struct weft_mpa_policy *policy, const struct weft_mpa_frame *peer);

/* Offers no RTR read with an ORD of zero, because an RTR read needs one. */
void weft_mpa_request(const struct weft_mpa_policy *policy, u16 private_len,
		      struct weft_mpa_frame *req);

/*
 * Makes the Reply to @req, or a Reject that the initiator understands. @policy has IRD and ORD as
 * the accepting application gave them. ORD is lowered to the initiator's IRD, and IRD to its ORD,
 * but not below one for an RTR read. Returns 0 and @agreed, or the reason for the Reject:
 * WEFT_MPA_BAD_HANDSHAKE (revision above ours), WEFT_MPA_LOCAL (no CRCs), WEFT_MPA_NO_RTR_MATCH.
 */
int weft_mpa_answer(const struct weft_mpa_frame *req,
		    const struct weft_mpa_policy *policy, u16 private_len,
		    struct weft_mpa_frame *reply,
		    struct weft_mpa_agreed *agreed);

/*
 * Returns true if the responder does not know revision 2: it answers with revision 1, or echoes
 * the revision in a Reject that is not enhanced. A new connection with revision 1 may succeed.
 */
bool weft_mpa_outdated(const struct weft_mpa_frame *req, const struct weft_mpa_frame *reply);

/*
 * Finds the terms of an accepting Reply. Refuses a plain Reply to an enhanced Request, because
 * such a responder has given IRD and ORD to its application as private data. A Reply with our own
 * offer to extend is an echo, and agrees to nothing. Returns 0 and @agreed, or an MPA error code
 * for the Terminate.
 */
int weft_mpa_settle(const struct weft_mpa_frame *req,
		    const struct weft_mpa_frame *reply,
		    const struct weft_mpa_policy *policy,
		    struct weft_mpa_agreed *agreed);

#endif /* WEFT_WIRE_MPA_H */
