/* SPDX-License-Identifier: GPL-2.0 */
/*
 * SCTP as a class of lower layers (RFC 5043). One association is one stream, over a
 * one-to-one socket.
 *
 * Each DDP segment is a user message, behind the DDP-SSN (wire/session.h), and messages are
 * sent unordered: what comes before its turn is placed at once (arrivals.h). There is no MPA on
 * the wire. This end's engine lays out FPDUs without CRCs and markers all the same, as for TCP;
 * their length, padding and trailer of zeros are left out when they are sent. MPA's Request and
 * Reply become session control messages in the same way.
 */
#ifndef WEFT_LLP_SCTP_H
#define WEFT_LLP_SCTP_H

#include <linux/net.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <net/sctp/structs.h>

#include "base/baton.h"
#include "llp/arrivals.h"
#include "llp/class.h"

extern const struct weft_llp_class weft_sctp_class;

/*
 * The most memory of messages before a gap is closed. An honest peer keeps what it has sent behind
 * the gap, and has less room than this.
 */
#define WEFT_SCTP_MAX_AHEAD	(4U << 20)

/**
 * struct weft_sctp - one association, or a listener
 * @llp: as all know it
 * @sock: the kernel socket, which holds its network namespace
 * @lock: the stream's lock. Taken before the socket lock, which SCTP's own functions take
 * @wait: in the socket's wait queue: what happens to the socket queues @work
 * @work: receives, and tells @llp's owner. Never waits for @lock
 * @resumed: the owner is to be told that it can read, whatever has come. Atomic
 * @listening: a listener
 * @state: what the owner is told. Read by anyone
 * @error: why the association failed, a negative errno value; 0: not yet, or already told
 * @flowing: a queue pair has had the stream, so that more than the handshake is received
 * @peer_tag: the peer's verification tag. Another one is that of another program
 * @shut: this end has ended the session
 * @closing: SCTP takes no more messages to send
 * @ended: no message will come but those in @arrivals
 * @dropping: nobody reads what comes
 * @want_space: a send found no room. Read by anyone
 * @opened: the peer's first message, one of the handshake, has come
 * @more: messages may be left to SCTP, since @arrivals has much or others want a turn
 * @tx_ssn: DDP-SSN of the next message to send
 * @arrivals: messages that have come and were not taken
 * @frame: the peer's frame of the handshake, until it is taken; NULL: none
 * @taken: bytes taken of it
 * @parts: room for the longest message, which SCTP gave the beginning of; NULL: none yet
 * @gathered: bytes there
 * @named: @local and @remote are valid; set once, after them
 * @local: this end's address
 * @remote: the peer's, by which it was reached first
 *
 * All but @resumed, @state, @error, @want_space and the names are protected by @lock.
 */
struct weft_sctp {
	struct weft_llp llp;
	struct socket *sock;
	struct weft_baton lock; /* of the stream */
	struct wait_queue_entry wait;
	struct delayed_work work;
	bool resumed;
	bool listening;
	bool flowing;
	bool closing;
	u32 peer_tag;
	enum weft_llp_state state;
	int error;
	bool shut;
	bool ended;
	bool dropping;
	bool want_space;
	bool opened;
	bool more;
	u16 tx_ssn;
	struct weft_arrivals arrivals;
	struct weft_arrival *frame;
	u32 taken;
	u8 *parts;
	u32 gathered;
	bool named;
	struct sockaddr_storage local;
	struct sockaddr_storage remote;
};

static inline struct weft_sctp *to_weft_sctp(const struct weft_llp *llp)
{
	return container_of(llp, struct weft_sctp, llp);
}

static inline struct sock *weft_sctp_sk(const struct weft_sctp *s)
{
	return s->sock->sk;
}

/* Returns the socket's association, or NULL. With the socket lock held. */
static inline struct sctp_association *weft_sctp_association(const struct weft_sctp *s)
{
	struct sock *sk = weft_sctp_sk(s);

	sock_owned_by_me(sk);
	return list_first_entry_or_null(&sctp_sk(sk)->ep->asocs, struct sctp_association,
					asocs);
}

/* --- sctp_message.c, sctp_rx.c, sctp_tx.c --- */

void weft_sctp_leave(struct weft_sctp *s);
void weft_sctp_look_around(struct weft_sctp *s);
void weft_sctp_drop(struct weft_sctp *s);
void weft_sctp_progress(struct weft_sctp *s);
int weft_sctp_message(struct weft_sctp *s, u8 *ssn, struct weft_arrival **message);
int weft_sctp_control(struct weft_sctp *s, const u8 *message, u32 len);
int weft_sctp_take(struct weft_sctp *s, u8 *buf, u32 len);
int weft_sctp_give(struct weft_sctp *s, const u8 *from, u32 len, bool more);

struct weft_arrivals *weft_sctp_arrivals(struct weft_llp *llp);

/* struct weft_llp_flow */
void weft_sctp_lock(struct weft_llp *llp);
void weft_sctp_unlock(struct weft_llp *llp);
void weft_sctp_assert_locked(const struct weft_llp *llp);
void weft_sctp_resume(struct weft_llp *llp);
u32 weft_sctp_emss(struct weft_llp *llp);
u32 weft_sctp_train(struct weft_llp *llp, u32 emss);
u32 weft_sctp_room(struct weft_llp *llp, u32 emss);
u32 weft_sctp_portion(struct weft_llp *llp, u32 emss, u32 ahead, u32 len);
bool weft_sctp_want_space(struct weft_llp *llp);
void weft_sctp_end_segment(struct weft_llp *llp);
int weft_sctp_send_page(struct weft_llp *llp, struct page *page, u32 offset,
			u32 len, bool more);
bool weft_sctp_may_lend(struct weft_llp *llp);
int weft_sctp_lend(struct weft_llp *llp, struct ubuf_info *ubuf,
		   const struct bio_vec *bv, u32 num, u32 from, u32 len, bool more);
bool weft_sctp_ended(struct weft_llp *llp);
bool weft_sctp_unsent(struct weft_llp *llp);
bool weft_sctp_at_end(struct weft_llp *llp);
void weft_sctp_read(struct weft_llp *llp, weft_llp_actor actor, void *ctx);
void weft_sctp_await(struct weft_llp *llp, u32 bytes);

#endif /* WEFT_LLP_SCTP_H */
