/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Atomic operations (RFC 7306, 5): request and response as they lie on the wire,
 * and what an operation makes of eight bytes.
 */
#ifndef WEFT_WIRE_ATOMIC_H
#define WEFT_WIRE_ATOMIC_H

#include <linux/types.h>

/* Payloads: of an Atomic Request (RFC 7306, 5.2.1) and of a Response (5.2.2). */
#define WEFT_ATOMIC_REQ_LEN	52
#define WEFT_ATOMIC_RESP_LEN	12
/* Bytes that an operation changes, aligned to their number. */
#define WEFT_ATOMIC_LEN		8

enum weft_atomic_op {
	WEFT_ATOMIC_FETCH_ADD = 0,
	WEFT_ATOMIC_SWAP = 1,
	WEFT_ATOMIC_CMP_SWAP = 2,
};

/**
 * struct weft_atomic_req - a decoded Atomic Request
 * @op: enum weft_atomic_op, or something else
 * @id: comes back with the response
 * @stag: the responder's memory
 * @to: offset there
 * @data: to add, or to store
 * @mask: FETCH_ADD: a bit that is set ends a field, no carry goes beyond it;
 *	otherwise the bits to be stored
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

/**
 * struct weft_atomic_resp - a decoded Atomic Response
 * @id: of the request
 * @original: the value found
 */
struct weft_atomic_resp {
	u32 id;
	u64 original;
};

/* Returns true if the operation exists. */
static inline bool weft_atomic_op_ok(u8 op)
{
	return op <= WEFT_ATOMIC_CMP_SWAP;
}

/**
 * weft_atomic_result() - what an operation leaves behind
 * @req: the request; its operation exists
 * @original: the value found
 *
 * Return: the value to be stored.
 */
u64 weft_atomic_result(const struct weft_atomic_req *req, u64 original);

/**
 * weft_atomic_req_encode() - write the payload of an Atomic Request
 * @buf: at least WEFT_ATOMIC_REQ_LEN bytes
 * @req: what to write
 */
void weft_atomic_req_encode(u8 *buf, const struct weft_atomic_req *req);

/**
 * weft_atomic_req_decode() - read the payload of an Atomic Request
 * @buf: at least WEFT_ATOMIC_REQ_LEN bytes
 * @req: result; any 52 bytes make one, so its values are still unchecked
 *
 * Reserved bits are ignored.
 */
void weft_atomic_req_decode(const u8 *buf, struct weft_atomic_req *req);

/* The same of a response: WEFT_ATOMIC_RESP_LEN bytes. */
void weft_atomic_resp_encode(u8 *buf, const struct weft_atomic_resp *resp);
void weft_atomic_resp_decode(const u8 *buf, struct weft_atomic_resp *resp);

#endif /* WEFT_WIRE_ATOMIC_H */
