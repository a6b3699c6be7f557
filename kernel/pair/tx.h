/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The transmit side of a queue pair: work requests in, a stream of FPDUs out.
 *
 * Work requests are copied out of the send ring one at a time, cut into FPDUs
 * by the planner and laid out, headers and CRCs included, in chunks: runs of
 * pages of our own that are then handed to the stream without a second copy.
 * So there is one walk over the payload, which copies and checksums it, and the
 * peer gets the bytes that were checksummed even if a process changes its buffers
 * meanwhile. A work request completes when the stream has taken its last byte. Large
 * payload is lent, not copied, if that is allowed and cheaper; see tx/loan.h.
 */
#ifndef WEFT_PAIR_TX_H
#define WEFT_PAIR_TX_H

#include "base/baton.h"
#include "pair/batch.h"
#include "uapi/weft-abi.h"
#include "wire/ddp.h"

struct weft_loans;
struct weft_qp;

/* How soon to try again when memory was short. */
#define WEFT_TX_RETRY		(HZ / 100 + 1)

/**
 * union weft_wr_copy - a work request as copied out of the ring, all of it
 * @wr: its first block
 * @sge: gather list
 * @bytes: or payload that is sent from here: inline payload, read or atomic request,
 *	atomic response, Terminate
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

/**
 * struct weft_tx_msg - the message being laid out
 * @hdr: header of the next segment
 * @left: bytes not laid out yet
 * @total: bytes in all
 * @kind: enum weft_msg_kind: where it came from
 * @local: payload is in @copy.bytes
 * @lend: requests: lend the payload, as far as possible
 * @remote_access: the SGE was named by the peer (a read response)
 * @imm_opcode: requests: an Immediate Data message with this opcode follows; 0: none
 * @imm: its data, as the user gave it
 * @num_sge: SGEs
 * @sge_index: SGE that the next byte comes from
 * @offset: bytes of that SGE, or of the payload, already laid out
 * @copy: the copied work request; for other messages, their payload or gather list
 */
struct weft_tx_msg {
	struct weft_ddp_hdr hdr;
	u32 left;
	u32 total;
	u8 kind;
	bool local;
	bool lend;
	bool remote_access;
	u8 imm_opcode;
	u8 num_sge;
	u8 sge_index;
	u32 imm;
	u32 offset;
	union weft_wr_copy copy;
};

/**
 * struct weft_tx - transmit side
 * @lock: taken to lay out and send, before the socket lock; never by the receive side
 * @loans: the loans of this connection; NULL: there never were any, which is all that a
 *	small message has to ask
 * @batch: stream bytes waiting
 * @fpdus: FPDUs laid out since the queue pair was made. Read without the lock, to be shown
 * @bytes: stream bytes taken likewise, on all its streams
 * @longest: an FPDU may be of many segments, up to so many bytes; WEFT_FPDU_ONE_SEGMENT: of one
 * @send_msn: number of the last SEND
 * @prefer_response: an answer goes before a request next
 * @crc: CRCs are in use
 * @marked: the peer wants markers, so FPDUs are neither lent nor large, nor laid out in rows
 * @lends: large payload may be lent
 * @dry: there was nothing more to lay out
 * @starved: there was no memory for more, which a timer tries again
 * @cork: more of a message in large frames follows at once: other threads have a turn amid it
 * @waiting: the ring had, when last looked at, a request that waits for the peer
 * @end_segment: the current segment is not worth filling: end it early
 * @msg: the message being laid out
 *
 * Everything is protected by @lock alone, so that payload is copied and
 * checksummed while the queue pair receives. To push bytes to the stream takes the socket
 * lock as well, as do the parts that the receive side shares, which are in struct weft_qp.
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
