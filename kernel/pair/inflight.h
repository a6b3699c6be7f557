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

/*
 * One work request under way.
 * The transmit side fills in a request and marks it done; the receive side marks it done if the
 * peer answers it, see weft_op_answered(). So each field has one writer.
 */
struct weft_request {
	u64 wr_id;
	u64 end;	/* stream offset behind its last byte, once laid out */
	u32 ring_end;	/* send ring index behind it */
	u32 byte_len;	/* length of its message */
	u8 vendor;	/* enum weft_vendor_err */
	u8 opcode;	/* enum weft_op */
	u8 status;	/* enum ib_wc_status */
	bool signaled;	/* makes a completion even on success */
	bool done;	/* may complete in its turn. Set last, by weft_request_done() */
};

/**
 * struct weft_inflight - the work requests of a queue pair that are under way
 * @slot: ring of @size requests
 * @size: a power of two
 * @head: next free slot; written under tx_lock
 * @tail: oldest; written under the lock of the send CQ
 * @unsent: oldest whose last byte the stream may not have taken; written under tx_lock
 * @broken: a request failed, so all behind it fail. With a stream under the lock of the send CQ
 *
 * One side writes an index and the other reads it without a lock: a slot is filled before @unsent
 * passes it, and has been read before @tail does.
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

/* @index counts all requests since the start. */
static inline struct weft_request *weft_inflight_at(const struct weft_inflight *list,
						    u32 index)
{
	return &list->slot[index & (list->size - 1)];
}

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

/* Another thread may complete @w at once, so the caller does not look at @w again. */
static inline void weft_request_done(struct weft_request *w)
{
	/* Pairs with weft_request_is_done(): the status, and the memory of a read, come before. */
	smp_store_release(&w->done, true);
}

static inline bool weft_request_is_done(const struct weft_request *w)
{
	return smp_load_acquire(&w->done); /* pairs with weft_request_done() */
}

/* @status: enum ib_wc_status; @vendor: enum weft_vendor_err */
static inline void weft_request_fail(struct weft_request *w, u8 status, u8 vendor)
{
	w->status = status;
	w->vendor = vendor;
	weft_request_done(w);
}

/* Drops all requests without completions. Nobody completes any meanwhile. */
static inline void weft_inflight_forget(struct weft_inflight *list)
{
	list->tail = list->head;
	list->unsent = list->head;
}

/* Returns true if the operation is done at this end alone. */
static inline bool weft_op_local(u8 opcode)
{
	return opcode == WEFT_OP_LOCAL_INV || opcode == WEFT_OP_BIND_MW ||
	       opcode == WEFT_OP_REG_MR;
}

/* Returns true if the operation is done when the peer has answered, not when it is sent. */
static inline bool weft_op_answered(u8 opcode)
{
	return opcode == WEFT_OP_READ || opcode == WEFT_OP_READ_INV ||
	       opcode == WEFT_OP_CMP_SWP || opcode == WEFT_OP_FETCH_ADD;
}

#endif /* WEFT_PAIR_INFLIGHT_H */
