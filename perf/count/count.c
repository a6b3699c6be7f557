// SPDX-License-Identifier: GPL-2.0
/*
 * A QEMU plugin that counts the guest's instructions between two marks, by address.
 *
 * The marks are no-ops that the measured program executes (perf/driver/mark.h): WFT< zeroes
 * the counters, WFT> writes them to the file of the argument out=FILE, one line for each
 * block of instructions: address, times it ran, instructions in it, and what dear.h knows of
 * these. Only the last stretch between marks is in the file. With side=server it is the server's
 * marks, WFT( and WFT).
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dear.h"
#include "plugin.h"

/* Version 1's alone. */
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb* tb, enum qemu_plugin_op op,
                                              void* ptr, uint64_t imm);
const void* qemu_plugin_insn_data(const struct qemu_plugin_insn* insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn* insn);

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
  uint32_t dear[DEAR];
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

    if (!more) abort();
    more->next = all;
    all = more;
  }
  return &all->block[all->used++];
}

static void begin(unsigned int cpu, void* data) {
  for (struct blocks* b = all; b; b = b->next)
    for (size_t i = 0; i < b->used; i++) b->block[i].runs = 0;
}

static void end(unsigned int cpu, void* data) {
  FILE* file = fopen(out, "w");

  if (!file) {
    perror(out);
    return;
  }
  for (struct blocks* b = all; b; b = b->next)
    for (size_t i = 0; i < b->used; i++)
      if (b->block[i].runs) {
        fprintf(file, "%" PRIx64 " %" PRIu64 " %u", b->block[i].address, b->block[i].runs,
                b->block[i].instructions);
        for (int kind = 0; kind < DEAR; kind++) fprintf(file, " %u", b->block[i].dear[kind]);
        fputc('\n', file);
      }
  fclose(file);
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb* tb) {
  static const char mark[] = "\x0f\x1f\x80WFT";
  size_t n = qemu_plugin_tb_n_insns(tb);
  struct block* block = new_block();

  block->address = qemu_plugin_tb_vaddr(tb);
  block->instructions = n;
  qemu_plugin_register_vcpu_tb_exec_inline(tb, QEMU_PLUGIN_INLINE_ADD_U64, &block->runs, 1);
  for (size_t i = 0; i < n; i++) {
    struct qemu_plugin_insn* insn = qemu_plugin_tb_get_insn(tb, i);
    const char* bytes = qemu_plugin_insn_data(insn);

    look(block->dear, qemu_plugin_insn_data(insn), qemu_plugin_insn_size(insn), n == 1);
    if (qemu_plugin_insn_size(insn) != 7 || memcmp(bytes, mark, 6)) continue;
    if (bytes[6] == first || bytes[6] == last)
      qemu_plugin_register_vcpu_insn_exec_cb(insn, bytes[6] == first ? begin : end,
                                             QEMU_PLUGIN_CB_NO_REGS, NULL);
  }
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info* info, int argc, char** argv) {
  for (int i = 0; i < argc; i++) {
    if (!strncmp(argv[i], "out=", 4)) out = strdup(argv[i] + 4);
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
