/* SPDX-License-Identifier: GPL-2.0 */
/* Work requests between their fetch from the send ring and their completion. */
#ifndef WEFT_PAIR_INFLIGHT_H
#define WEFT_PAIR_INFLIGHT_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "uapi/weft-abi.h"

struct weft_cq;
struct weft_ring;

/**
 * struct weft_request - one work request under way
 * @wr_id: from the work request
 * @end: stream offset after its last byte, once it is laid out
 * @ring_end: send ring index after it
 * @byte_len: length of its message
 * @vendor: enum weft_vendor_err
 * @opcode: enum weft_op
 * @status: enum ib_wc_status
 * @signaled: makes a completion even on success
 * @done: it may be completed, when its turn comes
 */
struct weft_request {
	u64 wr_id;
	u64 end;
	u32 ring_end;
	u32 byte_len;
	u8 vendor;
	u8 opcode;
	u8 status;
	bool signaled : 1;
	bool done : 1;
};

/**
 * struct weft_inflight - the work requests of a queue pair that are under way
 * @slot: the requests, a ring of @size
 * @size: a power of two
 * @head: next free slot
 * @tail: oldest
 * @unsent: oldest whose last byte may not have been taken by the stream yet
 * @broken: a request failed, so all that were posted behind it fail as well
 *
 * Protected by the lock of its queue pair's data path: the socket lock while
 * there is a stream, tx.lock without one; see weft_qp_assert_locked().
 */
struct weft_inflight {
	struct weft_request *slot;
	u32 size;
	u32 head;
	u32 tail;
	u32 unsent;
	bool broken;
};

int weft_inflight_init(struct weft_inflight *list, u32 num);
void weft_inflight_destroy(struct weft_inflight *list);
bool weft_inflight_complete(struct weft_inflight *list, struct weft_ring *sq,
			    struct weft_cq *scq, u32 qpn);
void weft_inflight_flush(struct weft_inflight *list);

/* Returns a request by its index, which counts all requests since the start. */
static inline struct weft_request *weft_inflight_at(const struct weft_inflight *list,
						    u32 index)
{
	return &list->slot[index & (list->size - 1)];
}

/* Returns the request that was entered last. */
static inline struct weft_request *weft_inflight_last(const struct weft_inflight *list)
{
	return weft_inflight_at(list, list->head - 1);
}

/* Returns how many requests are under way. */
static inline u32 weft_inflight_num(const struct weft_inflight *list)
{
	return list->head - list->tail;
}

/* Returns true if no more may be fetched. */
static inline bool weft_inflight_full(const struct weft_inflight *list)
{
	return weft_inflight_num(list) == list->size;
}

/* Enters a request that has just been fetched; there is a slot for it. */
static inline struct weft_request *weft_inflight_add(struct weft_inflight *list)
{
	struct weft_request *w = weft_inflight_at(list, list->head++);

	w->end = U64_MAX;
	w->byte_len = 0;
	w->vendor = WEFT_VE_NONE;
	w->status = IB_WC_SUCCESS;
	w->done = false;
	return w;
}

/* Ends a request in error: @status is an enum ib_wc_status, @vendor an enum weft_vendor_err. */
static inline void weft_request_fail(struct weft_request *w, u8 status, u8 vendor)
{
	w->status = status;
	w->vendor = vendor;
	w->done = true;
}

/* Forgets all requests, without completions. */
static inline void weft_inflight_forget(struct weft_inflight *list)
{
	list->tail = list->head;
	list->unsent = list->head;
}

static inline bool weft_op_is_read(u8 opcode)
{
	return opcode == WEFT_OP_READ || opcode == WEFT_OP_READ_INV;
}

/* Returns true if an operation is done when the peer has answered, not when it is sent. */
static inline bool weft_op_answered(u8 opcode)
{
	return weft_op_is_read(opcode) || opcode == WEFT_OP_CMP_SWP ||
	       opcode == WEFT_OP_FETCH_ADD;
}

#endif /* WEFT_PAIR_INFLIGHT_H */
