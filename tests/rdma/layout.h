// SPDX-License-Identifier: GPL-2.0
// Where in a memory arena the bytes of a message lie: a list of extents, one per SGE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rdma {

struct Extent {
  std::size_t offset;    // bytes from the start of the arena
  std::uint32_t length;  // bytes; zero is legal
};

using Layout = std::vector<Extent>;

// Total bytes.
inline std::size_t size_of(const Layout& layout) {
  std::size_t total = 0;
  for (const Extent& extent : layout) {
    total += extent.length;
  }
  return total;
}

// "[offset+length, ...]" for messages.
inline std::string to_string(const Layout& layout) {
  std::string text = "[";
  for (const Extent& extent : layout) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(extent.offset) + "+" +
            std::to_string(extent.length);
  }
  return text + "]";
}

}  // namespace rdma
