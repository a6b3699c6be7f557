// SPDX-License-Identifier: GPL-2.0
#include "report.h"

#include <iostream>

#include "require.h"

namespace rdma::mpibench {

Report::Report(const std::string& path) : path_(path) {
  if (path.empty()) {
    return;
  }
  file_.open(path, std::ios::trunc);
  if (!file_) {
    throw Failure(Cause::kSystem, "cannot make " + path + ": " + std::strerror(errno));
  }
}

void Report::write(const Record& record) {
  const std::string line = record.text() + "\n";
  std::cout << line << std::flush;
  if (!std::cout) {
    throw Failure(Cause::kSystem,
                  "standard output takes no more: is the disk full, or its reader gone?");
  }
  if (path_.empty()) {
    return;
  }
  file_ << line << std::flush;
  if (!file_) {
    throw Failure(Cause::kSystem, "cannot write to " + path_ + ": " + std::strerror(errno) +
                                      "; what was measured so far is on standard output");
  }
}

}  // namespace rdma::mpibench
