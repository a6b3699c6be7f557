/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Agreement in the MPA handshake (RFC 5044, 7.1; RFC 6581): revision, CRC, IRD and ORD, the
 * ready-to-receive indication and, between two Weft ends, the extensions. All are pure
 * functions of the frames and of this end's policy.
 */
#ifndef WEFT_WIRE_NEGOTIATE_H
#define WEFT_WIRE_NEGOTIATE_H

#include <linux/types.h>

#include "mpa.h"
#include "term.h"

/*
 * IRD or ORD that is not negotiated here but left to the applications
 * (RFC 6581, 9.1): it binds nobody.
 */
#define WEFT_MPA_RD_UNSET	WEFT_MPA_MAX_RD

/*
 * Whether this end asks for CRCs. RFC 5044 gives the last word to the end that
 * wants them: if flag C is set in either frame, both ends generate and check
 * CRCs. So an end that is OFF does not ask, and uses them with a peer that does.
 * An end that is REQUIRED asks, and refuses a peer that does not ask itself: such
 * a peer may not check CRCs at all.
 */
enum weft_crc_policy {
	WEFT_CRC_OFF = 0,
	WEFT_CRC_PREFERRED = 1,
	WEFT_CRC_REQUIRED = 2,
};

/**
 * struct weft_mpa_policy - what this end wishes
 * @revision: highest MPA revision to use, 1 or 2
 * @crc: enum weft_crc_policy
 * @rtr: RTR kinds this end can send (initiator) or take (responder), bits of enum weft_rtr
 * @p2p: initiator: ask for peer-to-peer setup; a responder follows the request
 * @extend: do immediate data and atomics with a peer that does them too
 * @paths: with @extend: have several paths with a peer that can have them too
 * @markers: ask for markers in what the peer sends
 * @ird: inbound reads this end can take, less than WEFT_MPA_RD_UNSET
 * @ord: outbound reads this end wants, less than WEFT_MPA_RD_UNSET
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
 * struct weft_mpa_agreed - what both ends do from here on
 * @revision: of the reply
 * @crc: generate and check CRCs
 * @p2p: the initiator sends an RTR indication before the responder may send
 * @rtr: which one: exactly one bit of enum weft_rtr with @p2p, else 0
 * @extended: both ends do immediate data and atomics
 * @paths: what follows the Reply is path.h's; @crc is for it, and markers there are none
 * @marks_out: the peer wants markers in what this end sends
 * @marks_in: this end wants markers in what the peer sends
 * @ird: inbound reads the peer may have outstanding here
 * @ord: outbound reads this end may have outstanding there
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

/**
 * weft_mpa_lacks_crc() - is a peer to be refused since it does not ask for CRCs?
 * @policy: this end's wishes
 * @peer: the peer's Request or Reply, as decoded
 *
 * Return: true if this end requires CRCs and the peer's flag C is clear.
 */
bool weft_mpa_lacks_crc(const struct weft_mpa_policy *policy,
			const struct weft_mpa_frame *peer);

/**
 * weft_mpa_request() - the Request that expresses a policy
 * @policy: this end's wishes
 * @private_len: bytes of the application's private data
 * @req: result
 *
 * Revision 2 requests are always enhanced ones. An RTR read needs an ORD of one, so it is
 * not offered with an ORD of zero; with nothing to offer, peer-to-peer is not asked for.
 */
void weft_mpa_request(const struct weft_mpa_policy *policy, u16 private_len,
		      struct weft_mpa_frame *req);

/**
 * weft_mpa_answer() - the Reply to a Request
 * @req: the request, as decoded
 * @policy: this end's wishes; @policy->ird and @policy->ord as the application
 *	    gave them when it accepted
 * @private_len: bytes of the application's private data
 * @reply: result; on a refusal a Reject that the initiator understands
 * @agreed: result; written only on success
 *
 * The reply has the request's revision and is enhanced if the request is. ORD
 * is lowered to the initiator's IRD, and IRD to its ORD (but not below one if the RTR
 * is a read). A value that the initiator leaves to the applications is left to them in
 * the reply, too. The answer to an offer to extend is another bit than the offer. Paths are
 * for extended connections without markers only.
 *
 * Return: 0, or the MPA error for which the Request is refused:
 * WEFT_MPA_BAD_HANDSHAKE (a revision above the policy's),
 * WEFT_MPA_LOCAL (the peer does not ask for CRCs, which this end requires),
 * WEFT_MPA_NO_RTR_MATCH.
 */
int weft_mpa_answer(const struct weft_mpa_frame *req,
		    const struct weft_mpa_policy *policy, u16 private_len,
		    struct weft_mpa_frame *reply,
		    struct weft_mpa_agreed *agreed);

/**
 * weft_mpa_outdated() - does the responder know nothing of revision 2?
 * @req: the request that was sent
 * @reply: the reply, as decoded
 *
 * Such a responder answers with revision 1, accepting or not. Or it sends the Request's
 * revision back in a Reject that is not enhanced, which a responder of revision 2 would be
 * bound to send enhanced.
 *
 * Return: true if a new connection with revision 1 is worth a try.
 */
bool weft_mpa_outdated(const struct weft_mpa_frame *req, const struct weft_mpa_frame *reply);

/**
 * weft_mpa_settle() - find what an accepting Reply agrees to
 * @req: the request that was sent, as weft_mpa_request() made it
 * @reply: the reply, as decoded; deal with a Reject first
 * @policy: the policy that @req was made from
 * @agreed: result; written only on success
 *
 * A reply must have the request's revision and be enhanced if and only if the
 * request was: a responder of revision 1 that took an enhanced request has
 * handed IRD and ORD to its application as private data. A new connection with
 * revision 1 can be tried then.
 *
 * A reply that holds our own offer to extend is an echo, and agrees to nothing.
 *
 * ORD is lowered to the responder's IRD. A responder's ORD above the IRD of the request
 * is refused.
 *
 * Return: 0, or the code for the Terminate message:
 * WEFT_MPA_BAD_HANDSHAKE, WEFT_MPA_LOCAL (CRCs required and not asked for),
 * WEFT_MPA_INSUFFICIENT_IRD, WEFT_MPA_NO_RTR_MATCH.
 */
int weft_mpa_settle(const struct weft_mpa_frame *req,
		    const struct weft_mpa_frame *reply,
		    const struct weft_mpa_policy *policy,
		    struct weft_mpa_agreed *agreed);

#endif /* WEFT_WIRE_NEGOTIATE_H */
