// SPDX-License-Identifier: GPL-2.0
// What the fuzz targets share: a reader of the input, and a check that stops.
#pragma once

#include "wire.hpp"

#include <cstdio>

namespace weft::fuzz {

using test::Bytes;

// Says which property broke before libFuzzer saves the input.
inline void require(bool holds, const char* property) {
  if (!holds) {
    std::fprintf(stderr, "broken: %s\n", property);
    std::abort();
  }
}

// Numbers from the input's front; zeros when it has ended.
class Input {
 public:
  Input(const u8* data, size_t size) : data_(data), size_(size) {}

  u8 byte() {
    if (size_ == 0) return 0;
    size_--;
    return *data_++;
  }
  bool flag() { return (byte() & 1) != 0; }
  u16 half() {
    const u8 high = byte();
    return static_cast<u16>(high << 8 | byte());
  }
  u32 word() {
    const u32 high = half();
    return high << 16 | half();
  }
  bool empty() const { return size_ == 0; }

  // All that is left, on the heap and exactly as long.
  Bytes rest() {
    Bytes bytes(data_, data_ + size_);
    size_ = 0;
    return bytes;
  }

 private:
  const u8* data_;
  size_t size_;
};

}  // namespace weft::fuzz
