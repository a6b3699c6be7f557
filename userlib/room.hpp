// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#ifndef WEFT_ROOM_HPP
#define WEFT_ROOM_HPP

#include <stdint.h>

#include <algorithm>
#include <iterator>

namespace weft {

// Zeroed room beside a structure of libibverbs'. If libibverbs has a longer structure than libweft
// knows, it writes here and not over libweft's fields, and version.hpp detects that.
struct Room {
  uint64_t words[32];

  // Returns true if nothing was written here.
  bool untouched() const {
    return std::all_of(std::begin(words), std::end(words), [](uint64_t word) { return word == 0; });
  }
};

}  // namespace weft

#endif  // WEFT_ROOM_HPP
