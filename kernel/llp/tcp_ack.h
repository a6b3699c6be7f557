/* SPDX-License-Identifier: GPL-2.0 */
/* When TCP acknowledges a short message: at once, or with the answer. */
#ifndef WEFT_LLP_TCP_ACK_H
#define WEFT_LLP_TCP_ACK_H

#include <net/tcp.h>

#include "base/policy.h"
#include "llp/tcp.h"

/*
 * Counts a short message that was answered soon: before the peer's TCP would retransmit it, which
 * is after two jiffies at least. This end has sent @segs_out segments, the last at @sent, and reads
 * at @now, in jiffies. Segments that came after the answer are another message.
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

/*
 * Leaves the acknowledgment of a short message, which is read, to its answer: TCP would send a
 * packet for more than one full segment at once, a tenth of the cost of a 4 KiB request. Only after
 * WEFT_TCP_TURNS, and while TCP finds the connection interactive, which an answer later than TCP's
 * timer ends. TCP acknowledges longer messages itself, because the delay of the last acknowledgment
 * would make CUBIC's HyStart end the peer's slow start; and a few large segments, because the peer
 * may have lent them, and completes them when they are acknowledged.
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

/* Undoes weft_tcp_ack_with_answer(): TCP acknowledges by the peer's segments again. */
static inline void weft_tcp_ack_at_once(struct weft_tcp *tcp, struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);

	sock_owned_by_me(sk);
	if (tcp->rcv_mss && icsk->icsk_ack.rcv_mss > tcp->rcv_mss)
		icsk->icsk_ack.rcv_mss = tcp->rcv_mss;
	tcp->rcv_mss = 0;
}

#endif /* WEFT_LLP_TCP_ACK_H */
