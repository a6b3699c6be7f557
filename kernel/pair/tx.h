/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The transmit side of a queue pair. Work requests are copied out of the send ring and laid out as
 * FPDUs in chunks of our own, which the stream takes without a second copy. One walk copies and
 * checksums the payload, so the peer gets the checksummed bytes even if a process changes its
 * buffers meanwhile. A work request completes when the stream has taken its last byte. Large
 * payload is lent if that is allowed and cheaper; see tx/loan.h.
 */
#ifndef WEFT_PAIR_TX_H
#define WEFT_PAIR_TX_H

#include "base/baton.h"
#include "pair/batch.h"
#include "uapi/weft-abi.h"
#include "wire/ddp.h"

struct weft_loans;
struct weft_qp;

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

/**
 * struct weft_tx - transmit side
 * @lock: taken to lay out and send, before the socket lock; never by the receive side
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
 * @dry: nothing more to lay out
 * @starved: no memory for more; a timer retries
 * @cork: more of a large message follows at once, after other threads had the processor
 * @waiting: when last looked at, the ring had a request that waits for the peer
 * @end_segment: the current segment is not worth filling: end it early
 * @msg: the message being laid out
 *
 * All under @lock alone, so that payload is copied and checksummed while the queue pair receives. A
 * push to the stream takes the socket lock as well.
 */
struct weft_tx {
	struct weft_baton lock; /* laying out and sending */
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
	bool dry;
	bool starved;
	bool cork;
	bool waiting;
	bool end_segment;
	struct weft_tx_msg msg;
};

#endif /* WEFT_PAIR_TX_H */
