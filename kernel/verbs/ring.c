// SPDX-License-Identifier: GPL-2.0
/* Ring memory: made by the kernel, mapped by user space. */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <rdma/uverbs_ioctl.h>

#include "../compat.h"
#include "ring.h"
#include "ucontext.h"

/**
 * weft_ring_create() - allocate a ring and prepare its mapping
 * @ring: to be filled in
 * @slots: how many slots are needed; rounded up to a power of two
 * @stride: bytes of a slot
 * @udata: the user's request, or NULL for a kernel consumer
 * @map: where to tell the user how to map it; unused without @udata
 *
 * May sleep. On success the caller owns the ring and ends it with
 * weft_ring_destroy().
 *
 * Return: 0 or a negative errno value.
 */
int weft_ring_create(struct weft_ring *ring, u32 slots, u32 stride,
		     struct ib_udata *udata, struct weft_mmap *map)
{
	struct weft_ucontext *context;
	struct weft_mmap_entry *entry;
	size_t bytes;
	int rv;

	ring->size = roundup_pow_of_two(max(slots, 1U));
	ring->stride = stride;
	ring->head = 0;
	ring->entry = NULL;
	bytes = PAGE_ALIGN(WEFT_RING_OFFSET + (size_t)ring->size * stride);
	ring->mem = vmalloc_user(bytes);
	if (!ring->mem)
		return -ENOMEM;
	if (!udata)
		return 0;

	context = rdma_udata_to_drv_context(udata, struct weft_ucontext, ib);
	entry = kzalloc(sizeof(*entry), GFP_KERNEL);
	if (!entry) {
		rv = -ENOMEM;
		goto free_mem;
	}
	entry->mem = ring->mem;
	rv = rdma_user_mmap_entry_insert(&context->ib, &entry->rdma, bytes);
	if (rv)
		goto free_entry;
	ring->entry = &entry->rdma;
	map->offset = rdma_user_mmap_get_offset(&entry->rdma);
	map->length = bytes;
	return 0;

free_entry:
	kfree(entry);
free_mem:
	vfree(ring->mem);
	ring->mem = NULL;
	return rv;
}

/**
 * weft_ring_destroy() - end a ring
 * @ring: may be one that was never created, if zeroed
 *
 * May sleep. A process that still maps the pages keeps them, and can do no
 * harm with them: nobody else looks any more.
 */
void weft_ring_destroy(struct weft_ring *ring)
{
	if (!ring->mem)
		return;
	if (ring->entry)
		rdma_user_mmap_entry_remove(ring->entry); /* frees the memory */
	else
		vfree(ring->mem);
	ring->mem = NULL;
	ring->entry = NULL;
}

/**
 * weft_mmap_free() - the last user of a mapping entry is gone
 * @rdma: the entry
 */
void weft_mmap_free(struct rdma_user_mmap_entry *rdma)
{
	struct weft_mmap_entry *entry =
		container_of(rdma, struct weft_mmap_entry, rdma);

	vfree(entry->mem);
	kfree(entry);
}

/**
 * weft_mmap() - map a ring into a process
 * @context: the process's context
 * @vma: what it wants mapped: offset and length as the creation answered
 *
 * The pages are mapped by reference, so the mapping needs no operations of
 * this module and may outlive it.
 *
 * Return: 0 or a negative errno value.
 */
int weft_mmap(struct ib_ucontext *context, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *rdma;
	struct weft_mmap_entry *entry;
	int rv;

	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	rdma = rdma_user_mmap_entry_get(context, vma);
	if (!rdma)
		return -EINVAL;
	entry = container_of(rdma, struct weft_mmap_entry, rdma);
	rv = remap_vmalloc_range(vma, entry->mem, 0);
	rdma_user_mmap_entry_put(rdma);
	return rv;
}
