/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A queue pair, as far as both directions and the rooms above share it. Either direction has a
 * structure of its own, which points here; struct weft_engine is the whole.
 */
#ifndef WEFT_QP_H
#define WEFT_QP_H

#include <linux/timer.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "base/baton.h"
#include "llp/llp.h"
#include "memory/mr.h"
#include "pair/ending.h"
#include "pair/gate.h"
#include "pair/inflight.h"
#include "pair/reads.h"
#include "queue/ring.h"
#include "queue/rq.h"
#include "wire/mpa.h"

struct weft_consumer;
struct weft_cq;
struct weft_device;
struct weft_qp_user;

/* Events of a queue pair, for the connection that it is bound to. */
enum weft_qp_event {
	WEFT_QP_FAILED,		/* it failed or was moved to ERR; its Terminate, if any, is sent */
	WEFT_QP_CLOSING,	/* it was moved to SQD and its sends are done: close gracefully */
	WEFT_QP_CHANGED,	/* the state of the stream has changed */
	WEFT_QP_PEER_CLOSED,	/* the receive side met the end of the stream */
};

/**
 * struct weft_qp_user_ops - calls of a queue pair to its connection
 * @post: an event
 * @unlocked: tx_lock, for which WEFT_WANT_CONN was set, is free
 * @hold: takes a reference, which @serve drops
 * @serve: runs the queue pair and serves the connection's events in the caller's own time. Process
 *	context without locks of Weft's. Returns false if a lock is taken or the connection has lost
 *	its queue pair: then the caller starts the worker
 *
 * All but @serve only note an event, because the data path calls them in any context, with its
 * locks.
 */
struct weft_qp_user_ops {
	void (*post)(struct weft_qp_user *user, enum weft_qp_event event);
	void (*unlocked)(struct weft_qp_user *user);
	void (*hold)(struct weft_qp_user *user);
	bool (*serve)(struct weft_qp_user *user);
};

/* A connection, as the queue pair knows it; part of the connection. */
struct weft_qp_user {
	const struct weft_qp_user_ops *ops;
};

/* The work that tries tx_lock; see weft_baton_try(). */
enum weft_want {
	WEFT_WANT_TX,		/* the worker */
	WEFT_WANT_CONN,		/* the connection's lane */
};

/**
 * struct weft_worker - the worker of a queue pair
 * @ended: weft_qp_unlock() starts no work any more. Under tx_lock
 * @work: sends if a doorbell did not, and answers the peer
 * @near: the same on weft_near_workqueue, for a kernel consumer; otherwise NULL. Set once
 * @timer: starts the worker; see weft_qp_within()
 */
struct weft_worker {
	bool ended;
	struct work_struct work;
	struct work_struct *near;
	struct timer_list timer;
};

/**
 * struct weft_qp - one RC queue pair
 * @ib: the RDMA core's part; the core allocates and frees the whole
 * @dev: its device
 * @tx_lock: taken to lay out and send, before the socket lock; never by the receive side
 * @entry: its entry in the table of numbers, with its references
 * @post_lock: a kernel consumer's end of @sq. Any context; workqueue and timer locks nest in it
 * @consumer: parts of a kernel consumer's queue pair; NULL: a process's. Set once
 * @owner: context of the process that made the queue pair and writes its rings, to which memory is
 *	charged; NULL: the kernel. Outlives the queue pair
 * @net_cookie: network namespace of that process, if any
 * @lock: protects @state and @user. Any context; innermost but for the CQ's
 * @state: as ib_query_qp() returns it. The kernel never trusts the copies in the rings
 * @user: the connection, from the bind until the stream is gone. A reference
 * @llp: the stream while it may be used. weft_engine_start() sets it and weft_engine_stop() clears
 *	it under tx_lock and the socket lock; a user of the stream needs one of the two
 * @agreed: result of the handshake; valid once @llp was set
 * @initiator: this end opened the connection
 * @dying: it is being destroyed, so the end waits for no peer
 * @last_wqe_told: IB_EVENT_QP_LAST_WQE_REACHED was raised. Under tx_lock
 * @sq_sig_all: every send makes a completion
 * @acc: the queue pair as memory/ knows it: its keys, and the peer's rights
 * @cap: the capacities granted
 * @scq: completion queue of sends
 * @sq: send ring
 * @rq: source of receives: @own_rq, or that of a shared receive queue. Set once
 * @own_rq: its own receives; without a ring if it uses a shared queue
 * @inflight: work requests fetched from @sq and not completed
 * @reads: reads and atomics in @inflight that the peer has to answer
 * @peer_reads: reads and atomics of the peer that we have to answer
 * @gate: when sending may begin
 * @ending: how the connection ends
 * @worker: sends if a doorbell did not; serves both directions
 *
 * @inflight to @ending, which both directions share, are under neither lock: see their structures.
 *
 * Lock order: the connection's lock, tx_lock, socket lock, then one of @lock, @post_lock and
 * rq.lock; the CQ lock innermost. Consumers are called with at most the first three held. A worker
 * never waits for tx_lock: see base/baton.h.
 */
struct weft_qp {
	struct ib_qp ib;
	struct weft_device *dev;
	struct weft_baton tx_lock; /* laying out and sending */
	struct weft_qp_entry *entry;
	spinlock_t post_lock; /* of sq's producer */
	struct weft_consumer *consumer;
	const struct ib_ucontext *owner;
	u64 net_cookie;
	spinlock_t lock; /* of state and user */
	enum ib_qp_state state;
	struct weft_qp_user *user;
	struct weft_llp *llp;
	struct weft_mpa_agreed agreed;
	bool initiator;
	bool dying;
	bool last_wqe_told;
	bool sq_sig_all;
	struct weft_accessor acc;
	struct ib_qp_cap cap;
	struct weft_cq *scq;
	struct weft_ring sq;
	struct weft_rq *rq;
	struct weft_rq own_rq;
	struct weft_inflight inflight;
	struct weft_reads reads;
	struct weft_peer_reads peer_reads;
	struct weft_gate gate;
	struct weft_ending ending;
	struct weft_worker worker;
};

/*
 * Reads a word that the data path writes meanwhile, under locks that are not taken here. Any value
 * that the word had is good enough to show.
 */
#define weft_glance(value)	data_race(READ_ONCE(value))

static inline struct weft_qp *to_weft_qp(struct ib_qp *ib)
{
	return container_of(ib, struct weft_qp, ib);
}

/* Asserts the receive side's lock: the socket lock while there is a stream, otherwise tx_lock. */
static inline void weft_qp_assert_locked(const struct weft_qp *qp)
{
	if (!IS_ENABLED(CONFIG_LOCKDEP))
		return;
	if (qp->llp)
		weft_llp_assert_locked(qp->llp);
	else
		lockdep_assert_held(&qp->tx_lock.mutex);
}

static inline bool weft_qp_owns_rq(const struct weft_qp *qp)
{
	return qp->rq == &qp->own_rq;
}

/* --- the worker --- */

void weft_qp_unlock(struct weft_qp *qp);
void weft_qp_kick(struct weft_qp *qp);
void weft_qp_within(struct weft_qp *qp, unsigned long delay);

/* --- references --- */

/* Finds a queue pair by number and takes a reference, or returns NULL. Any context. */
struct weft_qp *weft_qp_get_by_num(struct weft_device *dev, unsigned long qpn);
void weft_qp_put(struct weft_qp *qp);

/*
 * Moves the queue pair to ERR and starts the worker, which sends a Terminate of @term (NULL: none)
 * and ends the connection. The user gets @event, an enum ib_event_type; -1: none. Any context.
 */
void weft_qp_fail(struct weft_qp *qp, const struct weft_term *term,
		  int event);
/* As weft_qp_fail(), for a segment of the peer, which the Terminate shows. */
void weft_qp_fail_for(struct weft_qp *qp, const struct weft_term *term,
		      const struct weft_blame *blame, int event);
/* As weft_qp_fail_for(), but if this returns true, the caller starts the worker. */
bool weft_qp_break(struct weft_qp *qp, const struct weft_term *term,
		   const struct weft_blame *blame, int event);

/* A reader without the lock sees all that was written before the state. */
static inline enum ib_qp_state weft_qp_state(const struct weft_qp *qp)
{
	return smp_load_acquire(&qp->state); /* pairs with weft_qp_set_state() */
}

/* --- states; see qp.c --- */

void weft_qp_set_state(struct weft_qp *qp, enum ib_qp_state state);
void weft_qp_event(struct weft_qp *qp, int type);

static inline void weft_qp_complete_sends(struct weft_qp *qp)
{
	if (unlikely(!weft_inflight_complete(&qp->inflight, &qp->sq, qp->scq, qp->acc.qpn)))
		weft_qp_fail(qp, NULL, IB_EVENT_QP_FATAL);
}

#endif /* WEFT_QP_H */
