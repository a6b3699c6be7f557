/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's numbers at any alignment, for kernel/wire in user space. */
#pragma once

#include <endian.h>
#include <linux/types.h>
#include <string.h>

#define WEFT_SHIM_UNALIGNED(order, bits)                               \
  static inline u##bits get_unaligned_##order##bits(const void* p) {   \
    u##bits v;                                                         \
    memcpy(&v, p, sizeof(v));                                          \
    return order##bits##toh(v);                                        \
  }                                                                    \
  static inline void put_unaligned_##order##bits(u##bits v, void* p) { \
    v = hto##order##bits(v);                                           \
    memcpy(p, &v, sizeof(v));                                          \
  }

WEFT_SHIM_UNALIGNED(be, 16)
WEFT_SHIM_UNALIGNED(be, 32)
WEFT_SHIM_UNALIGNED(be, 64)
WEFT_SHIM_UNALIGNED(le, 32)
