// SPDX-License-Identifier: GPL-2.0
#include <cmath>
#include <numbers>
#include <string>

#include "failure.h"
#include "grid.h"

namespace rdma::isosurface {
namespace {

using Formula = double (*)(double x, double y, double z);

double gyroid(double x, double y, double z) {
  const double turns = 3 * std::numbers::pi;
  x *= turns;
  y *= turns;
  z *= turns;
  return std::sin(x) * std::cos(y) + std::sin(y) * std::cos(z) + std::sin(z) * std::cos(x);
}

// "An Evaluation of Reconstruction Filters for Volume Rendering", IEEE Visualization 1994, with its
// own parameters: frequency 6, amplitude 0.25.
double marschner_lobb(double x, double y, double z) {
  constexpr double kFrequency = 6;
  constexpr double kAmplitude = 0.25;
  const double radius = std::sqrt(x * x + y * y);
  const double ripple =
      std::cos(2 * std::numbers::pi * kFrequency * std::cos(std::numbers::pi * radius / 2));
  return (1 - std::sin(std::numbers::pi * z / 2) + kAmplitude * (1 + ripple)) /
         (2 * (1 + kAmplitude));
}

double ball(double x, double y, double z) {
  return 1 - std::sqrt(x * x + y * y + z * z);
}

Formula formula_of(std::string_view name) {
  if (name == "gyroid")
    return gyroid;
  if (name == "marschner-lobb")
    return marschner_lobb;
  if (name == "ball")
    return ball;
  throw Failure(Cause::kInput, "there is no formula '" + std::string(name) +
                                   "'; there are gyroid, marschner-lobb and ball");
}

}  // namespace

Volume make_field(std::string_view formula, const Index& points) {
  const Formula value = formula_of(formula);
  Volume volume;
  volume.grid.points = points;
  volume.grid.check();
  for (std::size_t axis = 0; axis < 3; ++axis) {
    volume.grid.origin[axis] = -1;
    volume.grid.spacing[axis] = 2.0 / (points[axis] - 1);
  }
  volume.brick.box = volume.grid.all();
  volume.brick.samples.reserve(volume.brick.box.count());
  const auto place = [&volume](std::size_t axis, std::int32_t index) {
    return volume.grid.origin[axis] + index * volume.grid.spacing[axis];
  };
  for (std::int32_t z = 0; z < points[2]; ++z)
    for (std::int32_t y = 0; y < points[1]; ++y)
      for (std::int32_t x = 0; x < points[0]; ++x)
        volume.brick.samples.push_back(
            static_cast<float>(value(place(0, x), place(1, y), place(2, z))));
  return volume;
}

}  // namespace rdma::isosurface
