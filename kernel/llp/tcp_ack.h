/* SPDX-License-Identifier: GPL-2.0 */
/* When TCP acknowledges a short message: at once, or with the answer. */
#ifndef WEFT_LLP_TCP_ACK_H
#define WEFT_LLP_TCP_ACK_H

#include <net/tcp.h>

#include "base/policy.h"
#include "llp/tcp.h"

/**
 * weft_tcp_count_turn() - count a short message that was answered soon
 * @turn: the stream's
 * @segs_out: how many segments this end has sent
 * @sent: when it sent the last, in jiffies
 * @now: the time of this read, in jiffies
 *
 * Soon is before the peer's TCP would take the message for lost, which is after two jiffies at
 * least. What came since the answer is another message.
 */
static inline void weft_tcp_count_turn(struct weft_tcp_turn *turn, u32 segs_out, u32 sent, u32 now)
{
	if (turn->answers == segs_out)
		return;
	if (turn->segs_read - turn->segs_answered > WEFT_TCP_SHORT_SEGS ||
	    sent - turn->began > 1)
		turn->num = 0;
	else if (turn->num < WEFT_TCP_TURNS)
		turn->num++;
	turn->answers = segs_out;
	turn->segs_answered = turn->segs_read;
	turn->began = now;
}

/**
 * weft_tcp_ack_with_answer() - leave the acknowledgment of a message to its answer, if it is short
 * @tcp: the stream, of which all that came is read
 * @sk: its socket
 *
 * TCP would send a packet for it at once, since it is more than one full segment. Such a packet is
 * a tenth of what a request of 4 KiB costs. Only after a number of short messages, and while TCP
 * finds the connection interactive, which ends when an answer comes later than TCP's timer. What
 * belongs to a longer message is acknowledged as TCP does: if its last acknowledgment took as long
 * as the answer, CUBIC's HyStart would end the peer's slow start by it. So are a few large
 * segments, since the peer may have lent their bytes, and completes them when they are
 * acknowledged.
 *
 * Context: softirq or process, socket lock held.
 */
static inline void weft_tcp_ack_with_answer(struct weft_tcp *tcp, struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 segs = READ_ONCE(tp->data_segs_in) - tcp->turn.segs_answered;
	u32 unacknowledged = tp->rcv_nxt - tp->rcv_wup;

	sock_owned_by_me(sk);
	if (!weft_rule(WEFT_RULE_ACK_WITH_ANSWER) || tcp->turn.num < WEFT_TCP_TURNS ||
	    !inet_csk_in_pingpong_mode(sk) || tp->packets_out ||
	    segs > WEFT_TCP_SHORT_SEGS || segs * tp->advmss > WEFT_TCP_LARGE ||
	    unacknowledged > WEFT_TCP_LARGE || unacknowledged <= icsk->icsk_ack.rcv_mss)
		return;
	tcp->rcv_mss = icsk->icsk_ack.rcv_mss;
	icsk->icsk_ack.rcv_mss = unacknowledged;
}

/**
 * weft_tcp_ack_at_once() - have TCP acknowledge by the peer's segments again
 * @tcp: the stream, of which one message may have been left to its answer
 * @sk: its socket
 *
 * Context: softirq or process, socket lock held.
 */
static inline void weft_tcp_ack_at_once(struct weft_tcp *tcp, struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);

	sock_owned_by_me(sk);
	if (tcp->rcv_mss && icsk->icsk_ack.rcv_mss > tcp->rcv_mss)
		icsk->icsk_ack.rcv_mss = tcp->rcv_mss;
	tcp->rcv_mss = 0;
}

#endif /* WEFT_LLP_TCP_ACK_H */
