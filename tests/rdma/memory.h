// SPDX-License-Identifier: GPL-2.0
// Registered memory, and what it must hold: each byte outside a transfer's target is a guard byte.
#pragma once

#include <vector>

#include "objects.h"
#include "pages.h"

namespace rdma {

// A part of an arena: one SGE.
struct Extent {
  std::size_t offset;    // bytes from the start of the arena
  std::uint32_t length;  // bytes; zero is legal
};

// Where in an arena the bytes of a message lie.
using Layout = std::vector<Extent>;

// Total bytes.
inline std::size_t size_of(const Layout& layout) {
  std::size_t total = 0;
  for (const Extent& extent : layout) total += extent.length;
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

class Memory {
 public:
  // Registers `size` guard bytes in `pd` with `access` (enum ibv_access_flags). Throws Failure.
  Memory(ibv_pd* pd, std::size_t size, int access);

  ibv_mr* mr() const { return mr_.get(); }
  std::uint8_t* bytes(std::size_t offset = 0) const { return pages_.bytes() + offset; }
  std::uint64_t address(std::size_t offset) const {
    return reinterpret_cast<std::uintptr_t>(bytes(offset));
  }
  std::size_t size() const { return pages_.size(); }

  // The SGEs of a layout.
  std::vector<ibv_sge> sges(const Layout& layout) const;

  // Writes a new pattern over the layout's bytes, in memory and in the expectation.
  void fill(const Layout& layout, std::uint64_t seed);
  // The expected contents of the layout's bytes, in message order.
  std::vector<std::uint8_t> gather(const Layout& layout) const;
  // Expects `message` in the layout's bytes from now on, and no change behind it.
  void expect(const Layout& layout, const std::vector<std::uint8_t>& message);

  // Compares the layout's surroundings (its extents and kMargin bytes on each side), or
  // with an empty layout everything. Throws Failure naming the first byte that differs.
  void check(const Layout& layout, const char* whose) const;
  // Takes the present contents as expected: after an error the target of a transfer is undefined.
  void accept();

  static constexpr std::size_t kMargin = 8192;

 private:
  void compare(std::size_t begin, std::size_t end, const char* whose) const;

  Pages pages_;
  std::vector<std::uint8_t> expected_;
  Owned<ibv_mr> mr_;
};

}  // namespace rdma
