// SPDX-License-Identifier: GPL-2.0
// One host's share of the memory: bytes from page to page, all zero at first.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>

#include "failure.h"
#include "layout.h"

namespace rdma::sharedmemory {

class Share {
 public:
  static constexpr std::size_t kPage = 4096;

  // At least `bytes`. Throws Failure (kSystem) if the system has not so many.
  explicit Share(std::size_t bytes)
      : size_((bytes + kPage) / kPage * kPage),
        memory_(static_cast<std::byte*>(std::aligned_alloc(kPage, size_))) {
    if (!memory_) {
      throw Failure(Cause::kSystem, "no memory for a share of " + std::to_string(size_) +
                                        " bytes; choose a smaller --size");
    }
    std::memset(memory_.get(), 0, size_);
  }

  std::span<std::byte> bytes() const { return {memory_.get(), size_}; }
  // The elements of a slice, in this share.
  template <typename T>
  std::span<T> of(const Slice<T>& slice) const {
    return {reinterpret_cast<T*>(memory_.get() + slice.offset), slice.count};
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::size_t size_;
  std::unique_ptr<std::byte, Free> memory_;
};

}  // namespace rdma::sharedmemory
