// SPDX-License-Identifier: GPL-2.0
// What must hold for a measurement to count.
#pragma once

#include "failure.h"

namespace rdma::mpibench {

// Throws Failure (kProtocol) unless it holds. The text is made only then, since this runs for each
// message.
inline void require(bool holds, const char* what) {
  if (!holds) {
    throw Failure(Cause::kProtocol, what);
  }
}

}  // namespace rdma::mpibench
