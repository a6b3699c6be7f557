/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Atomic operations (RFC 7306, 5): payload formats, and the result of an operation. */
#ifndef WEFT_WIRE_ATOMIC_H
#define WEFT_WIRE_ATOMIC_H

#include <linux/types.h>

/* Payload lengths of an Atomic Request (RFC 7306, 5.2.1) and of its Response (5.2.2). */
#define WEFT_ATOMIC_REQ_LEN	52
#define WEFT_ATOMIC_RESP_LEN	12
#define WEFT_ATOMIC_LEN		8	/* bytes changed, aligned to eight */

enum weft_atomic_op {
	WEFT_ATOMIC_FETCH_ADD = 0,
	WEFT_ATOMIC_SWAP = 1,
	WEFT_ATOMIC_CMP_SWAP = 2,
};

/**
 * struct weft_atomic_req - a decoded Atomic Request
 * @op: enum weft_atomic_op, or an unknown operation
 * @id: returned in the response
 * @stag: the responder's memory
 * @to: offset in @stag
 * @data: to add, or to store
 * @mask: FETCH_ADD: each set bit ends a field, which no carry leaves; else the bits to store
 * @compare: CMP_SWAP: the value to compare with
 * @compare_mask: CMP_SWAP: the bits that are compared
 */
struct weft_atomic_req {
	u8 op;
	u32 id;
	u32 stag;
	u64 to;
	u64 data;
	u64 mask;
	u64 compare;
	u64 compare_mask;
};

struct weft_atomic_resp {
	u32 id;		/* copied from the request */
	u64 original;	/* the value found */
};

static inline bool weft_atomic_op_ok(u8 op)
{
	return op <= WEFT_ATOMIC_CMP_SWAP;
}

/* Returns the value to store where @original was found. The caller has checked req->op. */
u64 weft_atomic_result(const struct weft_atomic_req *req, u64 original);

/* Encoders need room for the whole payload. Decoders check no value and ignore reserved bits. */
void weft_atomic_req_encode(u8 *buf, const struct weft_atomic_req *req);
void weft_atomic_req_decode(const u8 *buf, struct weft_atomic_req *req);
void weft_atomic_resp_encode(u8 *buf, const struct weft_atomic_resp *resp);
void weft_atomic_resp_decode(const u8 *buf, struct weft_atomic_resp *resp);

#endif /* WEFT_WIRE_ATOMIC_H */
