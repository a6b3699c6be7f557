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

/*
 * Receives the next message or part into @ssn, its DDP-SSN, and @message, which the caller
 * frees. Returns 1, with a NULL @message for a part that is not the last; 0 if the peer has
 * ended the session; -EAGAIN if SCTP has none; -ENOMEM; or why the association failed.
 */
int weft_sctp_message(struct weft_sctp *s, u8 *ssn, struct weft_arrival **message)
{
	u32 whole, pieces = 1, ppid = 0;
	bool last, in_parts;
	struct kvec iov[2];
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
	/* SCTP delivers parts when its buffer is full, and no other message between them. */
	if (in_parts) {
		iov[0] = (struct kvec){ .iov_base = s->parts + s->gathered, .iov_len = len };
	} else {
		iov[0] = (struct kvec){ .iov_base = ssn, .iov_len = WEFT_SSN_LEN };
		iov[1] = (struct kvec){ .iov_base = (*message)->data, .iov_len = (*message)->len };
		pieces = 2;
	}
	ret = sctp_receive(s, iov, pieces, len, last, &ppid);
	if (!ret && in_parts)
		s->gathered = whole;
	if (!ret && in_parts && last) {
		memcpy(ssn, s->parts, WEFT_SSN_LEN);
		memcpy((*message)->data, s->parts + WEFT_SSN_LEN, (*message)->len);
		s->gathered = 0;
	}
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

/* Sends FPDUs, each of which is whole in @from. Returns as @send_page. */
int weft_sctp_give(struct weft_sctp *s, const u8 *from, u32 len, bool more)
{
	u8 ssn[WEFT_SSN_LEN];
	struct kvec iov[] = { { .iov_base = ssn, .iov_len = sizeof(ssn) }, {} };
	u32 at = 0, next, ulpdu_len;
	int ret;

	lockdep_assert_held(&s->lock.mutex);
	for (; at < len; at = next) {
		struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };

		ulpdu_len = get_unaligned_be16(from + at);
		next = at + weft_fpdu_len(ulpdu_len);
		if (WARN_ON_ONCE(next > len))
			return -EIO;
		if (more || next < len)
			msg.msg_flags |= MSG_MORE;
		/* The ULPDU is the message, behind its number. */
		iov[1].iov_base = (void *)(from + at + WEFT_MPA_LEN);
		iov[1].iov_len = ulpdu_len;
		put_unaligned_be16(s->tx_ssn, ssn);
		ret = kernel_sendmsg(s->llp.sock, &msg, iov, 2, sizeof(ssn) + ulpdu_len);
		if (ret < 0) {
			ret = sctp_send_error(s, ret);
			return at ? (int)at : ret;
		}
		s->tx_ssn++;
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
