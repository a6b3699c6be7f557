/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a block of x86-64 instructions does that a real processor has another price for than an
 * instruction's.
 *
 * A string instruction is the last of its block, and runs again in a block of its own until it is
 * done: QEMU moves one element each time. So the times that the block of its own ran are the
 * elements.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dear {
  COPIED_B, /* bytes, by rep movsb */
  COPIED_Q, /* bytes, by wider ones */
  CLEARED,  /* bytes, by rep stos */
  STRINGS,  /* beginnings of these */
  CHECKED,  /* bytes, by crc32 */
  LOCKED,   /* operations */
  STEPS,    /* instructions that were elements of string instructions */
  DEAR,
};

/* Adds a step of a string instruction that copies (movs) or clears (stos), or its beginning. */
static inline void string(uint32_t* dear, uint8_t opcode, uint32_t width, bool alone) {
  if (!alone)
    dear[STRINGS] = 1;
  else if (opcode == 0xa4)
    dear[COPIED_B] = 1;
  else if (opcode == 0xa5)
    dear[COPIED_Q] = width;
  else
    dear[CLEARED] = opcode == 0xaa ? 1 : width;
  dear[STEPS] = alone;
}

/*
 * Adds what one instruction of x86-64 is. If it is alone in its block, it may be such a step.
 * Returns whether it walks through memory: a string instruction or a CRC's.
 */
static inline bool look(uint32_t* dear, const uint8_t* byte, size_t size, bool alone) {
  const uint8_t* end = byte + size;
  bool rep = false, f2 = false, wide = false, half = false, lock = false;

  for (; byte < end; byte++) {
    if (*byte == 0xf2 || *byte == 0xf3) {
      rep = true;
      f2 = *byte == 0xf2;
    } else if (*byte == 0x66) {
      half = true;
    } else if (*byte == 0xf0) {
      lock = true;
    } else if (*byte != 0x2e && *byte != 0x3e && *byte != 0x64 && *byte != 0x65) {
      break;
    }
  }
  if (byte < end && (*byte & 0xf0) == 0x40) wide = *byte++ & 8;
  if (byte == end) return false;
  /* An exchange with memory locks without the prefix. */
  if (lock || ((*byte == 0x86 || *byte == 0x87) && byte + 1 < end && byte[1] < 0xc0))
    dear[LOCKED]++;
  const uint32_t width = wide ? 8 : half ? 2 : 4;
  if (rep && ((*byte & 0xfe) == 0xa4 || (*byte & 0xfe) == 0xaa)) {
    string(dear, *byte, width, alone);
    return true;
  }
  if (f2 && end - byte > 2 && byte[0] == 0x0f && byte[1] == 0x38 && (byte[2] & 0xfe) == 0xf0) {
    dear[CHECKED] += byte[2] == 0xf0 ? 1 : width;
    return true;
  }
  return false;
}
