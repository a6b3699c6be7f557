/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Big-endian at any alignment, in place of kernel functions that user-space tests lack. */
#ifndef WEFT_WIRE_BYTES_H
#define WEFT_WIRE_BYTES_H

#include <linux/string.h>
#include <linux/types.h>
#include <asm/byteorder.h>

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

/* memcpy() makes one store; compilers do not always merge stores of single bytes. */
static inline void weft_put_be16(u8 *p, u16 v)
{
	__be16 be = __cpu_to_be16(v);

	memcpy(p, &be, sizeof(be));
}

static inline void weft_put_be32(u8 *p, u32 v)
{
	__be32 be = __cpu_to_be32(v);

	memcpy(p, &be, sizeof(be));
}

static inline void weft_put_be64(u8 *p, u64 v)
{
	__be64 be = __cpu_to_be64(v);

	memcpy(p, &be, sizeof(be));
}

#endif /* WEFT_WIRE_BYTES_H */
