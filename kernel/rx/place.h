/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the files of rx/. All functions but weft_rx_flush_receives() run under the lock of
 * weft_qp_assert_locked(), in softirq too, and do not sleep.
 */
#ifndef WEFT_RX_PLACE_H
#define WEFT_RX_PLACE_H

#include <linux/types.h>

#include "memory/mr.h"
#include "pair/qp.h"
#include "uapi/weft-abi.h"

struct weft_answers;
struct weft_arrival;
struct weft_read;
struct weft_reads;

/* segment.c: segments as they come */
bool weft_rx_read(struct weft_qp *qp);

/* early.c: segments that come before their turn */
bool weft_rx_place_early(void *ctx, const struct weft_arrival *arrival);

/* place.c: placement, by operation */
enum weft_rx_verdict weft_rx_begin(struct weft_qp *qp);
enum weft_rx_verdict weft_rx_placed(struct weft_rx *rx);

/* deliver.c: delivery, by operation */
enum weft_rx_verdict weft_rx_deliver(struct weft_qp *qp);

/* atomic.c: atomics, of the peer and of ours */
enum weft_rx_verdict weft_rx_begin_atomic_response(struct weft_rx *rx,
						   const struct weft_reads *reads);
enum weft_rx_verdict weft_rx_place_atomic_response(struct weft_rx *rx);
enum weft_rx_verdict weft_rx_deliver_atomic_request(struct weft_rx *rx,
						    struct weft_answers *answers);

/* payload.c: the bytes */
enum weft_rx_verdict weft_rx_place(struct weft_rx *rx, const u8 *from, u32 len);
bool weft_rx_try(struct weft_rx *rx, const u8 *from, u32 len);
u64 weft_rx_row_room(struct weft_rx *rx, u64 *to);
void weft_rx_row_end(struct weft_rx *rx, u32 fpdus);

/* answered.c: our own requests */
void weft_rx_aim_at_read(struct weft_rx *rx, struct weft_read *read);
enum weft_rx_verdict weft_rx_read_failed(struct weft_rx *rx);
enum weft_rx_verdict weft_rx_read_done(struct weft_rx *rx, struct weft_reads *reads);

/* recv.c: the receive that a message takes */
enum weft_rx_verdict weft_rx_fetch_recv(struct weft_rx *rx, struct weft_inbound *m);
enum weft_rx_verdict weft_rx_complete_recv(struct weft_rx *rx, struct weft_inbound *m, u8 status,
					   u32 vendor);
void weft_rx_recv_failed(struct weft_rx *rx, u8 status, u32 vendor);
void weft_rx_flush_receives(struct weft_qp *qp);

/* refuse.c: the end of the connection */
enum weft_rx_verdict weft_rx_refuse(struct weft_rx *rx, u8 layer, u8 etype, u8 code);
void weft_rx_refuse_now(struct weft_rx *rx, u8 layer, u8 etype, u8 code);
enum weft_rx_verdict weft_rx_refuse_key(struct weft_rx *rx, enum weft_key_error err);
enum weft_rx_verdict weft_rx_refuse_crc(struct weft_rx *rx);
enum weft_rx_verdict weft_rx_refuse_local(struct weft_rx *rx);
enum weft_rx_verdict weft_rx_break(struct weft_rx *rx);
void weft_rx_fail(struct weft_qp *qp);

/*
 * Gives up the region that is held from piece to piece. Called at the end of each packet, so that a
 * deregistration waits for the bytes of one packet at most; but see weft_access_yield().
 */
static inline void weft_rx_let_go(struct weft_rx *rx)
{
	weft_rx_assert_locked(rx);
	weft_access_end(&rx->place.access);
}

/* The message of the segment under way, if it takes a receive. */
static inline struct weft_inbound *weft_rx_inbound(struct weft_rx *rx)
{
	return weft_window_at(&rx->sends, rx->seg.ddp.msn);
}

static inline void weft_rx_aim_at_bytes(struct weft_rx *rx)
{
	rx->place.target = WEFT_RX_TO_BYTES;
	rx->place.have = 0;
}

/* Directs payload to a list of SGEs, @at bytes from its start. */
static inline void weft_rx_aim(struct weft_rx *rx, struct ib_pd *pd, int rights,
			       const struct weft_sge *sge, u32 num_sge, u32 at)
{
	for (; num_sge && at >= sge->length; sge++, num_sge--)
		at -= sge->length;
	rx->place.sge = sge;
	rx->place.num_sge = num_sge;
	rx->place.at = at;
	rx->place.rights = rights;
	rx->place.pd = pd;
}

#endif /* WEFT_RX_PLACE_H */
