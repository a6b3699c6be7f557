// SPDX-License-Identifier: GPL-2.0
/*
 * SCTP as a class of lower layers: user messages, received whole or in parts, and FPDUs sent as
 * user messages, which are numbered in order and sent unordered. llp.h describes the functions of
 * struct weft_llp_flow.
 */
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <net/sctp/sctp.h>

#include "base/context.h"
#include "base/baton.h"
#include "sctp/sctp.h"
#include "wire/fpdu.h"
#include "wire/plan.h"
#include "wire/session.h"

#define SCTP_MAX_MESSAGE	(WEFT_SSN_LEN + WEFT_MAX_ULPDU)
/* Limits a message, because SCTP allocates the memory of a whole message at once. */
#define WEFT_SCTP_MAX_EMSS	(16 * 1024U)

/* --- received --- */

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

	ret = kernel_recvmsg(s->llp.sock, &msg, iov, pieces, len, MSG_DONTWAIT | MSG_NOSIGNAL);
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

/* --- sent --- */

/*
 * From the largest message that SCTP does not fragment. A message has the DDP-SSN in place of
 * an FPDU's length, and no trailer.
 */
u32 weft_sctp_emss(struct weft_llp *llp)
{
	struct weft_sctp *s = to_weft_sctp(llp);
	struct sock *sk = weft_sctp_sk(s);
	struct sctp_association *asoc;
	u32 most = 0;

	lock_sock(sk);
	asoc = weft_sctp_association(s);
	if (asoc)
		most = asoc->frag_point + WEFT_CRC_LEN;
	release_sock(sk);
	return clamp(most & ~3U, WEFT_MIN_EMSS, WEFT_SCTP_MAX_EMSS);
}

bool weft_sctp_want_space(struct weft_llp *llp)
{
	struct weft_sctp *s = to_weft_sctp(llp);

	/* No room will come; the end of the association makes an event instead. */
	if (s->closing)
		return true;
	/*
	 * Store buffering: pairs with the barrier in sctp_wake(). Either this function sees the
	 * room, or the waker sees @want_space.
	 */
	smp_store_mb(s->want_space, true);
	if (!sk_stream_is_writeable(weft_sctp_sk(s)))
		return true;
	WRITE_ONCE(s->want_space, false);
	return false;
}

/*
 * Translates an error of a send for the engine. -EAGAIN without memory is retried. If the peer
 * has ended the association, -EAGAIN makes the engine wait as if for room, because it has to
 * read the peer's last messages and the end first.
 */
static int sctp_send_error(struct weft_sctp *s, int error)
{
	switch (error) {
	case -ENOMEM:
	case -ENOBUFS:
		return -EAGAIN;
	case -ESHUTDOWN:
	case -EPIPE:
		s->closing = true;
		weft_sctp_start(s);
		return -EAGAIN;
	default:
		return error;
	}
}

/* Sends the ULPDU of an FPDU as a message. Returns 0 or a negative errno value. */
static int sctp_send_fpdu(struct weft_sctp *s, const u8 *fpdu, bool more)
{
	u32 len = weft_get_be16(fpdu);
	u8 ssn[WEFT_SSN_LEN];
	struct kvec iov[] = {
		{ .iov_base = ssn, .iov_len = sizeof(ssn) },
		{ .iov_base = (void *)(fpdu + WEFT_MPA_LEN), .iov_len = len },
	};
	struct msghdr msg = {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | (more ? MSG_MORE : 0),
	};
	int ret;

	weft_session_put_ssn(ssn, s->tx_ssn);
	ret = kernel_sendmsg(s->llp.sock, &msg, iov, ARRAY_SIZE(iov), sizeof(ssn) + len);
	if (ret < 0)
		return sctp_send_error(s, ret);
	s->tx_ssn++;
	return 0;
}

/* Sends a session control message numbered @s->tx_ssn. Returns 0 or a negative errno value. */
int weft_sctp_control(struct weft_sctp *s, const u8 *message, u32 len)
{
	u8 control[CMSG_SPACE(sizeof(struct sctp_sndinfo))] __aligned(sizeof(long)) = {};
	struct cmsghdr *cmsg = (struct cmsghdr *)control;
	struct sctp_sndinfo *info = (struct sctp_sndinfo *)CMSG_DATA(cmsg);
	struct kvec iov = { .iov_base = (void *)message, .iov_len = len };
	struct msghdr msg = {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	int ret;

	lockdep_assert_held(&s->lock.mutex);
	cmsg->cmsg_level = IPPROTO_SCTP;
	cmsg->cmsg_type = SCTP_SNDINFO;
	cmsg->cmsg_len = CMSG_LEN(sizeof(*info));
	info->snd_flags = SCTP_UNORDERED;
	info->snd_ppid = (__force __u32)htonl(WEFT_SCTP_PPID_CONTROL);
	ret = kernel_sendmsg(s->llp.sock, &msg, &iov, 1, len);
	if (ret < 0)
		return sctp_send_error(s, ret);
	s->tx_ssn++;
	return 0;
}

/* Sends FPDUs, each of which is whole in @from. Returns as weft_llp_send_page(). */
int weft_sctp_give(struct weft_sctp *s, const u8 *from, u32 len, bool more)
{
	u32 at = 0, next;
	int ret;

	lockdep_assert_held(&s->lock.mutex);
	for (; at < len; at = next) {
		next = at + weft_fpdu_len(weft_get_be16(from + at));
		if (WARN_ON_ONCE(next > len))
			return -EIO;
		ret = sctp_send_fpdu(s, from + at, more || next < len);
		if (ret)
			return at ? (int)at : ret;
	}
	return at;
}

int weft_sctp_send_page(struct weft_llp *llp, struct page *page, u32 offset, u32 len, bool more)
{
	return weft_sctp_give(to_weft_sctp(llp), page_address(page) + offset, len, more);
}

/*
 * SCTP delivers the messages that it has taken, unless the peer has ended the association: then
 * nobody reads them.
 */
bool weft_sctp_unsent(struct weft_llp *llp)
{
	const struct weft_sctp *s = to_weft_sctp(llp);

	return READ_ONCE(s->ended) && READ_ONCE(weft_sctp_sk(s)->sk_wmem_queued);
}
