// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* MPA markers (RFC 5044, 4.3) into an FPDU, and out of a stream. */

#include <linux/string.h>
#include <linux/types.h>

#include "marker.h"

/* Where in a marker its pointer is; what is before that is reserved. */
#define POINTER_AT	2
/* Bits of the pointer that count. */
#define POINTER_MASK	0xfffcU

void weft_marker_insert(u8 *to, u32 len, u64 at)
{
	const u8 *from = to + (weft_marker_spread(at, len) - len);
	u32 before = weft_marker_ahead(at) ? 0 : WEFT_MARKER_LEN;
	u8 *marker = to;
	u32 n;

	/* The bytes move towards the front, by a marker less each time, until they lie right. */
	while (marker != from) {
		n = weft_marker_ahead(at);
		memmove(marker, from, n);
		from += n;
		marker += n;
		weft_put_be16(marker, 0);
		weft_put_be16(marker + POINTER_AT,
			      marker == to ? 0 : (u16)(marker - to - before));
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
	pointer = weft_get_be16(m->bytes + POINTER_AT);
	return (pointer ^ want) & POINTER_MASK ? WEFT_MARKS_WRONG : WEFT_MARKS_WHOLE;
}
