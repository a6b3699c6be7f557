/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Policy: the rules that decide when Weft sends, holds, wakes, defers, acknowledges or keeps
 * something, and their constants. No protocol asks for them: without a rule a connection works the
 * same at another cost. Each was fitted to a row (perf/rows, perf/run); for its gain on several
 * processors see docs/performance/notebook.md, "The trial". To find a rule that slows a program:
 *	echo gather,streak >/sys/module/weft/parameters/without
 */
#ifndef WEFT_POLICY_H
#define WEFT_POLICY_H

#include <asm/page.h>
#include <linux/jiffies.h>
#include <linux/jump_label.h>
#include <linux/sizes.h>
#include <linux/time64.h>

/*
 * streak: after WEFT_STREAK requests in a row, with pauses of WEFT_STREAK_PAUSE jiffies or less, a
 * worker sends and the poster does not enter the kernel (queue/cq.h). The count stops at
 * WEFT_STREAK_MAX. Rows: messages-64, messages-64-256.
 */
#define WEFT_STREAK		6U
#define WEFT_STREAK_MAX		16U
#define WEFT_STREAK_PAUSE	2

/*
 * gather: posts of a kernel consumer are held back for a moment, and up to WEFT_GATHER_MOST are
 * sent together (engine/consumer.h), if WEFT_GATHER_LEAST or more came in such a moment. Row:
 * perf/run applications, nvme-4k-*-32.
 */
#define WEFT_GATHER_MOST	8
#define WEFT_GATHER_LEAST	4
/*
 * Longest time that a post is held back. 250 us is enough for a peer on a fast machine to answer
 * four requests. On a slow machine it is WEFT_GATHER_POSTS gaps between two posts that were sent at
 * once. If that exceeds WEFT_GATHER_MAX_NS, the consumer does not wait for this machine: 250 us.
 */
#define WEFT_GATHER_NS		(250 * NSEC_PER_USEC)
#define WEFT_GATHER_MAX_NS	(1 * NSEC_PER_MSEC)
#define WEFT_GATHER_POSTS	5
/* Number of posts, or of posts sent together, between two trials: at first, and at most. */
#define WEFT_GATHER_SOON	64
#define WEFT_GATHER_LATE	1024

/*
 * put-off: packets of a message of WEFT_TCP_LARGE bytes or more are read after the card has
 * delivered its whole batch (llp/tcp_data.c); not beyond WEFT_TCP_MOST unread bytes, because their
 * copy takes long and TCP needs room. If packets were put off for nothing, up to WEFT_TCP_HASTY are
 * read at once before the next. Row: virtio-64k-sender.
 */
#define WEFT_TCP_LARGE		SZ_16K
#define WEFT_TCP_MOST		SZ_1M
/* Budget of bytes that a softirq reads of one stream. No row was kept. */
#define WEFT_TCP_AT_ONCE	SZ_512K
#define WEFT_TCP_HASTY		63

/*
 * ack-with-answer: the answer acknowledges a short message (llp/tcp_private.h), once
 * WEFT_TCP_TURNS in a row were answered soon. Short: below the ten segments of TCP's initial
 * window. Row: nvme-4k-read-1.
 * ack-later: two short segments are not acknowledged at once. Rows: perf/run programs, rsockets-64
 * and mpi-allreduce-8.
 */
#define WEFT_TCP_SHORT_SEGS	8
#define WEFT_TCP_TURNS		8

/*
 * apart: a thread that lays out a message with WEFT_TX_LONG bytes left, or a ring with WEFT_TX_MANY
 * used slots, drops the socket lock meanwhile (tx/tx.c). Rows: send-1m, messages-64-deep.
 * turns: other threads get the processor between two chunks of a long message (tx/tx.c). Row:
 * perf/run tails.
 */
#define WEFT_TX_LONG		(32U << 10)
#define WEFT_TX_MANY		32

/*
 * spares: large chunks are kept for reuse while TCP may still hold them (tx/chunk.c). 4 MiB is
 * TCP's default limit of data under way (tcp_wmem); with less, a disk that reads and writes 1 MiB
 * at a time would have new chunks cleared all the time. WEFT_TX_FEW_SPARES remain once a connection
 * has needed no more for a while. Rows: send-64k, send-1m.
 * large: a kernel consumer's message of more than a page begins in a large chunk (tx/chunk.c). Row:
 * nvme-4k-write-1.
 */
#define WEFT_TX_SPARES		32U
#define WEFT_TX_FEW_SPARES	8U
/* A large chunk fills two packet buffers. WEFT_TX_CHUNKS are laid out ahead of TCP. */
#define WEFT_CHUNK_ORDER	get_order(SZ_128K)
#define WEFT_TX_CHUNKS		2
/* An idle queue pair keeps its large chunks for this long, because new ones have to be cleared. */
#define WEFT_CHUNK_IDLE		(HZ / 4)

/*
 * The setting `lend` lends payload without a rule (tx/loan.c). Shorter payload is copied, because a
 * loan costs more. WEFT_LOAN_AFTER sent bytes come before a trial, because a short-lived connection
 * would only pay for it. Rows: virtio-64k-sender, virtio-1m-sender.
 */
#define WEFT_LOAN_LEAST		(32U << 10)
#define WEFT_LOAN_AFTER		(256U << 10)

/*
 * Budget of rounds of a transmit worker, before it requeues itself for others' sake; smaller near
 * the poster, because completions of other devices wait for that place. No row was kept.
 */
#define WEFT_TX_ROUNDS		16
#define WEFT_TX_NEAR_ROUNDS	4

/*
 * near: a kernel consumer's transmit worker runs next on the poster's processor (pair/qp.c).
 * Row: nvme-4k-read-1.
 * If the kernel steers packets (row: perf/run queues):
 * follow: the processor where the doorbell was rung receives the packets (engine/engine.c).
 * vectors: a kernel consumer is called on its vector's processor (queue/cq_consumer.c).
 */

/*
 * Writes into TCP's state (llp/tcp_private.h), as those of ack-with-answer and ack-later are.
 * round-mss: TCP's segment size is a multiple of four. end-buffer: a packet buffer ends where an
 * FPDU ends. Without either, segments and FPDUs begin at different bytes. No row was kept.
 * urgent: urgent bytes are read as all others. Without it a stream stops at the first of them, and
 * no RDMA peer sends any.
 */
enum weft_rule {
	WEFT_RULE_STREAK,
	WEFT_RULE_GATHER,
	WEFT_RULE_PUT_OFF,
	WEFT_RULE_ACK_WITH_ANSWER,
	WEFT_RULE_ACK_LATER,
	WEFT_RULE_APART,
	WEFT_RULE_TURNS,
	WEFT_RULE_SPARES,
	WEFT_RULE_LARGE,
	WEFT_RULE_NEAR,
	WEFT_RULE_FOLLOW,
	WEFT_RULE_VECTORS,
	WEFT_RULE_ROUND_MSS,
	WEFT_RULE_END_BUFFER,
	WEFT_RULE_URGENT,
	WEFT_NUM_RULES
};

extern struct static_key_true weft_rules[WEFT_NUM_RULES];

/* Is a rule in force? An operator may turn it off at any time, so each use asks again. */
#define weft_rule(rule)	static_branch_likely(&weft_rules[rule])

#endif /* WEFT_POLICY_H */
