/* SPDX-License-Identifier: GPL-2.0 */
/* The context of a process that opened the device, owns queues and pays for their memory. */
#ifndef WEFT_CONTEXT_H
#define WEFT_CONTEXT_H

#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

struct weft_lane;

/* A process that opened the device. */
struct weft_ucontext {
	struct ib_ucontext ib; /* the RDMA core's part */
	struct weft_lane *lane; /* serves the connections of its queue pairs. A reference */
	/*
	 * The process's memory cgroup when it opened the device, which pays for memory that workers
	 * allocate for its queue pairs. A reference, or NULL
	 */
	struct mem_cgroup *memcg;
};

/*
 * Charges allocations with __GFP_ACCOUNT to the memory cgroup of @owner until weft_charge_end() of
 * the returned value. NULL, a kernel consumer, changes nothing. Not in hard interrupts.
 */
static inline struct mem_cgroup *weft_charge_begin(const struct ib_ucontext *owner)
{
	return set_active_memcg(owner ?
				container_of(owner, const struct weft_ucontext, ib)->memcg : NULL);
}

static inline void weft_charge_end(struct mem_cgroup *before)
{
	set_active_memcg(before);
}

/*
 * Returns flags for memory that the active memory cgroup pays for. A group above memory.high makes
 * an allocating thread sleep for up to two seconds, but a worker has other owners to serve. So a
 * worker allocates atomically, beyond the group's limit if need be; the owner's next allocation is
 * throttled instead. Without memory a worker retries later.
 */
static inline gfp_t weft_payer_gfp(void)
{
	return current->flags & PF_KTHREAD ? GFP_ATOMIC | __GFP_ACCOUNT | __GFP_NOWARN :
					     GFP_KERNEL_ACCOUNT;
}

/*
 * Allocates memory that the active memory cgroup pays for; for kfree(), or NULL. A worker that gets
 * none, because free memory is fragmented, takes memory that nobody pays for. An owner cannot
 * provoke that, because its group's limit refuses no worker. May sleep.
 */
static inline void *weft_payer_alloc(size_t size)
{
	void *mem = kmalloc(size, weft_payer_gfp() | __GFP_NOWARN);

	if (!mem && current->flags & PF_KTHREAD)
		mem = kmalloc(size, GFP_KERNEL | __GFP_NOWARN);
	return mem;
}

/* As weft_payer_gfp(), between weft_charge_begin(@owner) and weft_charge_end(). */
static inline gfp_t weft_charge_gfp(const struct ib_ucontext *owner)
{
	return owner ? weft_payer_gfp() : GFP_KERNEL;
}

/* As weft_payer_alloc(), for a zeroed table of @owner; NULL: of a kernel consumer. For kvfree(). */
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
