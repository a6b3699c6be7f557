// SPDX-License-Identifier: GPL-2.0
#include "canvas.h"

#include <png.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "new_file.h"

namespace rdma::isosurface {
namespace {

using Vector = std::array<std::int64_t, 3>;

constexpr int kPixelBits = 8;   // places in a pixel
constexpr int kTurnBits = 14;   // of the numbers that turn
constexpr int kScaleBits = 32;  // of those that scale; products are below 2^53 by kMostPixels
constexpr std::uint32_t kBackground = 0xf4f4f6;

// Red, green, blue of what faces the viewer, and of a surface's other side.
constexpr std::array<double, 3> kOutside{232, 150, 60};
constexpr std::array<double, 3> kInside{70, 120, 190};
// To the light: left, up, to the viewer.
constexpr std::array<double, 3> kLight{-0.36, -0.48, -0.8};

std::int64_t dot(const Vector& a, const Vector& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

// Shifts right, to the nearest.
std::int64_t reduced(std::int64_t value, int bits) {
  return (value + (std::int64_t{1} << (bits - 1))) >> bits;
}

// Twice the area that three points make on the screen; positive if they go round clockwise.
std::int64_t area(const Vector& a, const Vector& b, const Vector& c) {
  return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
}

std::uint32_t shade(const Vector& normal, const std::array<double, 3>& colour) {
  const auto length = std::sqrt(static_cast<double>(dot(normal, normal)));
  const double along = std::inner_product(normal.begin(), normal.end(), kLight.begin(), 0.0);
  // A surface is lit from both of its sides.
  const double lit = length > 0 ? std::min(std::fabs(along) / length, 1.0) : 0.5;
  double shine = lit * lit * lit * lit;
  shine = shine * shine * shine * shine;
  std::uint32_t packed = 0;
  for (const double part : colour) {
    const double value = part * (0.22 + 0.73 * lit) + 90 * shine;
    packed = packed << 8U | static_cast<std::uint32_t>(std::min(value, 255.0));
  }
  return packed;
}

}  // namespace

void View::check() const {
  refuse_if(width < 16 || height < 16 || width > kMostPixels || height > kMostPixels, Cause::kInput,
            "a picture is 16 to ", kMostPixels, " pixels wide and high");
  refuse_if(!(std::fabs(azimuth) <= 360) || !(std::fabs(elevation) <= 90), Cause::kInput,
            "the azimuth is -360 to 360 degrees, the elevation -90 to 90");
}

Canvas::Canvas(const Grid& grid, const View& view) : view_(view) {
  view.check();
  pixels_.assign(static_cast<std::size_t>(view.width) * static_cast<std::size_t>(view.height),
                 Pixel{std::numeric_limits<std::int64_t>::max(), kBackground});
  double square = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    middle_[axis] = std::int64_t{grid.points[axis] - 1} * kPlaces;
    square += std::pow((grid.points[axis] - 1) * grid.spacing[axis], 2);
  }
  const double degree = std::numbers::pi / 180;
  const double sa = std::sin(view.azimuth * degree);
  const double ca = std::cos(view.azimuth * degree);
  const double se = std::sin(view.elevation * degree);
  const double ce = std::cos(view.elevation * degree);
  // Rows: right, down, away from the viewer.
  const std::array<std::array<double, 3>, 3> turn{
      {{-sa, ca, 0}, {ca * se, sa * se, -ce}, {-ca * ce, -sa * ce, -se}}};
  // The volume's diagonal takes 96 % of the picture.
  const double pixels = 0.96 * std::min(view.width, view.height) / std::sqrt(square);
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double per_half = grid.spacing[axis] * pixels * (1 << kPixelBits) / (2.0 * kPlaces);
      scaled_[row][axis] = std::llround(std::ldexp(turn[row][axis] * per_half, kScaleBits));
      turned_[row][axis] = std::llround(std::ldexp(turn[row][axis], kTurnBits));
    }
  }
}

Canvas::Corner Canvas::project(const Vertex& vertex) const {
  Vector place{};
  Vector normal{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    place[axis] = 2 * std::int64_t{vertex.place[axis]} - middle_[axis];
    normal[axis] = vertex.normal[axis];
  }
  Corner corner{};
  for (std::size_t row = 0; row < 3; ++row) {
    corner.place[row] = reduced(dot(scaled_[row], place), kScaleBits);
    corner.normal[row] = reduced(dot(turned_[row], normal), kTurnBits);
  }
  corner.place[0] += std::int64_t{view_.width} << (kPixelBits - 1);
  corner.place[1] += std::int64_t{view_.height} << (kPixelBits - 1);
  return corner;
}

void Canvas::draw(std::span<const Triangle> triangles) {
  for (const Triangle& triangle : triangles)
    draw(project(triangle[0]), project(triangle[1]), project(triangle[2]));
}

void Canvas::draw(Corner a, Corner b, Corner c) {
  std::int64_t whole = area(a.place, b.place, c.place);
  if (whole == 0) return;
  // Seen from outside corners go round counterclockwise, and down is positive here.
  const auto& colour = whole < 0 ? kOutside : kInside;
  if (whole < 0) {
    std::swap(b, c);
    whole = -whole;
  }
  const auto pixel_of = [](std::int64_t place) { return place >> kPixelBits; };
  const auto [left, right] = std::minmax({a.place[0], b.place[0], c.place[0]});
  const auto [top, bottom] = std::minmax({a.place[1], b.place[1], c.place[1]});
  const std::int64_t last_x = std::min<std::int64_t>(pixel_of(right), view_.width - 1);
  const std::int64_t last_y = std::min<std::int64_t>(pixel_of(bottom), view_.height - 1);
  for (std::int64_t y = std::max<std::int64_t>(pixel_of(top), 0); y <= last_y; ++y) {
    for (std::int64_t x = std::max<std::int64_t>(pixel_of(left), 0); x <= last_x; ++x) {
      constexpr std::int64_t kHalf = 1 << (kPixelBits - 1);
      const Vector point{(x << kPixelBits) + kHalf, (y << kPixelBits) + kHalf, 0};
      const std::int64_t of_a = area(b.place, c.place, point);
      const std::int64_t of_b = area(c.place, a.place, point);
      const std::int64_t of_c = area(a.place, b.place, point);
      if (of_a < 0 || of_b < 0 || of_c < 0) continue;
      const std::int64_t depth =
          (of_a * a.place[2] + of_b * b.place[2] + of_c * c.place[2]) / whole;
      Pixel& pixel = pixels_[static_cast<std::size_t>(y * view_.width + x)];
      if (depth > pixel.depth) continue;
      Vector normal{};
      for (std::size_t axis = 0; axis < 3; ++axis)
        normal[axis] =
            (of_a * a.normal[axis] + of_b * b.normal[axis] + of_c * c.normal[axis]) / whole;
      pixel = std::min(pixel, Pixel{depth, shade(normal, colour)});
    }
  }
}

Picture Canvas::picture() const {
  Picture picture{view_.width, view_.height, {}};
  picture.pixels.reserve(pixels_.size() * 3);
  for (const Pixel& pixel : pixels_)
    for (const unsigned shift : {16U, 8U, 0U})
      picture.pixels.push_back(static_cast<std::uint8_t>(pixel.colour >> shift & 0xffU));
  return picture;
}

std::vector<std::byte> to_png(const Picture& picture) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(picture.width);
  image.height = static_cast<png_uint_32>(picture.height);
  image.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::vector<std::byte> file(size);
  const auto* const pixels = picture.pixels.data();
  if (png_image_write_to_memory(&image, file.data(), &size, 0, pixels, 0, nullptr) == 0)
    throw Failure(sentence("libpng: ", image.message));
  file.resize(size);
  return file;
}

void write_png(const Picture& picture, const std::string& name) {
  NewFile file(name);
  file.write(to_png(picture));
  file.commit();
}

}  // namespace rdma::isosurface
