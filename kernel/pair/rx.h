/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The receive side of a queue pair, in softirq or in the thread that has the socket lock. If a SEND
 * finds no receive, the reading stops, so that TCP throttles the peer. The next post resumes the
 * reading; without a post, a timer ends the connection.
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

/* Longest wait of a SEND for a receive. */
#define WEFT_RNR_TIMEOUT	(10 * HZ)
/* Retry delay when memory was short. */
#define WEFT_RX_RETRY		(HZ / 100 + 1)

enum weft_rx_failure {
	WEFT_RX_FINE,
	WEFT_RX_REFUSED,	/* send a Terminate */
	WEFT_RX_BROKEN,		/* send no Terminate */
};

enum weft_rx_target {
	WEFT_RX_TO_REGION,	/* RDMA Write */
	WEFT_RX_TO_RECV,	/* SEND: the receive in progress */
	WEFT_RX_TO_READ,	/* Read Response: the oldest read */
	WEFT_RX_TO_BYTES,	/* small messages that are decoded whole: @bytes */
};

/*
 * Where the payload of the segment under way goes.
 * Protected as struct weft_rx.
 */
struct weft_placement {
	enum weft_rx_target target;	/* which of the fields below apply */
	u32 have;			/* TO_BYTES: bytes that have come */
	u8 bytes[WEFT_TERM_MAX_LEN];	/* TO_BYTES: payload of a small message */
	struct weft_read *read;		/* TO_READ, Atomic Responses: our answered request */
	const struct weft_sge *sge;	/* unless TO_BYTES: the next byte's SGE, then the rest */
	u32 num_sge;			/* SGEs left, @sge included */
	u32 at;				/* offset of the next byte in @sge */
	int rights;			/* rights needed there, enum ib_access_flags */
	struct ib_pd *pd;		/* protection domain of the list's poster */
	struct weft_sge region;		/* TO_REGION: the Write's part, as a list of one */
	struct weft_access access;	/* placed in last, kept while the packet may have more */
};

/**
 * struct weft_rx - receive side
 * @acc: its queue pair, as memory/ knows it
 * @rq: source of receives: the queue pair's own queue or that of @srq
 * @srq: the shared receive queue, or NULL
 * @rcq: completion queue of receives
 * @extended: the peer may send immediate data and atomics
 * @empty_first: the peer's first FPDU may be an empty SEND that takes no receive
 * @failure: enum weft_rx_failure; FINE again once the queue pair has failed
 * @term: REFUSED: the reason
 * @stopped: failed or ended; nothing more is read
 * @running: weft_rx_run() is at work
 * @framer: FPDUs of the stream
 * @seg: the segment under way, or the last one
 * @place: where the payload of @seg goes
 * @sends: the SENDs and immediate data under way
 * @read_msn: MSN of the next read or atomic request
 * @atomic_msn: MSN of the next Atomic Response
 * @written: the last RDMA Write
 * @first: no FPDU has come yet
 * @stalled: a SEND waits for a receive
 * @woken: the reading is to resume; without a lock
 * @expired: @rnr has run; without a lock
 * @kept_most: most bytes of memory that early segments took; read without the lock, for statistics
 * @waiting: the waiting SEND's entry in the receive queue's list
 * @rnr: timeout of the wait for a receive, and retry timer for memory
 *
 * @acc to @rcq are fixed before the queue pair can be found; the rest is under the lock of
 * weft_qp_assert_locked().
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
	bool stalled;
	bool woken;
	bool expired;
	u32 kept_most;
	struct weft_waiter waiting;
	struct timer_list rnr;
};

#endif /* WEFT_PAIR_RX_H */
