/* SPDX-License-Identifier: GPL-2.0 */
/* Queue pairs. */
#ifndef WEFT_QP_H
#define WEFT_QP_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "../rx.h"
#include "../tx.h"
#include "../wire/negotiate.h"
#include "ring.h"
#include "rq.h"

struct weft_conn;
struct weft_cq;
struct weft_device;
struct weft_llp;

/**
 * struct weft_qp - one RC queue pair
 * @ib: what the RDMA core sees; it allocates and frees the whole
 * @dev: its device
 * @refs: held by the number table (until destroy), by iw_cm, by a connection,
 *	by what is lent and by a doorbell; destroy waits on @gone for the last.
 *	Queued work has none: destroy ends it after that
 * @gone: completed by the last put
 * @qpn: number on the device
 * @owner: the context of the process that made it, and writes its rings; NULL:
 *	the kernel. Only ever compared
 * @lock: protects @state, @conn and @llp. Any context; innermost but for the
 *	CQ's
 * @state: as ib_query_qp() tells it; the kernel's word, a copy is published in
 *	the rings
 * @conn: the connection, from the bind until the stream is gone. A reference
 * @llp: the stream while it may be used: set by weft_qp_start(), cleared by
 *	weft_qp_stop()
 * @agreed: what the handshake settled; valid once @llp was set
 * @initiator: this end opened the connection
 * @dying: its owner waits for its end, and for no peer
 * @last_wqe_told: the owner knows that no more receives are taken. Under tx.lock
 * @bound: type 2 memory windows were bound to it; the socket lock's
 * @sq_sig_all: every send makes a completion
 * @access: the peer's rights, enum ib_access_flags; see weft_qp_allows()
 * @cap: the capacities granted
 * @scq: completion queue of sends
 * @rcq: completion queue of receives
 * @post_lock: the producer's end of @sq, where the consumer is the kernel's
 *	own. Any context; no lock but a workqueue's is taken under it
 * @sq: send ring; drained as tx allows
 * @own_rq: receives of its own; no ring with a shared queue
 * @rq: where receives come from: @own_rq or that of ib.srq
 * @tx: the transmit side
 * @rx: the receive side
 *
 * Lock order: tx.lock, socket lock, then one of @lock, @post_lock and rq.lock;
 * the CQ lock innermost. Consumers are called with none of these but tx.lock and
 * the socket lock held.
 */
struct weft_qp {
	struct ib_qp ib;
	struct weft_device *dev;
	struct kref refs;
	struct completion gone;
	u32 qpn;
	const struct ib_ucontext *owner;
	spinlock_t lock; /* of state, conn and llp */
	enum ib_qp_state state;
	struct weft_conn *conn;
	struct weft_llp *llp;
	struct weft_mpa_agreed agreed;
	bool initiator;
	bool dying;
	bool last_wqe_told;
	bool bound;
	bool sq_sig_all;
	int access;
	struct ib_qp_cap cap;
	struct weft_cq *scq;
	struct weft_cq *rcq;
	spinlock_t post_lock; /* of sq's producer */
	struct weft_ring sq;
	struct weft_rq own_rq;
	struct weft_rq *rq;
	struct weft_tx tx;
	struct weft_rx rx;
};

static inline struct weft_qp *to_weft_qp(struct ib_qp *ib)
{
	return container_of(ib, struct weft_qp, ib);
}

/* Whether the peer has these remote rights here, whatever its key allows. Any context. */
static inline bool weft_qp_allows(const struct weft_qp *qp, int access)
{
	return (READ_ONCE(qp->access) & access) == access;
}

/* Whether its receives are its own. */
static inline bool weft_qp_owns_rq(const struct weft_qp *qp)
{
	return qp->rq == &qp->own_rq;
}

/* --- for connections --- */

/* Finds a queue pair by number and takes a reference, or NULL. Any context. */
struct weft_qp *weft_qp_get_by_num(struct weft_device *dev, unsigned long qpn);
void weft_qp_get(struct weft_qp *qp);
/* Any context. */
void weft_qp_put(struct weft_qp *qp);

/*
 * Ties a connection that is being set up to a queue pair in INIT (or RTR):
 * takes over the caller's reference on @conn. 0, or -EINVAL: wrong state or
 * bound already. Until weft_qp_unbind(), moving the queue pair to ERR or
 * destroying it tells the connection by weft_conn_qp_failed(). Process context.
 */
int weft_qp_bind(struct weft_qp *qp, struct weft_conn *conn);

/*
 * The handshake is over: moves the queue pair to RTS and lets data flow over
 * @llp. From here until weft_qp_stop() the connection passes the stream's
 * readable and writable callbacks on to weft_rx_readable() and
 * weft_tx_writable(). 0, or -EINVAL if it is no longer in the bound state
 * (the user moved it to ERR). Process context; takes the socket lock.
 */
int weft_qp_start(struct weft_qp *qp, struct weft_llp *llp,
		  const struct weft_mpa_agreed *agreed, bool initiator);

/*
 * Takes a bound queue pair off its stream, before that is closed: moves it to
 * ERR if it is not yet, waits until neither transmit nor receive side uses the
 * stream, and completes all work in error. Process context; may sleep. Harmless
 * when repeated. False: pages are still lent, and the work is completed when
 * they are back, which the caller has to hasten by resetting the stream.
 */
bool weft_qp_stop(struct weft_qp *qp);

/*
 * Ends the binding of a queue pair that was stopped: it may be bound again. The
 * caller gets the reference on the connection back. Process context.
 */
void weft_qp_unbind(struct weft_qp *qp);

/* --- for transmit and receive --- */

/*
 * Moves the queue pair to ERR because of @term (NULL: nothing to tell the
 * peer), and has the transmit side send the Terminate and end the connection.
 * @event goes to the user as an asynchronous event: an enum ib_event_type, or -1 for none.
 * Any context; takes @lock.
 */
void weft_qp_fail(struct weft_qp *qp, const struct weft_term *term,
		  int event);

/* The state as seen without the lock; what was written before it is seen too. */
static inline enum ib_qp_state weft_qp_state(const struct weft_qp *qp)
{
	return smp_load_acquire(&qp->state); /* pairs with weft_qp_set_state() */
}

/*
 * Completes everything posted in error. The queue pair is in ERR and has no
 * stream; the caller holds tx.lock. False: pages are still lent, and the worker
 * does it when they are back.
 */
bool weft_qp_flush(struct weft_qp *qp);

/* Verbs. */
int weft_create_qp(struct ib_qp *ib, struct ib_qp_init_attr *attr,
		   struct ib_udata *udata);
int weft_modify_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		   struct ib_udata *udata);
int weft_query_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init);
int weft_destroy_qp(struct ib_qp *ib, struct ib_udata *udata);

/* iw_cm operations. */
void weft_iw_add_ref(struct ib_qp *ib);
void weft_iw_rem_ref(struct ib_qp *ib);
struct ib_qp *weft_iw_get_qp(struct ib_device *ib, int qpn);

#endif /* WEFT_QP_H */
