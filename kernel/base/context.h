/* SPDX-License-Identifier: GPL-2.0 */
/* The context of a process that opened the device, which owns and pays for its queues. */
#ifndef WEFT_CONTEXT_H
#define WEFT_CONTEXT_H

#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
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
 * Until weft_charge_end(), allocations with __GFP_ACCOUNT of a worker or a softirq count against
 * the owner's memory cgroup.
 *
 * Context: any but hard interrupts.
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

/**
 * weft_payer_gfp() - flags of an allocation that the active memory cgroup pays for
 *
 * A worker serves others as well, and a memory cgroup that is over memory.high puts a thread that
 * allocates for it to sleep for up to two seconds. So a worker waits for no memory of an owner's:
 * it gets what there is, beyond the group's limit too, for which the owner's own next allocation
 * pays.
 *
 * Context: process.
 * Return: the flags. Without __GFP_DIRECT_RECLAIM among them a caller without memory tries again
 * later, since others may let some go.
 */
static inline gfp_t weft_payer_gfp(void)
{
	return current->flags & PF_KTHREAD ? GFP_ATOMIC | __GFP_ACCOUNT | __GFP_NOWARN :
					     GFP_KERNEL_ACCOUNT;
}

/**
 * weft_payer_alloc() - allocate memory that the active memory cgroup pays for
 * @size: bytes
 *
 * A worker that gets none at once, as where free memory is in small pieces, gets some that nobody
 * pays for. An owner cannot bring that about, because its group's limit refuses no worker.
 *
 * Context: process, may sleep, but not for a memory cgroup if the caller is a worker.
 * Return: memory for kfree(), or NULL.
 */
static inline void *weft_payer_alloc(size_t size)
{
	void *mem = kmalloc(size, weft_payer_gfp() | __GFP_NOWARN);

	if (!mem && current->flags & PF_KTHREAD)
		mem = kmalloc(size, GFP_KERNEL | __GFP_NOWARN);
	return mem;
}

/* As weft_payer_gfp(), between weft_charge_begin(@owner) and its end. */
static inline gfp_t weft_charge_gfp(const struct ib_ucontext *owner)
{
	return owner ? weft_payer_gfp() : GFP_KERNEL;
}

/**
 * weft_charge_zalloc() - allocate a table for a queue pair's owner
 * @owner: as of weft_charge_begin()
 * @n: how many entries
 * @size: bytes of each
 *
 * For a worker without memory as weft_payer_alloc(), rather than that the owner's connection fails.
 *
 * Context: process, may sleep, but not for the owner's memory cgroup if the caller is a worker.
 * Return: zeroed memory for kvfree(), or NULL.
 */
static inline void *weft_charge_zalloc(const struct ib_ucontext *owner, size_t n, size_t size)
{
	struct mem_cgroup *before = weft_charge_begin(owner);
	void *mem = kvcalloc(n, size, weft_charge_gfp(owner));

	weft_charge_end(before);
	if (!mem && owner && current->flags & PF_KTHREAD)
		mem = kvcalloc(n, size, GFP_KERNEL);
	return mem;
}

#endif /* WEFT_CONTEXT_H */
