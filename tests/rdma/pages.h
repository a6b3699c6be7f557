// SPDX-License-Identifier: GPL-2.0
// Memory in pages, which goes with its owner.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "failure.h"

namespace rdma {

class Pages {
 public:
  // As mmap(2). Throws Failure.
  explicit Pages(std::size_t size, int flags = MAP_PRIVATE | MAP_ANONYMOUS, int file = -1,
                 int rights = PROT_READ | PROT_WRITE)
      : at_(mmap(nullptr, size, rights, flags, file, 0)), size_(size) {
    if (at_ == MAP_FAILED) fail_errno("mmap of " + std::to_string(size) + " bytes");
  }
  ~Pages() { munmap(at_, size_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  std::uint8_t* bytes() const { return static_cast<std::uint8_t*>(at_); }
  std::size_t size() const { return size_; }
  std::span<std::uint8_t> span() const { return {bytes(), size_}; }

 private:
  void* at_;
  std::size_t size_;
};

}  // namespace rdma
