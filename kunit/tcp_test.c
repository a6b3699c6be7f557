// SPDX-License-Identifier: GPL-2.0
/*
 * Sockets of TCP: whose they are, how they are set up, when a message is acknowledged, and that
 * bytes pass also without Weft's writes into TCP's state. When a message is acknowledged is decided
 * by numbers that TCP keeps, which the cases write themselves.
 */
#include <linux/inet.h>
#include <linux/net.h>
#include <net/inet_connection_sock.h>
#include <net/net_namespace.h>
#include <net/tcp.h>

#include "base/compat.h"
#include "llp/llp.h"
#include "llp/tcp_private.h"
#include "suite.h"

#define MSS		1448U
#define JUMBO_MSS	8948U	/* of an MTU of 9000 */
#define ODD_MSS		1001	/* of a peer; no segment size of it is a multiple of four */

static void ignore(struct weft_llp *llp)
{
}

static const struct weft_llp_ops ops = {
	.changed = ignore, .readable = ignore, .writable = ignore,
};

/* --- whose a connection is --- */

/* A connection that its listener has not accepted. */
struct call {
	struct weft_llp *listener;	/* the listener */
	struct socket *client;	/* the other end */
	struct sock *sk;	/* this end */
};

static struct call call_listener(struct kunit *test)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct sockaddr_storage addr = {};
	struct call c = {};
	int mss = ODD_MSS;

	memcpy(&addr, &at, sizeof(at));
	c.listener = must(test, weft_tcp_class.open(&init_net, AF_INET, &ops, NULL));
	KUNIT_ASSERT_EQ(test, c.listener->class->bind(c.listener, &addr, false), 0);
	KUNIT_ASSERT_EQ(test, c.listener->class->listen(c.listener, 8), 0);
	KUNIT_ASSERT_EQ(test, sock_create_kern(&init_net, AF_INET, SOCK_STREAM, IPPROTO_TCP,
					       &c.client), 0);
	KUNIT_ASSERT_EQ(test, c.client->ops->setsockopt(c.client, SOL_TCP, TCP_MAXSEG,
							KERNEL_SOCKPTR(&mss), sizeof(mss)), 0);
	at.sin_port = inet_sk(c.listener->sock->sk)->inet_sport;
	KUNIT_ASSERT_EQ(test, kernel_connect(c.client, (struct sockaddr_unsized *)&at,
					     sizeof(at), 0), 0);
	/* A softirq that ksoftirqd runs brings the client's last ACK later. */
	for (u32 i = 0; i < 100 && !c.listener->class->incoming(c.listener); i++)
		msleep(20);
	KUNIT_ASSERT_TRUE(test, c.listener->class->incoming(c.listener));
	c.sk = inet_csk(c.listener->sock->sk)->icsk_accept_queue.rskq_accept_head->sk;
	return c;
}

static void call_end(struct call *c)
{
	sock_release(c->client);
	weft_llp_close(c->listener, true);
}

/* TCP calls back as when the connection is made, when bytes come and when there is room. */
static void call_back(const struct call *c)
{
	local_bh_disable();
	bh_lock_sock(c->sk);
	c->sk->sk_state_change(c->sk);
	c->sk->sk_data_ready(c->sk);
	c->sk->sk_write_space(c->sk);
	bh_unlock_sock(c->sk);
	local_bh_enable();
}

CASE_WITH(accepted, struct call c, call_listener(test))
{
	struct weft_llp *llp;

	call_back(&c);
	llp = must(test, c.listener->class->accept(c.listener, &ops, NULL));
	KUNIT_EXPECT_PTR_EQ(test, llp->sock->sk, c.sk);
	KUNIT_EXPECT_TRUE(test, sock_flag(c.sk, SOCK_URGINLINE));
	weft_llp_close(llp, true);
	call_end(&c);
}

/*
 * A BPF program may put a connection into a sockmap before it is accepted. TCP calls its listener's
 * callbacks all the same, which take the sockmap's data for no stream's, and nobody accepts it.
 */
CASE_WITH(in_a_sockmap, struct call c, call_listener(test))
{
	void *psock = zeroed(test, 1024);
	struct weft_llp *llp;

	sock_hold(c.sk);
	write_lock_bh(&c.sk->sk_callback_lock);
	__rcu_assign_sk_user_data_with_flags(c.sk, psock, SK_USER_DATA_NOCOPY | SK_USER_DATA_PSOCK);
	write_unlock_bh(&c.sk->sk_callback_lock);
	call_back(&c);
	llp = c.listener->class->accept(c.listener, &ops, NULL);
	KUNIT_EXPECT_PTR_EQ(test, llp, (struct weft_llp *)ERR_PTR(-ECONNABORTED));
	/* The sockmap gives it up when it is closed, and finds its own data. */
	KUNIT_EXPECT_PTR_EQ(test, rcu_access_pointer(__sk_user_data(c.sk)),
			    psock + (SK_USER_DATA_NOCOPY | SK_USER_DATA_PSOCK));
	if (!IS_ERR(llp))
		weft_llp_close(llp, true);
	sock_put(c.sk);
	call_end(&c);
}

/* --- setting up --- */

static void silent_peers(struct kunit *test)
{
	struct weft_llp *llp = must(test, weft_tcp_class.open(&init_net, AF_INET, &ops, NULL));
	const struct sock *sk;
	const struct tcp_sock *tp;

	sk = llp->sock->sk;
	tp = tcp_sk(sk);
	llp->class->set_timeouts(llp, 0, 0);
	KUNIT_EXPECT_FALSE(test, sock_flag(sk, SOCK_KEEPOPEN));
	llp->class->set_timeouts(llp, 60, 25);
	KUNIT_EXPECT_TRUE(test, sock_flag(sk, SOCK_KEEPOPEN));
	KUNIT_EXPECT_EQ(test, keepalive_time_when(tp), 60 * HZ);
	KUNIT_EXPECT_EQ(test, keepalive_intvl_when(tp), 10 * HZ);
	KUNIT_EXPECT_EQ(test, keepalive_probes(tp), 6);
	KUNIT_EXPECT_EQ(test, inet_csk(sk)->icsk_user_timeout, 25000U);
	/* No probe is later than the first. */
	llp->class->set_timeouts(llp, 3, 0);
	KUNIT_EXPECT_EQ(test, keepalive_time_when(tp), 3 * HZ);
	KUNIT_EXPECT_EQ(test, keepalive_intvl_when(tp), 3 * HZ);
	KUNIT_EXPECT_EQ(test, keepalive_probes(tp), 6);
	weft_llp_close(llp, true);
}

/* --- which messages were answered soon --- */

/* A message of so many segments is read, and answered by one segment @delay jiffies later. */
static void answer(struct weft_tcp_turnaround *turn, u32 segs, u32 delay)
{
	u32 out = turn->answers + 1;

	turn->segs_read += segs;
	weft_tcp_count_turnaround(turn, out, turn->began + delay, turn->began + delay + 100);
}

static struct weft_tcp_turnaround turns(u32 num)
{
	/* All of these go round. */
	struct weft_tcp_turnaround turn = {
		.segs_read = -3, .segs_answered = -3, .answers = -2, .began = -5,
	};

	while (num--)
		answer(&turn, 2, 0);
	return turn;
}

CASE_WITH(turns_soon, struct weft_tcp_turnaround turn, turns(0))
{
	for (u32 i = 1; i <= 10; i++) {
		answer(&turn, WEFT_TCP_SHORT_SEGS, 1);
		KUNIT_EXPECT_EQ(test, (u32)turn.num, min(i, 8U));
	}
}

CASE_WITH(turns_late, struct weft_tcp_turnaround turn, turns(8))
{
	KUNIT_EXPECT_EQ(test, (u32)turn.num, 8U);
	answer(&turn, 2, 2);
	KUNIT_EXPECT_EQ(test, (u32)turn.num, 0U);
	/* The next message begins with the read behind that answer. */
	answer(&turn, 2, 1);
	KUNIT_EXPECT_EQ(test, (u32)turn.num, 1U);
}

CASE_WITH(turns_long, struct weft_tcp_turnaround turn, turns(8))
{
	answer(&turn, 9, 0);
	KUNIT_EXPECT_EQ(test, (u32)turn.num, 0U);
}

/* Reads until the answer are of one message, which is as old as the first of them. */
static void turns_by_parts(struct kunit *test)
{
	struct weft_tcp_turnaround turn = turns(8), before;

	turn.segs_read += 5;
	before = turn;
	weft_tcp_count_turnaround(&turn, turn.answers, turn.began - 1000, turn.began + 1);
	KUNIT_EXPECT_EQ(test, memcmp(&turn, &before, sizeof(turn)), 0);
	answer(&turn, 4, 0);
	KUNIT_EXPECT_EQ(test, (u32)turn.num, 0U);
	KUNIT_EXPECT_EQ(test, turn.segs_answered, before.segs_read + 4);
}

/* --- when a message is acknowledged --- */

/* A stream whose peer has sent two full segments behind eight short messages. */
static struct weft_tcp *asked(struct kunit *test, u32 mss)
{
	struct weft_llp *llp = must(test, weft_tcp_class.open(&init_net, AF_INET, &ops, NULL));
	struct tcp_sock *tp;
	struct weft_tcp *tcp = container_of(llp, struct weft_tcp, llp);

	weft_llp_call(llp, lock);
	tp = tcp_sk(llp->sock->sk);
	tcp->turnaround = turns(8);
	tp->data_segs_in = tcp->turnaround.segs_answered + 2;
	tp->rcv_wup = -1000;
	tp->rcv_nxt = tp->rcv_wup + 2 * mss;
	tp->advmss = mss;
	inet_csk_enter_pingpong_mode(llp->sock->sk);
	inet_csk(llp->sock->sk)->icsk_ack.rcv_mss = mss;
	return tcp;
}

/* Reads what was asked. Returns how many bytes TCP then takes for no more than one segment. */
static u32 read_all(struct weft_tcp *tcp)
{
	weft_tcp_ack_with_answer(tcp, tcp->llp.sock->sk);
	return inet_csk(tcp->llp.sock->sk)->icsk_ack.rcv_mss;
}

static void answered(struct weft_tcp *tcp)
{
	struct sock *sk = tcp->llp.sock->sk;

	tcp_sk(sk)->packets_out = 0;
	weft_llp_call(&tcp->llp, unlock);
	weft_llp_close(&tcp->llp, true);
}

/* The next read puts back what TCP had measured, or leaves the less that it has measured since. */
CASE_WITH(ack_with_answer, struct weft_tcp *tcp, asked(test, MSS))
{
	struct sock *sk = tcp->llp.sock->sk;

	KUNIT_EXPECT_EQ(test, read_all(tcp), 2 * MSS);
	weft_tcp_ack_at_once(tcp, sk);
	KUNIT_EXPECT_EQ(test, (u32)inet_csk(sk)->icsk_ack.rcv_mss, MSS);
	weft_tcp_ack_at_once(tcp, sk);
	KUNIT_EXPECT_EQ(test, (u32)inet_csk(sk)->icsk_ack.rcv_mss, MSS);
	KUNIT_EXPECT_EQ(test, read_all(tcp), 2 * MSS);
	inet_csk(sk)->icsk_ack.rcv_mss = 536;
	weft_tcp_ack_at_once(tcp, sk);
	KUNIT_EXPECT_EQ(test, (u32)inet_csk(sk)->icsk_ack.rcv_mss, 536U);
	answered(tcp);
}

/* One late answer, and eight messages are acknowledged at once. */
CASE_WITH(ack_after_late_answer, struct weft_tcp *tcp, asked(test, MSS))
{
	answer(&tcp->turnaround, 2, 2);
	for (u32 i = 0; i < 8; i++) {
		tcp_sk(tcp->llp.sock->sk)->data_segs_in = tcp->turnaround.segs_answered + 2;
		KUNIT_EXPECT_EQ(test, read_all(tcp), MSS);
		answer(&tcp->turnaround, 2, 1);
	}
	tcp_sk(tcp->llp.sock->sk)->data_segs_in = tcp->turnaround.segs_answered + 2;
	KUNIT_EXPECT_EQ(test, read_all(tcp), 2 * MSS);
	answered(tcp);
}

CASE_WITH(ack_of_much, struct weft_tcp *tcp, asked(test, MSS))
{
	struct tcp_sock *tp = tcp_sk(tcp->llp.sock->sk);

	tp->data_segs_in = tcp->turnaround.segs_answered + 8;
	tp->rcv_nxt = tp->rcv_wup + 16385;
	KUNIT_EXPECT_EQ(test, read_all(tcp), MSS);
	/* Some of a longer message is acknowledged already. */
	tp->data_segs_in++;
	tp->rcv_nxt = tp->rcv_wup + 2 * MSS;
	KUNIT_EXPECT_EQ(test, read_all(tcp), MSS);
	tp->data_segs_in--;
	tp->rcv_nxt = tp->rcv_wup + 16384;
	KUNIT_EXPECT_EQ(test, read_all(tcp), 16384U);
	answered(tcp);
}

/* The peer may have lent the bytes of large segments, and waits for their acknowledgment. */
CASE_WITH(ack_of_large_segments, struct weft_tcp *tcp, asked(test, JUMBO_MSS))
{
	struct tcp_sock *tp = tcp_sk(tcp->llp.sock->sk);

	KUNIT_EXPECT_EQ(test, read_all(tcp), JUMBO_MSS);
	/* Also if the first of them is acknowledged, and the rest is short. */
	tp->rcv_nxt = tp->rcv_wup + JUMBO_MSS + 100;
	KUNIT_EXPECT_EQ(test, read_all(tcp), JUMBO_MSS);
	answered(tcp);
}

/* Bytes that go the other way, or a connection on which no answers follow. */
CASE_WITH(ack_of_a_stream, struct weft_tcp *tcp, asked(test, MSS))
{
	struct sock *sk = tcp->llp.sock->sk;

	tcp_sk(sk)->packets_out = 1;
	KUNIT_EXPECT_EQ(test, read_all(tcp), MSS);
	tcp_sk(sk)->packets_out = 0;
	inet_csk_exit_pingpong_mode(sk);
	KUNIT_EXPECT_EQ(test, read_all(tcp), MSS);
	answered(tcp);
}

/* --- what Weft writes into TCP's state --- */

#define PIECE		2500U	/* of a message, longer than two segments of the peer */
#define PIECES		4U

/* Bytes that were read. */
struct taken {
	u8 bytes[PIECE * PIECES];	/* the bytes */
	u32 have;	/* how many */
};

static u32 take(void *ctx, struct sk_buff *skb, u32 offset, u32 len)
{
	struct taken *taken = ctx;

	len = min_t(u32, len, sizeof(taken->bytes) - taken->have);
	if (skb_copy_bits(skb, offset, taken->bytes + taken->have, len))
		return 0;
	taken->have += len;
	return len;
}

/* The peer sends pieces; the last byte of each but the last is urgent, if that rule holds. */
static void pieces_in(struct kunit *test, struct call *c, struct weft_llp *llp, u8 *page,
		      struct taken *taken)
{
	taken->have = 0;
	for (u32 i = 0; i < PIECES; i++) {
		struct kvec iov = { .iov_base = page, .iov_len = PIECE };
		struct msghdr msg = {
			.msg_flags = i < PIECES - 1 && weft_rule(WEFT_RULE_URGENT) ? MSG_OOB : 0,
		};

		KUNIT_EXPECT_EQ(test, kernel_sendmsg(c->client, &msg, &iov, 1, PIECE), (int)PIECE);
	}
	for (u32 i = 0; i < 100 && taken->have < PIECE * PIECES; i++) {
		if (i)
			msleep(20);
		weft_llp_call(llp, lock);
		weft_llp_held(llp, read, take, taken);
		weft_llp_call(llp, unlock);
	}
	KUNIT_EXPECT_EQ(test, taken->have, PIECE * PIECES);
	for (u32 i = 0; i < PIECES; i++)
		KUNIT_EXPECT_EQ(test, memcmp(taken->bytes + i * PIECE, page, PIECE), 0);
}

/* This end sends pieces, of which each but the last waits for more, and is ended. */
static void pieces_out(struct kunit *test, struct call *c, struct weft_llp *llp, u8 *page,
		       struct taken *taken)
{
	struct sock *sk = llp->sock->sk;
	struct kvec iov = { .iov_base = taken->bytes, .iov_len = PIECE * PIECES };
	struct msghdr msg = {};
	u32 i, emss;

	weft_llp_call(llp, lock);
	for (i = 0; i < PIECES; i++) {
		emss = weft_llp_held(llp, emss);
		KUNIT_EXPECT_EQ(test, emss % 4, 0U);
		KUNIT_EXPECT_EQ(test, tcp_sk(sk)->mss_cache == emss,
				(bool)weft_rule(WEFT_RULE_ROUND_MSS));
		KUNIT_EXPECT_EQ(test, weft_llp_held(llp, send_page, virt_to_page(page), 0, PIECE,
						    i < PIECES - 1), (int)PIECE);
		if (i < PIECES - 1) {
			KUNIT_EXPECT_NOT_NULL(test, tcp_send_head(sk));
			weft_llp_held(llp, end_segment);
			KUNIT_EXPECT_EQ(test, (bool)TCP_SKB_CB(tcp_write_queue_tail(sk))->eor,
					(bool)weft_rule(WEFT_RULE_END_BUFFER));
		}
	}
	weft_llp_call(llp, unlock);
	memset(taken->bytes, 0, sizeof(taken->bytes));
	c->client->sk->sk_rcvtimeo = 2 * HZ;
	KUNIT_EXPECT_EQ(test, kernel_recvmsg(c->client, &msg, &iov, 1, PIECE * PIECES,
					     MSG_WAITALL), (int)(PIECE * PIECES));
	for (i = 0; i < PIECES; i++)
		KUNIT_EXPECT_EQ(test, memcmp(taken->bytes + i * PIECE, page, PIECE), 0);
}

/* Bytes pass with all of the rules, without each, and without any. */
static void without_private_state(struct kunit *test)
{
	static const enum weft_rule rules[] = {
		WEFT_RULE_ROUND_MSS, WEFT_RULE_END_BUFFER, WEFT_RULE_URGENT,
		WEFT_RULE_ACK_LATER, WEFT_RULE_ACK_WITH_ANSWER,
	};
	struct taken *taken = zeroed(test, sizeof(*taken));
	u8 *page = must(test, (u8 *)__get_free_page(GFP_KERNEL));
	struct weft_llp *llp;
	struct call c;

	for (u32 i = 0; i < PIECE; i++)
		page[i] = i % 251;
	for (u32 round = 0; round <= ARRAY_SIZE(rules) + 1; round++) {
		c = call_listener(test);
		llp = must(test, c.listener->class->accept(c.listener, &ops, NULL));
		for (u32 i = 0; i < ARRAY_SIZE(rules); i++)
			if (round == i || round == ARRAY_SIZE(rules))
				static_branch_disable(&weft_rules[rules[i]]);
		pieces_out(test, &c, llp, page, taken);
		pieces_in(test, &c, llp, page, taken);
		for (u32 i = 0; i < ARRAY_SIZE(rules); i++)
			static_branch_enable(&weft_rules[rules[i]]);
		weft_llp_close(llp, true);
		call_end(&c);
	}
	free_page((unsigned long)page);
}

A_SUITE(tcp, no, accepted, in_a_sockmap, silent_peers, turns_soon, turns_late, turns_long,
	turns_by_parts, ack_with_answer, ack_after_late_answer, ack_of_much, ack_of_large_segments,
	ack_of_a_stream, without_private_state);
