/* SPDX-License-Identifier: GPL-2.0 */
/* A process that opened the device: whose queues these are, and who pays for them. */
#ifndef WEFT_CONTEXT_H
#define WEFT_CONTEXT_H

#include <linux/sched/mm.h>
#include <rdma/ib_verbs.h>

struct weft_lane;

/**
 * struct weft_ucontext - a process that opened the device
 * @ib: what the RDMA core sees
 * @lane: where the connections of its queue pairs are served. A reference
 * @memcg: the memory cgroup it was in then, which pays for what its queue pairs
 *	have a worker allocate; a reference, or NULL
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
 * weft_charge_begin() - have allocations paid for by a queue pair's owner
 * @owner: the owner's context; NULL: a kernel consumer, for whom nothing changes
 *
 * What is allocated with __GFP_ACCOUNT until weft_charge_end() counts against the
 * owner's memory cgroup, whichever worker it is that allocates. Process context.
 *
 * Return: what to give to weft_charge_end(), in the same context.
 */
static inline struct mem_cgroup *weft_charge_begin(const struct ib_ucontext *owner)
{
	return set_active_memcg(owner ? container_of(owner, struct weft_ucontext, ib)->memcg :
				NULL);
}

/* Allocations count as they did before weft_charge_begin() returned @before. */
static inline void weft_charge_end(struct mem_cgroup *before)
{
	set_active_memcg(before);
}

#endif /* WEFT_CONTEXT_H */
