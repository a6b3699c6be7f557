/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The receive side of a queue pair: a stream of FPDUs in, bytes placed and
 * completions out.
 *
 * It runs where the packets arrive. With CRCs in use, that of an FPDU is checked before
 * its header is believed, even if the FPDU lies in several packet buffers (rx/split.h).
 * Without CRCs, such an FPDU is placed as its pieces come.
 *
 * A SEND that finds no receive posted stops the reading, and in the end the peer's TCP.
 * The next post resumes it, and a timer ends the connection if none comes.
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
	WEFT_RX_STAGE,		/* going to @stage, since the stream cannot hold it */
	WEFT_RX_STOPPED,	/* failed or ended; nothing more is read */
};

/* Why the queue pair is to fail, as far as the peer caused it. */
enum weft_rx_failure {
	WEFT_RX_FINE,
	WEFT_RX_REFUSED,	/* a mistake of the peer: send a Terminate */
	WEFT_RX_BROKEN,		/* send no Terminate */
};

/* Where an FPDU's payload goes. */
enum weft_rx_target {
	WEFT_RX_TO_REGION,	/* RDMA Write */
	WEFT_RX_TO_RECV,	/* SEND: the receive in progress */
	WEFT_RX_TO_READ,	/* Read Response: the oldest read */
	WEFT_RX_TO_BYTES,	/* small messages that are looked at whole: @bytes */
};

/**
 * struct weft_rx_place - where in memory the next bytes of payload go
 * @sge: the SGE of the next byte, with the rest of the list behind it
 * @num_sge: how many SGEs are left, @sge included
 * @at: offset of the next byte in @sge
 * @rights: rights needed there, enum ib_access_flags
 * @pd: the protection domain of the list's poster
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
 * @failure: enum weft_rx_failure; FINE again once the queue pair has failed
 * @term: REFUSED: why
 * @state: where in an FPDU the stream is
 * @crc_used: CRCs are in use
 * @ahead: the FPDU that comes next does not lie whole in a packet; it stays in the
 *	stream until its CRC has passed
 * @checked: the CRC of the next FPDU has passed, so it may be placed as it is read
 * @running: rx_run() is at work
 * @summed: bytes of the FPDU ahead that are in @crc, or are its trailer
 * @crc: running CRC of the FPDU ahead
 * @stage: the bytes of an FPDU that the stream could not hold, or NULL
 * @seg: the FPDU under way, or the one that ended last
 * @next: length field and header of an FPDU that lies whole in a packet, not decoded yet
 * @hdr_have: bytes of @seg's header that have come
 * @target: where the payload goes
 * @done: bytes of the payload placed
 * @pad: bytes of padding
 * @trailer: padding and CRC as received
 * @trailer_have: bytes of it
 * @bytes: payload of a small message that is decoded whole
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
 * @write_goes_on: the last segment of that Write has not come yet
 * @first: no FPDU has come yet
 * @stalled: a SEND waits for a receive
 * @waiting: the place of that SEND in the receive queue's list; wakes @work
 * @fpdus: FPDUs that ended, not yet counted
 * @fpdu_bytes: their bytes
 * @split: how many of them did not lie whole in one packet buffer
 * @rnr: ends the wait for a receive
 * @work: resumes the reading in process context
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
