/* SPDX-License-Identifier: GPL-2.0 */
/*
 * SCTP as a class of lower layers (RFC 5043): one association is one stream, over a one-to-one
 * socket. A user message is a DDP segment behind its DDP-SSN (wire/session.h), sent unordered,
 * so that the receiver places it before its turn (arrivals.h). The wire carries no MPA: the
 * engine lays out FPDUs without CRCs and markers as for TCP, and the sender strips length,
 * padding and trailer. MPA's Request and Reply become session control messages.
 */
#ifndef WEFT_SCTP_H
#define WEFT_SCTP_H

#include <linux/net.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <net/sctp/structs.h>

#include "base/baton.h"
#include "llp/arrivals.h"
#include "llp/class.h"

/*
 * The module's parameters. Each is written on its own, without a lock, and read once by each new
 * connection.
 */
struct weft_sctp_settings {
	/* first and last port that has SCTP whatever a device's transport is; 0: none */
	u32 ports;
	bool multihoming;	/* connections have all addresses of the host */
	bool out_of_order;	/* messages are placed that come before their turn */
};

extern struct weft_sctp_settings weft_sctp_settings;

void weft_sctp_wait(void);
extern const struct weft_llp_class weft_sctp_class;

/*
 * Limit on the memory of messages behind a gap. An honest peer stays below it, because its send
 * buffer keeps every message behind the gap, and is smaller.
 */
#define WEFT_SCTP_MAX_AHEAD	(4U << 20)

/*
 * One association, or a listener. @lock protects all fields but @resumed, @state, @error,
 * @max_rto, @want_space and the names.
 */
struct weft_sctp {
	struct weft_llp llp;	/* the stream, for its owner */
	/* the stream's lock. Taken before the socket lock, which SCTP's own functions take */
	struct weft_baton lock;
	/* entry in the socket's wait queue; each wake-up queues @work */
	struct wait_queue_entry wait;
	/* receives, and calls @llp's owner. Never waits for @lock */
	struct delayed_work work;
	bool resumed;	/* call the owner's readable event even if no message came. Atomic */
	bool listening;	/* a listener */
	bool flowing;	/* the handshake is over; receive segments as well */
	bool closing;	/* SCTP takes no more messages to send */
	u32 max_rto;	/* RTO.Max while the association is open, in ms. For the owner alone */
	/* the peer's verification tag; another tag means that another program answers */
	u32 peer_tag;
	enum weft_llp_state state;	/* the connection's state for the owner. Read by anyone */
	/* why the association failed, a negative errno value; 0: not yet, or already reported */
	int error;
	bool shut;	/* this end has ended the session */
	bool ended;	/* no message will come but those in @arrivals */
	bool dropping;	/* drop every message that comes */
	bool want_space;	/* a send found no room. Read by anyone */
	bool opened;	/* the peer's handshake, its first message, has come */
	/* SCTP may still hold messages, because @arrivals was full or the budget spent */
	bool more;
	u16 tx_ssn;	/* DDP-SSN of the next message to send */
	struct weft_arrivals arrivals;	/* received messages that the engine has not taken */
	/* the peer's handshake as an MPA frame, until it is read; NULL: none */
	struct weft_arrival *frame;
	u32 taken;	/* bytes read of @frame */
	/* room for the longest message, for partial delivery by SCTP; NULL: none yet */
	u8 *parts;
	u32 gathered;	/* bytes in @parts */
	bool named;	/* @local and @remote are valid; set once, after them */
	struct sockaddr_storage local;	/* this end's address */
	struct sockaddr_storage remote;	/* the peer's address of the handshake */
};

static inline struct weft_sctp *to_weft_sctp(const struct weft_llp *llp)
{
	return container_of(llp, struct weft_sctp, llp);
}

/*
 * Starts the work, now even if a retry waits for its time. Work that is queued keeps its place:
 * mod_delayed_work() would move it behind all other, at each packet and each release of the lock.
 * Any context.
 */
static inline void weft_sctp_start(struct weft_sctp *s)
{
	if (!queue_delayed_work(weft_workqueue, &s->work, 0) && timer_pending(&s->work.timer))
		mod_delayed_work(weft_workqueue, &s->work, 0);
}

static inline struct sock *weft_sctp_sk(const struct weft_sctp *s)
{
	return s->llp.sock->sk;
}

/* Returns the socket's association, or NULL. */
static inline struct sctp_association *weft_sctp_association(const struct weft_sctp *s)
{
	struct sock *sk = weft_sctp_sk(s);

	sock_owned_by_me(sk);
	return list_first_entry_or_null(&sctp_sk(sk)->ep->asocs, struct sctp_association, asocs);
}

/* --- message.c, receive.c --- */

void weft_sctp_look_around(struct weft_sctp *s);
void weft_sctp_drop(struct weft_sctp *s);
void weft_sctp_progress(struct weft_sctp *s);
int weft_sctp_message(struct weft_sctp *s, u8 *ssn, struct weft_arrival **message);
int weft_sctp_control(struct weft_sctp *s, const u8 *message, u32 len);
int weft_sctp_take(struct weft_sctp *s, u8 *buf, u32 len);
int weft_sctp_give(struct weft_sctp *s, const u8 *from, u32 len, bool more);

/* struct weft_llp_flow */
void weft_sctp_lock(struct weft_llp *llp);
void weft_sctp_unlock(struct weft_llp *llp);
void weft_sctp_assert_locked(const struct weft_llp *llp);
void weft_sctp_resume(struct weft_llp *llp);
u32 weft_sctp_emss(struct weft_llp *llp);
bool weft_sctp_want_space(struct weft_llp *llp);
int weft_sctp_send_page(struct weft_llp *llp, struct page *page, u32 offset, u32 len, bool more);
bool weft_sctp_unsent(struct weft_llp *llp);
enum weft_llp_end weft_sctp_end(struct weft_llp *llp);
void weft_sctp_read(struct weft_llp *llp, weft_llp_actor actor, void *ctx);
void weft_sctp_await(struct weft_llp *llp, u32 bytes);

#endif /* WEFT_SCTP_H */
