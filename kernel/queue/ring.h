/* SPDX-License-Identifier: GPL-2.0 */
/* Rings: memory shared with user space. Layout and ordering rules are in uapi/weft-abi.h. */
#ifndef WEFT_RING_H
#define WEFT_RING_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "uapi/weft-abi.h"

/* Pages that are contiguous in the kernel's addresses. */
struct weft_pages {
	/* Their mapping of the uverbs file; unused for a kernel consumer */
	struct rdma_user_mmap_entry rdma;
	void *mem; /* the first */
	u32 num; /* how many */
	/* Each of them, charged to the memory cgroup of the process that created the ring */
	struct page *page[];
};

/*
 * One ring. A hostile process may write the pages at any time, and keep them mapped (and so
 * allocated) after the ring is destroyed. The lock of the ring's queue protects @head.
 */
struct weft_ring {
	void *mem; /* control block and entries */
	struct weft_pages *pages; /* the pages of @mem */
	struct rdma_user_mmap_entry *entry; /* how user space maps it; NULL for a kernel consumer */
	u32 size; /* number of slots, a power of two */
	u32 stride; /* bytes of a slot */
	u32 head; /* the kernel's own index: next slot to fetch (queues) or to fill (CQ) */
};

int weft_ring_create(struct weft_ring *ring, u32 slots, u32 stride,
		     struct ib_udata *udata, struct weft_mmap *map);
void weft_ring_destroy(struct weft_ring *ring);
int weft_mmap(struct ib_ucontext *context, struct vm_area_struct *vma);
void weft_mmap_free(struct rdma_user_mmap_entry *rdma);

static inline void *weft_ring_slot(const struct weft_ring *ring, u32 index)
{
	return ring->mem + WEFT_RING_OFFSET + (size_t)(index & (ring->size - 1)) * ring->stride;
}

/*
 * Returns how many slots the producer filled beyond @head, or -EINVAL if a hostile producer index
 * exceeds the ring. Without the lock of the ring's queue the answer may be old.
 */
static inline int weft_ring_pending(const struct weft_ring *ring)
{
	const struct weft_wq_ctl *ctl = ring->mem;
	/* Pairs with the store-release of a post: the entries are there. */
	u32 n = smp_load_acquire(&ctl->producer) - READ_ONCE(ring->head);

	return n <= ring->size ? (int)n : -EINVAL;
}

static inline void weft_ring_release(struct weft_ring *ring, u32 index)
{
	struct weft_wq_ctl *ctl = ring->mem;

	/* Pairs with the load-acquire of a post: the slots are read. */
	smp_store_release(&ctl->consumer, index);
}

/*
 * Asks for a doorbell with the next post, or no longer. The word is written only if it changes,
 * because each post reads the cache line. A process that overwrites it harms only itself.
 */
static inline void weft_ring_need_doorbell(struct weft_ring *ring, bool need)
{
	struct weft_wq_ctl *ctl = ring->mem;

	if (READ_ONCE(ctl->need_doorbell) != need)
		WRITE_ONCE(ctl->need_doorbell, need);
	if (need)
		smp_mb(); /* pairs with the fence between producer and need_doorbell in a post */
}

/* Drops the entries that were posted and not fetched. */
static inline void weft_ring_forget(struct weft_ring *ring)
{
	const struct weft_wq_ctl *ctl = ring->mem;

	ring->head = READ_ONCE(ctl->producer);
	weft_ring_release(ring, ring->head);
}

static inline void weft_ring_set_state(struct weft_ring *ring, u32 state)
{
	struct weft_wq_ctl *ctl = ring->mem;

	/* Pairs with the load-acquire of a post: a post that sees RTS sees the peer word. */
	smp_store_release(&ctl->qp_state, state);
}

static inline void weft_ring_set_peer(struct weft_ring *ring, u32 peer)
{
	struct weft_wq_ctl *ctl = ring->mem;

	WRITE_ONCE(ctl->peer, peer);
}

#endif /* WEFT_RING_H */
