// SPDX-License-Identifier: GPL-2.0
#include "report.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <iostream>

#include "descriptor.h"
#include "record.h"

namespace rdma::rdistcc {

namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

std::string Report::json() const {
  rusage own{};
  rusage children{};
  getrusage(RUSAGE_SELF, &own);
  getrusage(RUSAGE_CHILDREN, &children);
  constexpr int kDigits = 9;
  Record record;
  record.add("source", source).add("host", host).add("transport", transport).add("why", why);
  record.add("status", status);
  const std::pair<const char*, Seconds> steps[] = {
      {"preprocessing", preprocessing}, {"connecting", connecting}, {"registering", registering},
      {"transferring", transferring},   {"compiling", compiling},   {"whole", whole}};
  for (const auto& [step, time] : steps) {
    record.add(step, time.count(), kDigits);
  }
  record.add("user", seconds(own.ru_utime) + seconds(children.ru_utime), kDigits);
  record.add("system", seconds(own.ru_stime) + seconds(children.ru_stime), kDigits);
  return record.add("bytes_out", static_cast<double>(bytes_out))
      .add("bytes_in", static_cast<double>(bytes_in))
      .text();
}

void Report::append_to(const char* path) const {
  const Descriptor file(open(path, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0666));
  // One write, since other jobs add theirs.
  const std::string line = json() + "\n";
  if (!file ||
      write(file.number(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    std::cerr << "rdistcc: RDISTCC_STATS can't be written to " << path << std::endl;
  }
}

}  // namespace rdma::rdistcc
