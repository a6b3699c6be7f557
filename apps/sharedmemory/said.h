// SPDX-License-Identifier: GPL-2.0
// For the unit tests: what a failure says.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rdma::sharedmemory {

inline testing::AssertionResult says(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << "'" << text << "' does not say '" << part << "'";
}

// No host has failed.
inline testing::AssertionResult all_well(const std::vector<std::string>& failures) {
  for (std::size_t i = 0; i < failures.size(); ++i) {
    if (!failures[i].empty()) {
      return testing::AssertionFailure() << "host " << i << ": " << failures[i];
    }
  }
  return testing::AssertionSuccess();
}

}  // namespace rdma::sharedmemory
