/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory that is scarce when a case says so: for all at once in those files of the module before which
 * kunit/Kbuild has this file included, so that these ask here; or for one allocation of one thread.
 */
#ifndef WEFT_KUNIT_SCARCE_H
#define WEFT_KUNIT_SCARCE_H

#include <linux/gfp.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/xarray.h>

/* What fails. */
struct scarce {
	unsigned int order;	/* pages of this order and above, if @pages */
	bool pages;	/* pages fail */
	bool bytes;	/* kzalloc() fails */
	bool numbers; /* xa_alloc() and xa_alloc_cyclic() fail, which otherwise try a second time */
	u32 refused;	/* how much was */
};

extern struct scarce scarce;

struct page *scarce_pages(gfp_t gfp, unsigned int order);
void *scarce_zalloc(size_t size, gfp_t gfp);
int scarce_number(struct xarray *xa, u32 *id, void *entry, struct xa_limit limit, gfp_t gfp);
int scarce_number_cyclic(struct xarray *xa, u32 *id, void *entry, struct xa_limit limit, u32 *next,
			 gfp_t gfp);

/* Has the @nth allocation of this thread from here on fail, by the kernel's fault injection. */
static inline void scarce_nth(u32 nth)
{
	WRITE_ONCE(current->fail_nth, nth);
}

/* Returns true if one has failed; from here on none does. */
static inline bool scarce_nth_failed(void)
{
	bool failed = !READ_ONCE(current->fail_nth);

	WRITE_ONCE(current->fail_nth, 0);
	return failed;
}

#ifdef WEFT_KUNIT_SCARCE
#undef alloc_pages
#undef alloc_page
#undef kzalloc
#undef xa_alloc
#undef xa_alloc_cyclic
#define alloc_pages(gfp, order) scarce_pages(gfp, order)
#define alloc_page(gfp) scarce_pages(gfp, 0)
#define kzalloc(size, gfp) scarce_zalloc(size, gfp)
#define xa_alloc scarce_number
#define xa_alloc_cyclic scarce_number_cyclic
#endif

#endif /* WEFT_KUNIT_SCARCE_H */
