/* SPDX-License-Identifier: GPL-2.0 */
/* The RDMA device that lies on one Ethernet device. */
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
#include "base/tallies.h"

struct weft_lane;
struct weft_llp_class;
struct weft_mr;
struct weft_transport;

/* Bits of the hash by which `rdma res show` finds one of thousands of connections. */
#define WEFT_CONN_HASH_BITS	8

/* Far above the limit of regions and windows, so that a freed key is not reused soon. */
#define WEFT_LAST_KEY		0xffffff

#define WEFT_MAX_TRANSPORTS	8

/**
 * struct weft_transports - the transports of a device; see llp/transport.h
 * @chosen: by the operator
 * @used: all that the device has ever used, and then NULL
 *
 * Under transports_lock.
 */
struct weft_transports {
	const struct weft_transport *chosen;
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

/**
 * struct weft_device - one RDMA device
 * @ib: the RDMA core's part; the core allocates and frees it
 * @entry: in the list of devices, under its lock
 * @netdev: the Ethernet device below; a reference while @ib is registered
 * @qps: queue pairs (struct weft_qp_entry) by number, changed under the array's lock. Lookups are
 *	under RCU and take a reference, but in polling, because the consumer keeps the queue pair
 * @next_qpn: where the next search for a free number begins
 * @mrs: memory regions and windows by STag index (STag >> 8), as @qps
 * @local: the region of lkey 0
 * @transports: the transports of its connections
 * @settings: the operator's settings
 * @active: the last reported state of its port; once registered, under the rtnl lock
 * @enabler: the last task that enabled the device; a reference, which is only compared
 * @counters: each processor's share of the counters
 * @tallies: the counters of queue pairs
 * @conns: every connection, under @conns_lock
 * @conns_by_cm: connections by rdma_cm's identifier, under @conns_lock
 * @listeners_by_cm: listeners in use by rdma_cm's identifier, under weft_listen_lock
 * @lane: serves connections of kernel consumers. A reference
 * @conns_lock: protects @conns and @conns_by_cm; process context only
 * @num_pd: objects in use, to enforce the limits
 * @num_cq: see @num_pd
 * @num_qp: see @num_pd
 * @num_srq: see @num_pd
 * @next_srq: number of the last shared receive queue
 * @num_mr: see @num_pd
 * @num_mw: see @num_pd
 */
struct weft_device {
	struct ib_device ib;
	struct list_head entry;
	struct net_device *netdev;
	struct xarray qps;
	u32 next_qpn;
	struct xarray mrs;
	struct weft_mr *local;
	struct weft_transports transports;
	struct weft_settings settings;
	bool active;
	struct pid *enabler;
	struct weft_counters __percpu *counters;
	struct weft_tallies tallies;
	struct list_head conns;
	DECLARE_HASHTABLE(conns_by_cm, WEFT_CONN_HASH_BITS);
	DECLARE_HASHTABLE(listeners_by_cm, WEFT_CONN_HASH_BITS);
	struct weft_lane *lane;
	spinlock_t conns_lock; /* of conns, conns_by_cm */
	atomic_t num_pd;
	atomic_t num_cq;
	atomic_t num_qp;
	atomic_t num_srq;
	atomic_t next_srq;
	atomic_t num_mr;
	atomic_t num_mw;
};

static inline struct weft_device *to_weft_device(struct ib_device *ib)
{
	return container_of(ib, struct weft_device, ib);
}

/* Is this task making the device known? Also true later, for a task that moved its namespace. */
static inline bool weft_device_enabling(const struct weft_device *dev)
{
	return READ_ONCE(dev->enabler) == task_pid(current);
}

int weft_device_create(const char *name, struct net_device *netdev);
int weft_device_init(void);
void weft_device_exit(void);

#endif /* WEFT_DEVICE_H */
