// SPDX-License-Identifier: GPL-2.0
/* Ring memory: made by the kernel, mapped by user space. */
#include <linux/gfp.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <rdma/uverbs_ioctl.h>

#include "base/compat.h"
#include "base/context.h"
#include "queue/ring.h"

/* Frees the pages, except those that a process still maps. NULL is harmless. */
static void pages_free(struct weft_pages *pages)
{
	if (!pages)
		return;
	vunmap(pages->mem);
	while (pages->num)
		__free_page(pages->page[--pages->num]);
	kvfree(pages);
}

/*
 * As vmalloc_user(), but charged to the caller's memory cgroup. At the group's limit this fails,
 * and no process is killed for a queue that is too large.
 */
static struct weft_pages *pages_alloc(size_t bytes)
{
	const gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN;
	u32 num = bytes >> PAGE_SHIFT;
	struct weft_pages *pages;

	pages = kvzalloc(struct_size(pages, page, num), gfp);
	if (!pages)
		return NULL;
	for (; pages->num < num; pages->num++) {
		pages->page[pages->num] = alloc_page(gfp | __GFP_ZERO);
		if (!pages->page[pages->num])
			goto free;
	}
	pages->mem = vmap(pages->page, num, VM_MAP | VM_USERMAP, PAGE_KERNEL);
	if (pages->mem)
		return pages;
free:
	pages_free(pages);
	return NULL;
}

/* @map: result: how the user maps the ring; unused without @udata, for a kernel consumer. */
int weft_ring_create(struct weft_ring *ring, u32 slots, u32 stride,
		     struct ib_udata *udata, struct weft_mmap *map)
{
	struct weft_ucontext *context;
	size_t bytes;
	int ret;

	ring->size = roundup_pow_of_two(max(slots, 1U));
	ring->stride = stride;
	ring->head = 0;
	ring->entry = NULL;
	bytes = PAGE_ALIGN(WEFT_RING_OFFSET + (size_t)ring->size * stride);
	ring->pages = pages_alloc(bytes);
	if (!ring->pages)
		return -ENOMEM;
	ring->mem = ring->pages->mem;
	if (!udata)
		return 0;

	context = rdma_udata_to_drv_context(udata, struct weft_ucontext, ib);
	/* The core sets start_pgoff last; until then another thread's mmap() must not match. */
	ring->pages->rdma.start_pgoff = ULONG_MAX;
	ret = rdma_user_mmap_entry_insert(&context->ib, &ring->pages->rdma, bytes);
	if (ret) {
		pages_free(ring->pages);
		ring->mem = NULL;
		return ret;
	}
	ring->entry = &ring->pages->rdma;
	map->offset = rdma_user_mmap_get_offset(ring->entry);
	map->length = bytes;
	return 0;
}

/*
 * An all-zero ring is harmless. So is a process that still maps the pages, because the kernel does
 * not read them any more.
 */
void weft_ring_destroy(struct weft_ring *ring)
{
	if (!ring->mem)
		return;
	if (ring->entry)
		rdma_user_mmap_entry_remove(ring->entry); /* frees the memory */
	else
		pages_free(ring->pages);
	ring->mem = NULL;
	ring->entry = NULL;
}

void weft_mmap_free(struct rdma_user_mmap_entry *rdma)
{
	pages_free(container_of(rdma, struct weft_pages, rdma));
}

/* Maps the pages by reference, so that the mapping may outlive this module. */
int weft_mmap(struct ib_ucontext *context, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *rdma;
	int ret;

	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	rdma = rdma_user_mmap_entry_get(context, vma);
	if (!rdma)
		return -EINVAL;
	ret = remap_vmalloc_range(vma, container_of(rdma, struct weft_pages, rdma)->mem, 0);
	rdma_user_mmap_entry_put(rdma);
	return ret;
}
