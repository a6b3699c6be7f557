/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The transmit side of a queue pair: work requests in, a stream of FPDUs out.
 *
 * Work requests are copied out of the send ring one at a time, cut into FPDUs
 * by the planner and laid out, headers and CRCs included, in chunks: runs of
 * pages of our own that are then handed to the stream without a second copy.
 * So there is one walk over the payload, which copies and checksums it, and
 * what the peer gets is what was checksummed, whatever a process does to its
 * buffers meanwhile. A work request completes when the stream has taken its
 * last byte. Large payload without a CRC is lent rather than copied where that
 * is cheaper; see tx/loan.h.
 */
#ifndef WEFT_PAIR_TX_H
#define WEFT_PAIR_TX_H

#include <linux/log2.h>
#include <linux/mutex.h>
#include <linux/timer.h>
#include <linux/workqueue.h>

#include "uapi/weft-abi.h"
#include "wire/atomic.h"
#include "wire/ddp.h"
#include "wire/term.h"

struct weft_lending;
struct weft_qp;

/* Chunks built ahead of the stream, at most. */
#define WEFT_TX_CHUNKS	2
/* How long a graceful end waits for the stream to take what was begun. */
#define WEFT_DRAIN_TIMEOUT	(5 * HZ)
/*
 * A responder may not send before it knows that the initiator is in full
 * operation, which its first FPDU shows (RFC 5044, 7.1.3). Revision 1 has no
 * way to ask for one, and programs in which the accepting side speaks first
 * would wait for ever: the Reply has long arrived after so much time.
 */
#define WEFT_GATE_TIMEOUT	(HZ / 2)
/* How long an idle queue pair keeps its large chunks: new ones have to be cleared. */
#define WEFT_CHUNK_IDLE		(HZ / 4)
/* How many large chunks that TCP may still hold are kept to be used again: 1 MiB. */
#define WEFT_TX_SPARES	8U
/* How soon to try again when memory was short. */
#define WEFT_TX_RETRY		(HZ / 100 + 1)
/* A chunk while much is waiting: 128 KiB, two packet buffers' worth. */
#define WEFT_CHUNK_ORDER	5

/**
 * struct weft_chunk - a run of stream bytes waiting to be taken
 * @page: its memory, one compound page; a reference
 * @size: bytes of it
 * @fill: bytes laid out
 * @sent: bytes the stream has taken
 */
struct weft_chunk {
	struct page *page;
	u32 size;
	u32 fill;
	u32 sent;
};

/**
 * struct weft_inflight - a work request between its fetch and its completion
 * @wr_id: from the work request
 * @end: stream offset after its last byte, once it is laid out
 * @ring_end: send ring index after it
 * @byte_len: length of its message
 * @vendor: enum weft_vendor_err
 * @opcode: enum weft_op
 * @status: enum ib_wc_status
 * @signaled: makes a completion even on success
 * @done: nothing more will happen to it
 */
struct weft_inflight {
	u64 wr_id;
	u64 end;
	u32 ring_end;
	u32 byte_len;
	u8 vendor;
	u8 opcode;
	u8 status;
	bool signaled : 1;
	bool done : 1;
};

/**
 * union weft_wr_copy - a work request as copied out of the ring, all of it
 * @wr: its first block
 * @sge: gather list
 * @bytes: or what is sent from here: inline payload, read or atomic request, atomic
 *	response, Terminate
 * @words: what is copied, word by word
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
 * @kind: where it came from
 * @hdr: header of the next segment
 * @left: bytes not laid out yet
 * @total: bytes in all
 * @local: payload is in @copy.bytes
 * @lend: requests: its payload is lent, as far as it can be
 * @remote_access: the SGE was named by the peer (a read response)
 * @imm_opcode: requests: an Immediate Data message with this opcode follows; 0: none
 * @imm: its data, as the user gave it
 * @num_sge: SGEs
 * @sge_index: SGE that the next byte comes from
 * @offset: bytes of that SGE, or of the payload, already laid out
 * @copy: the work request, which is made a message where it was copied to, and
 *	the payload or gather list of messages without one
 */
struct weft_tx_msg {
	enum weft_msg_kind kind;
	struct weft_ddp_hdr hdr;
	u32 left;
	u32 total;
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
 * struct weft_read - a read or atomic of ours that the peer has yet to answer
 * @sink: the STag, or identifier, we made up for its answer: names this request,
 *	not memory
 * @inflight: its work request, index into the in-flight list
 * @rtr: an RTR indication, without a work request
 * @inv: our key to be invalidated when it is answered; 0: none
 * @atomic: an atomic, which is answered by a message of its own kind
 * @len: bytes asked for
 * @got: bytes placed
 * @num_sge: SGEs
 * @sge: where the answer goes
 */
struct weft_read {
	u32 sink;
	u32 inflight;
	bool rtr;
	u32 inv;
	bool atomic;
	u32 len;
	u32 got;
	u32 num_sge;
	struct weft_sge *sge;
};

/**
 * struct weft_answer - what the peer asked for and gets when its turn comes
 * @atomic: an atomic, else a read
 * @read_req: the read
 * @atomic_req: the atomic, to be done when it is answered
 */
struct weft_answer {
	bool atomic;
	union {
		struct weft_read_req read_req;
		struct weft_atomic_req atomic_req;
	};
};

/* Who is told when tx.lock is free again. */
enum weft_tx_want {
	WEFT_WANT_TX,		/* the transmit worker */
	WEFT_WANT_RX,		/* the receive worker */
	WEFT_WANT_RNR,		/* the end of the wait for a receive */
	WEFT_WANT_CONN,		/* the connection's work */
};

/**
 * struct weft_tx - transmit side
 * @lock: taken to lay out and send, before the socket lock; never by the
 *	receive side in softirq, which may run inside our own send. See
 *	weft_qp_trylock()
 * @wanted: who could not have @lock, enum weft_tx_want, a bit each. Atomic
 * @ended: who lets @lock go has nobody told any more. Under @lock
 * @work: goes on where a caller could not, and sends what receive asks for
 * @timer: queues @work; see weft_qp_within()
 * @drain_until: at the end, when to stop waiting for the stream, and without one
 *	for pages that are lent; 0: not waiting
 * @lending: what was lent and what is being lent; NULL: nothing ever was, and the
 *	way of a small message asks no further
 * @chunk: stream bytes waiting, oldest first
 * @num_chunks: how many of @chunk
 * @spare: pages of large chunks that the stream has taken all of and TCP may not
 *	be through with, a ring; a reference each
 * @spare_head: next free entry of @spare
 * @spare_tail: oldest
 * @built: stream bytes laid out since the start
 * @sent: stream bytes taken since the start
 * @fpdus: FPDUs laid out, not yet counted
 * @active: when something was last laid out, in jiffies
 * @gated: nothing may be sent until the peer's first FPDU has come
 * @gate_until: without an agreed indication, when to stop waiting for that
 * @rtr_due: the ready-to-receive indication must be sent first (enum weft_rtr)
 * @prefer_response: whose turn it is
 * @crc: CRCs are in use
 * @emss: segment size
 * @large: FPDUs may be of many segments
 * @room: what the segment that the next FPDU goes to has left
 * @dry: there was nothing more to lay out
 * @held: when last looked at, the ring had a request that has to wait for the peer
 * @end_segment: the current segment is not worth filling: end it early
 * @msg: the message being laid out
 * @inflight: fetched work requests, a ring of @inflight_size
 * @inflight_size: a power of two
 * @head: next free entry of @inflight
 * @tail: oldest entry of @inflight
 * @unsent: oldest entry whose last byte may not have been taken yet
 * @broken: a work request failed: what was posted behind it fails with it
 * @send_msn: number of the last SEND
 * @read_msn: number of the last read or atomic request
 * @atomic_msn: number of the last atomic response
 * @reads: reads and atomics not answered, a ring of @ord rounded up to a power of two
 * @read_sge: gather lists of @reads
 * @ord: how many of them may be outstanding
 * @read_head: next free entry of @reads
 * @read_tail: oldest read
 * @answers: reads and atomics of the peer to be answered, a ring of @ird rounded up
 * @ird: how many the peer may have outstanding
 * @answer_head: next free entry of @answers
 * @answer_tail: next to be answered
 * @term: why the queue pair failed, for the Terminate message
 * @term_seg: header of the offending segment
 * @term_seg_len: bytes of @term_seg
 * @term_ulpdu: the offending segment's length
 * @term_due: a Terminate is to be sent
 * @told: the connection was told that the queue pair failed or closes
 *
 * While the queue pair has a stream (weft_stream_start() to weft_stream_stop()),
 * everything but @lock to @timer is protected by the socket lock; without one,
 * by @lock.
 */
struct weft_tx {
	struct mutex lock; /* laying out and sending */
	unsigned long wanted;
	bool ended;
	struct work_struct work;
	struct timer_list timer;
	unsigned long drain_until;
	struct weft_lending *lending;
	struct weft_chunk chunk[WEFT_TX_CHUNKS];
	u8 num_chunks;
	struct page *spare[WEFT_TX_SPARES];
	u32 spare_head;
	u32 spare_tail;
	u64 built;
	u64 sent;
	u32 fpdus;
	unsigned long active;
	bool gated;
	unsigned long gate_until;
	u8 rtr_due;
	bool prefer_response;
	bool crc;
	u32 emss;
	bool large;
	u32 room;
	bool dry;
	bool held;
	bool end_segment;
	struct weft_tx_msg msg;
	struct weft_inflight *inflight;
	u32 inflight_size;
	u32 head;
	u32 tail;
	u32 unsent;
	bool broken;
	u32 send_msn;
	u32 read_msn;
	u32 atomic_msn;
	struct weft_read *reads;
	struct weft_sge *read_sge;
	u32 ord;
	u32 read_head;
	u32 read_tail;
	struct weft_answer *answers;
	u32 ird;
	u32 answer_head;
	u32 answer_tail;
	struct weft_term term;
	u8 term_seg[WEFT_DDP_UNTAGGED_LEN + WEFT_READ_REQ_LEN];
	u8 term_seg_len;
	u16 term_ulpdu;
	bool term_due;
	bool told;
};

static inline struct weft_inflight *weft_tx_inflight(struct weft_tx *tx,
						     u32 index)
{
	return &tx->inflight[index & (tx->inflight_size - 1)];
}

static inline struct weft_read *weft_tx_read(struct weft_tx *tx, u32 index)
{
	return &tx->reads[index & (roundup_pow_of_two(tx->ord) - 1)];
}

static inline struct weft_answer *weft_tx_answer(struct weft_tx *tx, u32 index)
{
	return &tx->answers[index & (roundup_pow_of_two(tx->ird) - 1)];
}

static inline bool weft_op_is_read(u8 opcode)
{
	return opcode == WEFT_OP_READ || opcode == WEFT_OP_READ_INV;
}

/* Whether an operation is done when the peer has answered, not when it is sent. */
static inline bool weft_op_answered(u8 opcode)
{
	return weft_op_is_read(opcode) || opcode == WEFT_OP_CMP_SWP ||
	       opcode == WEFT_OP_FETCH_ADD;
}

static inline bool weft_tx_reads_outstanding(const struct weft_tx *tx)
{
	return tx->read_head != tx->read_tail;
}

#endif /* WEFT_PAIR_TX_H */
