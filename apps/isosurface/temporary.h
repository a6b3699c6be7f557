// SPDX-License-Identifier: GPL-2.0
// For unit tests: files in a folder that is gone at a test's end, and what a call's Failure says.
#pragma once

#include <gtest/gtest.h>

#include <fstream>

#include "temporary_folder.h"

namespace rdma::isosurface {

inline std::string contents_of(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_file(const std::string& name, const std::string& contents) {
  std::ofstream(name, std::ios::binary) << contents;
}

inline testing::AssertionResult says(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << text << "' does not say '" << part << "'";
}

// What the Failure says that a call ends with, and "nothing" if there is none.
template <typename Call>
std::string failure_of(Call call) {
  try {
    call();
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "nothing";
}

}  // namespace rdma::isosurface
