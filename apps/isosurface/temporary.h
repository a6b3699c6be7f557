// SPDX-License-Identifier: GPL-2.0
// For unit tests: a folder that is gone at a test's end, and what a call's Failure says.
#ifndef WEFT_APPS_ISOSURFACE_TEMPORARY_H
#define WEFT_APPS_ISOSURFACE_TEMPORARY_H

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "failure.h"

namespace isosurface {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "isosurface-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr)
      apps::fail_errno("a temporary folder can't be made");
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string file(const std::string& name) const { return path_ / name; }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::filesystem::path path_;
};

inline std::string contents_of(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_file(const std::string& name, const std::string& contents) {
  std::ofstream(name, std::ios::binary) << contents;
}

// What the Failure says that a call ends with, and "nothing" if there is none.
template <typename Call>
std::string failure_of(Call call) {
  try {
    call();
  } catch (const apps::Failure& failure) {
    return failure.what();
  }
  return "nothing";
}

}  // namespace isosurface

#endif  // WEFT_APPS_ISOSURFACE_TEMPORARY_H
