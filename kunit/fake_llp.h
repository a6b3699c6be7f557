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

/* What a stream does. */
struct fake_script {
	u32 emss;	/* its segment size, a multiple of four */
	u32 train;	/* what its largest packet buffer holds; rounded down to whole segments */
	u32 window;	/* bytes that it takes before some have left */
	u32 bite;	/* bytes that it takes at once, at most; 0: any */
	u32 cut;	/* bytes of a packet buffer that arrives, at most; 0: as it was sent */
	u32 hold;	/* bytes that it holds unread; what is more stays with the sender */
	bool fills; /* a later send fills up the last packet buffer, as while a window is closed */
	bool lends;	/* it takes pages that are lent */
	bool copies;	/* it copies these on the way, as where packets do not leave the machine */
	bool softirq;	/* its owner is told in a softirq, as by a card */
	bool keeps;	/* what has left is kept, as before it is acknowledged, until fake_ack() */
	bool mute;	/* a connection is not made: the peer never answers */
	bool stuck;	/* nothing leaves, and nobody is told: the link is down */
	u32 cwnd;	/* bytes that it sends before one is acknowledged */
	u32 rtt_us;	/* how long that takes */
	/* Its retransmission timeout, in jiffies; no path stalls unasked by default. */
	u32 rto;
};

/* A call of the module's that a test holds up. */
struct fake_hold {
	struct completion reached;	/* the call has come */
	struct completion released;	/* it may go on */
};

/* Errors that functions of the class return, each 0 or a negative errno value. */
struct fake_faults {
	int open;	/* of @open */
	int bind;	/* of @bind, once */
	int listen;	/* of @listen */
	int accept;	/* of @accept, once */
	int connect;	/* of @connect */
	int refused;	/* how a connection that nobody listens for fails */
	int charge;	/* of @charge and @charge_like */
	int send;	/* of @send, once */
	struct fake_hold *hold_accept;	/* @accept is held up, once; NULL: it is not */
	struct fake_hold *hold_close;	/* the same of a listener's @close */
};

/* One end of a stream, or a listener. */
struct fake {
	struct weft_llp llp;	/* as all know it */
	struct list_head entry;	/* in the list of all */
	struct mutex lock;	/* the stream's lock, of all below but what is marked otherwise */
	struct fake_script script;	/* what it does */
	struct net *net;	/* its namespace, without a reference */
	/* the other end; NULL: a test, or nobody any more. Under the list's lock */
	struct fake *peer;
	bool joined;	/* it had a peer other than a test. Under the list's lock */
	enum weft_llp_state state;	/* what @state of its class says */
	int error;	/* what @error of the class says, once */
	struct sockaddr_storage local;	/* its address */
	struct sockaddr_storage remote;	/* the peer's */
	struct sk_buff_head out;	/* what it was given */
	u32 left;	/* bytes of the first of @out that have left */
	u32 unsent;	/* bytes of @out that have not */
	u32 sent;	/* bytes that ever left */
	struct sk_buff_head kept;	/* what has left and is kept */
	struct sk_buff_head in;	/* what has arrived */
	u32 taken;	/* bytes of the first of @in that were read */
	u32 unread;	/* bytes of @in that were not */
	u32 lowat;	/* as @await has it */
	u64 arrived;	/* bytes that ever arrived */
	u64 damage;	/* the number of the byte among these, from 1, that is damaged; 0: none */
	bool wants;	/* it tells when there is room */
	bool shut;	/* our direction is ended */
	bool fin;	/* the peer was told of that */
	bool ended;	/* the peer's direction is ended, and all of it is here */
	bool reset;	/* a reset is on its way to the peer */
	bool closed;	/* nobody owns it; what it was given is still delivered */
	bool listens;	/* it is a listener */
	bool resumed;	/* its owner is to be told that it can read, at the next pump. Atomic */
	int backlog;	/* how many may wait for its owner */
	struct list_head queue;	/* those who do, under the list's lock */
	struct list_head queued;	/* its place in that */
	int tos;	/* the type of service; -1: none was set */
	bool v6only;	/* as it was bound */
	/* Called once, when the owner next lets the lock go: TCP receives then what came. */
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

struct fake *fake_open(const struct weft_llp_ops *ops, void *owner);
void fake_join(struct fake *a, struct fake *b);
struct fake *fake_oldest(void);
struct fake *fake_call(struct net *net, const struct sockaddr_storage *from,
		       const struct sockaddr_storage *to);

bool fake_pump(void);
u32 fake_take(struct fake *f, void *to, u32 size);
void fake_feed(struct fake *f, const void *bytes, u32 len);
void fake_fin(struct fake *f);
void fake_die(struct fake *f, int error);
void fake_ack(struct fake *f);

/* --- what streams (fake_llp.c) and their class (fake_class.c) share --- */

/* Of the list of all streams, and of who is whose peer. Taken before a stream's lock. */
extern struct mutex fakes_lock;

/* What a packet buffer of @out has besides its bytes. */
struct fake_mark {
	bool sealed;	/* nothing is added to it */
};

static inline struct fake_mark *fake_mark_of(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct fake_mark) > sizeof(skb->cb));
	return (struct fake_mark *)skb->cb;
}

/* Returns a fault once. */
static inline int fake_once(int *fault)
{
	int ret = *fault;

	*fault = 0;
	return ret;
}

static inline bool fake_full(const struct fake *f)
{
	return f->unread >= f->script.hold;
}

struct fake *fake_new(struct net *net, const struct weft_llp_ops *ops, void *owner);
bool fake_address_taken(const struct fake *f);
void fake_drop_out(struct fake *f);
void fake_tell_readable(struct fake *f);

#endif /* WEFT_KUNIT_FAKE_LLP_H */
