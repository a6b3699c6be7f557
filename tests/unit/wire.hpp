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

#include <cstring>
#include <vector>

namespace weft::test {

using Bytes = std::vector<u8>;

// A copy of exactly these bytes on the heap, so that the address sanitizer sees
// a read of the first byte beyond them.
inline Bytes exact(const Bytes& bytes, size_t len) {
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(len)};
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

}  // namespace weft::test
