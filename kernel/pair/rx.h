/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The receive side of a queue pair: a stream of FPDUs in, bytes placed and
 * completions out.
 *
 * Runs where the packets arrive. Where CRCs are in use an FPDU has its own checked
 * before anything is done about it, whether it lies whole in one packet buffer or
 * not (rx/split.h): its header is what the CRC is there to protect. Without
 * CRCs one that does not lie whole is placed as it comes.
 * A SEND that finds no receive posted stops the reading, and with it, by and
 * by, the peer's TCP; the next posted receive, or a timer, goes on.
 */
#ifndef WEFT_PAIR_RX_H
#define WEFT_PAIR_RX_H

#include <linux/workqueue.h>

#include "memory/mr.h"
#include "queue/rq.h"
#include "wire/template.h"
#include "wire/term.h"

struct weft_cq;
struct weft_read;
struct weft_rx_stage;
struct weft_srq;

/* How long a SEND may wait for a receive to be posted. */
#define WEFT_RNR_TIMEOUT	(10 * HZ)

enum weft_rx_state {
	WEFT_RX_HEADER,		/* gathering length field and header */
	WEFT_RX_BEGIN,		/* header is here; not yet decided where payload goes */
	WEFT_RX_PAYLOAD,
	WEFT_RX_TRAILER,	/* padding and CRC */
	WEFT_RX_STAGE,		/* going to @stage, for the stream cannot hold it */
	WEFT_RX_STOPPED,	/* failed or ended; nothing more is read */
};

/* Whether the queue pair is to fail for what was received. */
enum weft_rx_failure {
	WEFT_RX_FINE,
	WEFT_RX_REFUSED,	/* the peer did wrong, and is told so */
	WEFT_RX_BROKEN,		/* there is nothing to tell it */
};

/* What is to be done with an FPDU's payload. */
enum weft_rx_target {
	WEFT_RX_TO_REGION,	/* RDMA Write */
	WEFT_RX_TO_RECV,	/* SEND: the receive in progress */
	WEFT_RX_TO_READ,	/* Read Response: the oldest read */
	WEFT_RX_TO_BYTES,	/* small messages that are looked at whole: @bytes */
};

/**
 * struct weft_rx_place - where in memory the next bytes of payload go
 * @sge: the SGE they go to; more of the list lie behind it
 * @num_sge: how many from there on
 * @at: bytes of it that lie before them
 * @rights: rights needed there, enum ib_access_flags
 * @pd: the protection domain of who posted the list
 */
struct weft_rx_place {
	const struct weft_sge *sge;
	u32 num_sge;
	u32 at;
	int rights;
	struct ib_pd *pd;
};

/**
 * struct weft_rx - receive side
 * @acc: its queue pair, as memory knows it
 * @rq: where receives come from: the queue pair's own or those of @srq
 * @srq: the shared receive queue, or NULL
 * @rcq: completion queue of receives
 * @extended: the peer may send immediate data and atomics
 * @empty_first: the peer's first FPDU may be an empty SEND that takes no receive
 * @failure: the queue pair is to fail; once that was done it is FINE again
 * @term: REFUSED: why
 * @state: where in an FPDU the stream is
 * @crc_used: CRCs are in use
 * @ahead: the FPDU that comes next does not lie whole in a packet; it stays in the
 *	stream until its CRC has passed
 * @checked: its CRC has passed: it may be placed as it is read
 * @running: rx_run() is at work
 * @summed: bytes of it that are in @crc, or are its trailer
 * @crc: running value of it
 * @stage: its bytes, where the stream could not hold them; or NULL
 * @seg: the FPDU under way, or the one that ended last
 * @next: length field and header of an FPDU that lies whole in a packet, before they are
 *	looked at
 * @hdr_have: bytes of @seg's that are there
 * @target: what becomes of the payload
 * @done: bytes of its payload placed
 * @pad: bytes of padding
 * @trailer: padding and CRC as received
 * @trailer_have: bytes of it
 * @bytes: payload of a message that is looked at whole
 * @read: TO_READ: the request of ours that is being answered
 * @place: where the payload goes, unless that is @bytes
 * @region: an RDMA Write's part of a region, as a list of one
 * @access: the region placed in last, while more may follow in the same packet
 * @recv: the receive a SEND is being placed in
 * @msg_got: bytes of the current SEND placed by earlier FPDUs
 * @send_msn: number the next SEND must have
 * @read_msn: number the next read or atomic request must have
 * @atomic_msn: number the next atomic response must have
 * @write_len: bytes of the RDMA Write that came last, for immediate data that
 *	follows it; 0 if something else came since
 * @write_goes_on: its last segment has not come yet
 * @first: no FPDU has come yet
 * @stalled: a SEND waits for a receive
 * @waiting: its place in the receive queue's list meanwhile; wakes @work
 * @fpdus: FPDUs that ended, not yet counted
 * @fpdu_bytes: their bytes
 * @split: how many of them did not lie whole in one packet buffer
 * @rnr: ends that wait
 * @work: reads on in process context
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
	enum weft_rx_state state;
	bool crc_used;
	bool ahead;
	bool checked;
	bool running;
	u32 summed;
	u32 crc;
	struct weft_rx_stage *stage;
	struct weft_template seg;
	u8 next[WEFT_MPA_LEN + WEFT_DDP_MAX_LEN];
	u32 hdr_have;
	enum weft_rx_target target;
	u32 done;
	u32 pad;
	u8 trailer[3 + 4];
	u32 trailer_have;
	u8 bytes[WEFT_TERM_MAX_LEN];
	struct weft_read *read;
	struct weft_rx_place place;
	struct weft_sge region;
	struct weft_access access;
	struct weft_recv recv;
	u32 msg_got;
	u32 send_msn;
	u32 read_msn;
	u32 atomic_msn;
	u32 write_len;
	bool write_goes_on;
	bool first;
	bool stalled;
	struct weft_waiter waiting;
	u32 fpdus;
	u32 split;
	u64 fpdu_bytes;
	struct delayed_work rnr;
	struct work_struct work;
};

#endif /* WEFT_PAIR_RX_H */
