// SPDX-License-Identifier: GPL-2.0
/* TCP as a class of lower layers, the data path: under the socket lock, or inside a callback. */
#include <linux/tcp.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "base/compat.h"
#include "llp/tcp_private.h"
#include "wire/plan.h"

/* --- when packets are read --- */

/*
 * Returns the stream of a socket, or NULL. A connection that is not accepted yet has the listener's
 * callbacks but no stream, and a BPF program may have put it into a sockmap, which marks the
 * socket's data. In an RCU read side section.
 */
struct weft_llp *weft_tcp_stream(const struct sock *sk)
{
	uintptr_t data = (uintptr_t)rcu_dereference(__sk_user_data(sk));

	if (data & (SK_USER_DATA_BPF | SK_USER_DATA_PSOCK))
		return NULL;
	return (struct weft_llp *)(data & SK_USER_DATA_PTRMASK);
}

/* Reads the packets that were put off, or all if the owner is resumed. Softirq or process. */
void weft_tcp_read_put_off(struct weft_tcp *tcp)
{
	sock_owned_by_me(tcp->llp.sock->sk);
	if (likely(!tcp->put_off && !READ_ONCE(tcp->resumed)))
		return;
	/* If only one or two packets came together, they were put off for nothing: back off. */
	if (tcp->put_off) {
		tcp->backoff = tcp->put_off > 2 ? tcp->backoff / 2 :
						  min(2 * tcp->backoff + 1, WEFT_TCP_HASTY);
		tcp->hasty = tcp->backoff;
	}
	WRITE_ONCE(tcp->put_off, 0);
	xchg(&tcp->resumed, false); /* before the owner looks why it was resumed */
	tcp->llp.ops->readable(&tcp->llp);
}

/*
 * Reads the packets that were put off, unless somebody owns the socket. Our own unlock reads them
 * then; but ss and BPF iterators lock the socket, too, so a timer retries. The tasklet must not
 * retry at once, because the lock's owner may need this processor. Softirq.
 */
static void tcp_read_now(struct weft_tcp *tcp)
{
	struct sock *sk = tcp->llp.sock->sk;

	bh_lock_sock(sk);
	if (!sock_owned_by_user(sk))
		weft_tcp_read_put_off(tcp);
	else if (READ_ONCE(tcp->put_off) || READ_ONCE(tcp->resumed))
		mod_timer(&tcp->later, jiffies + 1);
	bh_unlock_sock(sk);
}

/* The tasklet, right behind the softirq that received the packets. */
void weft_tcp_late(struct tasklet_struct *late)
{
	tcp_read_now(container_of(late, struct weft_tcp, late));
}

/* The timer, for packets that the tasklet could not read. */
void weft_tcp_later(struct timer_list *later)
{
	tcp_read_now(container_of(later, struct weft_tcp, later));
}

void weft_tcp_resume(struct weft_llp *llp)
{
	struct weft_tcp *tcp = container_of(llp, struct weft_tcp, llp);

	WRITE_ONCE(tcp->resumed, true);
	tasklet_schedule(&tcp->late);
}

/*
 * The stream has bytes, or has ended. Called under the socket lock, which llp_tcp_close() takes.
 *
 * TCP acknowledges each packet that is read at once, because its bytes make room, and an
 * acknowledgment costs either end as much as a packet. A card delivers several packets at once, so
 * those of a large message wait for the tasklet and are acknowledged together. If the processor has
 * to run another thread, the tasklet would run in a thread as well: two switches for nothing. With
 * threaded NAPI and busy polling nothing is put off.
 */
void weft_tcp_data_ready(struct sock *sk)
{
	u32 unread = tcp_sk(sk)->rcv_nxt - tcp_sk(sk)->copied_seq;
	struct weft_llp *llp;
	struct weft_tcp *tcp;
	bool late = false;

	rcu_read_lock();
	llp = weft_tcp_stream(sk);
	if (!llp)
		goto unlock;
	sock_owned_by_me(sk);
	tcp = container_of(llp, struct weft_tcp, llp);
	if (weft_rule(WEFT_RULE_PUT_OFF) && in_serving_softirq() && unread >= WEFT_TCP_LARGE &&
	    unread <= WEFT_TCP_MOST && !tcp->at_once && !tcp_epollin_ready(sk, INT_MAX)) {
		if (tcp->put_off)
			late = true;
		else if (tcp->hasty)
			tcp->hasty--;
		else
			late = !need_resched();
	}
	if (late) {
		WRITE_ONCE(tcp->put_off, tcp->put_off + 1);
		tasklet_schedule(&tcp->late);
	} else {
		llp->ops->readable(llp);
	}
unlock:
	rcu_read_unlock();
}

void weft_tcp_lock(struct weft_llp *llp)
{
	lock_sock(llp->sock->sk);
}

void weft_tcp_unlock(struct weft_llp *llp)
{
	/* The tasklet leaves packets to the lock's owner. */
	weft_tcp_read_put_off(container_of(llp, struct weft_tcp, llp));
	release_sock(llp->sock->sk);
}

static noinline void llp_tcp_round_mss(struct weft_llp *llp)
{
	struct weft_tcp *tcp = container_of(llp, struct weft_tcp, llp);
	struct sock *sk = llp->sock->sk;

	tcp->pmtu = inet_csk(sk)->icsk_pmtu_cookie;
	weft_tcp_round_mss(tcp, sk);
	tcp->max_window = tcp_sk(sk)->max_window;
}

u32 weft_tcp_emss(struct weft_llp *llp)
{
	const struct weft_tcp *tcp = container_of(llp, struct weft_tcp, llp);
	struct sock *sk = llp->sock->sk;

	/*
	 * If the segment size, or a cause of it, has changed since it was rounded. A window of less
	 * than two segments limits the size as well.
	 */
	if (unlikely((tcp_sk(sk)->mss_cache & 3) ||
		     tcp->pmtu != inet_csk(sk)->icsk_pmtu_cookie ||
		     (tcp->max_window / 2 < tcp->mss_clamp &&
		      tcp->max_window < tcp_sk(sk)->max_window)))
		llp_tcp_round_mss(llp);
	return clamp_t(u32, tcp_sk(sk)->mss_cache & ~3U, WEFT_MIN_EMSS, WEFT_MAX_ULPDU & ~3U);
}

u32 weft_tcp_train(struct weft_llp *llp, u32 emss)
{
	struct sock *sk = llp->sock->sk;
	u32 most = sk_can_gso(sk) ? READ_ONCE(sk->sk_gso_max_size) : 0;

	return max(most / emss, 1U) * emss;
}

/* If the last unsent packet buffer has room, it and each of its segments start with an FPDU. */
u32 weft_tcp_room(struct weft_llp *llp, u32 emss)
{
	struct sock *sk = llp->sock->sk;
	struct sk_buff *skb = tcp_write_queue_tail(sk);
	u32 rest;

	if (!skb || !tcp_send_head(sk) || TCP_SKB_CB(skb)->eor)
		return emss;
	rest = skb->len % emss;
	if (!rest)
		return emss;
	if ((rest & 3) || skb_shinfo(skb)->nr_frags >= MAX_SKB_FRAGS) {
		weft_tcp_end_buffer(skb);
		return emss;
	}
	return emss - rest;
}

void weft_tcp_end_segment(struct weft_llp *llp)
{
	struct sock *sk = llp->sock->sk;
	struct sk_buff *skb = tcp_write_queue_tail(sk);

	if (skb && tcp_send_head(sk))
		weft_tcp_end_buffer(skb);
}

/*
 * If the peer's window ends within a segment, TCP cuts its packet buffer there and adds the next
 * call's bytes to the rest, which it would cut into other segments than they were laid out for. So
 * each call fills one buffer, and such a rest gets only the bytes of its own last segment. If all
 * earlier bytes were sent, the window did not interfere, and one call takes all, to save calls.
 */
u32 weft_tcp_portion(struct weft_llp *llp, u32 emss, u32 ahead, u32 len)
{
	struct sock *sk = llp->sock->sk;
	struct sk_buff *skb = tcp_write_queue_tail(sk);
	u32 train = weft_tcp_train(llp, emss);
	u32 used;

	/* Bytes to fill up the segment of a buffer that was sent or cut meanwhile go alone. */
	if (!skb || !tcp_send_head(sk))
		return ahead ? min(len, ahead) : len;
	used = TCP_SKB_CB(skb)->eor ? 0 : skb->len;
	if ((used + ahead) % emss) {
		if (ahead)
			return min(len, ahead);
		weft_tcp_end_buffer(skb);
		used = 0;
	}
	return min(len, used < train ? train - used : train);
}

bool weft_tcp_want_space(struct weft_llp *llp)
{
	if (sk_stream_is_writeable(llp->sock->sk))
		return false;
	set_bit(SOCK_NOSPACE, &llp->sock->flags);
	return true;
}

int weft_tcp_send_page(struct weft_llp *llp, struct page *page, u32 offset, u32 len, bool more)
{
	return weft_sock_send_page(llp->sock->sk, page, offset, len, more);
}

bool weft_tcp_may_lend(struct weft_llp *llp)
{
	struct sock *sk = llp->sock->sk;
	struct dst_entry *dst;
	bool leaves;

	rcu_read_lock(); /* the route may change without the socket lock */
	dst = rcu_dereference(sk->sk_dst_cache);
	leaves = dst && !(READ_ONCE(dst->dev->flags) & IFF_LOOPBACK);
	rcu_read_unlock();
	return leaves && (sk->sk_route_caps & NETIF_F_SG);
}

int weft_tcp_lend(struct weft_llp *llp, struct ubuf_info *ubuf,
		  const struct bio_vec *bv, u32 num, u32 from, u32 len, bool more)
{
	struct msghdr msg = {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_ZEROCOPY |
			     (more ? MSG_MORE : 0),
	};

	weft_msg_lend(&msg, ubuf);
	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, bv, num, len);
	iov_iter_advance(&msg.msg_iter, from);
	return tcp_sendmsg_locked(llp->sock->sk, &msg, len - from);
}

bool weft_tcp_unsent(struct weft_llp *llp)
{
	return !skb_queue_empty_lockless(&llp->sock->sk->sk_write_queue);
}

enum weft_llp_end weft_tcp_end(struct weft_llp *llp)
{
	struct sock *sk = llp->sock->sk;

	if (!(sk->sk_shutdown & RCV_SHUTDOWN) && sk->sk_state != TCP_CLOSE)
		return WEFT_LLP_GOES_ON;
	return skb_queue_empty(&sk->sk_receive_queue) ? WEFT_LLP_ALL_READ : WEFT_LLP_LAST_BYTES;
}

struct weft_tcp_reader {
	struct weft_tcp *tcp;
	int budget;
	weft_llp_actor actor;
	void *ctx;
};

static int llp_tcp_read_one(read_descriptor_t *desc, struct sk_buff *skb,
			    unsigned int offset, size_t len)
{
	struct weft_tcp_reader *reader = desc->arg.data;
	struct sock *sk = reader->tcp->llp.sock->sk;
	/* Stop TCP at the last packet: under the lock no other can arrive. */
	bool last = skb_queue_is_last(&sk->sk_receive_queue, skb);
	bool pushed = TCP_SKB_CB(skb)->tcp_flags & TCPHDR_PSH;
	int n = reader->actor(reader->ctx, skb, offset, len);

	reader->budget -= n;
	desc->count = !last && reader->budget > 0;
	if (last && pushed && n == len)
		weft_tcp_ack_with_answer(reader->tcp, sk); /* the sender had no more */
	return n;
}

void weft_tcp_read(struct weft_llp *llp, weft_llp_actor actor, void *ctx)
{
	struct weft_tcp *tcp = container_of(llp, struct weft_tcp, llp);
	struct sock *sk = llp->sock->sk;
	struct tcp_sock *tp = tcp_sk(sk);
	struct weft_tcp_reader reader = {
		.tcp = tcp,
		.budget = in_serving_softirq() ? WEFT_TCP_AT_ONCE : INT_MAX,
		.actor = actor,
		.ctx = ctx,
	};
	read_descriptor_t desc = { .arg.data = &reader, .count = 1 };

	WRITE_ONCE(tcp->put_off, 0); /* nothing waits after this */
	weft_tcp_before_read(sk);
	weft_tcp_ack_at_once(tcp, sk);
	weft_tcp_count_turnaround(&tcp->turnaround, tp->data_segs_out, tp->lsndtime, tcp_jiffies32);
	tcp_read_sock(sk, &desc, llp_tcp_read_one);
	/* Out of budget: a softirq keeps threads off the processor, so the tasklet goes on. */
	if (unlikely(reader.budget <= 0))
		weft_tcp_resume(llp);
	tcp->turnaround.segs_read = READ_ONCE(tp->data_segs_in);
}

void weft_tcp_look(struct weft_llp *llp, u32 from, weft_llp_actor actor, void *ctx)
{
	struct sock *sk = llp->sock->sk;
	u32 seq = tcp_sk(sk)->copied_seq + from;
	struct sk_buff *skb;
	u32 offset, n;

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

/*
 * Lets the receive buffer grow to twice @bytes: if the window closed just before the last byte, the
 * peer would send it only with a probe. TCP acknowledges each packet at once until @bytes are here.
 */
void weft_tcp_await(struct weft_llp *llp, u32 bytes)
{
	struct weft_tcp *tcp = container_of(llp, struct weft_tcp, llp);
	struct socket *sock = llp->sock;
	struct sock *sk = sock->sk;
	bool at_once = tcp->at_once;

	if (likely(sk->sk_rcvlowat == bytes))
		return;
	tcp->at_once = true; /* it calls back if they are here */
	if (bytes > 1 && sk->sk_rcvbuf < 4 * bytes)
		sock->ops->set_rcvlowat(sk, 2 * bytes);
	sock->ops->set_rcvlowat(sk, bytes);
	tcp->at_once = at_once;
}

bool weft_tcp_full(struct weft_llp *llp)
{
	return tcp_epollin_ready(llp->sock->sk, INT_MAX);
}
