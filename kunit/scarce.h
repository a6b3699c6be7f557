/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory that is scarce when a case says so. kunit/Kbuild has this file included before those
 * files of the module that must do without memory, so that these ask here.
 */
#ifndef WEFT_KUNIT_SCARCE_H
#define WEFT_KUNIT_SCARCE_H

#include <linux/gfp.h>
#include <linux/slab.h>

/**
 * struct scarce - what fails
 * @order: pages of this order and above, if @pages
 * @pages: pages fail
 * @bytes: kzalloc() fails
 * @refused: how much was
 */
struct scarce {
	unsigned int order;
	bool pages;
	bool bytes;
	u32 refused;
};

extern struct scarce scarce;

struct page *scarce_pages(gfp_t gfp, unsigned int order);
void *scarce_zalloc(size_t size, gfp_t gfp);

#ifdef WEFT_KUNIT_SCARCE
#undef alloc_pages
#undef alloc_page
#undef kzalloc
#define alloc_pages(gfp, order) scarce_pages(gfp, order)
#define alloc_page(gfp) scarce_pages(gfp, 0)
#define kzalloc(size, gfp) scarce_zalloc(size, gfp)
#endif

#endif /* WEFT_KUNIT_SCARCE_H */
