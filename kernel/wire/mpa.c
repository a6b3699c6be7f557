// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* MPA Request and Reply frames (RFC 5044, 7.1; RFC 6581, 9), and the negotiation by them. */

#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>

#include "bytes.h"
#include "ddp.h"
#include "mpa.h"

#define KEY_LEN		16
#define FLAGS_AT	16
#define REVISION_AT	17
#define PRIVATE_LEN_AT	18

#define FLAG_MARKERS	0x80	/* M */
#define FLAG_CRC	0x40	/* C */
#define FLAG_REJECT	0x20	/* R */
#define FLAG_ENHANCED	0x10	/* S */
/*
 * Reserved bits between Weft ends (siw uses 0x08). Offer and answer are different bits, because
 * some peers echo reserved bits.
 */
#define FLAG_EXTEND	0x04
#define FLAG_EXTENDED	0x02
#define FLAG_PATHS	0x01	/* several paths; with either of the two */

/* The two words of enhanced setup: two control flags and 14 bits each. */
#define IRD_P2P		0x8000	/* A */
#define IRD_RTR_SEND	0x4000	/* B */
#define ORD_RTR_WRITE	0x8000	/* C */
#define ORD_RTR_READ	0x4000	/* D */

static const u8 request_key[KEY_LEN + 1] = "MPA ID Req Frame";
static const u8 reply_key[KEY_LEN + 1] = "MPA ID Rep Frame";

u32 weft_mpa_total_len(const u8 *buf)
{
	u32 len = get_unaligned_be16(buf + PRIVATE_LEN_AT);

	return len <= WEFT_MPA_MAX_PRIVATE ? WEFT_MPA_HDR_LEN + len : 0;
}

bool weft_mpa_key_prefix_ok(const u8 *buf, u32 len, bool reply)
{
	return !memcmp(buf, reply ? reply_key : request_key, len < KEY_LEN ? len : KEY_LEN);
}

void weft_mpa_decode_depths(const u8 *buf, struct weft_mpa_frame *frame)
{
	u16 ird = get_unaligned_be16(buf), ord = get_unaligned_be16(buf + 2);

	frame->p2p = ird & IRD_P2P;
	frame->rtr = (ird & IRD_RTR_SEND ? WEFT_RTR_SEND : 0) |
		     (ord & ORD_RTR_WRITE ? WEFT_RTR_WRITE : 0) |
		     (ord & ORD_RTR_READ ? WEFT_RTR_READ : 0);
	frame->ird = ird & WEFT_MPA_MAX_RD;
	frame->ord = ord & WEFT_MPA_MAX_RD;
}

bool weft_mpa_encode_depths(u8 *buf, const struct weft_mpa_frame *frame)
{
	u16 ird = frame->ird, ord = frame->ord;

	if (frame->revision != 2 || ird > WEFT_MPA_MAX_RD || ord > WEFT_MPA_MAX_RD)
		return false;
	if (frame->p2p)
		ird |= IRD_P2P;
	if (frame->rtr & WEFT_RTR_SEND)
		ird |= IRD_RTR_SEND;
	if (frame->rtr & WEFT_RTR_WRITE)
		ord |= ORD_RTR_WRITE;
	if (frame->rtr & WEFT_RTR_READ)
		ord |= ORD_RTR_READ;
	put_unaligned_be16(ird, buf);
	put_unaligned_be16(ord, buf + 2);
	return true;
}

u32 weft_mpa_decode(const u8 *buf, u32 len, bool reply, struct weft_mpa_frame *frame)
{
	struct weft_mpa_frame f = { .reply = reply };
	u32 at = WEFT_MPA_HDR_LEN;
	u8 flags;

	if (len < WEFT_MPA_HDR_LEN || !weft_mpa_key_prefix_ok(buf, len, reply) ||
	    weft_mpa_total_len(buf) != len)
		return 0;

	f.revision = buf[REVISION_AT];
	if (f.revision != 1 && f.revision != 2)
		return 0;

	flags = buf[FLAGS_AT];
	f.markers = flags & FLAG_MARKERS;
	f.crc = flags & FLAG_CRC;
	/* Ignored in a Request (RFC 5044, 7.1.1). */
	f.reject = reply && (flags & FLAG_REJECT);
	f.enhanced = f.revision == 2 && (flags & FLAG_ENHANCED);
	f.extend = flags & FLAG_EXTEND;
	f.extended = flags & FLAG_EXTENDED;
	f.paths = flags & FLAG_PATHS;

	if (f.enhanced) {
		if (len - at < WEFT_MPA_V2_LEN)
			return 0;
		weft_mpa_decode_depths(buf + at, &f);
		at += WEFT_MPA_V2_LEN;
	}

	f.private_len = (u16)(len - at);
	*frame = f;
	return at;
}

u32 weft_mpa_encode(u8 *buf, const struct weft_mpa_frame *frame, const u8 *private_data)
{
	u32 extra = frame->enhanced ? WEFT_MPA_V2_LEN : 0;
	u32 at = WEFT_MPA_HDR_LEN;
	u8 flags = 0;

	if (frame->private_len > WEFT_MPA_MAX_PRIVATE - extra)
		return 0;
	if (frame->enhanced) {
		if (!weft_mpa_encode_depths(buf + at, frame))
			return 0;
		at += WEFT_MPA_V2_LEN;
	}

	memcpy(buf, frame->reply ? reply_key : request_key, KEY_LEN);
	if (frame->markers)
		flags |= FLAG_MARKERS;
	if (frame->crc)
		flags |= FLAG_CRC;
	if (frame->reject)
		flags |= FLAG_REJECT;
	if (frame->enhanced)
		flags |= FLAG_ENHANCED;
	if (frame->extend)
		flags |= FLAG_EXTEND;
	if (frame->extended)
		flags |= FLAG_EXTENDED;
	if (frame->paths)
		flags |= FLAG_PATHS;
	buf[FLAGS_AT] = flags;
	buf[REVISION_AT] = frame->revision;
	put_unaligned_be16((u16)(frame->private_len + extra), buf + PRIVATE_LEN_AT);

	if (frame->private_len)
		memcpy(buf + at, private_data, frame->private_len);
	return at + frame->private_len;
}

/* --- negotiation --- */

/*
 * Chooses the RTR kind that is cheapest for its receiver, or 0: a Write costs nothing, a Read one
 * of @reads inbound reads, a Send a receive.
 */
static u8 rtr_choose(u8 rtr, u16 reads)
{
	if (rtr & WEFT_RTR_WRITE)
		return WEFT_RTR_WRITE;
	if ((rtr & WEFT_RTR_READ) && reads)
		return WEFT_RTR_READ;
	return rtr & WEFT_RTR_SEND;
}

bool weft_mpa_lacks_crc(const struct weft_mpa_policy *policy, const struct weft_mpa_frame *peer)
{
	return policy->crc == WEFT_CRC_REQUIRED && !peer->crc;
}

void weft_mpa_request(const struct weft_mpa_policy *policy, u16 private_len,
		      struct weft_mpa_frame *req)
{
	memset(req, 0, sizeof(*req));
	req->revision = policy->revision >= 2 ? 2 : 1;
	req->crc = policy->crc != WEFT_CRC_OFF;
	req->extend = policy->extend;
	req->markers = policy->markers;
	req->paths = policy->paths && policy->extend && !policy->markers;
	req->private_len = private_len;
	if (req->revision == 1)
		return;

	req->enhanced = true;
	req->ird = policy->ird;
	req->ord = policy->ord;
	if (policy->p2p) {
		req->rtr = policy->rtr &
			   (WEFT_RTR_SEND | WEFT_RTR_WRITE | WEFT_RTR_READ);
		if (!req->ord)
			req->rtr &= ~WEFT_RTR_READ;
		req->p2p = req->rtr;
	}
}

int weft_mpa_answer(const struct weft_mpa_frame *req,
		    const struct weft_mpa_policy *policy, u16 private_len,
		    struct weft_mpa_frame *reply,
		    struct weft_mpa_agreed *agreed)
{
	struct weft_mpa_agreed a = {};

	memset(reply, 0, sizeof(*reply));
	reply->reply = true;
	reply->revision = req->revision;
	reply->crc = policy->crc != WEFT_CRC_OFF || req->crc;
	reply->private_len = private_len;
	if (req->revision > policy->revision) {
		reply->revision = policy->revision;
		reply->reject = true;
		return WEFT_MPA_BAD_HANDSHAKE;
	}

	a.revision = req->revision;
	a.crc = reply->crc;
	/* A Request with the bit of the answer is from a peer that sets bits it does not know. */
	a.extended = policy->extend && req->extend && !req->extended;
	a.marks_out = req->markers;
	a.marks_in = policy->markers;
	a.paths = a.extended && policy->paths && req->paths && !a.marks_out && !a.marks_in;
	a.ird = policy->ird;
	a.ord = policy->ord;
	if (req->enhanced) {
		a.ird = min(policy->ird, req->ord);
		a.ord = min(policy->ord, req->ird);
		reply->enhanced = true;
		reply->ird = req->ord == WEFT_MPA_RD_UNSET ? WEFT_MPA_RD_UNSET : a.ird;
		reply->ord = req->ird == WEFT_MPA_RD_UNSET ? WEFT_MPA_RD_UNSET : a.ord;
	}
	if (req->enhanced && req->p2p) {
		a.p2p = true;
		a.rtr = rtr_choose(req->rtr & policy->rtr, policy->ird);
		/* Some peers do not count the RTR read in their ORD. */
		if (a.rtr == WEFT_RTR_READ && !a.ird) {
			a.ird = 1;
			reply->ird = 1;
		}
		/* A Reject, too, lists the RTR kinds (RFC 6581, 9.2). */
		reply->p2p = true;
		reply->rtr = a.rtr ?: policy->rtr;
	}
	if (weft_mpa_lacks_crc(policy, req)) {
		reply->reject = true;
		return WEFT_MPA_LOCAL;
	}
	if (a.p2p && !a.rtr) {
		reply->reject = true;
		return WEFT_MPA_NO_RTR_MATCH;
	}

	reply->extended = a.extended;
	reply->markers = a.marks_in;
	reply->paths = a.paths;
	*agreed = a;
	return 0;
}

bool weft_mpa_outdated(const struct weft_mpa_frame *req, const struct weft_mpa_frame *reply)
{
	return reply->revision < req->revision ||
	       (reply->reject && req->enhanced && !reply->enhanced);
}

int weft_mpa_settle(const struct weft_mpa_frame *req,
		    const struct weft_mpa_frame *reply,
		    const struct weft_mpa_policy *policy,
		    struct weft_mpa_agreed *agreed)
{
	struct weft_mpa_agreed a = {};

	if (reply->reject || reply->revision != req->revision || reply->enhanced != req->enhanced)
		return WEFT_MPA_BAD_HANDSHAKE;
	if (weft_mpa_lacks_crc(policy, reply))
		return WEFT_MPA_LOCAL;

	a.revision = reply->revision;
	a.crc = req->crc || reply->crc;
	a.extended = req->extend && reply->extended && !reply->extend;
	a.marks_out = reply->markers;
	a.marks_in = req->markers;
	a.paths = a.extended && req->paths && reply->paths && !a.marks_out;
	a.ird = policy->ird;
	a.ord = policy->ord;
	if (!req->enhanced)
		goto out;

	a.ord = min(req->ord, reply->ird);
	if (reply->ord != WEFT_MPA_RD_UNSET && reply->ord > req->ird)
		return WEFT_MPA_INSUFFICIENT_IRD;

	if (reply->p2p != req->p2p)
		return req->p2p ? WEFT_MPA_NO_RTR_MATCH :
				  WEFT_MPA_BAD_HANDSHAKE;
	if (req->p2p) {
		a.p2p = true;
		a.rtr = rtr_choose(req->rtr & reply->rtr, a.ord);
		if (!a.rtr)
			return WEFT_MPA_NO_RTR_MATCH;
	}
out:
	*agreed = a;
	return 0;
}
