// SPDX-License-Identifier: GPL-2.0
#include "grid.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace rdma::isosurface {

std::size_t Box::count() const {
  const Index edges = size();
  return empty() ? 0
                 : static_cast<std::size_t>(edges[0]) * static_cast<std::size_t>(edges[1]) *
                       static_cast<std::size_t>(edges[2]);
}

Box Box::common(const Box& other) const {
  Box both;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    both.begin[axis] = std::max(begin[axis], other.begin[axis]);
    both.end[axis] = std::min(end[axis], other.end[axis]);
  }
  return both;
}

void Grid::check() const {
  std::size_t samples = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    refuse_if(points[axis] < 2 || points[axis] > kMostPoints, Cause::kInput, "a volume has 2 to ",
              kMostPoints, " points along each axis, and this one ", points[axis], " along ",
              "xyz"[axis]);
    samples *= static_cast<std::size_t>(points[axis]);
    refuse_if(!std::isfinite(origin[axis]) || !std::isfinite(spacing[axis]) ||
                  spacing[axis] < 1e-30 || spacing[axis] > 1e30,
              Cause::kInput, "the volume's origin or spacing along ", "xyz"[axis],
              " is no number that can be drawn; spacings are positive");
  }
  refuse_if(samples > kMostSamples, Cause::kInput, "the volume has ", samples, " samples; at most ",
            kMostSamples, " fit: make it smaller");
}

Brick cut(const Brick& from, const Box& box) {
  Brick part{box, std::vector<float>(box.count())};
  paste(from, part);
  return part;
}

void paste(const Brick& from, Brick& into) {
  Box rows = from.box.common(into.box);
  if (rows.empty()) return;
  const auto length = rows.size()[0];
  rows.end[0] = rows.begin[0] + 1;
  for_each(rows, [&](const Index& row) {
    std::copy_n(&from.samples[from.offset(row)], length, &into.samples[into.offset(row)]);
  });
}

std::vector<Box> blocks(const Box& box, std::int32_t edge) {
  std::vector<Box> all;
  const auto add = [&](const Index& at) {
    all.push_back(Box{at, {at[0] + edge, at[1] + edge, at[2] + edge}}.common(box));
  };
  for_each(box, add, edge);
  return all;
}

Box points_for(const Grid& grid, const Box& cells) {
  Box wanted;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    wanted.begin[axis] = cells.begin[axis] - 1;
    wanted.end[axis] = cells.end[axis] + 2;
  }
  return wanted.common(grid.all());
}

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

double ball(double x, double y, double z) { return 1 - std::sqrt(x * x + y * y + z * z); }

Formula formula_of(std::string_view name) {
  if (name == "gyroid") return gyroid;
  if (name == "marschner-lobb") return marschner_lobb;
  refuse_if(name != "ball", Cause::kInput, "there is no formula '", name,
            "'; there are gyroid, marschner-lobb and ball");
  return ball;
}

}  // namespace

Volume make_field(std::string_view formula, const Index& points) {
  const Formula value = formula_of(formula);
  Volume volume{{points, {-1, -1, -1}}, {}};
  volume.grid.check();
  auto& step = volume.grid.spacing;
  for (std::size_t axis = 0; axis < 3; ++axis) step[axis] = 2.0 / (points[axis] - 1);
  volume.brick.box = volume.grid.all();
  volume.brick.samples.reserve(volume.brick.box.count());
  for_each(volume.brick.box, [&](const Index& at) {
    volume.brick.samples.push_back(
        static_cast<float>(value(at[0] * step[0] - 1, at[1] * step[1] - 1, at[2] * step[2] - 1)));
  });
  return volume;
}

}  // namespace rdma::isosurface
