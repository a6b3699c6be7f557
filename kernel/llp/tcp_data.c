// SPDX-License-Identifier: GPL-2.0
/*
 * The lower-layer protocol over TCP, as far as data flows: with the socket lock held, or
 * inside a callback.
 */
#include <linux/tcp.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "base/compat.h"
#include "llp/llp.h"
#include "wire/plan.h"

/* Takes the socket lock. Process context. */
void weft_llp_lock(struct weft_llp *llp)
{
	lock_sock(llp->sock->sk);
}

/* Lets it go; what arrived meanwhile is received now. */
void weft_llp_unlock(struct weft_llp *llp)
{
	release_sock(llp->sock->sk);
}

/*
 * Lowers the segment size to a multiple of four, so that a train of FPDUs of
 * that size is cut by segmentation exactly between them.
 *
 * TCP knows one means for this, the peer's limit, so it is put back first: what
 * was lowered for a narrow path would stay for good when the path is wide again.
 */
static noinline void weft_llp_round_mss(struct weft_llp *llp)
{
	struct sock *sk = llp->sock->sk;
	struct tcp_sock *tp = tcp_sk(sk);
	u32 pmtu = inet_csk(sk)->icsk_pmtu_cookie;
	u32 options = tp->tcp_header_len - sizeof(struct tcphdr) +
		      inet_csk(sk)->icsk_ext_hdr_len;

	if (!llp->mss_clamp)
		llp->mss_clamp = tp->rx_opt.mss_clamp;
	tp->rx_opt.mss_clamp = llp->mss_clamp;
	tcp_sync_mss(sk, pmtu);
	if (tp->mss_cache & 3) {
		tp->rx_opt.mss_clamp = min_t(u32, llp->mss_clamp,
					     (tp->mss_cache & ~3U) + options);
		tcp_sync_mss(sk, pmtu);
	}
	llp->pmtu = pmtu;
	llp->max_window = tp->max_window;
}

/* Whether what the segment size was rounded for has changed. */
static bool weft_llp_mss_moved(const struct weft_llp *llp)
{
	const struct sock *sk = llp->sock->sk;

	/* A window less than two segments wide bounds them as well. */
	return (tcp_sk(sk)->mss_cache & 3) ||
	       llp->pmtu != inet_csk(sk)->icsk_pmtu_cookie ||
	       (llp->max_window / 2 < llp->mss_clamp &&
		llp->max_window < tcp_sk(sk)->max_window);
}

/**
 * weft_llp_emss() - the effective segment size
 * @llp: the stream, connected
 *
 * Return: bytes, a multiple of four, at least WEFT_MIN_EMSS.
 */
u32 weft_llp_emss(struct weft_llp *llp)
{
	struct sock *sk = llp->sock->sk;

	weft_llp_assert_locked(llp);
	if (unlikely(weft_llp_mss_moved(llp)))
		weft_llp_round_mss(llp);
	return clamp_t(u32, tcp_sk(sk)->mss_cache & ~3U, WEFT_MIN_EMSS,
		       WEFT_MAX_ULPDU & ~3U);
}

/**
 * weft_llp_train() - what the largest packet buffer holds in whole segments
 * @llp: the stream
 * @emss: its segment size
 *
 * Return: bytes, a multiple of @emss, and not 0.
 */
u32 weft_llp_train(struct weft_llp *llp, u32 emss)
{
	struct sock *sk = llp->sock->sk;
	u32 most = sk_can_gso(sk) ? READ_ONCE(sk->sk_gso_max_size) : 0;

	weft_llp_assert_locked(llp);
	return max(most / emss, 1U) * emss;
}

/**
 * weft_llp_room() - what the segment has left that the next byte goes to
 * @llp: the stream
 * @emss: its segment size
 *
 * The last packet buffer that is not sent yet, if more can be added to it,
 * starts on an FPDU's boundary, and so does each segment in it.
 *
 * Return: bytes, 1 to @emss, a multiple of four.
 */
u32 weft_llp_room(struct weft_llp *llp, u32 emss)
{
	struct sock *sk = llp->sock->sk;
	struct sk_buff *skb = tcp_write_queue_tail(sk);
	u32 rest;

	weft_llp_assert_locked(llp);
	if (!skb || !tcp_send_head(sk) || TCP_SKB_CB(skb)->eor)
		return emss;
	rest = skb->len % emss;
	if (!rest)
		return emss;
	if ((rest & 3) || skb_shinfo(skb)->nr_frags >= MAX_SKB_FRAGS) {
		TCP_SKB_CB(skb)->eor = 1;
		return emss;
	}
	return emss - rest;
}

/* Nothing more is added to the last packet buffer: the next byte starts a new one. */
void weft_llp_end_segment(struct weft_llp *llp)
{
	struct sock *sk = llp->sock->sk;
	struct sk_buff *skb = tcp_write_queue_tail(sk);

	weft_llp_assert_locked(llp);
	if (skb && tcp_send_head(sk))
		TCP_SKB_CB(skb)->eor = 1;
}

/**
 * weft_llp_portion() - how many bytes to hand over at once
 * @llp: the stream
 * @emss: its segment size
 * @ahead: bytes from the next one to where a segment is to begin; less than @emss
 * @len: how many there are
 *
 * Where the peer's window ends within a segment, TCP cuts its packet buffer there and
 * fills the rest of it up with what it is given next. All of that would then be cut
 * into segments elsewhere than it was laid out for. So the stream is looked at before
 * each buffer is filled, and such a rest gets what belongs to its last segment alone.
 * While all that was handed over has been sent, no window is in the way, and the call
 * takes everything: calls cost.
 *
 * Context: the socket lock is held.
 *
 * Return: bytes, 1 to @len.
 */
u32 weft_llp_portion(struct weft_llp *llp, u32 emss, u32 ahead, u32 len)
{
	struct sock *sk = llp->sock->sk;
	struct sk_buff *skb = tcp_write_queue_tail(sk);
	u32 train = weft_llp_train(llp, emss);
	u32 used;

	weft_llp_assert_locked(llp);
	/* A fresh one begins with what is next. */
	if (!skb || !tcp_send_head(sk))
		return len;
	used = TCP_SKB_CB(skb)->eor ? 0 : skb->len;
	if ((used + ahead) % emss) {
		if (ahead)
			return min(len, ahead);
		TCP_SKB_CB(skb)->eor = 1;
		used = 0;
	}
	return min(len, used < train ? train - used : train);
}

/**
 * weft_llp_want_space() - ask for the writable event once there is room
 * @llp: the stream; a send found no room
 *
 * Return: false if there is room already, so that it was memory that lacked
 * and no event will tell when it is back.
 */
bool weft_llp_want_space(struct weft_llp *llp)
{
	weft_llp_assert_locked(llp);
	if (sk_stream_is_writeable(llp->sock->sk))
		return false;
	set_bit(SOCK_NOSPACE, &llp->sock->flags);
	return true;
}

/**
 * weft_llp_send_page() - hand bytes over without copying them
 * @llp: the stream
 * @page: where they are; TCP takes a reference of its own
 * @offset: within @page
 * @len: how many; they are not changed any more
 * @more: more follows at once: no need to send yet
 *
 * Return: bytes taken, maybe fewer; -EAGAIN if there is no room; another
 * negative errno value if the stream has failed.
 */
int weft_llp_send_page(struct weft_llp *llp, struct page *page, u32 offset,
		       u32 len, bool more)
{
	weft_llp_assert_locked(llp);
	return weft_tcp_send_page(llp->sock->sk, page, offset, len, more);
}

/**
 * weft_llp_may_lend() - can pages be sent from where they lie?
 * @llp: the stream, connected
 *
 * Return: false if TCP would copy them, or they would not leave the machine.
 */
bool weft_llp_may_lend(struct weft_llp *llp)
{
	struct sock *sk = llp->sock->sk;
	struct dst_entry *dst = __sk_dst_get(sk);

	weft_llp_assert_locked(llp);
	return (sk->sk_route_caps & NETIF_F_SG) && dst &&
	       !(READ_ONCE(dst->dev->flags) & IFF_LOOPBACK);
}

/**
 * weft_llp_lend() - have bytes sent from where they lie
 * @llp: the stream
 * @ubuf: told when each packet buffer with some of them is gone or was copied; of
 *	which it has a reference
 * @bv: where they are; TCP takes references of its own
 * @num: how many of @bv
 * @from: how many bytes of them TCP has already
 * @len: bytes in all
 * @more: as for weft_llp_send_page()
 *
 * Return: as weft_llp_send_page().
 */
int weft_llp_lend(struct weft_llp *llp, struct ubuf_info *ubuf,
		  const struct bio_vec *bv, u32 num, u32 from, u32 len, bool more)
{
	struct msghdr msg = {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_ZEROCOPY |
			     (more ? MSG_MORE : 0),
	};

	weft_llp_assert_locked(llp);
	weft_msg_lend(&msg, ubuf);
	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, bv, num, len);
	iov_iter_advance(&msg.msg_iter, from);
	return tcp_sendmsg_locked(llp->sock->sk, &msg, len - from);
}

/* Whether the peer ended the stream: what can be read is all that will come. */
bool weft_llp_ended(struct weft_llp *llp)
{
	struct sock *sk = llp->sock->sk;

	weft_llp_assert_locked(llp);
	return (sk->sk_shutdown & RCV_SHUTDOWN) || sk->sk_state == TCP_CLOSE;
}

/* Whether TCP has yet to send some of what it was given. Any context; the answer may be old. */
bool weft_llp_unsent(struct weft_llp *llp)
{
	return !skb_queue_empty_lockless(&llp->sock->sk->sk_write_queue);
}

/* Whether the peer ended the stream and all of it has been read. */
bool weft_llp_at_end(struct weft_llp *llp)
{
	weft_llp_assert_locked(llp);
	return weft_llp_ended(llp) &&
	       skb_queue_empty(&llp->sock->sk->sk_receive_queue);
}

struct weft_llp_reader {
	const struct sk_buff_head *queue;
	weft_llp_actor actor;
	void *ctx;
};

static int weft_llp_read_one(read_descriptor_t *desc, struct sk_buff *skb,
			     unsigned int offset, size_t len)
{
	struct weft_llp_reader *reader = desc->arg.data;

	/* Behind the last packet TCP need not look for another: the lock is held. */
	desc->count = !skb_queue_is_last(reader->queue, skb);
	return reader->actor(reader->ctx, skb, offset, len);
}

/**
 * weft_llp_read() - read packet buffers where they lie
 * @llp: the stream
 * @actor: takes bytes of one packet
 * @ctx: for @actor
 */
void weft_llp_read(struct weft_llp *llp, weft_llp_actor actor, void *ctx)
{
	struct sock *sk = llp->sock->sk;
	struct weft_llp_reader reader = {
		.queue = &sk->sk_receive_queue,
		.actor = actor,
		.ctx = ctx,
	};
	read_descriptor_t desc = { .arg.data = &reader, .count = 1 };

	weft_llp_assert_locked(llp);
	/* Urgent bytes are bytes like any other here. */
	if (unlikely(tcp_sk(sk)->urg_data))
		tcp_sk(sk)->urg_data = 0;
	tcp_read_sock(sk, &desc, weft_llp_read_one);
}

/**
 * weft_llp_look() - look at packet buffers and take nothing of them
 * @llp: the stream
 * @from: bytes that lie before what is of interest
 * @actor: looks at bytes of one packet; fewer than there are end the walk
 * @ctx: for @actor
 *
 * The next look may find the same bytes in other buffers: TCP merges and replaces
 * them while they wait.
 *
 * Context: the socket lock is held. Does not sleep.
 */
void weft_llp_look(struct weft_llp *llp, u32 from, weft_llp_actor actor, void *ctx)
{
	struct sock *sk = llp->sock->sk;
	u32 seq = tcp_sk(sk)->copied_seq + from;
	struct sk_buff *skb;
	u32 offset, n;

	weft_llp_assert_locked(llp);
	skb_queue_walk(&sk->sk_receive_queue, skb) {
		offset = seq - TCP_SKB_CB(skb)->seq;
		if (offset >= skb->len)
			continue;
		n = actor(ctx, skb, offset, skb->len - offset);
		if (n < skb->len - offset)
			return;
		seq += n;
	}
}

/**
 * weft_llp_await() - say how many bytes are wanted before the readable event
 * @llp: the stream
 * @bytes: so many, counted from what is read next; 1: any
 *
 * The event comes sooner if the stream has ended or can hold no more. The
 * receive buffer grows, as far as the system lets it, to twice as much: a window
 * that closes just as the last byte comes would cost a wait for the peer's probe.
 * Until they are there, TCP acknowledges at once what comes.
 *
 * Context: the socket lock is held. The readable event may come from within.
 */
void weft_llp_await(struct weft_llp *llp, u32 bytes)
{
	struct sock *sk = llp->sock->sk;

	weft_llp_assert_locked(llp);
	if (likely(sk->sk_rcvlowat == bytes))
		return;
	if (bytes > 1 && sk->sk_rcvbuf < 4 * bytes)
		tcp_set_rcvlowat(sk, 2 * bytes);
	tcp_set_rcvlowat(sk, bytes);
}

/**
 * weft_llp_full() - can the stream hold no more unless some of it is read?
 * @llp: the stream; it holds at least one byte
 *
 * Context: the socket lock is held.
 *
 * Return: true if the peer's window is as good as closed, or memory is short.
 */
bool weft_llp_full(struct weft_llp *llp)
{
	weft_llp_assert_locked(llp);
	return tcp_epollin_ready(llp->sock->sk, INT_MAX);
}
