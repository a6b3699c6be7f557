/* SPDX-License-Identifier: GPL-2.0 */
/* Copying payload. */
#ifndef WEFT_COPY_H
#define WEFT_COPY_H

#include <linux/string.h>
#include <linux/types.h>

/* Up to so many bytes a compiler that tunes for no processor in particular copies in line. */
#define WEFT_COPY_RUN	4096U

/**
 * weft_copy() - copy bytes that do not overlap
 * @to: where they go
 * @from: where they are
 * @len: how many
 *
 * As memcpy(), which the kernel calls for a length that may be anything, and
 * which then goes byte by byte wherever the processor says that it does so
 * fast. Here every piece has a bound, so that the compiler copies it in line
 * by words. Any context.
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
