// SPDX-License-Identifier: GPL-2.0
// A folder that goes with all that is in it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <iterator>

#include "failure.h"

namespace rdma {

class TemporaryFolder {
 public:
  TemporaryFolder()
      : TemporaryFolder(std::filesystem::temp_directory_path() / "weft-apps-XXXXXX") {}
  // The pattern ends with XXXXXX, in whose place are letters. Throws Failure (kSystem).
  explicit TemporaryFolder(std::string pattern) {
    if (mkdtemp(pattern.data()) == nullptr) fail_errno(pattern);
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string path() const { return path_; }
  std::string file(const std::string& name) const { return path_ / name; }
  // How many entries there are.
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::filesystem::path path_;
};

}  // namespace rdma
