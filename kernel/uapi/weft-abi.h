/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause */
/*
 * The interface between the Weft kernel module and libweft, its rdma-core provider.
 *
 * Both sides compile this header. Each structure lies in a command's buffer or in memory that both
 * sides map, and none holds a pointer. docs/abi.md tells more.
 *
 * Rings: a ring is one mapping: a control block (struct weft_wq_ctl or struct weft_cq_ctl) and, at
 * WEFT_RING_OFFSET, a power-of-two number of entries. Indices are free-running 32-bit counters; an
 * index modulo the number of entries is a slot. Each word has one writer, named in its comment.
 * User words never share a cache line with kernel words. The kernel keeps private copies of its own
 * indices, trusts no word that the user can write, and checks and uses a copy of each entry.
 *
 * Ordering (post and drain: send queues, and receive queues, shared or not):
 *  post:   user writes entries; store-release(producer); full fence;
 *          load(need_doorbell): non-zero means enter the kernel.
 *  drain:  kernel empties the ring; store(need_doorbell, 1); full fence;
 *          load(producer): new entries mean clear the word and continue.
 *  poll:   user load-acquires cqe.word; the entry is valid when its phase bit
 *          is that of the pass; store-release(consumer) once per poll batch.
 *  arm:    user store(arm, seq << 1 | solicited_only); full fence; polls once
 *          more (as every user of ibv_req_notify_cq must).
 *  notify: kernel writes the entry; full fence; load(arm); if its sequence is
 *          not the one last served, raise the event and store(notified, seq).
 *
 * Completions: the user owns those from its consumer index to the kernel's producer index. When
 * the user destroys or resets a queue pair, it sets opcode and status of the queue pair's
 * completions to 0. Queue pair numbers are handed out in turn, so that no such completion seems to
 * be of a new queue pair. After a move to RESET both queues of a queue pair are empty, and continue
 * at the kernel's consumer index.
 *
 * Resize: a completion queue continues in a new ring at the same indices, with copies of its
 * unpolled entries; slots not filled in this pass have the other phase. The user neither polls nor
 * arms the queue during the resize.
 */
#ifndef WEFT_ABI_H
#define WEFT_ABI_H

#include <linux/types.h>

/* Raised with each change of a layout or meaning here. */
#define WEFT_ABI_VERSION	4

/* enum rdma_driver_id has no number for out-of-tree drivers; this one is only compared. */
#define WEFT_DRIVER_ID		0x57656674

/*
 * Doorbells: methods of the verbs objects QP and SRQ (enum uverbs_default_objects), called by
 * ioctl(RDMA_VERBS_IOCTL). The only attribute is the queue pair's number, eight bytes in the
 * attribute itself, or the shared receive queue's handle.
 */
enum weft_qp_method {
	WEFT_METHOD_SEND_DOORBELL = 0x1000,
	WEFT_METHOD_RECV_DOORBELL = 0x1001,
};

enum weft_srq_method {
	WEFT_METHOD_SRQ_DOORBELL = 0x1000,
};

#define WEFT_ATTR_DOORBELL	0x1000

#define WEFT_RING_OFFSET	256	/* bytes from the start of a mapping to entry 0 */

#define WEFT_SQ_BLOCK		64	/* bytes of a block of the send queue */
#define WEFT_SQ_MAX_BLOCKS	5	/* of a work request; at least 1 */
#define WEFT_SQ_SGE_OFFSET	32	/* of SGEs or inline payload, in the first block */
#define WEFT_MAX_SGE		16
#define WEFT_MAX_INLINE		(WEFT_SQ_MAX_BLOCKS * WEFT_SQ_BLOCK - WEFT_SQ_SGE_OFFSET)

struct weft_sge {
	__aligned_u64 addr;	/* in the region's own address space (IOVA) */
	__u32 length;		/* bytes */
	__u32 lkey;
};

/* Operations; zero is never valid. */
enum weft_op {
	WEFT_OP_SEND = 1,
	WEFT_OP_SEND_INV = 2,	/* invalidates `ex` at the peer */
	WEFT_OP_WRITE = 3,
	WEFT_OP_READ = 4,
	WEFT_OP_SEND_IMM = 5,	/* immediate data in `ex`; these four */
	WEFT_OP_WRITE_IMM = 6,	/* need a peer with WEFT_PEER_EXTENDED */
	WEFT_OP_CMP_SWP = 7,
	WEFT_OP_FETCH_ADD = 8,
	WEFT_OP_LOCAL_INV = 9,	/* invalidates `ex`, a memory window of ours */
	WEFT_OP_BIND_MW = 10,
	/* in queues of the kernel's own consumers only */
	WEFT_OP_REG_MR = 32,
	WEFT_OP_READ_INV = 33,	/* a READ that invalidates `ex`, its sink */
	/* in completions only */
	WEFT_OP_RECV = 64,
	WEFT_OP_RECV_WRITE_IMM = 65,	/* a WRITE_IMM took this receive */
};

enum weft_wr_flags {
	WEFT_WR_SIGNALED = 1 << 0,
	WEFT_WR_SOLICITED = 1 << 1,
	WEFT_WR_FENCE = 1 << 2,
	WEFT_WR_INLINE = 1 << 3,	/* payload follows in place of SGEs */
};

/*
 * A send work request: SGEs (num_sge) or inline payload (inline_len bytes) start at
 * WEFT_SQ_SGE_OFFSET of the first block, and continue in the next blocks, wrapping at the ring's
 * end. CMP_SWP and FETCH_ADD have operands, and one SGE of eight bytes for the value found.
 * LOCAL_INV, BIND_MW and REG_MR have num_sge 0 and one block. BIND_MW and REG_MR name a window or
 * region by `ex`, any key that it had, and give it the key `rkey`, which may differ from `ex` in
 * the low byte only.
 */
struct weft_atomic_operands {
	__aligned_u64 compare_add;	/* value to compare with, or to add */
	__aligned_u64 swap;
};

struct weft_bind {
	__aligned_u64 addr;	/* first byte, in the region's address space */
	__aligned_u64 length;	/* bytes; 0: unbinds a type 1 window */
	__u32 lkey;		/* region below */
	__u32 access;		/* enum ib_access_flags */
	__aligned_u64 reserved;	/* zero */
};

struct weft_sq_wr {
	__aligned_u64 wr_id;
	__u8 opcode;		/* enum weft_op */
	__u8 flags;		/* enum weft_wr_flags */
	__u8 num_blocks;	/* of this work request, this one included */
	__u8 num_sge;		/* 0 with WEFT_WR_INLINE */
	__u32 ex;		/* STag to invalidate, bind or register; or immediate data */
	__aligned_u64 remote_addr;
	__u32 rkey;
	__u32 inline_len;	/* bytes; 0 without WEFT_WR_INLINE */
	union {
		struct weft_sge sge[2];
		struct {
			struct weft_sge result;
			struct weft_atomic_operands operands;
		} atomic;
		struct weft_bind bind;	/* BIND_MW; REG_MR: `access` alone */
	};
};

static inline __u32 weft_sq_blocks_for_sge(__u32 num_sge)
{
	return (WEFT_SQ_SGE_OFFSET + num_sge * 16 + WEFT_SQ_BLOCK - 1) / WEFT_SQ_BLOCK;
}

static inline __u32 weft_sq_blocks_for_inline(__u32 bytes)
{
	return (WEFT_SQ_SGE_OFFSET + bytes + WEFT_SQ_BLOCK - 1) / WEFT_SQ_BLOCK;
}

/* A receive work request: this header, and max_sge slots for SGEs; see weft_rq_stride(). */
struct weft_rq_wr {
	__aligned_u64 wr_id;
	__u32 num_sge;		/* slots in use */
	__u32 reserved;		/* zero, or the receive has no room */
};

static inline __u32 weft_rq_stride(__u32 max_sge)
{
	return 16 + max_sge * 16;
}

/* Abilities of the connected peer beyond plain iWARP. */
enum weft_peer {
	WEFT_PEER_EXTENDED = 1 << 0,	/* immediate data and atomics */
};

/* Control block of a send, receive or shared receive queue. */
struct weft_wq_ctl {
	/* written by the user */
	__u32 producer;		/* blocks (SQ) or entries (RQ) posted */
	__u32 pad_user[31];
	/* written by the kernel */
	__u32 consumer;		/* blocks or entries free again */
	__u32 need_doorbell;	/* non-zero: posting must enter the kernel */
	__u32 qp_state;		/* enum ib_qp_state; not of a shared receive queue */
	__u32 peer;		/* enum weft_peer; valid from RTS on */
	__u32 pad_kernel[28];
};

enum weft_cqe_flags {
	WEFT_CQE_PHASE = 1 << 0,	/* 1 on the first pass, then alternating */
	WEFT_CQE_WITH_INV = 1 << 1,	/* ex holds the invalidated STag */
	WEFT_CQE_WITH_IMM = 1 << 2,	/* ex holds immediate data */
};

/* A completion. The bytes of `word`, from the low one, are flags, status, opcode, zero. */
struct weft_cqe {
	__aligned_u64 wr_id;
	__aligned_u64 timestamp;	/* ns since boot, CLOCK_MONOTONIC_RAW; 0: not asked for */
	__u32 qp_num;
	__u32 byte_len;
	__u32 ex;		/* invalidated STag, immediate data, or vendor error */
	__u32 word;		/* written last; enum ib_wc_status, enum weft_op */
};

#define WEFT_CQE_FLAGS(word)	((word) & 0xff)
#define WEFT_CQE_STATUS(word)	(((word) >> 8) & 0xff)
#define WEFT_CQE_OPCODE(word)	(((word) >> 16) & 0xff)
#define WEFT_CQE_WORD(flags, status, opcode) \
	((__u32)(flags) | (__u32)(status) << 8 | (__u32)(opcode) << 16)

struct weft_cq_ctl {
	/* written by the user */
	__u32 consumer;		/* entries polled */
	__u32 arm;		/* WEFT_CQ_ARM(sequence, solicited_only); sequence 0: never armed */
	__u32 pad_user[30];
	/* written by the kernel */
	__u32 notified;		/* arm sequence of the last event raised */
	__u32 overflow;		/* non-zero: entries were lost, the CQ is dead */
	__u32 pad_kernel[30];
};

#define WEFT_CQ_ARM(seq, solicited_only)	((__u32)(seq) << 1 | ((solicited_only) ? 1 : 0))
#define WEFT_CQ_ARM_SEQ(arm)			((arm) >> 1)
#define WEFT_CQ_ARM_SOLICITED(arm)		((arm) & 1)

/* Vendor errors: which check failed (field vendor_err of a completion). */
enum weft_vendor_err {
	WEFT_VE_NONE = 0,
	WEFT_VE_OPCODE = 1,		/* operation or flag unknown or not for user queues */
	WEFT_VE_BLOCKS = 2,		/* num_blocks, num_sge or inline_len is wrong */
	WEFT_VE_LENGTH = 3,		/* message longer than 2^31 bytes */
	WEFT_VE_LKEY = 4,		/* local key unknown, of another PD or revoked */
	WEFT_VE_LOCAL_ACCESS = 5,	/* local key lacks the right */
	WEFT_VE_LOCAL_BOUNDS = 6,	/* local range outside its region */
	WEFT_VE_REMOTE = 7,		/* the peer refused it: a Terminate names the request */
	WEFT_VE_CONNECTION = 8,		/* the connection ended */
	WEFT_VE_RECV_TOO_SMALL = 9,	/* message longer than its receive */
	WEFT_VE_PEER = 10,		/* the peer does not support this operation */
	WEFT_VE_ATOMIC = 11,		/* an atomic not of eight bytes, or unaligned */
	WEFT_VE_BIND = 12,		/* cannot be bound or invalidated like this */
};

struct weft_ucontext_resp {
	__u32 max_inline;
	__u32 reserved;
};

/* A ring: mmap(cmd_fd, length, offset). */
struct weft_mmap {
	__aligned_u64 offset;
	__aligned_u64 length;
};

/* Answer to the creation and to the resizing of a completion queue. */
struct weft_create_cq_resp {
	struct weft_mmap ring;
	__u32 cqe;		/* entries, a power of two */
	__u32 reserved;
};

struct weft_create_srq_resp {
	struct weft_mmap ring;
	__u32 entries;		/* a power of two */
	__u32 max_sge;		/* the stride is weft_rq_stride() of this */
	__u32 srq_num;
	__u32 reserved;
};

/* With a shared receive queue, all fields of the rq are zero. */
struct weft_create_qp_resp {
	struct weft_mmap sq;
	struct weft_mmap rq;
	__u32 sq_blocks;	/* a power of two */
	__u32 rq_entries;	/* a power of two */
	__u32 rq_max_sge;	/* the stride is weft_rq_stride() of this */
	__u32 sq_max_blocks;	/* of one work request on this queue */
};

static_assert(sizeof(struct weft_sge) == 16, "weft_sge");
static_assert(sizeof(struct weft_sq_wr) == WEFT_SQ_BLOCK, "weft_sq_wr");
static_assert(__builtin_offsetof(struct weft_sq_wr, opcode) == 8, "opcode");
static_assert(__builtin_offsetof(struct weft_sq_wr, ex) == 12, "ex");
static_assert(__builtin_offsetof(struct weft_sq_wr, remote_addr) == 16, "remote_addr");
static_assert(__builtin_offsetof(struct weft_sq_wr, rkey) == 24, "rkey");
static_assert(__builtin_offsetof(struct weft_sq_wr, sge) == WEFT_SQ_SGE_OFFSET, "sge");
static_assert(sizeof(struct weft_bind) == 32, "weft_bind");
static_assert(__builtin_offsetof(struct weft_sq_wr, atomic.operands) == 48, "operands");
static_assert(sizeof(struct weft_rq_wr) == 16, "weft_rq_wr");
static_assert(sizeof(struct weft_wq_ctl) == WEFT_RING_OFFSET, "weft_wq_ctl");
static_assert(__builtin_offsetof(struct weft_wq_ctl, consumer) == 128, "consumer");
static_assert(__builtin_offsetof(struct weft_wq_ctl, need_doorbell) == 132, "need_doorbell");
static_assert(__builtin_offsetof(struct weft_wq_ctl, qp_state) == 136, "qp_state");
static_assert(__builtin_offsetof(struct weft_wq_ctl, peer) == 140, "peer");
static_assert(sizeof(struct weft_cqe) == 32, "weft_cqe");
static_assert(__builtin_offsetof(struct weft_cqe, qp_num) == 16, "qp_num");
static_assert(__builtin_offsetof(struct weft_cqe, word) == 28, "word");
static_assert(sizeof(struct weft_cq_ctl) == WEFT_RING_OFFSET, "weft_cq_ctl");
static_assert(__builtin_offsetof(struct weft_cq_ctl, arm) == 4, "arm");
static_assert(__builtin_offsetof(struct weft_cq_ctl, notified) == 128, "notified");
static_assert(sizeof(struct weft_ucontext_resp) == 8, "weft_ucontext_resp");
static_assert(sizeof(struct weft_mmap) == 16, "weft_mmap");
static_assert(sizeof(struct weft_create_cq_resp) == 24, "weft_create_cq_resp");
static_assert(sizeof(struct weft_create_srq_resp) == 32, "weft_create_srq_resp");
static_assert(sizeof(struct weft_create_qp_resp) == 48, "weft_create_qp_resp");

#endif /* WEFT_ABI_H */
