/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A lower layer in memory, which does what a test's script says and nothing by itself.
 *
 * What a stream was given stays with it until fake_pump() carries it to the other end, or
 * a test takes it by fake_take(). Events are told from there alone, or from within a call
 * as TCP does, with softirqs off, so that a receiver that sleeps is found out. Nothing
 * depends on the clock.
 */
#ifndef WEFT_KUNIT_FAKE_LLP_H
#define WEFT_KUNIT_FAKE_LLP_H

#include <linux/completion.h>
#include <linux/mutex.h>
#include <linux/skbuff.h>

#include "llp/llp.h"
#include "llp/transport.h"

/**
 * struct fake_script - what a stream does
 * @emss: its segment size, a multiple of four
 * @train: what its largest packet buffer holds; rounded down to whole segments
 * @window: bytes that it takes before some have left
 * @bite: bytes that it takes at once, at most; 0: any
 * @cut: bytes of a packet buffer that arrives, at most; 0: as it was sent
 * @hold: bytes that it holds unread; what is more stays with the sender
 * @fills: a later send fills up the last packet buffer, as while a window is closed
 * @lends: it takes pages that are lent
 * @copies: it copies these on the way, as where packets do not leave the machine
 * @softirq: its owner is told in a softirq, as by a card
 * @keeps: what has left is kept, as before it is acknowledged, until fake_ack()
 * @mute: a connection is not made: the peer never answers
 * @stuck: nothing leaves, and nobody is told: the link is down
 * @cwnd: bytes that it sends before one is acknowledged
 * @rtt_us: how long that takes
 * @rto: its retransmission timeout, in jiffies. By default longer than a busy machine takes for
 *	a test, so that no path stalls unasked
 */
struct fake_script {
	u32 emss;
	u32 train;
	u32 window;
	u32 bite;
	u32 cut;
	u32 hold;
	bool fills;
	bool lends;
	bool copies;
	bool softirq;
	bool keeps;
	bool mute;
	bool stuck;
	u32 cwnd;
	u32 rtt_us;
	u32 rto;
};

/**
 * struct fake_hold - a call of the module's that a test holds up
 * @reached: the call has come
 * @released: it may go on
 */
struct fake_hold {
	struct completion reached;
	struct completion released;
};

/**
 * struct fake_faults - errors that functions of the class return, each 0 or a negative errno value
 * @open: of @open
 * @bind: of @bind, once
 * @listen: of @listen
 * @accept: of @accept, once
 * @connect: of @connect
 * @refused: how a connection that nobody listens for fails
 * @charge: of @charge and @charge_like
 * @send: of @send, once
 * @hold_accept: @accept is held up, once; NULL: it is not
 */
struct fake_faults {
	int open;
	int bind;
	int listen;
	int accept;
	int connect;
	int refused;
	int charge;
	int send;
	struct fake_hold *hold_accept;
};

/**
 * struct fake - one end of a stream, or a listener
 * @llp: as all know it
 * @entry: in the list of all
 * @lock: the stream's lock, of all below but what is marked otherwise
 * @script: what it does
 * @net: its namespace, without a reference
 * @peer: the other end; NULL: a test, or nobody any more. Under the list's lock
 * @joined: it had a peer other than a test. Under the list's lock
 * @state: what weft_llp_state() says
 * @error: what @error of the class says, once
 * @local: its address
 * @remote: the peer's
 * @out: what it was given
 * @left: bytes of the first of @out that have left
 * @unsent: bytes of @out that have not
 * @sent: bytes that ever left
 * @kept: what has left and is kept
 * @in: what has arrived
 * @taken: bytes of the first of @in that were read
 * @unread: bytes of @in that were not
 * @lowat: as weft_llp_await() has it
 * @arrived: bytes that ever arrived
 * @damage: the number of the byte among these, from 1, that is damaged; 0: none
 * @wants: it tells when there is room
 * @shut: our direction is ended
 * @fin: the peer was told of that
 * @ended: the peer's direction is ended, and all of it is here
 * @reset: a reset is on its way to the peer
 * @closed: nobody owns it; what it was given is still delivered
 * @listens: it is a listener
 * @backlog: how many may wait for its owner
 * @queue: those who do, under the list's lock
 * @queued: its place in that
 * @tos: the type of service; -1: none was set
 * @v6only: as it was bound
 * @keepalive: as it was set
 * @resumed: its owner is to be told that it can read, at the next pump. Atomic
 * @loosed: called once, when the owner next lets the lock go: TCP receives then what
 *	came meanwhile
 */
struct fake {
	struct weft_llp llp;
	struct list_head entry;
	struct mutex lock; /* see above */
	struct fake_script script;
	struct net *net;
	struct fake *peer;
	bool joined;
	enum weft_llp_state state;
	int error;
	struct sockaddr_storage local;
	struct sockaddr_storage remote;
	struct sk_buff_head out;
	u32 left;
	u32 unsent;
	u32 sent;
	struct sk_buff_head kept;
	struct sk_buff_head in;
	u32 taken;
	u32 unread;
	u32 lowat;
	u64 arrived;
	u64 damage;
	bool wants;
	bool shut;
	bool fin;
	bool ended;
	bool reset;
	bool closed;
	bool listens;
	bool resumed;
	int backlog;
	struct list_head queue;
	struct list_head queued;
	int tos;
	bool v6only;
	u32 keepalive;
	void (*loosed)(struct fake *f);
};

/* Called when a stream has been adopted as a path, without its lock; NULL: nobody. */
extern void (*fake_adopted)(struct weft_llp *llp);

static inline struct fake *to_fake(const struct weft_llp *llp)
{
	return container_of(llp, struct fake, llp);
}

extern const struct weft_llp_class fake_class;
extern const struct weft_transport fake_transport;

/* What streams begin with that are opened from here on, and what calls return. */
extern struct fake_script fake_script;
extern struct fake_faults fake_faults;

/* Streams as in an ordinary network: segments of 1448 bytes, and room for plenty. */
void fake_begin(void);
/* Ends all; returns how many streams their owners had not closed. */
u32 fake_end(void);

void fake_hold_init(struct fake_hold *hold);
bool fake_hold_reached(struct fake_hold *hold);
void fake_hold_release(struct fake_hold *hold);

struct fake *fake_open(const struct weft_llp_ops *ops, void *owner);
void fake_join(struct fake *a, struct fake *b);
struct fake *fake_find(u32 index);
struct fake *fake_call(struct net *net, const struct sockaddr_storage *from,
		       const struct sockaddr_storage *to);

bool fake_pump(void);
u32 fake_take(struct fake *f, void *to, u32 size);
void fake_feed(struct fake *f, const void *bytes, u32 len);
void fake_fin(struct fake *f);
void fake_die(struct fake *f, int error);
void fake_ack(struct fake *f);

#endif /* WEFT_KUNIT_FAKE_LLP_H */
