/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The part of QEMU's plugin interface that both plugins need, alike in versions 1 (QEMU 7.2) and 4
 * (QEMU 10.0). Debian ships no header for it; QEMU checks the version that a plugin says it was
 * built for.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_info;

enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_CB_R_REGS };

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           void (*cb)(qemu_plugin_id_t id,
                                                      struct qemu_plugin_tb* tb));
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn* insn,
                                            void (*cb)(unsigned int cpu, void* data),
                                            enum qemu_plugin_cb_flags flags, void* data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb* tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb* tb);
struct qemu_plugin_insn* qemu_plugin_tb_get_insn(const struct qemu_plugin_tb* tb, size_t index);
