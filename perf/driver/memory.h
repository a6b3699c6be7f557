// SPDX-License-Identifier: GPL-2.0
// Page-aligned memory that is there: every page has been touched.
#ifndef WEFT_PERF_MEMORY_H
#define WEFT_PERF_MEMORY_H

#include <sys/mman.h>

#include <cstddef>
#include <cstring>

#include "failure.h"

namespace perf {

class Memory {
 public:
  explicit Memory(std::size_t size) : size_(size) {
    void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
      fail_errno("mmap of " + std::to_string(size) + " bytes");
    }
    bytes_ = static_cast<unsigned char*>(at);
    std::memset(bytes_, 0x5a, size_);
  }
  ~Memory() { munmap(bytes_, size_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  unsigned char* bytes() const { return bytes_; }
  std::size_t size() const { return size_; }

 private:
  std::size_t size_;
  unsigned char* bytes_;
};

}  // namespace perf

#endif  // WEFT_PERF_MEMORY_H
