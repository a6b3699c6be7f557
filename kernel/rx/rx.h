/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The receive side of a queue pair, in softirq or in the thread that has the socket lock. If a SEND
 * finds no receive, the reading stops, so that TCP throttles the peer. The next post resumes the
 * reading; without a post, a timer ends the connection.
 */
#ifndef WEFT_RX_H
#define WEFT_RX_H

#include <linux/timer.h>

#include "mpa/framer.h"
#include "pair/qp.h"
#include "rx/inbound.h"
#include "wire/ddp.h"

struct weft_arrival;
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
 * @qp: its queue pair
 * @acc: the same, as memory/ knows it
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
 * @qp to @rcq are fixed before the queue pair can be found; the rest is under the lock of
 * weft_qp_assert_locked().
 */
struct weft_rx {
	struct weft_qp *qp;
	struct weft_accessor *acc;
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
	struct weft_inbox sends;
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

/* --- for the room above --- */

int weft_rx_init(struct weft_rx *rx);
void weft_rx_start(struct weft_rx *rx);
void weft_rx_stop(struct weft_rx *rx);
void weft_rx_readable(struct weft_rx *rx);
void weft_rx_run(struct weft_rx *rx);
void weft_rx_flush_receives(struct weft_rx *rx);

/*
 * --- for the files of rx/ ---
 *
 * All functions run under the lock of weft_qp_assert_locked(), in softirq too, and do not sleep.
 */

/* segment.c: segments as they come */
bool weft_rx_read(struct weft_rx *rx);

/* early.c: segments that come before their turn */
bool weft_rx_place_early(void *ctx, const struct weft_arrival *arrival);

/* place.c: placement: where the payload goes, by operation; the bytes */
enum weft_rx_verdict weft_rx_begin(struct weft_rx *rx);
void weft_rx_aim(struct weft_rx *rx, struct ib_pd *pd, int rights, const struct weft_sge *sge,
		 u32 num_sge, u32 at);
enum weft_key_error weft_rx_put(struct weft_rx *rx, const u8 *from, u32 len);
enum weft_rx_verdict weft_rx_place(void *ctx, const u8 *from, u32 len);
enum weft_rx_verdict weft_rx_place_atomic_response(struct weft_rx *rx);

/* deliver.c: delivery, by operation */
enum weft_rx_verdict weft_rx_deliver(struct weft_rx *rx);

/* recv.c: the receive that a message takes */
enum weft_rx_verdict weft_rx_fetch_recv(struct weft_rx *rx, struct weft_inbound *m);
enum weft_rx_verdict weft_rx_complete_recv(struct weft_rx *rx, struct weft_inbound *m, u8 status,
					   u32 vendor);

/* refuse.c: the end of the connection */
enum weft_rx_verdict weft_rx_refuse(struct weft_rx *rx, u8 layer, u8 etype, u8 code);
void weft_rx_refuse_now(struct weft_rx *rx, u8 layer, u8 etype, u8 code);
enum weft_rx_verdict weft_rx_refuse_key(struct weft_rx *rx, enum weft_key_error err);
enum weft_rx_verdict weft_rx_refuse_crc(struct weft_rx *rx);
enum weft_rx_verdict weft_rx_refuse_local(struct weft_rx *rx);
enum weft_rx_verdict weft_rx_break(struct weft_rx *rx);
void weft_rx_fail(struct weft_rx *rx);

#endif /* WEFT_RX_H */
