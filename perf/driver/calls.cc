// SPDX-License-Identifier: GPL-2.0
// The kernel counts reads and writes. ioctl() is counted here: this definition stands before
// libc's for the libraries as well.
#include "calls.h"

#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <fstream>
#include <string>

namespace {

std::atomic<long> ioctls;

}  // namespace

extern "C" __attribute__((visibility("default"))) int ioctl(int descriptor, unsigned long request,
                                                            ...) noexcept {
  va_list arguments;
  va_start(arguments, request);
  void* argument = va_arg(arguments, void*);
  va_end(arguments);
  ioctls.fetch_add(1, std::memory_order_relaxed);
  return static_cast<int>(syscall(SYS_ioctl, descriptor, request, argument));
}

namespace perf {

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

}  // namespace perf
