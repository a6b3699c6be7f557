// SPDX-License-Identifier: GPL-2.0
// The server of viewers.
#ifndef WEFT_APPS_ISOSURFACE_SERVE_H
#define WEFT_APPS_ISOSURFACE_SERVE_H

#include <cstdint>

#include "filters.h"
#include "grid.h"

namespace isosurface {

// Answers viewers, each in a thread, up to 16 at once, until the process is stopped. What is wrong
// with a viewer is said on standard error, and is no matter to the others. Throws Failure if it
// can't listen.
[[noreturn]] void serve(const Volume& volume, std::int32_t edge, const Wiring& wiring,
                        const apps::Address& address);

}  // namespace isosurface

#endif  // WEFT_APPS_ISOSURFACE_SERVE_H
