// SPDX-License-Identifier: GPL-2.0
// The kernel counts reads and writes. ioctl() is counted here: this definition stands before
// libc's for the libraries as well.
#include "usage.h"

#include <dlfcn.h>

#include <atomic>
#include <fstream>
#include <sstream>

#include "failure.h"

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

namespace {

// The calls since the start.
Usage calls() {
  Usage usage{.reads = -1, .writes = -1};
  std::ifstream io("/proc/self/io");
  long value = 0;
  for (std::string name; io >> name >> value;) {
    if (name == "syscr:")
      usage.reads = value;
    else if (name == "syscw:")
      usage.writes = value + ioctls.load(std::memory_order_relaxed);
  }
  return usage;
}

}  // namespace

Stopwatch::Stopwatch() : at_begin_(calls()), begin_(Clock::now()) {}

Usage Stopwatch::stop() const {
  const Clock::time_point end = Clock::now();
  Usage usage = calls();
  usage.seconds = std::chrono::duration<double>(end - begin_).count();
  usage.reads = usage.reads < 0 ? -1 : usage.reads - at_begin_.reads;
  usage.writes = usage.writes < 0 ? -1 : usage.writes - at_begin_.writes;
  return usage;
}

std::string Usage::line() const {
  std::ostringstream out;
  out << seconds << ' ' << reads << ' ' << writes;
  return out.str();
}

Usage Usage::parse(const std::string& line) {
  Usage usage;
  std::istringstream in(line);
  in >> usage.seconds >> usage.reads >> usage.writes;
  require(!in.fail(), "the server's account makes no sense: " + line);
  return usage;
}

}  // namespace rdma::perf
