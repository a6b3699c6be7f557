/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's integer names, for kernel/wire in user space. */
#pragma once

/* System headers come by here, too, for __u32 and the like. */
#include_next <linux/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
