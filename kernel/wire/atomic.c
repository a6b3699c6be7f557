// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Atomic operations (RFC 7306, 5). */

#include <linux/types.h>

#include "atomic.h"
#include "bytes.h"

#define OP_MASK	0x0fU	/* the rest of the first word is reserved */

u64 weft_atomic_result(const struct weft_atomic_req *req, u64 original)
{
	u64 ends = req->mask;

	switch (req->op) {
	case WEFT_ATOMIC_FETCH_ADD:
		/*
		 * Adds each field without its top bit, so that no carry leaves it; the XOR adds
		 * the top bits.
		 */
		return ((original & ~ends) + (req->data & ~ends)) ^
		       ((original ^ req->data) & ends);
	case WEFT_ATOMIC_CMP_SWAP:
		if ((original ^ req->compare) & req->compare_mask)
			return original;
		break;
	}
	return (original & ~req->mask) | (req->data & req->mask);
}

void weft_atomic_req_encode(u8 *buf, const struct weft_atomic_req *req)
{
	weft_put_be32(buf, req->op & OP_MASK);
	weft_put_be32(buf + 4, req->id);
	weft_put_be32(buf + 8, req->stag);
	weft_put_be64(buf + 12, req->to);
	weft_put_be64(buf + 20, req->data);
	weft_put_be64(buf + 28, req->mask);
	weft_put_be64(buf + 36, req->compare);
	weft_put_be64(buf + 44, req->compare_mask);
}

void weft_atomic_req_decode(const u8 *buf, struct weft_atomic_req *req)
{
	req->op = (u8)(weft_get_be32(buf) & OP_MASK);
	req->id = weft_get_be32(buf + 4);
	req->stag = weft_get_be32(buf + 8);
	req->to = weft_get_be64(buf + 12);
	req->data = weft_get_be64(buf + 20);
	req->mask = weft_get_be64(buf + 28);
	req->compare = weft_get_be64(buf + 36);
	req->compare_mask = weft_get_be64(buf + 44);
}

void weft_atomic_resp_encode(u8 *buf, const struct weft_atomic_resp *resp)
{
	weft_put_be32(buf, resp->id);
	weft_put_be64(buf + 4, resp->original);
}

void weft_atomic_resp_decode(const u8 *buf, struct weft_atomic_resp *resp)
{
	resp->id = weft_get_be32(buf);
	resp->original = weft_get_be64(buf + 4);
}
