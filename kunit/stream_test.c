// SPDX-License-Identifier: GPL-2.0
/* What TCP gets at once, so that segments stay as laid out when a window cuts a packet buffer. */
#include <linux/net.h>
#include <linux/skbuff.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "llp/llp.h"
#include "llp/tcp.h"
#include "suite.h"

#define EMSS	1448U
#define TRAIN	(45U * EMSS)	/* of 65,536 bytes */
#define CHUNK	131072U		/* what is laid out at once */

/* A stream on a socket that was never connected, with what it has yet to send. */
struct pipe {
	struct weft_tcp tcp;
	struct weft_llp *llp;
	struct socket *sock;
};

END_OF(pipe_end, struct pipe *p)
{
	skb_queue_purge(&p->sock->sk->sk_write_queue);
	if (sock_owned_by_user_nocheck(p->sock->sk))
		release_sock(p->sock->sk);
	sock_release(p->sock);
}

static struct pipe *pipe_new(struct kunit *test)
{
	struct pipe *p = zeroed(test, sizeof(*p));

	KUNIT_ASSERT_EQ(test, sock_create_kern(&init_net, AF_INET, SOCK_STREAM, IPPROTO_TCP,
					       &p->sock), 0);
	p->tcp.llp.class = &weft_tcp_class;
	p->tcp.llp.sock = p->sock;
	p->llp = &p->tcp.llp;
	at_end(test, pipe_end, p);
	return p;
}

/* One whose lock is held. */
static struct pipe *pipe_open(struct kunit *test)
{
	struct pipe *p = pipe_new(test);

	lock_sock(p->sock->sk);
	p->sock->sk->sk_route_caps |= NETIF_F_GSO_SOFTWARE;
	p->sock->sk->sk_gso_type = SKB_GSO_TCPV4;
	p->sock->sk->sk_gso_max_size = 65536;
	return p;
}

static struct sk_buff *pipe_add(struct kunit *test, struct pipe *p, u32 len)
{
	struct sk_buff *skb = must(test, alloc_skb(0, GFP_KERNEL));

	skb->len = len;
	skb->data_len = len;
	TCP_SKB_CB(skb)->eor = 0;
	__skb_queue_tail(&p->sock->sk->sk_write_queue, skb);
	return skb;
}

CASE_WITH(portion_fresh, struct pipe *p, pipe_open(test))
{
	KUNIT_EXPECT_EQ(test, weft_llp_call(p->llp, train, EMSS), TRAIN);
	KUNIT_EXPECT_EQ(test, weft_llp_held(p->llp, portion, EMSS, 0, 200000), 200000U);
	pipe_add(test, p, 10 * EMSS);
	KUNIT_EXPECT_EQ(test, weft_llp_held(p->llp, portion, EMSS, 0, 5000), 5000U);
}

/* A buffer that is as it was laid out is filled, from wherever it is. */
CASE_WITH(portion_fills, struct pipe *p, pipe_open(test))
{
	pipe_add(test, p, 10 * EMSS + 400);
	KUNIT_EXPECT_EQ(test, weft_llp_held(p->llp, portion, EMSS, EMSS - 400, 200000),
			TRAIN - 10 * EMSS - 400);
	pipe_add(test, p, TRAIN);
	KUNIT_EXPECT_EQ(test, weft_llp_held(p->llp, portion, EMSS, 0, 200000), TRAIN);
}

/* The rest of one that was cut gets no more than the segment it ends with. */
CASE_WITH(portion_cut, struct pipe *p, pipe_open(test))
{
	struct sk_buff *skb = pipe_add(test, p, 10 * EMSS + 700);

	KUNIT_EXPECT_EQ(test, weft_llp_held(p->llp, portion, EMSS, 300, 200000), 300U);
	KUNIT_EXPECT_EQ(test, (int)TCP_SKB_CB(skb)->eor, 0);
	skb->len += 300;
	KUNIT_EXPECT_EQ(test, weft_llp_held(p->llp, portion, EMSS, 0, 200000), TRAIN);
	KUNIT_EXPECT_EQ(test, (int)TCP_SKB_CB(skb)->eor, 1);
	/* Once it is ended, what comes next begins another. */
	KUNIT_EXPECT_EQ(test, weft_llp_held(p->llp, portion, EMSS, 0, 200000), TRAIN);
}

/* What was laid out to fill up a segment goes alone if that was sent meanwhile. */
CASE_WITH(portion_sent, struct pipe *p, pipe_open(test))
{
	struct sk_buff *skb;

	KUNIT_EXPECT_EQ(test, weft_llp_held(p->llp, portion, EMSS, 1084, 200000), 1084U);
	skb = pipe_add(test, p, 1084);
	KUNIT_EXPECT_EQ(test, weft_llp_held(p->llp, portion, EMSS, 0, 200000), TRAIN);
	KUNIT_EXPECT_EQ(test, (int)TCP_SKB_CB(skb)->eor, 1);
}

/* However often a window cuts buffers, each but the rest of a cut begins where a segment does. */
CASE_WITH(portion_cut_often, struct pipe *p, pipe_open(test))
{
	u32 total = 3000 * EMSS, handed = 0, longest = 0, shifted = 0, ahead, len;
	struct sk_buff_head *queue = &p->sock->sk->sk_write_queue;
	struct sk_buff *skb;

	while (handed < total) {
		ahead = (total - handed) % EMSS;
		len = weft_llp_held(p->llp, portion, EMSS, ahead, min(total - handed, CHUNK));
		KUNIT_ASSERT_GT(test, len, 0U);
		skb = skb_peek_tail(queue);
		if (!skb || TCP_SKB_CB(skb)->eor || skb->len >= TRAIN) {
			shifted = handed % EMSS ? shifted + len : 0;
			skb_queue_purge(queue);
			skb = pipe_add(test, p, len);
		} else {
			shifted += len;
			skb->len += len;
		}
		handed += len;
		/* A window ends: TCP keeps a rest that begins within a segment. */
		if (handed % 7 < 3 && skb->len > 999) {
			skb->len -= 999;
			shifted = skb->len;
		}
		longest = max(longest, shifted);
	}
	KUNIT_EXPECT_LE(test, longest, TRAIN + EMSS);
}

static void space_found(struct weft_llp *llp)
{
}

static const struct weft_llp_ops space_ops = {
	.changed = space_found, .readable = space_found, .writable = space_found,
};

/* A BPF program may have TCP tell of room before a connection has its struct socket. */
static void space_before_accept(struct kunit *test)
{
	struct weft_llp *llp = weft_tcp_class.open(&init_net, AF_INET, &space_ops, NULL);
	struct socket *sock;
	struct sock *sk;

	KUNIT_ASSERT_FALSE(test, IS_ERR(llp));
	sk = llp->sock->sk;
	lock_sock(sk);
	sock = sk->sk_socket;
	sk->sk_socket = NULL;
	KUNIT_EXPECT_TRUE(test, sk_stream_is_writeable(sk));
	sk->sk_write_space(sk);
	sk->sk_socket = sock;
	set_bit(SOCK_NOSPACE, &sock->flags);
	sk->sk_write_space(sk);
	KUNIT_EXPECT_FALSE(test, test_bit(SOCK_NOSPACE, &sock->flags));
	release_sock(sk);
	weft_llp_close(llp, true);
}

/* A socket is given another's user, which firewalls and routing rules may ask for. */
static void user_of_another(struct kunit *test)
{
	struct pipe *from = pipe_new(test), *to = pipe_new(test);
	struct sock *like = from->sock->sk, *sk = to->sock->sk;

	WRITE_ONCE(like->sk_uid, KUIDT_INIT(4711));
	KUNIT_EXPECT_EQ(test, weft_sock_charge_as(to->llp, from->llp), 0);
	KUNIT_EXPECT_TRUE(test, uid_eq(sk->sk_uid, KUIDT_INIT(4711)));
}

/* A socket gets another's number of net_cls, also where both are in one cgroup of version 2. */
static void groups_like_another(struct kunit *test)
{
#ifdef CONFIG_CGROUP_NET_CLASSID
	struct pipe *from = pipe_new(test), *to = pipe_new(test);
	struct sock *like = from->sock->sk, *sk = to->sock->sk;

	sock_cgroup_set_classid(&like->sk_cgrp_data, 0x10001);
	KUNIT_EXPECT_EQ(test, weft_sock_charge_as(to->llp, from->llp), 0);
	KUNIT_EXPECT_EQ(test, sock_cgroup_classid(&sk->sk_cgrp_data), 0x10001U);
	KUNIT_EXPECT_PTR_EQ(test, sock_cgroup_ptr(&sk->sk_cgrp_data),
			    sock_cgroup_ptr(&like->sk_cgrp_data));
#else
	kunit_skip(test, "this kernel has no net_cls");
#endif
}

A_SUITE(stream, no, portion_fresh, portion_fills, portion_cut, portion_sent, portion_cut_often,
	space_before_accept, user_of_another, groups_like_another);
