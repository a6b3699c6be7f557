/* SPDX-License-Identifier: GPL-2.0 */
/* Work requests between their fetch from the send ring and their completion. */
#ifndef WEFT_PAIR_INFLIGHT_H
#define WEFT_PAIR_INFLIGHT_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>
#include <asm/barrier.h>

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
 * @done: it may be completed, when its turn comes. Set last, by weft_request_done()
 *
 * The transmit side fills a request in and says when it is done; of one that the peer
 * answers, the receive side does, see weft_op_answered(). So each field has one writer.
 */
struct weft_request {
	u64 wr_id;
	u64 end;
	u32 ring_end;
	u32 byte_len;
	u8 vendor;
	u8 opcode;
	u8 status;
	bool signaled;
	bool done;
};

/**
 * struct weft_inflight - the work requests of a queue pair that are under way
 * @slot: the requests, a ring of @size
 * @size: a power of two
 * @head: next free slot. Written under tx.lock
 * @tail: oldest. Written under the lock of the send completion queue
 * @unsent: oldest whose last byte may not have been taken by the stream yet. Written under
 *	tx.lock
 * @broken: a request failed, so all that were posted behind it fail as well. Under the lock
 *	of the send completion queue while there is a stream
 *
 * An index is written by one side and read by the other without a lock: a slot is filled
 * before @unsent passes it, and has been read before @tail does.
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

/* Returns how many requests are under way. The slots of all others may be filled. */
static inline u32 weft_inflight_num(const struct weft_inflight *list)
{
	return list->head - smp_load_acquire(&list->tail); /* pairs with weft_inflight_complete() */
}

/* Returns true if no more may be fetched. */
static inline bool weft_inflight_full(const struct weft_inflight *list)
{
	return weft_inflight_num(list) == list->size;
}

/* Enters a request that has just been fetched; there is a slot for it. */
static inline struct weft_request *weft_inflight_add(struct weft_inflight *list)
{
	struct weft_request *w = weft_inflight_at(list, list->head);

	WRITE_ONCE(list->head, list->head + 1);
	w->end = U64_MAX;
	w->byte_len = 0;
	w->vendor = WEFT_VE_NONE;
	w->status = IB_WC_SUCCESS;
	w->done = false;
	return w;
}

/* Lets a request complete, which may be at once, in another thread: it is not looked at again. */
static inline void weft_request_done(struct weft_request *w)
{
	/* Pairs with weft_request_is_done(): the memory of a read, and the status, before it. */
	smp_store_release(&w->done, true);
}

static inline bool weft_request_is_done(const struct weft_request *w)
{
	return smp_load_acquire(&w->done); /* pairs with weft_request_done() */
}

/* Ends a request in error: @status is an enum ib_wc_status, @vendor an enum weft_vendor_err. */
static inline void weft_request_fail(struct weft_request *w, u8 status, u8 vendor)
{
	w->status = status;
	w->vendor = vendor;
	weft_request_done(w);
}

/* Lets all requests before the one at @index complete as far as they are done. */
static inline void weft_inflight_sent(struct weft_inflight *list, u32 index)
{
	smp_store_release(&list->unsent, index); /* pairs with weft_inflight_complete() */
}

/* Forgets all requests, without completions. Nobody completes any meanwhile. */
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
