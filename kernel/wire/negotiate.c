// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Negotiation in the MPA handshake (RFC 5044, 7.1; RFC 6581). */

#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>

#include "negotiate.h"

static u16 rd_answer(u16 own, u16 peer)
{
	return peer == WEFT_MPA_RD_UNSET ? WEFT_MPA_RD_UNSET : own;
}

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

static int reject(struct weft_mpa_frame *reply, int why)
{
	reply->reject = true;
	return why;
}

bool weft_mpa_lacks_crc(const struct weft_mpa_policy *policy,
			const struct weft_mpa_frame *peer)
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
		return reject(reply, WEFT_MPA_BAD_HANDSHAKE);
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
		reply->ird = rd_answer(a.ird, req->ord);
		reply->ord = rd_answer(a.ord, req->ird);
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
	if (weft_mpa_lacks_crc(policy, req))
		return reject(reply, WEFT_MPA_LOCAL);
	if (a.p2p && !a.rtr)
		return reject(reply, WEFT_MPA_NO_RTR_MATCH);

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

	if (reply->reject || reply->revision != req->revision ||
	    reply->enhanced != req->enhanced)
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
