/* SPDX-License-Identifier: GPL-2.0 */
/* Copying payload. */
#ifndef WEFT_COPY_H
#define WEFT_COPY_H

#include <linux/string.h>
#include <linux/types.h>

/* The longest copy that a compiler tuned for no particular processor does in line. */
#define WEFT_COPY_RUN	4096U

/**
 * weft_copy() - copy bytes that do not overlap
 * @to: where they go
 * @from: where they are
 * @len: how many
 *
 * Copies as memcpy() does, in pieces of at most WEFT_COPY_RUN, which the compiler
 * copies in line, by words. For a length without a bound it would call the kernel's
 * memcpy(), which copies byte by byte on processors that claim to do so fast.
 *
 * Context: any.
 */
static __always_inline void weft_copy(void *to, const void *from, u32 len)
{
	for (; len > WEFT_COPY_RUN; len -= WEFT_COPY_RUN) {
		memcpy(to, from, WEFT_COPY_RUN);
		to += WEFT_COPY_RUN;
		from += WEFT_COPY_RUN;
	}
	memcpy(to, from, len);
}

#endif /* WEFT_COPY_H */
