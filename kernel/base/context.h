/* SPDX-License-Identifier: GPL-2.0 */
/* The context of a process that opened the device, which owns and pays for its queues. */
#ifndef WEFT_CONTEXT_H
#define WEFT_CONTEXT_H

#include <linux/sched/mm.h>
#include <rdma/ib_verbs.h>

struct weft_lane;

/**
 * struct weft_ucontext - a process that opened the device
 * @ib: what the RDMA core sees
 * @lane: where the connections of its queue pairs are served. A reference
 * @memcg: the memory cgroup of the process when it opened the device, which pays for what
 *	a worker allocates for its queue pairs. A reference, or NULL
 */
struct weft_ucontext {
	struct ib_ucontext ib;
	struct weft_lane *lane;
	struct mem_cgroup *memcg;
};

static inline struct weft_ucontext *to_weft_ucontext(struct ib_ucontext *ib)
{
	return container_of(ib, struct weft_ucontext, ib);
}

/**
 * weft_charge_begin() - charge allocations to a queue pair's owner
 * @owner: the owner's context; NULL: a kernel consumer, for which nothing changes
 *
 * Until weft_charge_end(), a worker's allocations with __GFP_ACCOUNT count against the
 * owner's memory cgroup.
 *
 * Context: process.
 * Return: the argument for weft_charge_end(), in the same context.
 */
static inline struct mem_cgroup *weft_charge_begin(const struct ib_ucontext *owner)
{
	return set_active_memcg(owner ? container_of(owner, struct weft_ucontext, ib)->memcg :
				NULL);
}

/* Undoes the weft_charge_begin() that returned @before. */
static inline void weft_charge_end(struct mem_cgroup *before)
{
	set_active_memcg(before);
}

#endif /* WEFT_CONTEXT_H */
