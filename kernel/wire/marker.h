/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * MPA markers (RFC 5044, 4.3): four bytes at each multiple of 512 of the stream, counted from
 * the end of the Request or Reply. A marker holds its distance from the length field of its FPDU;
 * before an FPDU it holds 0. CRCs cover markers. FPDU lengths are multiples of four, so a marker
 * never lies inside a length field or a CRC.
 */
#ifndef WEFT_WIRE_MARKER_H
#define WEFT_WIRE_MARKER_H

#include <linux/types.h>

#include "bytes.h"

#define WEFT_MARKER_LEN		4U
#define WEFT_MARKER_EVERY	512U

/* Bytes from @at in the stream to the next marker; 0: the marker is due at @at. */
static inline u32 weft_marker_ahead(u64 at)
{
	return -(u32)at % WEFT_MARKER_EVERY;
}

/* Bytes of stream for @len bytes of an FPDU at @at: with markers before and among them. */
static inline u32 weft_marker_spread(u64 at, u32 len)
{
	u32 ahead = weft_marker_ahead(at);

	if (len <= ahead)
		return len;
	return len + WEFT_MARKER_LEN *
	       (1 + (len - ahead - 1) / (WEFT_MARKER_EVERY - WEFT_MARKER_LEN));
}

/* Bytes besides markers in @len bytes of stream at @at, both multiples of four. */
static inline u32 weft_marker_room(u64 at, u32 len)
{
	u32 ahead = weft_marker_ahead(at);

	if (len <= ahead)
		return len;
	return len - WEFT_MARKER_LEN * (1 + (len - ahead - 1) / WEFT_MARKER_EVERY);
}

/* Inserts markers. The FPDU is at the end of the weft_marker_spread() bytes at @to. */
void weft_marker_insert(u8 *to, u32 len, u64 at);

/**
 * struct weft_marks - position of the reader of a stream with markers
 * @at: next byte of the stream; wraps like a marker's 16-bit distance (2^16 is 128 * 512)
 * @fpdu: position of the current FPDU's length field
 * @bytes: the current marker
 * @amid: inside an FPDU; otherwise the next byte that is not a marker's begins one
 */
struct weft_marks {
	u16 at;
	u16 fpdu;
	u8 bytes[WEFT_MARKER_LEN];
	bool amid;
};

enum weft_marks_verdict {
	WEFT_MARKS_PART,	/* marker incomplete */
	WEFT_MARKS_WHOLE,	/* marker complete and right */
	WEFT_MARKS_WRONG,	/* marker does not point to its FPDU */
};

/* True if a marker comes next. Limits @len to the rest of it, or to the bytes before it. */
static inline bool weft_marks_next(const struct weft_marks *m, u32 *len)
{
	u32 in = m->at % WEFT_MARKER_EVERY;
	u32 n = (in < WEFT_MARKER_LEN ? WEFT_MARKER_LEN : WEFT_MARKER_EVERY) - in;

	if (*len > n)
		*len = n;
	return in < WEFT_MARKER_LEN;
}

static inline void weft_marks_pass(struct weft_marks *m, u32 len)
{
	if (!m->amid)
		m->fpdu = m->at;
	m->amid = true;
	m->at += len;
}

/* Takes bytes of a marker. Ignores the reserved half and the pointer's two low bits. */
enum weft_marks_verdict weft_marks_take(struct weft_marks *m, const u8 *from, u32 len);

#endif /* WEFT_WIRE_MARKER_H */
