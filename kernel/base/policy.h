/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Policy: each rule that decides when something is sent, held, woken, put off, acknowledged or
 * kept, and its constants. No protocol asks for any of it: without a rule a connection does the
 * same, at another cost. Behind each rule stands the row (perf/rows, perf/run) by which it was
 * fitted; docs/performance/notebook.md, "The trial", has what each gains on several processors.
 *
 * The module parameter `without` turns rules off, to find one that makes a program slow:
 *
 *	modprobe weft without=gather,streak
 *	echo gather >/sys/module/weft/parameters/without
 */
#ifndef WEFT_POLICY_H
#define WEFT_POLICY_H

#include <asm/page.h>
#include <linux/jiffies.h>
#include <linux/jump_label.h>
#include <linux/sizes.h>
#include <linux/time64.h>

/*
 * streak: in a row of requests a worker sends, and the poster does not enter the kernel
 * (queue/streak.h). Rows: messages-64, messages-64-256.
 * So many requests are a streak, no more are counted, and a pause of so many jiffies ends it.
 */
#define WEFT_STREAK		6U
#define WEFT_STREAK_MAX		16U
#define WEFT_STREAK_PAUSE	2

/*
 * gather: requests of a kernel consumer that keeps many outstanding are held for a moment and sent
 * together (pair/gather.h). Row: perf/run applications, nvme-4k-*-32.
 * So many are sent together at most, and so many in one moment make the next be held.
 */
#define WEFT_GATHER_MOST	8
#define WEFT_GATHER_LEAST	4
/*
 * How long a request is held at most: the other end answers at least four in it. A slow machine
 * takes longer for four, so there the moment is WEFT_GATHER_POSTS times what lay between two posts
 * that were sent at once. If that is more than WEFT_GATHER_MAX_NS, the consumer does not wait for
 * this machine, and the moment stays short.
 */
#define WEFT_GATHER_NS		(250 * NSEC_PER_USEC)
#define WEFT_GATHER_MAX_NS	(1 * NSEC_PER_MSEC)
#define WEFT_GATHER_POSTS	5
/* How many posts, or posts sent together, lie between two trials. */
#define WEFT_GATHER_SOON	64
#define WEFT_GATHER_LATE	1024

/*
 * put-off: a packet of a large message is read when the card has handed over all that it has
 * (llp/tcp_data.c). Row: virtio-64k-sender.
 * A message is large from so many bytes on; no more wait, since the copy of more would take long
 * and TCP is to keep room; and so many packets are read at once before one is put off again.
 */
#define WEFT_TCP_LARGE		SZ_16K
#define WEFT_TCP_MOST		SZ_1M
/* So many bytes of one stream are read in a softirq before others run. No row was kept. */
#define WEFT_TCP_AT_ONCE	SZ_512K
#define WEFT_TCP_HASTY		63

/*
 * ack-with-answer: a short message that will be answered is acknowledged by the answer
 * (llp/tcp_ack.h). Row: nvme-4k-read-1.
 * So many segments has a short message at most, which are fewer than the ten of a congestion window
 * that TCP begins with; and so many short messages are answered before one waits for its answer.
 *
 * ack-later: two short segments are not acknowledged at once. Rows: perf/run programs, rsockets-64
 * and mpi-allreduce-8.
 */
#define WEFT_TCP_SHORT_SEGS	8
#define WEFT_TCP_TURNS		8

/*
 * apart: the thread that lays out a long message, or many, lets the socket lock go (tx/tx.c). Rows:
 * send-1m, messages-64-deep.
 * The payload of one message in bytes, or the slots of the ring in use, from which on laying out
 * takes long.
 *
 * turns: within a long message other threads have the processor between two chunks (tx/tx.c).
 * Row: perf/run tails.
 */
#define WEFT_TX_LONG		(32U << 10)
#define WEFT_TX_MANY		32

/*
 * spares: large chunks are kept for another use while TCP may still hold them (tx/chunk.c). Rows:
 * send-64k, send-1m.
 * 4 MiB, as much as TCP has under way by default (tcp_wmem): of less, a disk that reads and writes
 * 1 MiB at a time would have new ones cleared all the time. Fewer if no more are needed for a
 * while.
 *
 * large: a kernel consumer's message of more than a page begins in a large chunk (tx/chunk.h). Row:
 * nvme-4k-write-1.
 */
#define WEFT_TX_SPARES		32U
#define WEFT_TX_FEW_SPARES	8U
/* A large chunk is of 128 KiB, which fill two packet buffers. So many are laid out ahead of TCP. */
#define WEFT_CHUNK_ORDER	get_order(SZ_128K)
#define WEFT_TX_CHUNKS		2
/* How long an idle queue pair keeps its large chunks: new ones have to be cleared. */
#define WEFT_CHUNK_IDLE		(HZ / 4)

/*
 * Payload is lent by the setting `lend`, which needs no rule (tx/loan.h). Rows: virtio-64k-sender,
 * virtio-1m-sender.
 * Less payload is copied, since that takes less than a loan; and a connection sends so many bytes
 * before it tries, so that short ones do not pay.
 */
#define WEFT_LOAN_LEAST		(32U << 10)
#define WEFT_LOAN_AFTER		(256U << 10)

/*
 * The most rounds of a transmit worker before its place on the workqueue goes to others; and near
 * the poster, where other devices' completions wait for that place. No row was kept.
 */
#define WEFT_TX_ROUNDS		16
#define WEFT_TX_NEAR_ROUNDS	4

/*
 * near: the transmit worker of a kernel consumer runs next on the poster's processor
 * (pair/worker.c). Row: nvme-4k-read-1.
 *
 * follow: packets are received on the processor where the doorbell was rung, if the kernel steers
 * them (stream/stream.c). Row: perf/run queues.
 *
 * vectors: where packets are steered, a kernel consumer is called on its vector's processor
 * (queue/vector.c). Row: perf/run queues.
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
	WEFT_NUM_RULES
};

extern struct static_key_true weft_rules[WEFT_NUM_RULES];

/* Does a rule hold? Each is read each time, so that it can be turned off at any. */
#define weft_rule(rule)	static_branch_likely(&weft_rules[rule])

#endif /* WEFT_POLICY_H */
