/* SPDX-License-Identifier: GPL-2.0 */
/* The part that only version 4 of QEMU's plugin interface has. */
#pragma once

#include <stdbool.h>

#include "../count/plugin.h"

typedef uint32_t qemu_plugin_meminfo_t;
struct qemu_plugin_hwaddr;

enum qemu_plugin_mem_rw {
  QEMU_PLUGIN_MEM_R = 1,
  QEMU_PLUGIN_MEM_W,
  QEMU_PLUGIN_MEM_RW,
};

void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb* tb,
                                          void (*cb)(unsigned int cpu, void* data),
                                          enum qemu_plugin_cb_flags flags, void* data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn* insn,
                                      void (*cb)(unsigned int cpu, qemu_plugin_meminfo_t info,
                                                 uint64_t address, void* data),
                                      enum qemu_plugin_cb_flags flags, enum qemu_plugin_mem_rw rw,
                                      void* data);
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn* insn, void* bytes, size_t room);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn* insn);
unsigned int qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);
struct qemu_plugin_hwaddr* qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t info, uint64_t address);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr* address);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr* address);

/* GLib's, of which QEMU's answers are made. */
typedef struct {
  char* data;
  unsigned int len;
} GArray;
typedef struct {
  uint8_t* data;
  unsigned int len;
} GByteArray;
GByteArray* g_byte_array_new(void);
GByteArray* g_byte_array_set_size(GByteArray* array, unsigned int length);

typedef struct {
  struct qemu_plugin_register* handle;
  const char* name;
  const char* feature;
} qemu_plugin_reg_descriptor;
GArray* qemu_plugin_get_registers(void);
int qemu_plugin_read_register(struct qemu_plugin_register* handle, GByteArray* value);
const void* qemu_plugin_request_time_control(void);
void qemu_plugin_update_ns(const void* handle, int64_t time);
