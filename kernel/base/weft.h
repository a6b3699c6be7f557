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

/* Bits of the hash by which `rdma res show` finds one of thousands of connections. */
#define WEFT_CONN_HASH_BITS	8

/* Far more than there can be regions and windows, so that a key is not soon used again. */
#define WEFT_LAST_KEY		0xffffff

/**
 * struct weft_qp_entry - what the table of queue pairs knows of one
 * @ib: the queue pair; others than its owner need a reference to look at it
 * @refs: held by the table (until destroy), by iw_cm, by a connection, by a loan
 *	and by a doorbell; destroy waits on @gone for the last. Queued work has none:
 *	destroy ends it after that wait
 * @gone: completed by the last put
 * @promised: references that iw_cm's lookups took and iw_cm has still to ask for (struct
 *	weft_promise), under the queue pair's @lock
 * @rcu: frees it when no late lookup reads @refs any more
 *
 * It is not part of the queue pair, which the RDMA core frees as soon as destroy returns: a
 * lookup that comes too late finds that nobody has a reference any more. Else each destroy would
 * have to wait for a grace period, by which a process could interrupt all processors at will.
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
 * @ib: what the RDMA core sees; allocated and freed by it
 * @entry: in the list of devices, under its lock
 * @netdev: the Ethernet device below; a reference is held while @ib is registered
 * @qps: queue pairs (struct weft_qp_entry) by number. A lookup is under RCU and takes a
 *	reference, except in polling, where the consumer keeps the queue pair; changes are
 *	under the array's lock
 * @next_qpn: where the next search for a free number begins
 * @mrs: memory regions and windows by STag index (STag >> 8), as @qps
 * @local: the region that lkey 0 names
 * @llp: the classes of lower layers that its connections are made over, by enum
 *	weft_transport. Fixed
 * @settings: the operator's settings
 * @active: the last state of its port that was reported. Under the rtnl lock once it is
 *	registered
 * @enabler: the task that enables the device, or was the last to; a reference, which is
 *	only compared
 * @counters: each processor's share of the counters
 * @tallies: the counters of queue pairs
 * @conns: every connection, under @conns_lock
 * @conns_by_cm: connections by rdma_cm's name for them, under @conns_lock
 * @listeners_by_cm: listeners that are in use, by rdma_cm's name for them, under
 *	weft_listen_lock
 * @lane: where connections of the kernel's own consumers are served. A reference
 * @conns_lock: protects @conns and @conns_by_cm; taken in process context only
 * @num_pd: objects in use, to enforce the limits
 * @num_cq: see @num_pd
 * @num_qp: see @num_pd
 * @num_srq: see @num_pd
 * @next_srq: the last number a shared receive queue was given
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
	const struct weft_llp_class *llp[WEFT_NUM_TRANSPORTS];
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

/**
 * weft_device_enabling() - is the calling task making the device known?
 * @dev: device
 *
 * Context: process.
 * Return: true if so. Also later, to the task that moved it to another
 * namespace.
 */
static inline bool weft_device_enabling(const struct weft_device *dev)
{
	return READ_ONCE(dev->enabler) == task_pid(current);
}

int weft_device_create(const char *name, struct net_device *netdev);
int weft_device_init(void);
void weft_device_exit(void);

#endif /* WEFT_DEVICE_H */
