/* SPDX-License-Identifier: GPL-2.0 */
/* The RDMA device that lies on one Ethernet device, and its limits. */
#ifndef WEFT_DEVICE_H
#define WEFT_DEVICE_H

#include <linux/completion.h>
#include <linux/hashtable.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "base/counters.h"
#include "base/settings.h"

struct weft_lane;
struct weft_llp_class;
struct weft_mr;
struct weft_transport;

/* --- limits, and the names by which a refusal is traced --- */

/* Users can reach each of these: NVMe's host takes 128 regions for each of its queues. */
#define WEFT_MAX_QP		65536
#define WEFT_MAX_CQ		65536
#define WEFT_MAX_MR		0x100000
#define WEFT_MAX_MW		65536
#define WEFT_MAX_PD		65536
#define WEFT_MAX_SRQ		65536
#define WEFT_MAX_QP_WR		16384
#define WEFT_MAX_SRQ_WR		65536
#define WEFT_MAX_CQE		0x100000
#define WEFT_MAX_FAST_BLOCKS	4096 /* of a fast registration */
#define WEFT_MAX_RD_ATOM	128
#define WEFT_MAX_MSG		0x80000000U

/* Limits whose refusals share an errno value, so that only the trace tells them apart. */
enum weft_limit {
	WEFT_LIMIT_QP,
	WEFT_LIMIT_QP_WR,
	WEFT_LIMIT_SGE,
	WEFT_LIMIT_INLINE,
	WEFT_LIMIT_CQ,
	WEFT_LIMIT_CQE,
	WEFT_LIMIT_MR,
	WEFT_LIMIT_MW,
	WEFT_LIMIT_PD,
	WEFT_LIMIT_SRQ,
	WEFT_LIMIT_SRQ_WR,
	WEFT_LIMIT_FAST_BLOCKS,
	WEFT_LIMIT_RD_ATOM,
};

/* --- the device --- */

/* Bits of the hash by which `rdma res show` finds one of thousands of connections. */
#define WEFT_CONN_HASH_BITS	8

/* Far above the limit of regions and windows, so that a freed key is not reused soon. */
#define WEFT_LAST_KEY		0xffffff

#define WEFT_MAX_TRANSPORTS	8

/*
 * The transports of a device; see llp/transport.h. Under transports_lock.
 */
struct weft_transports {
	const struct weft_transport *chosen; /* by the operator */
	/* All that the device has ever used, and then NULL */
	const struct weft_transport *used[WEFT_MAX_TRANSPORTS];
};

/**
 * struct weft_qp_entry - a queue pair in the device's table
 * @ib: the queue pair; users other than its owner need a reference to look at it
 * @refs: of the table (until destroy), iw_cm, a connection, a loan and a doorbell; destroy waits
 *	on @gone for the last. Queued work has none, because destroy ends it after that wait
 * @gone: completed by the last put
 * @promised: references that iw_cm's lookups took and iw_cm has not asked for yet (struct
 *	weft_promise), under the queue pair's @lock
 * @rcu: frees the entry when no late lookup reads @refs any more
 *
 * The entry outlives the queue pair, which the RDMA core frees as soon as destroy returns: a late
 * lookup finds no reference left. Otherwise each destroy would have to wait for a grace period, and
 * a process could interrupt all processors at will.
 */
struct weft_qp_entry {
	struct ib_qp *ib;
	struct kref refs;
	struct completion gone;
	struct hlist_head promised;
	struct rcu_head rcu;
};

/* One RDMA device. */
struct weft_device {
	struct ib_device ib; /* the RDMA core's part; the core allocates and frees it */
	struct list_head entry; /* in the list of devices, under its lock */
	/* The Ethernet device below; a reference while @ib is registered */
	struct net_device *netdev;
	/*
	 * Queue pairs (struct weft_qp_entry) by number, changed under the array's lock. Lookups are
	 * under RCU and take a reference, but in polling, because the consumer keeps the queue pair
	 */
	struct xarray qps;
	u32 next_qpn; /* where the next search for a free number begins */
	struct xarray mrs; /* memory regions and windows by STag index (STag >> 8), as @qps */
	struct weft_mr *local; /* the region of lkey 0 */
	struct weft_transports transports; /* the transports of its connections */
	struct weft_settings settings; /* the operator's settings */
	bool active; /* the last reported state of its port; once registered, under the rtnl lock */
	/* The last task that enabled the device; a reference, which is only compared */
	struct pid *enabler;
	struct weft_counters __percpu *counters; /* each processor's share of the counters */
	struct weft_tallies tallies; /* the counters of queue pairs */
	struct list_head conns; /* every connection, under @conns_lock */
	/* Connections by rdma_cm's identifier, under @conns_lock */
	DECLARE_HASHTABLE(conns_by_cm, WEFT_CONN_HASH_BITS);
	/* Listeners in use by rdma_cm's identifier, under weft_listen_lock */
	DECLARE_HASHTABLE(listeners_by_cm, WEFT_CONN_HASH_BITS);
	struct weft_lane *lane; /* serves connections of kernel consumers. A reference */
	spinlock_t conns_lock; /* protects @conns and @conns_by_cm; process context only */
	atomic_t num_pd; /* objects in use, to enforce the limits */
	atomic_t num_cq; /* see @num_pd */
	atomic_t num_qp; /* see @num_pd */
	atomic_t num_srq; /* see @num_pd */
	atomic_t next_srq; /* number of the last shared receive queue */
	atomic_t num_mr; /* see @num_pd */
	atomic_t num_mw; /* see @num_pd */
};

static inline struct weft_device *to_weft_device(struct ib_device *ib)
{
	return container_of(ib, struct weft_device, ib);
}

bool weft_limit_allows(const struct weft_device *dev, enum weft_limit limit, u32 asked);
bool weft_limit_count(const struct weft_device *dev, enum weft_limit limit, atomic_t *number);

/* --- device/device.c --- */

int weft_device_init(void);
void weft_device_exit(void);

#endif /* WEFT_DEVICE_H */
