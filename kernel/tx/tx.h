/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The transmit side of a queue pair. Work requests are copied out of the send ring and laid out as
 * FPDUs in chunks of our own, which the stream takes without a second copy. One walk copies and
 * checksums the payload, so the peer gets the checksummed bytes even if a process changes its
 * buffers meanwhile. A work request completes when the stream has taken its last byte. Large
 * payload is lent if that is allowed and cheaper; see loan.c.
 */
#ifndef WEFT_TX_H
#define WEFT_TX_H

#include "base/policy.h"
#include "pair/qp.h"
#include "tx/batch.h"
#include "wire/ddp.h"
#include "wire/plan.h"

struct weft_counters;
struct weft_loans;

/* Retry delay when memory was short. */
#define WEFT_TX_RETRY		(HZ / 100 + 1)

/**
 * union weft_wr_copy - a work request as copied out of the ring
 * @wr: its first block
 * @sge: gather list
 * @bytes: payload sent from here: inline, read or atomic request, Atomic Response, Terminate
 * @words: all blocks, which are copied word by word
 */
union weft_wr_copy {
	struct weft_sq_wr wr;
	struct {
		u8 head[WEFT_SQ_SGE_OFFSET];
		union {
			struct weft_sge sge[WEFT_MAX_SGE];
			u8 bytes[WEFT_MAX_INLINE];
		};
	};
	u64 words[WEFT_SQ_MAX_BLOCKS * WEFT_SQ_BLOCK / sizeof(u64)];
};

enum weft_msg_kind {
	WEFT_MSG_NONE,
	WEFT_MSG_REQUEST,	/* from the send ring */
	WEFT_MSG_RESPONSE,	/* answers a read or an atomic */
	WEFT_MSG_CONTROL,	/* RTR indication or Terminate */
};

/* The message being laid out. */
struct weft_tx_msg {
	struct weft_ddp_hdr hdr;	/* header of the next segment */
	u32 left;			/* bytes not laid out yet */
	u32 total;			/* bytes in all */
	u8 kind;			/* enum weft_msg_kind */
	bool local;			/* payload is in @copy.bytes */
	bool lend;			/* requests: lend the payload, as far as possible */
	bool remote_access;		/* the peer named the SGE (a Read Response) */
	u8 imm_opcode;			/* of the Immediate Data message that follows; 0: none */
	u8 num_sge;
	u8 sge_index;			/* SGE of the next byte */
	u32 imm;			/* its data, as the user gave it */
	u32 offset;			/* bytes of that SGE, or of the payload, already laid out */
	union weft_wr_copy copy;	/* work request, or other messages' payload or SGEs */
};

/* Why the layout of FPDUs stops. */
enum weft_tx_stop {
	WEFT_TX_GOES_ON,
	WEFT_TX_DRY,		/* nothing more to lay out */
	WEFT_TX_FULL,		/* enough bytes are ready */
	WEFT_TX_SEGMENT,	/* the current segment is not worth filling: end it early */
	WEFT_TX_STARVED,	/* no memory for more; a timer retries */
	WEFT_TX_YIELDS,		/* other threads get the processor */
};

/**
 * struct weft_tx - transmit side
 * @qp: its queue pair
 * @loans: the loans of this connection; NULL until the first, so small messages test one pointer
 * @batch: stream bytes waiting
 * @fpdus: FPDUs laid out since the queue pair was made; read without the lock, for statistics
 * @bytes: stream bytes taken, likewise
 * @longest: most bytes of an FPDU of many segments; WEFT_FPDU_ONE_SEGMENT: each fits one segment
 * @send_msn: MSN of the last SEND
 * @prefer_response: a response goes before a request next
 * @crc: CRCs are in use
 * @marked: the peer wants markers, so FPDUs are neither lent nor large, nor laid out in rows
 * @lends: large payload may be lent
 * @waiting: when last looked at, the ring had a request that waits for the peer
 * @msg: the message being laid out
 *
 * All under the queue pair's tx_lock alone, so that payload is copied and checksummed while the
 * queue pair receives. A push to the stream takes the socket lock as well.
 */
struct weft_tx {
	struct weft_qp *qp;
	struct weft_loans *loans;
	struct weft_batch batch;
	u64 fpdus;
	u64 bytes;
	u32 longest;
	u32 send_msn;
	bool prefer_response;
	bool crc;
	bool marked;
	bool lends;
	bool waiting;
	struct weft_tx_msg msg;
};

/* message.c: from work requests to messages */
bool weft_tx_next_msg(struct weft_tx *tx);

/* segment.c: from messages to FPDUs */
bool weft_tx_layout(struct weft_tx *tx, struct weft_chunk *c, u32 train);
void weft_tx_advance(struct weft_tx *tx, struct weft_inflight *inflight,
		     const struct weft_accessor *acc, const struct weft_fpdu *fpdu);

/* tx.c */
int weft_tx_start(struct weft_tx *tx);
bool weft_tx_round(struct weft_tx *tx);
void weft_tx_stop(struct weft_tx *tx);
void weft_tx_complete(struct weft_tx *tx);
void weft_tx_flush_requests(struct weft_tx *tx);

/* --- request.c: work requests out of the send ring --- */

/* Why a work request cannot be done. */
struct weft_wr_error {
	u8 status;	/* enum ib_wc_status */
	u8 vendor;	/* enum weft_vendor_err */
};

void weft_tx_copy_blocks(struct weft_tx *tx, u32 first, u32 num);
struct weft_request *weft_tx_admit(struct weft_tx *tx, u32 blocks);
struct weft_request *weft_tx_take_request(struct weft_tx *tx, u64 *total);
void weft_tx_payload_failed(struct weft_tx *tx);
void weft_tx_fail(struct weft_tx *tx, struct weft_request *w,
		  const struct weft_wr_error *why);

/* Why a queue pair fails: an error of this end, or memory invalidated after its check. */
extern const struct weft_term weft_tx_term_local;
extern const struct weft_term weft_tx_term_revoked;

/* --- loan.c: payload lent from the pages of a program or a kernel consumer --- */

/* Bytes of a chunk that a lent FPDU takes: length, header, padding and CRC. */
#define WEFT_LOAN_FRAME		32U
/*
 * How long the end of a queue pair waits for pages after the stream was reset; then it gives the
 * loans up. Only a card that does not report its sent packets, such as an unplugged one, keeps
 * pages longer.
 */
#define WEFT_LOAN_TIMEOUT	(10 * HZ)

bool weft_loan_begin(struct weft_tx *tx, u32 len);
u32 weft_loan_layout(struct weft_tx *tx, struct weft_fpdu *fpdu, struct page *page,
		     u32 offset);
bool weft_loan_is_out(struct weft_loans *loans, u32 inflight,
		      struct weft_counters __percpu *counters);
bool weft_loan_settled(struct weft_tx *tx);
void weft_loan_exit(void);

#endif /* WEFT_TX_H */
