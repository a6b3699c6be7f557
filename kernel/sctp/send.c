// SPDX-License-Identifier: GPL-2.0
/*
 * SCTP as a class of lower layers: transmission of FPDUs as user messages, which are numbered
 * in order and sent unordered. llp.h describes the functions of struct weft_llp_flow.
 */
#include <net/sctp/sctp.h>

#include "base/workqueue.h"
#include "sctp/sctp.h"
#include "wire/fpdu.h"
#include "wire/plan.h"
#include "wire/session.h"

/* Limits a message, because SCTP allocates the memory of a whole message at once. */
#define WEFT_SCTP_MAX_EMSS	(16 * 1024U)

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

u32 weft_sctp_train(struct weft_llp *llp, u32 emss)
{
	return emss;
}

u32 weft_sctp_room(struct weft_llp *llp, u32 emss)
{
	return emss;
}

u32 weft_sctp_portion(struct weft_llp *llp, u32 emss, u32 ahead, u32 len)
{
	return len;
}

void weft_sctp_end_segment(struct weft_llp *llp)
{
}

bool weft_sctp_want_space(struct weft_llp *llp)
{
	struct weft_sctp *s = to_weft_sctp(llp);

	/* No room will come; the end of the association makes an event instead. */
	if (s->closing)
		return true;
	WRITE_ONCE(s->want_space, true);
	/*
	 * Store buffering: pairs with the barrier in sctp_wake(). Either this function sees the
	 * room, or the waker sees @want_space.
	 */
	smp_mb();
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
		mod_delayed_work(weft_workqueue, &s->work, 0);
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
	ret = kernel_sendmsg(s->sock, &msg, iov, ARRAY_SIZE(iov), sizeof(ssn) + len);
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
	ret = kernel_sendmsg(s->sock, &msg, &iov, 1, len);
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

int weft_sctp_send_page(struct weft_llp *llp, struct page *page, u32 offset,
			u32 len, bool more)
{
	return weft_sctp_give(to_weft_sctp(llp), page_address(page) + offset, len, more);
}

/* SCTP copies every message. */
bool weft_sctp_may_lend(struct weft_llp *llp)
{
	return false;
}

int weft_sctp_lend(struct weft_llp *llp, struct ubuf_info *ubuf,
		   const struct bio_vec *bv, u32 num, u32 from, u32 len, bool more)
{
	return -EOPNOTSUPP;
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
