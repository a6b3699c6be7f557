// SPDX-License-Identifier: GPL-2.0
/* Memory that is scarce; see scarce.h. */
#include "scarce.h"

struct scarce scarce; /* a case at a time */

/* Refuses what fails now. */
static bool refuses(const bool *what)
{
	bool fails = READ_ONCE(*what);

	scarce.refused += fails;
	return fails;
}

struct page *scarce_pages(gfp_t gfp, unsigned int order)
{
	return order >= scarce.order && refuses(&scarce.pages) ? NULL : alloc_pages(gfp, order);
}

void *scarce_zalloc(size_t size, gfp_t gfp)
{
	return refuses(&scarce.bytes) ? NULL : kzalloc(size, gfp);
}

int scarce_number(struct xarray *xa, u32 *id, void *entry, struct xa_limit limit, gfp_t gfp)
{
	return refuses(&scarce.numbers) ? -ENOMEM : xa_alloc(xa, id, entry, limit, gfp);
}

int scarce_number_cyclic(struct xarray *xa, u32 *id, void *entry, struct xa_limit limit, u32 *next,
			 gfp_t gfp)
{
	return refuses(&scarce.numbers) ? -ENOMEM :
	       xa_alloc_cyclic(xa, id, entry, limit, next, gfp);
}
