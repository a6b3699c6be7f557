// SPDX-License-Identifier: GPL-2.0
/* SCTP as a class of lower layers: a user message is received, whole or in parts. */
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <net/sctp/sctp.h>

#include "base/context.h"
#include "sctp/sctp.h"
#include "wire/fpdu.h"
#include "wire/session.h"

#define SCTP_MAX_MESSAGE	(WEFT_SSN_LEN + WEFT_MAX_ULPDU)

/*
 * Returns the length of the next message or part, and in @last whether that completes a
 * message; 0 if the peer has ended the association; -EAGAIN if SCTP has none; or why the
 * association failed. The message stays in SCTP's queue until the caller receives it, because
 * nobody else reads.
 */
static int sctp_next(struct weft_sctp *s, bool *last)
{
	struct sock *sk = weft_sctp_sk(s);
	struct sctp_association *asoc;
	struct sk_buff *skb;
	int ret;

	lock_sock(sk);
	asoc = weft_sctp_association(s);
	skb = skb_peek(&sk->sk_receive_queue);
	*last = skb && (sctp_skb2event(skb)->msg_flags & MSG_EOR);
	if (s->state != WEFT_LLP_CONNECTING && asoc && asoc->c.peer_vtag != s->peer_tag)
		ret = -ECONNRESET;
	else if (skb)
		ret = skb->len;
	else if (sk->sk_err)
		ret = sock_error(sk);
	else if (sk->sk_shutdown & RCV_SHUTDOWN)
		ret = 0;
	else if (s->state == WEFT_LLP_DEAD)
		ret = -ECONNRESET;
	else if (s->state != WEFT_LLP_CONNECTING && !asoc)
		ret = s->shut ? 0 : -ECONNRESET;
	else
		ret = -EAGAIN;
	release_sock(sk);
	return ret;
}

/*
 * Receives the @len bytes that sctp_next() reported, and their payload protocol identifier.
 * Returns 0 or a negative errno value.
 */
static int sctp_receive(struct weft_sctp *s, struct kvec *iov, u32 pieces, u32 len, bool last,
			u32 *ppid)
{
	u8 control[CMSG_SPACE(sizeof(struct sctp_rcvinfo))] __aligned(sizeof(long)) = {};
	const struct cmsghdr *cmsg = (const struct cmsghdr *)control;
	const struct sctp_rcvinfo *info = (const struct sctp_rcvinfo *)CMSG_DATA(cmsg);
	struct msghdr msg = {
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	int ret;

	ret = kernel_recvmsg(s->sock, &msg, iov, pieces, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (ret < 0)
		return ret;
	if ((u32)ret != len || !(msg.msg_flags & MSG_EOR) != !last ||
	    (msg.msg_flags & MSG_NOTIFICATION) || cmsg->cmsg_level != IPPROTO_SCTP ||
	    cmsg->cmsg_type != SCTP_RCVINFO)
		return -EPROTO;
	*ppid = ntohl((__force __be32)info->rcv_ppid);
	return 0;
}

/* Receives a whole message: its DDP-SSN, and the rest. Returns as sctp_receive(). */
static int sctp_receive_whole(struct weft_sctp *s, u8 *ssn, struct weft_arrival *to, u32 *ppid)
{
	struct kvec iov[] = {
		{ .iov_base = ssn, .iov_len = WEFT_SSN_LEN },
		{ .iov_base = to->data, .iov_len = to->len },
	};

	return sctp_receive(s, iov, ARRAY_SIZE(iov), WEFT_SSN_LEN + to->len, true, ppid);
}

/*
 * Receives a part of a message: SCTP delivers parts when its buffer is full, and no other
 * message between them. @to is NULL but for the last part, which completes @ssn and @to.
 * Returns as sctp_receive().
 */
static int sctp_receive_part(struct weft_sctp *s, u32 len, u8 *ssn, struct weft_arrival *to,
			     u32 *ppid)
{
	struct kvec iov = { .iov_base = s->parts + s->gathered, .iov_len = len };
	int ret;

	ret = sctp_receive(s, &iov, 1, len, to, ppid);
	if (ret)
		return ret;
	s->gathered += len;
	if (!to)
		return 0;
	memcpy(ssn, s->parts, WEFT_SSN_LEN);
	memcpy(to->data, s->parts + WEFT_SSN_LEN, to->len);
	s->gathered = 0;
	return 0;
}

/*
 * Receives the next message or part into @ssn, its DDP-SSN, and @message, which the caller
 * frees. Returns 1, with a NULL @message for a part that is not the last; 0 if the peer has
 * ended the session; -EAGAIN if SCTP has none; -ENOMEM; or why the association failed.
 */
int weft_sctp_message(struct weft_sctp *s, u8 *ssn, struct weft_arrival **message)
{
	u32 whole, ppid = 0;
	bool last, in_parts;
	int len, ret;

	lockdep_assert_held(&s->lock.mutex);
	*message = NULL;
	len = sctp_next(s, &last);
	if (len <= 0)
		return len;
	whole = s->gathered + len;
	if ((last && whole < WEFT_SSN_LEN) || whole > SCTP_MAX_MESSAGE)
		return -EPROTO;
	in_parts = s->gathered || !last;
	/* Refuse parts of a handshake: an accepted socket is charged to no process yet. */
	if (in_parts && !s->opened)
		return -EPROTO;
	/* Allocated before receiving, because SCTP delivers each byte once. */
	if (in_parts && !s->parts) {
		s->parts = weft_payer_alloc(SCTP_MAX_MESSAGE) ?:
			   __vmalloc(SCTP_MAX_MESSAGE, GFP_KERNEL | __GFP_NOWARN);
		if (!s->parts)
			return -ENOMEM;
	}
	if (last) {
		*message = weft_arrival_new(whole - WEFT_SSN_LEN);
		if (!*message)
			return -ENOMEM;
	}
	if (in_parts)
		ret = sctp_receive_part(s, len, ssn, *message, &ppid);
	else
		ret = sctp_receive_whole(s, ssn, *message, &ppid);
	if (!ret && !*message)
		return 1;
	if (!ret && ppid != WEFT_SCTP_PPID_SEGMENT && ppid != WEFT_SCTP_PPID_CONTROL)
		ret = -EPROTO;
	if (ret) {
		kfree(*message);
		*message = NULL;
		return ret;
	}
	(*message)->control = ppid == WEFT_SCTP_PPID_CONTROL;
	return 1;
}
