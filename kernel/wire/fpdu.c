// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Inserts MPA markers into an FPDU, and takes them out of a stream (RFC 5044, 4.3). */

#include <linux/string.h>
#include <linux/types.h>

#include "fpdu.h"

#define POINTER_AT	2	/* behind the reserved half */
#define POINTER_MASK	0xfffcU	/* the two low bits are ignored */

void weft_marker_insert(u8 *to, u32 len, u64 at)
{
	const u8 *from = to + (weft_marker_spread(at, len) - len);
	u32 before = weft_marker_ahead(at) ? 0 : WEFT_MARKER_LEN;
	u8 *marker = to;
	u32 n;

	/* Each piece moves forward over one marker less than the piece before. */
	while (marker != from) {
		n = weft_marker_ahead(at);
		memmove(marker, from, n);
		from += n;
		marker += n;
		put_unaligned_be16(0, marker);
		put_unaligned_be16(marker == to ? 0 : (u16)(marker - to - before),
				   marker + POINTER_AT);
		marker += WEFT_MARKER_LEN;
		at += n + WEFT_MARKER_LEN;
	}
}

enum weft_marks_verdict weft_marks_take(struct weft_marks *m, const u8 *from, u32 len)
{
	u32 in = m->at % WEFT_MARKER_EVERY;
	u16 pointer, want;

	memcpy(m->bytes + in, from, len);
	m->at += len;
	if (in + len < WEFT_MARKER_LEN)
		return WEFT_MARKS_PART;
	want = m->amid ? m->at - WEFT_MARKER_LEN - m->fpdu : 0;
	pointer = get_unaligned_be16(m->bytes + POINTER_AT);
	return (pointer ^ want) & POINTER_MASK ? WEFT_MARKS_WRONG : WEFT_MARKS_WHOLE;
}
