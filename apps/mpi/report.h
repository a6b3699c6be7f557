// SPDX-License-Identifier: GPL-2.0
// Where results go: to standard output, and to a file as well if one is named.
#pragma once

#include <fstream>

#include "record.h"

namespace rdma::mpibench {

class Report {
 public:
  // `path` is empty for no file. Throws Failure if the file cannot be made.
  explicit Report(const std::string& path);
  // Writes the record. Throws Failure if the file or standard output does not take it.
  void write(const Record& record);

 private:
  std::string path_;
  std::ofstream file_;
};

}  // namespace rdma::mpibench
