// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#ifndef WEFT_MAPPING_HPP
#define WEFT_MAPPING_HPP

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

#include "weft-abi.h"

namespace weft {

// The kernel's offsets go beyond 32 bits, in a process of 32 bits, too.
static_assert(sizeof(off_t) == sizeof(weft_mmap::offset));

// A ring shared with the kernel. Trivially constructible: zeroed memory is one
// that is not mapped; the owner calls unmap().
//
// After fork() parent and child see the same pages: the mapping is shared, so
// copy-on-write cannot part the process from the kernel. The child must not use
// the verbs objects, as ibv_fork_init(3) says of every provider.
class Mapping {
 public:
  // Returns 0 or a positive errno value; ENOMEM if a process of 32 bits has no room for it.
  int map(int cmd_fd, const weft_mmap& where) {
    const auto length = static_cast<size_t>(where.length);
    if (length != where.length)
      return ENOMEM;
    void* base = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, cmd_fd,
                      static_cast<off_t>(where.offset));
    if (base == MAP_FAILED)
      return errno;
    base_ = base;
    length_ = length;
    return 0;
  }

  void unmap() {
    if (base_ != nullptr) {
      munmap(base_, length_);
      base_ = nullptr;
    }
  }

  void* base() const { return base_; }

 private:
  void* base_;
  size_t length_;
};

}  // namespace weft

#endif  // WEFT_MAPPING_HPP
