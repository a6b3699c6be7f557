/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * FPDUs, the frames of MPA (RFC 5044, 4.1): ULPDU length, ULPDU (a DDP segment), padding to a
 * multiple of four, CRC. A writer calls weft_fpdu_begin(), writes the ULPDU, and calls
 * weft_fpdu_end(), or the two with _marked in a stream with markers.
 */
#ifndef WEFT_WIRE_FPDU_H
#define WEFT_WIRE_FPDU_H

#include <linux/crc32c.h>
#include <linux/string.h>
#include <linux/types.h>

#include "bytes.h"

/* --- the CRC32C of an FPDU (RFC 5044, 4.4) over length field, ULPDU and padding --- */

#define WEFT_CRC_SEED	0xffffffffU	/* for the first crc32c() */
#define WEFT_CRC_LEN	4

/* The CRC is sent complemented, least significant byte first. */
static inline bool weft_crc_good(const u8 *trailer, u32 crc)
{
	return get_unaligned_le32(trailer) == (u32)~crc;
}

/*
 * --- markers (RFC 5044, 4.3): four bytes at each multiple of 512 of the stream ---
 *
 * The stream is counted from the end of the Request or Reply. A marker holds its distance from the
 * length field of its FPDU; before an FPDU it holds 0. CRCs cover markers. FPDU lengths are
 * multiples of four, so a marker never lies inside a length field or a CRC.
 */

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

/* Position of the reader of a stream with markers. */
struct weft_marks {
	/* next byte of the stream; wraps like a marker's 16-bit distance (2^16 is 128 * 512) */
	u16 at;
	u16 fpdu;	/* position of the current FPDU's length field */
	u8 bytes[WEFT_MARKER_LEN];	/* the current marker */
	/* inside an FPDU; otherwise the next byte that is not a marker's begins one */
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

/* --- the frame --- */

#define WEFT_MPA_LEN		2	/* the length field */
#define WEFT_MAX_ULPDU		0xffffU	/* a 16-bit length */
/* Room for an FPDU with a ULPDU of at most @ulpdu bytes. */
#define WEFT_FPDU_ROOM(ulpdu)	(WEFT_MPA_LEN + (ulpdu) + 3 + WEFT_CRC_LEN)

static inline u32 weft_fpdu_pad(u32 ulpdu_len)
{
	return -(WEFT_MPA_LEN + ulpdu_len) & 3;
}

static inline u32 weft_fpdu_len(u32 ulpdu_len)
{
	return ((WEFT_MPA_LEN + ulpdu_len + 3) & ~3U) + WEFT_CRC_LEN;
}

/* Begins an FPDU at @fpdu. Returns the address for its ULPDU. */
static inline u8 *weft_fpdu_begin(u8 *fpdu, u32 ulpdu_len)
{
	put_unaligned_be16(ulpdu_len, fpdu);
	return fpdu + WEFT_MPA_LEN;
}

/* Writes padding, and the CRC or, without CRCs, zeros (RFC 5044, 7.1). Returns the length. */
static inline u32 weft_fpdu_end(u8 *fpdu, u32 ulpdu_len, bool crc)
{
	u32 len = WEFT_MPA_LEN + ulpdu_len, pad = -len & 3;

	if (pad)
		memset(fpdu + len, 0, pad);
	len += pad;
	if (crc)
		put_unaligned_le32(~crc32c(WEFT_CRC_SEED, fpdu, len), fpdu + len);
	else
		memset(fpdu + len, 0, WEFT_CRC_LEN);
	return len + WEFT_CRC_LEN;
}

/* As weft_fpdu_end(), but writes at @to, apart from the payload. @sum: CRC of the bytes before. */
static inline u32 weft_fpdu_end_apart(u8 *to, u32 ulpdu_len, bool crc, u32 sum)
{
	u32 pad = weft_fpdu_pad(ulpdu_len);

	memset(to, 0, pad + WEFT_CRC_LEN);
	if (crc)
		put_unaligned_le32(~crc32c(sum, to, pad), to + pad);
	return pad + WEFT_CRC_LEN;
}

static inline u32 weft_fpdu_len_marked(u32 ulpdu_len, u64 at)
{
	return weft_marker_spread(at, weft_fpdu_len(ulpdu_len));
}

/* Begins an FPDU that will lie at @at in the stream, behind room for its markers. */
static inline u8 *weft_fpdu_begin_marked(u8 *fpdu, u32 ulpdu_len, u64 at)
{
	fpdu += weft_fpdu_len_marked(ulpdu_len, at) - weft_fpdu_len(ulpdu_len);
	return weft_fpdu_begin(fpdu, ulpdu_len);
}

/* Ends the FPDU, and moves its bytes forward to insert the markers. Returns the whole length. */
static inline u32 weft_fpdu_end_marked(u8 *fpdu, u32 ulpdu_len, u64 at, bool crc)
{
	u32 len = weft_fpdu_len(ulpdu_len), all = weft_marker_spread(at, len);
	u32 covered = all - WEFT_CRC_LEN;

	weft_fpdu_end(fpdu + (all - len), ulpdu_len, false);
	weft_marker_insert(fpdu, len, at);
	if (crc)
		put_unaligned_le32(~crc32c(WEFT_CRC_SEED, fpdu, covered), fpdu + covered);
	return all;
}

#endif /* WEFT_WIRE_FPDU_H */
