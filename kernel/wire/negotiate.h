/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Negotiation in the MPA handshake (RFC 5044, 7.1; RFC 6581), all by pure functions. */
#ifndef WEFT_WIRE_NEGOTIATE_H
#define WEFT_WIRE_NEGOTIATE_H

#include <linux/types.h>

#include "mpa.h"
#include "term.h"

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

/**
 * struct weft_mpa_policy - the terms that this end wants
 * @revision: highest MPA revision to use, 1 or 2
 * @crc: enum weft_crc_policy
 * @rtr: RTR kinds that the initiator can send or the responder take, bits of enum weft_rtr
 * @p2p: initiator: ask for peer-to-peer setup; a responder follows the Request
 * @extend: use Weft's extensions with a peer that has them
 * @paths: with @extend: use several paths with a peer that can
 * @markers: ask the peer to send markers
 * @ird: inbound reads that this end can take, less than WEFT_MPA_RD_UNSET
 * @ord: outbound reads that this end wants, less than WEFT_MPA_RD_UNSET
 */
struct weft_mpa_policy {
	u8 revision;
	u8 crc;
	u8 rtr;
	bool p2p;
	bool extend;
	bool paths;
	bool markers;
	u16 ird;
	u16 ord;
};

/**
 * struct weft_mpa_agreed - the terms that both ends agreed on
 * @revision: of the Reply
 * @crc: generate and check CRCs
 * @p2p: the initiator sends an RTR indication before the responder may send
 * @rtr: its kind: exactly one bit of enum weft_rtr with @p2p, else 0
 * @extended: both ends use the extensions
 * @paths: frames of path.h follow the Reply, with CRCs if @crc, without markers
 * @marks_out: the peer wants markers from this end
 * @marks_in: this end wants markers from the peer
 * @ird: inbound reads that the peer may have outstanding here
 * @ord: outbound reads that this end may have outstanding at the peer
 */
struct weft_mpa_agreed {
	u8 revision;
	bool crc;
	bool p2p;
	u8 rtr;
	bool extended;
	bool paths;
	bool marks_out;
	bool marks_in;
	u16 ird;
	u16 ord;
};

bool weft_mpa_lacks_crc(const struct weft_mpa_policy *policy,
			const struct weft_mpa_frame *peer);

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

#endif /* WEFT_WIRE_NEGOTIATE_H */
