/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CRC32C with the kernel's contract: runs @crc over @len bytes, with neither
 * the seed nor the final complement, which are the caller's.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The Castagnoli polynomial, 0x1edc6f41, with its bits in reverse. */
#define WEFT_SHIM_CRC32C_POLY 0x82f63b78U

static inline uint32_t crc32c(uint32_t crc, const void* data, size_t len) {
  const uint8_t* p = (const uint8_t*)data;

  while (len--) {
    crc ^= *p++;
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? WEFT_SHIM_CRC32C_POLY : 0);
  }
  return crc;
}
