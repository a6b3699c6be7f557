// SPDX-License-Identifier: GPL-2.0
// The kernel counts reads and writes. ioctl() is counted here: this definition stands before
// libc's for the libraries as well.
#include "calls.h"

#include <dlfcn.h>

#include <atomic>
#include <fstream>
#include <string>

namespace {

using Ioctl = int (*)(int, unsigned long, void*);

std::atomic<long> ioctls;

}  // namespace

// Declared without the ellipsis of <sys/ioctl.h>, whose cost would be part of the measurement.
extern "C" __attribute__((visibility("default"))) int ioctl(int descriptor, unsigned long request,
                                                            void* argument) {
  static const auto libc_ioctl = reinterpret_cast<Ioctl>(dlsym(RTLD_NEXT, "ioctl"));
  ioctls.fetch_add(1, std::memory_order_relaxed);
  return libc_ioctl(descriptor, request, argument);
}

namespace rdma::perf {

Calls calls() {
  Calls calls = {.reads = -1, .writes = -1};
  std::ifstream io("/proc/self/io");
  long value = 0;
  for (std::string name; io >> name >> value;) {
    if (name == "syscr:") {
      calls.reads = value;
    } else if (name == "syscw:") {
      calls.writes = value + ioctls.load(std::memory_order_relaxed);
    }
  }
  return calls;
}

}  // namespace rdma::perf
