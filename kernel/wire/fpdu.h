/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * FPDUs, the frames of MPA (RFC 5044, 4.1): ULPDU length, ULPDU (a DDP segment), padding to a
 * multiple of four, CRC. A writer calls weft_fpdu_begin(), writes the ULPDU, and calls
 * weft_fpdu_end(), or the two with _marked in a stream with markers.
 */
#ifndef WEFT_WIRE_FPDU_H
#define WEFT_WIRE_FPDU_H

#include <linux/string.h>
#include <linux/types.h>

#include "bytes.h"
#include "crc.h"
#include "marker.h"

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
	return WEFT_MPA_LEN + ulpdu_len + weft_fpdu_pad(ulpdu_len) + WEFT_CRC_LEN;
}

static inline u32 weft_fpdu_front(u32 hdr_len)
{
	return WEFT_MPA_LEN + hdr_len;
}

/* Begins an FPDU at @fpdu. Returns the address for its ULPDU. */
static inline u8 *weft_fpdu_begin(u8 *fpdu, u32 ulpdu_len)
{
	weft_put_be16(fpdu, ulpdu_len);
	return fpdu + WEFT_MPA_LEN;
}

/* Writes padding, and the CRC or, without CRCs, zeros (RFC 5044, 7.1). Returns the length. */
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

/* As weft_fpdu_end(), but writes at @to, apart from the payload. @sum: CRC of the bytes before. */
static inline u32 weft_fpdu_end_apart(u8 *to, u32 ulpdu_len, bool crc, u32 sum)
{
	u32 pad = weft_fpdu_pad(ulpdu_len);

	memset(to, 0, pad + WEFT_CRC_LEN);
	if (crc)
		weft_crc_put(to + pad, weft_crc_update(sum, to, pad));
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
		weft_crc_put(fpdu + covered, weft_crc_update(WEFT_CRC_SEED, fpdu, covered));
	return all;
}

#endif /* WEFT_WIRE_FPDU_H */
