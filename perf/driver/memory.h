// SPDX-License-Identifier: GPL-2.0
// Page-aligned memory that is there: every page has been touched.
#pragma once

#include <cstring>

#include "pages.h"

namespace rdma::perf {

class Memory : public Pages {
 public:
  explicit Memory(std::size_t size) : Pages(size) { std::memset(bytes(), 0x5a, size); }
};

}  // namespace rdma::perf
