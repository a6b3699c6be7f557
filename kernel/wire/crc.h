/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* CRC32C of an FPDU (RFC 5044, 4.4) over length field, ULPDU and padding. */
#ifndef WEFT_WIRE_CRC_H
#define WEFT_WIRE_CRC_H

#include <linux/crc32c.h>
#include <linux/types.h>

#define WEFT_CRC_SEED	0xffffffffU
#define WEFT_CRC_LEN	4

/* Continues @crc, at first WEFT_CRC_SEED, over @len bytes. */
static inline u32 weft_crc_update(u32 crc, const void *data, u32 len)
{
	return crc32c(crc, data, len);
}

/* The CRC is complemented, and sent least significant byte first. */
static inline void weft_crc_put(u8 *trailer, u32 crc)
{
	crc = ~crc;
	trailer[0] = (u8)crc;
	trailer[1] = (u8)(crc >> 8);
	trailer[2] = (u8)(crc >> 16);
	trailer[3] = (u8)(crc >> 24);
}

static inline bool weft_crc_good(const u8 *trailer, u32 crc)
{
	u32 got = (u32)trailer[3] << 24 | (u32)trailer[2] << 16 |
		  (u32)trailer[1] << 8 | trailer[0];

	return got == (u32)~crc;
}

#endif /* WEFT_WIRE_CRC_H */
