// SPDX-License-Identifier: GPL-2.0
// kernel/wire for C++ tests: the very sources that are built into the module.
#pragma once

#include <linux/errno.h>
#include <linux/string.h>
#include <linux/types.h>

extern "C" {
#include "ddp.h"
#include "bytes.h"
#include "fpdu.h"
#include "mpa.h"
#include "path.h"
#include "plan.h"
#include "session.h"
}

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <tuple>
#include <utility>
#include <vector>

namespace weft::test {

using Bytes = std::vector<u8>;

// A copy on the heap, exactly as long, so that the address sanitizer sees a read beyond the end.
inline Bytes exact(const Bytes& bytes, size_t len) {
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(len)};
}

// Bytes that each differ from the one before by a step.
inline Bytes counting(u32 len, u32 step, u32 first = 0) {
  Bytes bytes(len);
  std::ranges::generate(bytes, [&, next = first]() mutable {
    return static_cast<u8>(std::exchange(next, next + step));
  });
  return bytes;
}

// What a decoder is given to write to: memory that held something else.
template <typename T>
T used() {
  T value;
  std::memset(&value, 0xa5, sizeof(value));
  return value;
}

inline Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// The writer's FPDU around these bytes. The buffer has the exact length, for the address sanitizer.
inline Bytes written(const Bytes& ulpdu, bool crc) {
  const u32 len = static_cast<u32>(ulpdu.size());
  Bytes fpdu(weft_fpdu_len(len), 0xee);
  std::copy(ulpdu.begin(), ulpdu.end(), weft_fpdu_begin(fpdu.data(), len));
  if (weft_fpdu_end(fpdu.data(), len, crc) != fpdu.size()) std::abort();
  return fpdu;
}

// A copy with other values in some fields: with(policy, &weft_mpa_policy::revision, 1).
template <typename T>
T with(T value) {
  return value;
}
template <typename T, typename Field, typename Value, typename... Rest>
T with(T value, Field T::*field, Value to, Rest... rest) {
  value.*field = static_cast<Field>(to);
  return with(value, rest...);
}

// All fields of a structure, to be compared and shown at once.
inline auto fields(const weft_term& t) { return std::tuple(t.layer, t.etype, t.code); }
inline auto fields(const weft_ddp_hdr& h) {
  return std::tuple(h.opcode, h.tagged, h.last, h.stag, h.to, h.inv_stag, h.imm, h.qn, h.msn, h.mo);
}
inline auto fields(const weft_read_req& r) {
  return std::tuple(r.sink_stag, r.sink_to, r.size, r.src_stag, r.src_to);
}
inline auto fields(const weft_atomic_req& r) {
  return std::tuple(r.op, r.id, r.stag, r.to, r.data, r.mask, r.compare, r.compare_mask);
}
inline auto fields(const weft_mpa_frame& f) {
  return std::tuple(f.reply, f.revision, f.markers, f.crc, f.reject, f.enhanced, f.extend,
                    f.extended, f.paths, f.p2p, f.rtr, f.ird, f.ord, f.private_len);
}
inline auto fields(const weft_mpa_agreed& a) {
  return std::tuple(a.revision, a.crc, a.p2p, a.rtr, a.extended, a.paths, a.marks_out, a.marks_in,
                    a.ird, a.ord);
}

}  // namespace weft::test
