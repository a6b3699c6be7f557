/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's numbers at any alignment, for kernel/wire in user space. */
#pragma once

#include <linux/types.h>

static inline u16 get_unaligned_be16(const void* p) {
  const u8* b = (const u8*)p;

  return (u16)(b[0] << 8 | b[1]);
}

static inline u32 get_unaligned_be32(const void* p) {
  return (u32)get_unaligned_be16(p) << 16 | get_unaligned_be16((const u8*)p + 2);
}

static inline u64 get_unaligned_be64(const void* p) {
  return (u64)get_unaligned_be32(p) << 32 | get_unaligned_be32((const u8*)p + 4);
}

static inline void put_unaligned_be16(u16 v, void* p) {
  u8* b = (u8*)p;

  b[0] = (u8)(v >> 8);
  b[1] = (u8)v;
}

static inline void put_unaligned_be32(u32 v, void* p) {
  put_unaligned_be16((u16)(v >> 16), p);
  put_unaligned_be16((u16)v, (u8*)p + 2);
}

static inline void put_unaligned_be64(u64 v, void* p) {
  put_unaligned_be32((u32)(v >> 32), p);
  put_unaligned_be32((u32)v, (u8*)p + 4);
}

static inline u32 get_unaligned_le32(const void* p) {
  const u8* b = (const u8*)p;

  return (u32)b[3] << 24 | (u32)b[2] << 16 | (u32)b[1] << 8 | b[0];
}

static inline void put_unaligned_le32(u32 v, void* p) {
  u8* b = (u8*)p;

  b[0] = (u8)v;
  b[1] = (u8)(v >> 8);
  b[2] = (u8)(v >> 16);
  b[3] = (u8)(v >> 24);
}
