// SPDX-License-Identifier: GPL-2.0
// Fields by public formulas, for volumes to try the program on.
#pragma once

#include <string_view>

#include "grid.h"

namespace rdma::isosurface {

// A volume of `points` with the samples of a formula, over -1 to 1 along each axis:
//   gyroid            sin X cos Y + sin Y cos Z + sin Z cos X, with X = 3 pi x ...
//   marschner-lobb    the test signal of Marschner and Lobb (1994), 0 to 1
//   ball              1 - the distance to the middle
// Throws Failure (kInput) if there is no such formula or size.
Volume make_field(std::string_view formula, const Index& points);

}  // namespace rdma::isosurface
