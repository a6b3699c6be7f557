// SPDX-License-Identifier: GPL-2.0
/*
 * A QEMU plugin that gives each processor of the guest two caches, all of them a third, and a
 * directory of who holds which line, and counts between two marks.
 *
 * The marks are perf/driver/mark.h's: the first WFT< of pairs=N programs zeroes the counters, the
 * last WFT> writes them to the file out=FILE:
 *
 *   cpu N ACCESSES INSTRUCTIONS DEAR... SINGLE... BULK...
 *   block ADDRESS RUNS INSTRUCTIONS
 *   pair ADDRESS ADDRESS TIMES
 *   traffic READ WRITTEN
 *
 * DEAR is as in dear.h. SINGLE and BULK are the lines that a processor took from the second cache,
 * from the third, from memory and from another processor that had changed it, and those that others
 * held and lost because it wrote: BULK for string and CRC instructions, SINGLE for all others. A
 * pair is an instruction that changed lines and one on another processor that then wanted them.
 * Traffic is lines between the third cache and memory.
 *
 * It is for -accel tcg,thread=single with -icount, where QEMU runs one processor after the other on
 * one thread, so nothing here is locked. QEMU would let each run for milliseconds; the plugin ends
 * a processor's turn after turn=N instructions.
 *
 * The caches are of 32 KiB (8 ways), 1 MiB (16) and 32 MiB (16), of lines of 64 bytes, and forget
 * what was used longest ago. The first is part of the second. Between the marks alone they follow
 * what the guest does, so they begin cold. What devices write to memory is not seen, and no
 * processor reads ahead.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../count/dear.h"
#include "plugin.h"

#define EXPORT __attribute__((visibility("default")))
#define CPUS 64
#define LINE 6
#define KINDS 5

/* QEMU looks for both by name. */
EXPORT int qemu_plugin_version = 4;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info* info, int argc,
                               char** argv);

enum kind { SECOND, THIRD, MEMORY, MOVED, TAKEN };

struct block {
  struct block* next;
  uint64_t address;
  uint64_t runs;
  uint32_t instructions;
  uint32_t dear[DEAR];
};

/* Instructions that access memory. Generated code points to them, so they never go. */
struct code {
  uint64_t address;
  bool bulk; /* one of many that walk through memory, which a processor foresees */
};

/* A line of the guest's memory: who has it in a cache of his own, and who changed it since. */
struct line {
  uint64_t holders;
  struct code* writer; /* the last that changed it, if it is changed */
  bool changed;        /* then there is one holder */
  bool dirty;          /* in the third cache, and not so in memory */
};

/* A set-associative cache. A set has its newest line first; a line is its number plus one. */
struct cache {
  uint64_t* lines;
  unsigned int sets;
  unsigned int ways;
};

/* Each page of lines is allocated when the guest first uses it. */
#define PAGE 4096
static struct line** pages;
static uint64_t n_pages;

struct pair {
  struct code *from, *to;
  uint64_t times;
};

#define PAIRS (1u << 16)
static struct pair pairs[PAIRS];

static struct cpu {
  struct cache first, second;
  uint64_t accesses, instructions, turn;
  uint64_t dear[DEAR];
  uint64_t kinds[2][KINDS];
} cpus[CPUS];
static struct cache third;
static uint64_t lines_read, lines_written;
static struct block* blocks;
static const char* out;
static const void* clock_handle;
static uint64_t turn = 2000;
static unsigned int programs = 1, begun, ended;
static bool counting;

/* The processor that runs, and the base of its own data in Linux, by which it is known. */
static struct cpu* now;
static uint64_t bases[CPUS];
static struct qemu_plugin_register *gs_base, *kernel_gs_base;
static GByteArray* value;

static void* zeroed(size_t n, size_t size) {
  void* memory = calloc(n, size);

  if (!memory) abort();
  return memory;
}

static void make(struct cache* cache, unsigned int bytes, unsigned int ways) {
  cache->ways = ways;
  cache->sets = (bytes >> LINE) / ways;
  cache->lines = zeroed((size_t)cache->sets * ways, sizeof(*cache->lines));
}

static struct line* line_of(uint64_t number) {
  uint64_t page = number / PAGE;

  if (page >= n_pages) abort();
  if (!pages[page]) pages[page] = zeroed(PAGE, sizeof(**pages));
  return &pages[page][number % PAGE];
}

/*
 * Makes the line the newest of its set. Returns whether it was there; if not, *lost is what went
 * for it, or 0.
 */
static bool touch(struct cache* cache, uint64_t number, uint64_t* lost) {
  uint64_t* set = cache->lines + number % cache->sets * cache->ways;
  uint64_t tag = number + 1;
  unsigned int way = 0;
  bool there;

  while (way < cache->ways - 1 && set[way] != tag) way++;
  there = set[way] == tag;
  *lost = there ? 0 : set[way];
  memmove(set + 1, set, way * sizeof(*set));
  set[0] = tag;
  return there;
}

/* Returns whether the third cache had the line, and puts it there. */
static bool touch_third(uint64_t number) {
  uint64_t lost;

  if (touch(&third, number, &lost)) return true;
  if (lost && line_of(lost - 1)->dirty) {
    line_of(lost - 1)->dirty = false;
    lines_written++;
  }
  return false;
}

/* A processor that loses a changed line, or shows it to another, leaves it in the third cache. */
static void write_back(uint64_t number, struct line* line) {
  line->changed = false;
  touch_third(number);
  line->dirty = true;
}

static void count_pair(struct code* from, struct code* to) {
  uint64_t hash = ((uintptr_t)from * 31 + (uintptr_t)to) * 0x9e3779b97f4a7c15u >> 48;

  for (unsigned int i = 0; i < PAIRS; i++) {
    struct pair* pair = &pairs[(hash + i) % PAIRS];

    if (!pair->times) {
      pair->from = from;
      pair->to = to;
    }
    if (pair->from == from && pair->to == to) {
      pair->times++;
      return;
    }
  }
  abort(); /* rather than count too few */
}

/* Brings a line that this processor does not hold. Returns from where. */
static enum kind fetch(uint64_t number, struct line* line, struct code* code) {
  if (line->changed) {
    if (line->writer) count_pair(line->writer, code);
    write_back(number, line);
    return MOVED;
  }
  if (touch_third(number)) return THIRD;
  lines_read++;
  return MEMORY;
}

static void access_line(struct cpu* mine, uint64_t number, bool store, struct code* code) {
  struct line* line = line_of(number);
  uint64_t me = 1ull << (mine - cpus), lost;
  bool held = line->holders & me;
  bool first = touch(&mine->first, number, &lost) && held;

  if (!first) {
    bool second = touch(&mine->second, number, &lost) && held;
    enum kind kind = second ? SECOND : fetch(number, line, code);

    if (lost) {
      struct line* old = line_of(lost - 1);

      /* Unless another has taken it meanwhile. */
      if (old->holders & me) {
        old->holders &= ~me;
        if (old->changed) write_back(lost - 1, old);
      }
    }
    line->holders |= me;
    mine->kinds[code->bulk][kind]++;
  }
  if (!store) return;
  if (line->holders != me) mine->kinds[code->bulk][TAKEN]++;
  line->holders = me;
  line->changed = true;
  line->writer = code;
}

static void find_registers(void) {
  GArray* all = qemu_plugin_get_registers();
  qemu_plugin_reg_descriptor* each = (void*)all->data;

  for (unsigned int i = 0; i < all->len; i++)
    if (!strcmp(each[i].name, "gs_base"))
      gs_base = each[i].handle;
    else if (!strcmp(each[i].name, "k_gs_base"))
      kernel_gs_base = each[i].handle;
  value = g_byte_array_new();
  if (!gs_base || !kernel_gs_base) abort();
}

static uint64_t read_register(struct qemu_plugin_register* handle) {
  uint64_t number = 0;

  g_byte_array_set_size(value, 0);
  if (qemu_plugin_read_register(handle, value) == sizeof(number))
    memcpy(&number, value->data, sizeof(number));
  return number;
}

/*
 * Which processor runs. QEMU 10 gives all of them one number with thread=single: the one that a
 * block was translated by. While a program runs, Linux's own base is in the other register.
 */
static struct cpu* which(void) {
  uint64_t base;
  unsigned int i = 0;

  if (!gs_base) find_registers();
  base = read_register(gs_base);
  if (!(base >> 63)) base = read_register(kernel_gs_base);
  while (i < CPUS && bases[i] && bases[i] != base) i++;
  if (i == CPUS) abort();
  bases[i] = base;
  return &cpus[i];
}

static void accessed(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t address, void* data) {
  struct qemu_plugin_hwaddr* where;
  struct code* code = data;
  uint64_t begin, end;

  if (!counting) return;
  where = qemu_plugin_get_hwaddr(info, address);
  if (!where || qemu_plugin_hwaddr_is_io(where)) return;
  begin = qemu_plugin_hwaddr_phys_addr(where);
  end = begin + (1u << qemu_plugin_mem_size_shift(info)) - 1;
  now->accesses++;
  for (uint64_t number = begin >> LINE; number <= end >> LINE; number++)
    access_line(now, number, qemu_plugin_mem_is_store(info), code);
}

/* Before each block of instructions. */
static void runs(unsigned int cpu, void* data) {
  struct block* block = data;

  if (!counting) return;
  now = which();
  block->runs++;
  now->instructions += block->instructions;
  for (int kind = 0; kind < DEAR; kind++) now->dear[kind] += block->dear[kind];
  now->turn += block->instructions;
  if (now->turn < turn) return;
  now->turn = 0;
  /* A time that is over moves no clock, and QEMU leaves the processor to see to it. */
  qemu_plugin_update_ns(clock_handle, 0);
}

static void begin(unsigned int cpu, void* data) {
  if (begun++ % programs) return;
  for (struct block* block = blocks; block; block = block->next) block->runs = 0;
  for (unsigned int i = 0; i < CPUS; i++)
    cpus[i] = (struct cpu){.first = cpus[i].first, .second = cpus[i].second};
  memset(pairs, 0, sizeof(pairs));
  lines_read = lines_written = 0;
  now = which();
  counting = true;
}

static void write_cpu(FILE* file, const struct cpu* each) {
  fprintf(file, "cpu %d %" PRIu64 " %" PRIu64, (int)(each - cpus), each->accesses,
          each->instructions);
  for (unsigned int i = 0; i < DEAR; i++) fprintf(file, " %" PRIu64, each->dear[i]);
  for (unsigned int i = 0; i < 2 * KINDS; i++)
    fprintf(file, " %" PRIu64, each->kinds[i / KINDS][i % KINDS]);
  fputc('\n', file);
}

static void end(unsigned int cpu, void* data) {
  FILE* file;

  if (++ended % programs) return;
  counting = false;
  file = fopen(out, "w");
  if (!file) {
    perror(out);
    return;
  }
  for (struct cpu* each = cpus; each < cpus + CPUS; each++)
    if (each->instructions) write_cpu(file, each);
  for (struct block* block = blocks; block; block = block->next)
    if (block->runs)
      fprintf(file, "block %" PRIx64 " %" PRIu64 " %u\n", block->address, block->runs,
              block->instructions);
  for (unsigned int i = 0; i < PAIRS; i++)
    if (pairs[i].times)
      fprintf(file, "pair %" PRIx64 " %" PRIx64 " %" PRIu64 "\n", pairs[i].from->address,
              pairs[i].to->address, pairs[i].times);
  fprintf(file, "traffic %" PRIu64 " %" PRIu64 "\n", lines_read, lines_written);
  fclose(file);
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb* tb) {
  static const char mark[] = "\x0f\x1f\x80WFT";
  size_t n = qemu_plugin_tb_n_insns(tb);
  struct block* block = zeroed(1, sizeof(*block));

  block->address = qemu_plugin_tb_vaddr(tb);
  block->instructions = n;
  block->next = blocks;
  blocks = block;
  qemu_plugin_register_vcpu_tb_exec_cb(tb, runs, QEMU_PLUGIN_CB_R_REGS, block);
  for (size_t i = 0; i < n; i++) {
    struct qemu_plugin_insn* insn = qemu_plugin_tb_get_insn(tb, i);
    struct code* code = zeroed(1, sizeof(*code));
    uint8_t bytes[16];
    size_t size = qemu_plugin_insn_data(insn, bytes, sizeof(bytes));

    code->address = qemu_plugin_insn_vaddr(insn);
    code->bulk = look(block->dear, bytes, size, n == 1);
    qemu_plugin_register_vcpu_mem_cb(insn, accessed, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
                                     code);
    if (size == 7 && !memcmp(bytes, mark, 6) && (bytes[6] == '<' || bytes[6] == '>'))
      qemu_plugin_register_vcpu_insn_exec_cb(insn, bytes[6] == '<' ? begin : end,
                                             QEMU_PLUGIN_CB_R_REGS, NULL);
  }
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info* info, int argc, char** argv) {
  for (int i = 0; i < argc; i++) {
    if (!strncmp(argv[i], "out=", 4))
      out = strdup(argv[i] + 4);
    else if (!strncmp(argv[i], "pairs=", 6))
      programs = strtoul(argv[i] + 6, NULL, 10);
    else if (!strncmp(argv[i], "turn=", 5))
      turn = strtoul(argv[i] + 5, NULL, 10);
  }
  clock_handle = qemu_plugin_request_time_control();
  if (!out || !programs || !turn || !clock_handle) {
    fprintf(stderr, "lines: out=FILE is missing, or a number\n");
    return -1;
  }
  n_pages = (16ull << 30 >> LINE) / PAGE;
  pages = zeroed(n_pages, sizeof(*pages));
  make(&third, 32u << 20, 16);
  for (unsigned int i = 0; i < CPUS; i++) {
    make(&cpus[i].first, 32u << 10, 8);
    make(&cpus[i].second, 1u << 20, 16);
  }
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  return 0;
}
