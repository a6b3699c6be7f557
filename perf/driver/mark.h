// SPDX-License-Identifier: GPL-2.0
// Marks the measured stretch of a run for perf/count, which watches the emulated processor's
// instructions: no-ops with an address that nothing else uses. They cost one cycle elsewhere.
// The server has marks of its own, for when it is measured on a machine of its own.
#pragma once

namespace rdma::perf {

#ifdef __x86_64__
#define MARK(character) \
  asm volatile(".byte 0x0f, 0x1f, 0x80; .ascii \"WFT" character "\"" ::: "memory")
#else
#define MARK(character)
#endif

inline void mark_begin() { MARK("<"); }
inline void mark_end() { MARK(">"); }
inline void mark_server_begin() { MARK("("); }
inline void mark_server_end() { MARK(")"); }

#undef MARK

}  // namespace rdma::perf
