/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Big-endian loads and stores at any alignment. This folder is built into the
 * kernel and into user-space tests alike, so it brings its own.
 */
#ifndef WEFT_WIRE_BYTES_H
#define WEFT_WIRE_BYTES_H

#include <linux/types.h>

static inline u16 weft_get_be16(const u8 *p)
{
	return (u16)(p[0] << 8 | p[1]);
}

static inline u32 weft_get_be32(const u8 *p)
{
	return (u32)p[0] << 24 | (u32)p[1] << 16 | (u32)p[2] << 8 | p[3];
}

static inline u64 weft_get_be64(const u8 *p)
{
	return (u64)weft_get_be32(p) << 32 | weft_get_be32(p + 4);
}

static inline void weft_put_be16(u8 *p, u16 v)
{
	p[0] = (u8)(v >> 8);
	p[1] = (u8)v;
}

static inline void weft_put_be32(u8 *p, u32 v)
{
	p[0] = (u8)(v >> 24);
	p[1] = (u8)(v >> 16);
	p[2] = (u8)(v >> 8);
	p[3] = (u8)v;
}

static inline void weft_put_be64(u8 *p, u64 v)
{
	weft_put_be32(p, (u32)(v >> 32));
	weft_put_be32(p + 4, (u32)v);
}

#endif /* WEFT_WIRE_BYTES_H */
