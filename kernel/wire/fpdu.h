/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * FPDUs, MPA's frames (RFC 5044, 4.1), as they are written: the length of the ULPDU (two
 * bytes), the ULPDU, padding up to a multiple of four, and the CRC. The ULPDU is a DDP
 * segment, of which nothing is known here.
 *
 *	segment = weft_fpdu_begin(fpdu, segment_len);
 *	(the segment is written)
 *	len = weft_fpdu_end(fpdu, segment_len, crc);
 *
 * In a stream with markers the same is done by weft_fpdu_begin_marked() and
 * weft_fpdu_end_marked(), which have to know where in the stream the FPDU will lie.
 */
#ifndef WEFT_WIRE_FPDU_H
#define WEFT_WIRE_FPDU_H

#include <linux/string.h>
#include <linux/types.h>

#include "bytes.h"
#include "crc.h"
#include "marker.h"

#define WEFT_MPA_LEN		2	/* the length field */
#define WEFT_MAX_ULPDU		0xffffU	/* which has 16 bits */
/* Room for an FPDU whose ULPDU has at most this many bytes. */
#define WEFT_FPDU_ROOM(ulpdu)	(WEFT_MPA_LEN + (ulpdu) + 3 + WEFT_CRC_LEN)

/* Bytes of padding that a ULPDU of this length needs. */
static inline u32 weft_fpdu_pad(u32 ulpdu_len)
{
	return -(WEFT_MPA_LEN + ulpdu_len) & 3;
}

/* Length of the FPDU that holds a ULPDU of this length. */
static inline u32 weft_fpdu_len(u32 ulpdu_len)
{
	return WEFT_MPA_LEN + ulpdu_len + weft_fpdu_pad(ulpdu_len) + WEFT_CRC_LEN;
}

/* Bytes from the beginning of an FPDU to the payload behind a segment's header. */
static inline u32 weft_fpdu_front(u32 hdr_len)
{
	return WEFT_MPA_LEN + hdr_len;
}

/* Begins an FPDU at @fpdu. Returns where its ULPDU of @ulpdu_len bytes is to be written. */
static inline u8 *weft_fpdu_begin(u8 *fpdu, u32 ulpdu_len)
{
	weft_put_be16(fpdu, ulpdu_len);
	return fpdu + WEFT_MPA_LEN;
}

/*
 * Ends an FPDU that lies together at @fpdu: writes its padding, and its CRC or, without
 * CRCs, zeros (RFC 5044, 7.1). Returns its length.
 */
static inline u32 weft_fpdu_end(u8 *fpdu, u32 ulpdu_len, bool crc)
{
	u32 len = WEFT_MPA_LEN + ulpdu_len, pad = weft_fpdu_pad(ulpdu_len);

	if (pad)
		memset(fpdu + len, 0, pad);
	len += pad;
	if (crc)
		weft_crc_put(fpdu + len, weft_crc_update(WEFT_CRC_SEED, fpdu, len));
	else
		memset(fpdu + len, 0, WEFT_CRC_LEN);
	return len + WEFT_CRC_LEN;
}

/*
 * Writes at @to what ends an FPDU whose payload lies elsewhere: padding and, with @crc, the CRC,
 * of which @sum is that of the bytes before; without, zeros. Returns how many bytes that are.
 */
static inline u32 weft_fpdu_end_apart(u8 *to, u32 ulpdu_len, bool crc, u32 sum)
{
	u32 pad = weft_fpdu_pad(ulpdu_len);

	memset(to, 0, pad + WEFT_CRC_LEN);
	if (crc)
		weft_crc_put(to + pad, weft_crc_update(sum, to, pad));
	return pad + WEFT_CRC_LEN;
}

/* Length of the FPDU that holds a ULPDU of this length, with its markers, if it lies at @at. */
static inline u32 weft_fpdu_len_marked(u32 ulpdu_len, u64 at)
{
	return weft_marker_spread(at, weft_fpdu_len(ulpdu_len));
}

/*
 * Begins at @fpdu one that gets markers, and will lie at @at in the stream. Returns where its
 * ULPDU is to be written, behind room for the markers.
 */
static inline u8 *weft_fpdu_begin_marked(u8 *fpdu, u32 ulpdu_len, u64 at)
{
	fpdu += weft_fpdu_len_marked(ulpdu_len, at) - weft_fpdu_len(ulpdu_len);
	return weft_fpdu_begin(fpdu, ulpdu_len);
}

/* Ends an FPDU as weft_fpdu_end() does, and inserts its markers. Returns its length with them. */
static inline u32 weft_fpdu_end_marked(u8 *fpdu, u32 ulpdu_len, u64 at, bool crc)
{
	u32 len = weft_fpdu_len(ulpdu_len), all = weft_marker_spread(at, len);
	u32 covered = all - WEFT_CRC_LEN;

	weft_fpdu_end(fpdu + (all - len), ulpdu_len, false);
	weft_marker_insert(fpdu, len, at);
	if (crc)
		weft_crc_put(fpdu + covered, weft_crc_update(WEFT_CRC_SEED, fpdu, covered));
	return all;
}

#endif /* WEFT_WIRE_FPDU_H */
