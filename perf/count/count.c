// SPDX-License-Identifier: GPL-2.0
/*
 * A QEMU plugin that counts the guest's instructions between two marks, by address.
 *
 * The marks are no-ops that the measured program executes (perf/driver/mark.h): WFT< zeroes
 * the counters, WFT> writes them to the file of the argument out=FILE, one line for each
 * block of instructions: address, times it ran, instructions in it, and of these what a real
 * processor has another price for: bytes copied by rep movsb and by wider ones, bytes
 * cleared, string instructions that did so, bytes checked by crc32, locked operations. Only the
 * last stretch between marks is in the file. With side=server it is the server's marks, WFT( and
 * WFT).
 *
 * A string instruction is the last of its block, and runs again in a block of its own until it is
 * done: QEMU moves one element each time. So the times that the block of its own ran are the
 * elements.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

#define EXPORT __attribute__((visibility("default")))
#define ROOM 4096

/* QEMU looks for both by name. */
EXPORT int qemu_plugin_version = 1;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info* info, int argc,
                               char** argv);

struct block {
  uint64_t runs;
  uint64_t address;
  uint32_t instructions;
  uint32_t copied_b;
  uint32_t copied_q;
  uint32_t cleared;
  uint32_t strings;
  uint32_t checked;
  uint32_t locked;
};

/* Blocks never move: the generated code adds to their counters. One processor, no locks. */
struct blocks {
  struct blocks* next;
  size_t used;
  struct block block[ROOM];
};

static struct blocks* all;
static const char* out;
static char first = '<', last = '>';

static struct block* new_block(void) {
  if (!all || all->used == ROOM) {
    struct blocks* more = calloc(1, sizeof(*more));

    if (!more)
      abort();
    more->next = all;
    all = more;
  }
  return &all->block[all->used++];
}

static void begin(unsigned int cpu, void* data) {
  (void)cpu;
  (void)data;
  for (struct blocks* b = all; b; b = b->next)
    for (size_t i = 0; i < b->used; i++)
      b->block[i].runs = 0;
}

static void end(unsigned int cpu, void* data) {
  FILE* file = fopen(out, "w");

  (void)cpu;
  (void)data;
  if (!file) {
    perror(out);
    return;
  }
  for (struct blocks* b = all; b; b = b->next)
    for (size_t i = 0; i < b->used; i++)
      if (b->block[i].runs)
        fprintf(file, "%llx %llu %u %u %u %u %u %u %u\n", (unsigned long long)b->block[i].address,
                (unsigned long long)b->block[i].runs, b->block[i].instructions,
                b->block[i].copied_b, b->block[i].copied_q, b->block[i].cleared,
                b->block[i].strings, b->block[i].checked, b->block[i].locked);
  fclose(file);
}

/* Adds a step of a string instruction that copies (movs) or clears (stos), or its beginning. */
static void string(struct block* block, uint8_t opcode, uint32_t width, bool alone) {
  if (!alone)
    block->strings = 1;
  else if (opcode == 0xa4)
    block->copied_b = 1;
  else if (opcode == 0xa5)
    block->copied_q = width;
  else
    block->cleared = opcode == 0xaa ? 1 : width;
}

/* Adds what one instruction of x86-64 does to its block. */
static void look(struct block* block, const uint8_t* byte, size_t size, bool alone) {
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
  if (byte < end && (*byte & 0xf0) == 0x40)
    wide = *byte++ & 8;
  if (byte == end)
    return;
  /* An exchange with memory locks without the prefix. */
  if (lock || ((*byte == 0x86 || *byte == 0x87) && byte + 1 < end && byte[1] < 0xc0))
    block->locked++;
  const uint32_t width = wide ? 8 : half ? 2 : 4;
  if (rep && ((*byte & 0xfe) == 0xa4 || (*byte & 0xfe) == 0xaa))
    string(block, *byte, width, alone);
  else if (f2 && end - byte > 2 && byte[0] == 0x0f && byte[1] == 0x38 && (byte[2] & 0xfe) == 0xf0)
    block->checked += byte[2] == 0xf0 ? 1 : width;
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb* tb) {
  static const char mark[] = "\x0f\x1f\x80WFT";
  size_t n = qemu_plugin_tb_n_insns(tb);
  struct block* block = new_block();

  (void)id;
  block->address = qemu_plugin_tb_vaddr(tb);
  block->instructions = n;
  qemu_plugin_register_vcpu_tb_exec_inline(tb, QEMU_PLUGIN_INLINE_ADD_U64, &block->runs, 1);
  for (size_t i = 0; i < n; i++) {
    struct qemu_plugin_insn* insn = qemu_plugin_tb_get_insn(tb, i);
    const char* bytes = qemu_plugin_insn_data(insn);

    look(block, qemu_plugin_insn_data(insn), qemu_plugin_insn_size(insn), n == 1);
    if (qemu_plugin_insn_size(insn) != 7 || memcmp(bytes, mark, 6))
      continue;
    if (bytes[6] == first || bytes[6] == last)
      qemu_plugin_register_vcpu_insn_exec_cb(insn, bytes[6] == first ? begin : end,
                                             QEMU_PLUGIN_CB_NO_REGS, NULL);
  }
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info* info, int argc, char** argv) {
  (void)info;
  for (int i = 0; i < argc; i++) {
    if (!strncmp(argv[i], "out=", 4))
      out = strdup(argv[i] + 4);
    if (!strcmp(argv[i], "side=server")) {
      first = '(';
      last = ')';
    }
  }
  if (!out) {
    fprintf(stderr, "count: the argument out=FILE is missing\n");
    return -1;
  }
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  return 0;
}
