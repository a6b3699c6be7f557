// SPDX-License-Identifier: GPL-2.0
// What must hold for a measurement to count.
#ifndef WEFT_APPS_MPI_REQUIRE_H
#define WEFT_APPS_MPI_REQUIRE_H

#include "failure.h"

namespace mpibench {

using apps::Cause;
using apps::Failure;

// Throws Failure (kProtocol) unless it holds. The text is made only then, since this runs for each
// message.
inline void require(bool holds, const char* what) {
  if (!holds) {
    throw Failure(Cause::kProtocol, what);
  }
}

}  // namespace mpibench

#endif  // WEFT_APPS_MPI_REQUIRE_H
