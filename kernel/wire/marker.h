/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * MPA markers (RFC 5044, 4.3): four bytes in the stream by which a receiver finds the FPDUs in
 * whatever part of it has come.
 *
 * The stream is counted from the first byte behind the Request or Reply. A marker lies at each
 * multiple of 512, the first before the first FPDU. It says how many bytes of the stream lie
 * between the length field of the FPDU that it is in and the marker itself; between two FPDUs it
 * belongs to the one behind it, and says 0. The CRC of an FPDU covers its markers.
 *
 * Every FPDU is a multiple of four long, so a marker is never within another one's bytes, a
 * length field or a CRC.
 */
#ifndef WEFT_WIRE_MARKER_H
#define WEFT_WIRE_MARKER_H

#include <linux/types.h>

#include "bytes.h"

#define WEFT_MARKER_LEN		4U
#define WEFT_MARKER_EVERY	512U

/* Returns how many bytes behind @at in the stream the next marker is; 0: it is due there. */
static inline u32 weft_marker_ahead(u64 at)
{
	return -(u32)at % WEFT_MARKER_EVERY;
}

/**
 * weft_marker_spread() - how much of the stream do the bytes of an FPDU take?
 * @at: where in the stream they begin, a marker before them included
 * @len: how many, without markers
 *
 * Return: bytes, with the markers among them and before them. There is none behind the last.
 */
static inline u32 weft_marker_spread(u64 at, u32 len)
{
	u32 ahead = weft_marker_ahead(at);

	if (len <= ahead)
		return len;
	return len + WEFT_MARKER_LEN *
	       (1 + (len - ahead - 1) / (WEFT_MARKER_EVERY - WEFT_MARKER_LEN));
}

/**
 * weft_marker_room() - how many bytes besides markers does a part of the stream hold?
 * @at: where it begins, a multiple of four
 * @len: its length, a multiple of four
 *
 * Return: bytes; weft_marker_spread() of them is at most @len.
 */
static inline u32 weft_marker_room(u64 at, u32 len)
{
	u32 ahead = weft_marker_ahead(at);

	if (len <= ahead)
		return len;
	return len - WEFT_MARKER_LEN * (1 + (len - ahead - 1) / WEFT_MARKER_EVERY);
}

/**
 * weft_marker_insert() - insert the markers of an FPDU
 * @to: weft_marker_spread() bytes, of which the FPDU is the last @len
 * @len: its length without markers
 * @at: where in the stream @to will lie, a multiple of four
 */
void weft_marker_insert(u8 *to, u32 len, u64 at);

/**
 * struct weft_marks - where in a stream with markers its reader is
 * @at: the next byte, counted from the first behind the Request or Reply. It wraps, as does the
 *	distance that a marker has room for
 * @fpdu: where the FPDU under way has its length field
 * @bytes: the marker under way
 * @amid: some of that FPDU has come; else the next byte, or that behind a marker, begins one
 */
struct weft_marks {
	u16 at;
	u16 fpdu;
	u8 bytes[WEFT_MARKER_LEN];
	bool amid;
};

/* What weft_marks_take() says. */
enum weft_marks_verdict {
	WEFT_MARKS_PART,	/* the marker has more bytes */
	WEFT_MARKS_WHOLE,	/* it has come, and is right */
	WEFT_MARKS_WRONG,	/* it points elsewhere than to its FPDU */
};

/*
 * Returns true if the next byte belongs to a marker. Lowers @len to the number of bytes that
 * belong together: of this marker, or up to the next.
 */
static inline bool weft_marks_next(const struct weft_marks *m, u32 *len)
{
	u32 in = m->at % WEFT_MARKER_EVERY;
	u32 n = (in < WEFT_MARKER_LEN ? WEFT_MARKER_LEN : WEFT_MARKER_EVERY) - in;

	if (*len > n)
		*len = n;
	return in < WEFT_MARKER_LEN;
}

/* Passes @len bytes of an FPDU, as many as weft_marks_next() said, or fewer. */
static inline void weft_marks_pass(struct weft_marks *m, u32 len)
{
	if (!m->amid)
		m->fpdu = m->at;
	m->amid = true;
	m->at += len;
}

/**
 * weft_marks_take() - take bytes of a marker
 * @m: the reader
 * @from: the bytes
 * @len: how many: as weft_marks_next() said
 *
 * The two bits that a sender has to clear, and the reserved half, are not looked at.
 *
 * Return: whether the marker is whole, and right. Its bytes are in @m->bytes then.
 */
enum weft_marks_verdict weft_marks_take(struct weft_marks *m, const u8 *from, u32 len);

#endif /* WEFT_WIRE_MARKER_H */
