// SPDX-License-Identifier: GPL-2.0
// Memory and objects for the tests of userlib/ring.hpp.
#pragma once

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <type_traits>

namespace weft_test {

// As a mapping, and exactly as long, so that the address sanitizer sees a write past the end.
class Memory {
 public:
  explicit Memory(size_t bytes) {
    if (posix_memalign(&base_, 4096, bytes) != 0) abort();
    memset(base_, 0, bytes);
  }
  ~Memory() { free(base_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  void* base() { return base_; }

 private:
  void* base_ = nullptr;
};

// A zeroed ring object, as calloc gives it to its owner.
template <typename Ring>
Ring zeroed() {
  static_assert(std::is_trivially_default_constructible_v<Ring>);
  Ring ring;
  memset(static_cast<void*>(&ring), 0, sizeof(ring));
  return ring;
}

}  // namespace weft_test
