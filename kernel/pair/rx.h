/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The receive side of a queue pair: a stream of FPDUs in, bytes placed and
 * completions out.
 *
 * It runs where packets arrive: in softirq, or in the thread that has the socket lock. The
 * framer finds the FPDUs, and checks their CRCs before it announces a segment (mpa/framer.h).
 *
 * A SEND that finds no receive posted stops the reading, and in the end the peer's TCP.
 * The next post resumes the reading; without a post, a timer ends the connection.
 */
#ifndef WEFT_PAIR_RX_H
#define WEFT_PAIR_RX_H

#include <linux/timer.h>

#include "memory/mr.h"
#include "pair/framer.h"
#include "pair/inbound.h"
#include "wire/template.h"
#include "wire/term.h"

struct weft_cq;
struct weft_read;
struct weft_srq;

/* How long a SEND may wait for a receive to be posted. */
#define WEFT_RNR_TIMEOUT	(10 * HZ)
/* How soon the stream is read again when memory was short. */
#define WEFT_RX_RETRY		(HZ / 100 + 1)

/* Why the queue pair is to fail, as far as the peer caused it. */
enum weft_rx_failure {
	WEFT_RX_FINE,
	WEFT_RX_REFUSED,	/* a mistake of the peer: send a Terminate */
	WEFT_RX_BROKEN,		/* send no Terminate */
};

/* Where a segment's payload goes. */
enum weft_rx_target {
	WEFT_RX_TO_REGION,	/* RDMA Write */
	WEFT_RX_TO_RECV,	/* SEND: the receive in progress */
	WEFT_RX_TO_READ,	/* Read Response: the oldest read */
	WEFT_RX_TO_BYTES,	/* small messages that are looked at whole: @bytes */
};

/**
 * struct weft_placement - where the payload of the segment under way goes
 * @target: which of the below says so
 * @have: TO_BYTES: how many of @bytes have come
 * @bytes: payload of a small message that is decoded whole
 * @read: TO_READ, and atomic responses: the request of ours that is being answered
 * @sge: unless TO_BYTES: the SGE of the next byte, with the rest of the list behind it
 * @num_sge: how many SGEs are left, @sge included
 * @at: offset of the next byte in @sge
 * @rights: rights needed there, enum ib_access_flags
 * @pd: the protection domain of the list's poster
 * @region: TO_REGION: the Write's part of a region, as a list of one
 * @access: the region placed in last, while more may follow in the same packet, of this
 *	message or the next
 *
 * Protected as struct weft_rx is.
 */
struct weft_placement {
	enum weft_rx_target target;
	u32 have;
	u8 bytes[WEFT_TERM_MAX_LEN];
	struct weft_read *read;
	const struct weft_sge *sge;
	u32 num_sge;
	u32 at;
	int rights;
	struct ib_pd *pd;
	struct weft_sge region;
	struct weft_access access;
};

/**
 * struct weft_rx - receive side
 * @acc: its queue pair, as memory knows it
 * @rq: where receives come from: the queue pair's own or those of @srq
 * @srq: the shared receive queue, or NULL
 * @rcq: completion queue of receives
 * @extended: the peer may send immediate data and atomics
 * @empty_first: the peer's first FPDU may be an empty SEND that takes no receive
 * @failure: enum weft_rx_failure; FINE again once the queue pair has failed
 * @term: REFUSED: why
 * @stopped: failed or ended; nothing more is read
 * @running: weft_rx_run() is at work
 * @framer: FPDUs as they come
 * @seg: the segment under way, or the one that ended last
 * @place: where the payload of the segment under way goes
 * @sends: the SENDs and immediate data on their way
 * @read_msn: number the next read or atomic request must have
 * @atomic_msn: number the next atomic response must have
 * @written: the RDMA Write that came last
 * @first: no FPDU has come yet
 * @early: segments are placed that come before their turn
 * @stalled: a SEND waits for a receive
 * @woken: the reading is to go on. Atomic
 * @expired: @rnr has run. Atomic
 * @kept_most: the most bytes of memory that early segments took. Read without the lock, to be shown
 * @waiting: the place of that SEND in the receive queue's list
 * @rnr: ends the wait for a receive, or for memory
 *
 * @acc to @rcq are fixed before the queue pair can be found. Everything else is
 * protected by the socket lock.
 */
struct weft_rx {
	struct weft_accessor *acc;
	struct weft_rq *rq;
	struct weft_srq *srq;
	struct weft_cq *rcq;
	bool extended;
	bool empty_first;
	u8 failure;
	struct weft_term term;
	bool stopped;
	bool running;
	struct weft_framer framer;
	struct weft_template seg;
	struct weft_placement place;
	struct weft_window sends;
	u32 read_msn;
	u32 atomic_msn;
	struct weft_written written;
	bool first;
	bool early;
	bool stalled;
	bool woken;
	bool expired;
	u32 kept_most;
	struct weft_waiter waiting;
	struct timer_list rnr;
};

#endif /* WEFT_PAIR_RX_H */
