// SPDX-License-Identifier: GPL-2.0
/* Memory that is scarce; see scarce.h. */
#include "scarce.h"

struct scarce scarce; /* a case at a time */

struct page *scarce_pages(gfp_t gfp, unsigned int order)
{
	if (!READ_ONCE(scarce.pages) || order < scarce.order)
		return alloc_pages(gfp, order);
	scarce.refused++;
	return NULL;
}

void *scarce_zalloc(size_t size, gfp_t gfp)
{
	if (!READ_ONCE(scarce.bytes))
		return kzalloc(size, gfp);
	scarce.refused++;
	return NULL;
}

int scarce_number(struct xarray *xa, u32 *id, void *entry, struct xa_limit limit, gfp_t gfp)
{
	if (!READ_ONCE(scarce.numbers))
		return xa_alloc(xa, id, entry, limit, gfp);
	scarce.refused++;
	return -ENOMEM;
}

int scarce_number_cyclic(struct xarray *xa, u32 *id, void *entry, struct xa_limit limit, u32 *next,
			 gfp_t gfp)
{
	if (!READ_ONCE(scarce.numbers))
		return xa_alloc_cyclic(xa, id, entry, limit, next, gfp);
	scarce.refused++;
	return -ENOMEM;
}
