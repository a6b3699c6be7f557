/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All that Weft writes into TCP's private state, under the socket lock. An operator can turn each
 * write off by its rule (base/policy.h). docs/architecture.md says how a newer kernel may break it.
 */
#ifndef WEFT_LLP_TCP_PRIVATE_H
#define WEFT_LLP_TCP_PRIVATE_H

#include <net/tcp.h>

#include "base/policy.h"
#include "llp/tcp.h"

/* --- round-mss: rx_opt.mss_clamp and mss_cache --- */

static inline int weft_tcp_mss_for(struct sock *sk, int pmtu)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	int options = tp->tcp_header_len - sizeof(struct tcphdr);
	int mss = min_t(int, pmtu - tcp_mss_to_mtu(sk, 0),
			tp->rx_opt.mss_clamp - inet_csk(sk)->icsk_ext_hdr_len - options);

	return max(mss, READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_min_snd_mss) - options);
}

/* As tcp_sync_mss(), which newer kernels do not export; TCP itself gets the same size. */
static inline void weft_tcp_sync_mss(struct sock *sk)
{
	const struct inet_connection_sock *icsk = inet_csk(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	int mss;

	mss = tcp_bound_to_half_wnd(tp, weft_tcp_mss_for(sk, icsk->icsk_pmtu_cookie));
	if (icsk->icsk_mtup.enabled)
		mss = min(mss, weft_tcp_mss_for(sk, icsk->icsk_mtup.search_low));
	tp->mss_cache = mss;
}

/*
 * Lowers the segment size to a multiple of four, so that segmentation cuts a train of FPDUs of that
 * size exactly between them. The only way is to lower the peer's limit. It is restored first:
 * otherwise a limit for a narrow path would remain when the path is wide again.
 */
static inline void weft_tcp_round_mss(struct weft_tcp *tcp, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 options = tp->tcp_header_len - sizeof(struct tcphdr) +
		      inet_csk(sk)->icsk_ext_hdr_len;

	sock_owned_by_me(sk);
	if (tcp->mss_clamp)
		tp->rx_opt.mss_clamp = tcp->mss_clamp;
	tcp->mss_clamp = 0;
	if (!weft_rule(WEFT_RULE_ROUND_MSS))
		return;
	tcp->mss_clamp = tp->rx_opt.mss_clamp;
	weft_tcp_sync_mss(sk);
	if (!(tp->mss_cache & 3))
		return;
	tp->rx_opt.mss_clamp = min_t(u32, tcp->mss_clamp, (tp->mss_cache & ~3U) + options);
	weft_tcp_sync_mss(sk);
}

/* --- end-buffer: tcp_skb_cb.eor --- */

/*
 * Lets the next byte start a packet buffer of its own. @skb is the last one, and is unsent. A send
 * with MSG_EOR would do so only for bytes that are yet to come.
 */
static inline void weft_tcp_end_buffer(struct sk_buff *skb)
{
	if (weft_rule(WEFT_RULE_END_BUFFER))
		TCP_SKB_CB(skb)->eor = 1;
}

/* --- urgent: urg_data; ack-later: icsk_ack.pending --- */

/*
 * Before a read: treats urgent bytes as all others, because tcp_read_sock() stops before an urgent
 * byte for ever. And TCP acknowledges a second short segment at once, for senders that hold bytes
 * back until then. No peer does so here, and a message is often two segments, an RDMA Write and a
 * Send. The answer acknowledges them, or TCP's timer.
 */
static inline void weft_tcp_before_read(struct sock *sk)
{
	if (unlikely(tcp_sk(sk)->urg_data) && weft_rule(WEFT_RULE_URGENT))
		tcp_sk(sk)->urg_data = 0;
	if (weft_rule(WEFT_RULE_ACK_LATER))
		inet_csk(sk)->icsk_ack.pending &= ~ICSK_ACK_PUSHED2;
}

/* --- ack-with-answer: icsk_ack.rcv_mss --- */

/*
 * Counts a short message that was answered soon: before the peer's TCP would retransmit it, which
 * is after two jiffies at least. This end has sent @segs_out segments, the last at @sent, and reads
 * at @now, in jiffies. Segments that came after the answer are another message.
 */
static inline void weft_tcp_count_turnaround(struct weft_tcp_turnaround *t, u32 segs_out,
					     u32 sent, u32 now)
{
	if (t->answers == segs_out)
		return;
	if (t->segs_read - t->segs_answered > WEFT_TCP_SHORT_SEGS || sent - t->began > 1)
		t->num = 0;
	else if (t->num < WEFT_TCP_TURNS)
		t->num++;
	t->answers = segs_out;
	t->segs_answered = t->segs_read;
	t->began = now;
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
	u32 segs = READ_ONCE(tp->data_segs_in) - tcp->turnaround.segs_answered;
	u32 unacknowledged = tp->rcv_nxt - tp->rcv_wup;

	sock_owned_by_me(sk);
	if (!weft_rule(WEFT_RULE_ACK_WITH_ANSWER) || tcp->turnaround.num < WEFT_TCP_TURNS ||
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

#endif /* WEFT_LLP_TCP_PRIVATE_H */
