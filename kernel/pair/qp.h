/* SPDX-License-Identifier: GPL-2.0 */
/* Queue pairs. */
#ifndef WEFT_QP_H
#define WEFT_QP_H

#include <linux/mutex.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "llp/llp.h"
#include "pair/answers.h"
#include "pair/ending.h"
#include "pair/gate.h"
#include "pair/inflight.h"
#include "pair/reads.h"
#include "pair/rx.h"
#include "pair/tx.h"
#include "pair/worker.h"
#include "queue/ring.h"
#include "queue/rq.h"
#include "wire/negotiate.h"

struct weft_cq;
struct weft_device;
struct weft_kernel;
struct weft_lane;
struct weft_qp_user;

/**
 * struct weft_qp_user_ops - events of a queue pair, for the connection that it is bound to
 * @failed: it failed or was moved to ERR, and its Terminate, if any, is sent
 * @closing: it was moved to SQD and its sends are done: close gracefully
 * @peer_closed: the receiver met the end of the stream
 * @unlocked: tx.lock, for which WEFT_WANT_CONN was set, is free
 * @hold: takes a reference, which @serve drops
 * @serve: runs the queue pair and serves the connection's events in the caller's own time,
 *	instead of workers. Process context without locks of Weft's. Returns false if one is
 *	taken or the connection has no queue pair any more: then the caller has to start
 *	the worker
 *
 * All but @serve may be called in any context with or without locks of the data path, so
 * each only notes an event.
 */
struct weft_qp_user_ops {
	void (*failed)(struct weft_qp_user *user);
	void (*closing)(struct weft_qp_user *user);
	void (*peer_closed)(struct weft_qp_user *user);
	void (*unlocked)(struct weft_qp_user *user);
	void (*hold)(struct weft_qp_user *user);
	bool (*serve)(struct weft_qp_user *user);
};

/* A connection, as the queue pair knows it; part of the connection. */
struct weft_qp_user {
	const struct weft_qp_user_ops *ops;
};

/**
 * struct weft_qp - one RC queue pair
 * @ib: what the RDMA core sees; it allocates and frees the whole
 * @dev: its device
 * @entry: its own in the table of numbers, with its references. Ends with it
 * @post_lock: protects the producer's end of @sq, if the kernel is the consumer. Any
 *	context; no lock but a workqueue's or a timer's is taken under it
 * @kernel: what only a queue pair of the kernel's own has; NULL: a process's. Set once
 * @owner: the context of the process that made it and writes its rings, to which memory
 *	is charged; NULL: the kernel. Outlives the queue pair
 * @net_cookie: the network namespace of that process, if there is one
 * @lock: protects @state and @user. Any context; innermost but for the CQ's
 * @state: as ib_query_qp() returns it. The rings have copies, which nobody believes
 * @user: the connection, from the bind until the stream is gone. A reference
 * @llp: the stream while it may be used: set by weft_stream_start(), cleared by
 *	weft_stream_stop(), both under tx.lock and the socket lock. A user of the stream
 *	needs one of the two
 * @agreed: what the handshake settled; valid once @llp was set
 * @initiator: this end opened the connection
 * @dying: it is being destroyed, so the end waits for no peer
 * @last_wqe_told: the owner was told that no more receives are taken. Under tx.lock
 * @sq_sig_all: every send makes a completion
 * @acc: the queue pair as memory knows it: whose keys it uses, and the peer's rights
 * @cap: the capacities granted
 * @scq: completion queue of sends
 * @sq: send ring
 * @own_rq: receives of its own; without a ring if the queue is shared
 * @inflight: work requests fetched from @sq and not completed
 * @reads: reads and atomics in @inflight that the peer has to answer
 * @answers: reads and atomics of the peer that we have to answer
 * @gate: when sending may begin
 * @ending: how the connection ends
 * @worker: sends where a doorbell did not; serves both directions
 * @tx: the transmit side
 * @rx: the receive side
 *
 * @tx is under its own lock, @rx under the socket lock while there is a stream. What both
 * directions share (@inflight to @ending) is under neither: each of its parts has one writer,
 * which the comment above its structure names.
 *
 * Lock order: the connection's lock, tx.lock, socket lock, then one of @lock,
 * @post_lock and rq.lock; the CQ lock innermost. Consumers are called with none of
 * these but the first three held. Who may wait for tx.lock: see base/baton.h.
 */
struct weft_qp {
	struct ib_qp ib;
	struct weft_device *dev;
	struct weft_qp_entry *entry;
	spinlock_t post_lock; /* of sq's producer */
	struct weft_kernel *kernel;
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
	struct weft_rq own_rq;
	struct weft_inflight inflight;
	struct weft_reads reads;
	struct weft_answers answers;
	struct weft_gate gate;
	struct weft_ending ending;
	struct weft_worker worker;
	struct weft_tx tx;
	struct weft_rx rx;
};

static inline struct weft_qp *to_weft_qp(struct ib_qp *ib)
{
	return container_of(ib, struct weft_qp, ib);
}

/*
 * Warns, in kernels that check locks, if the caller does not hold the lock of the receive
 * side of @qp: the socket lock while there is a stream, tx.lock without one.
 */
static inline void weft_qp_assert_locked(const struct weft_qp *qp)
{
	if (!IS_ENABLED(CONFIG_LOCKDEP))
		return;
	if (qp->llp)
		weft_llp_assert_locked(qp->llp);
	else
		lockdep_assert_held(&qp->tx.lock.mutex);
}

/* As weft_qp_assert_locked(), for the queue pair that @rx is part of. */
static inline void weft_rx_assert_locked(const struct weft_rx *rx)
{
	weft_qp_assert_locked(container_of(rx, struct weft_qp, rx));
}

/* Warns likewise without tx.lock of the queue pair that memory knows as @acc. */
static inline void weft_accessor_assert_sends(const struct weft_accessor *acc)
{
	lockdep_assert_held(&container_of(acc, struct weft_qp, acc)->tx.lock.mutex);
}

/* Returns true if the receive queue is not a shared one. */
static inline bool weft_qp_owns_rq(const struct weft_qp *qp)
{
	return qp->rx.rq == &qp->own_rq;
}

/* --- references --- */

/* Returns the lane that serves its connections, valid as long as @qp. Any context. */
struct weft_lane *weft_qp_lane(const struct weft_qp *qp);
/* Finds a queue pair by number and takes a reference, or NULL. Any context. */
struct weft_qp *weft_qp_get_by_num(struct weft_device *dev, unsigned long qpn);
void weft_qp_get(struct weft_qp *qp);
/* Takes a reference unless there is none any more; the memory of @qp is there. Any context. */
bool weft_qp_get_in_use(struct weft_qp *qp);
/* Any context. */
void weft_qp_put(struct weft_qp *qp);

/*
 * Moves the queue pair to ERR because of @term (NULL: no Terminate), and has the transmit
 * side send the Terminate and end the connection. @event goes to the user as an
 * asynchronous event: an enum ib_event_type, or -1 for none. Any context; takes @lock.
 */
void weft_qp_fail(struct weft_qp *qp, const struct weft_term *term,
		  int event);
/* As weft_qp_fail(), because of what the peer sent. */
void weft_qp_fail_for(struct weft_qp *qp, const struct weft_term *term,
		      const struct weft_blame *blame, int event);
/* As weft_qp_fail_for(), but it is the caller who has the queue pair run. */
bool weft_qp_break(struct weft_qp *qp, const struct weft_term *term,
		   const struct weft_blame *blame, int event);

/* Returns the state, without the lock. A reader sees all that was written before it, too. */
static inline enum ib_qp_state weft_qp_state(const struct weft_qp *qp)
{
	return smp_load_acquire(&qp->state); /* pairs with weft_qp_set_state() */
}

/* --- states; see qp.c --- */

void weft_qp_set_state(struct weft_qp *qp, enum ib_qp_state state);
void weft_qp_event(struct weft_qp *qp, int type);

/* --- work requests under way --- */

/* Completes the requests that are done; see weft_inflight_complete(). */
static inline void weft_qp_complete_sends(struct weft_qp *qp)
{
	if (unlikely(!weft_inflight_complete(&qp->inflight, &qp->sq, qp->scq, qp->acc.qpn)))
		weft_qp_fail(qp, NULL, IB_EVENT_QP_FATAL);
}

#endif /* WEFT_QP_H */
