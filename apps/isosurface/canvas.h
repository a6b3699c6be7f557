// SPDX-License-Identifier: GPL-2.0
// Draws triangles with a depth buffer, and writes the picture.
#pragma once

#include <span>
#include <tuple>

#include "tetrahedra.h"

namespace rdma::isosurface {

struct Picture {
  std::int32_t width = 0;
  std::int32_t height = 0;
  std::vector<std::uint8_t> pixels;  // red, green, blue; row by row from the top
};

// The picture as a PNG file's bytes, the same for the same picture. Throws Failure (kSystem).
std::vector<std::byte> to_png(const Picture& picture);
// Writes that file whole or not at all. Throws Failure (kSystem).
void write_png(const Picture& picture, const std::string& name);

// From where a volume is looked at. There is no perspective, and the whole volume fits.
struct View {
  static constexpr std::int32_t kMostPixels = 4096;

  std::int32_t width = 512;  // pixels
  std::int32_t height = 512;
  double azimuth = 30;    // degrees, around the z axis, which points up
  double elevation = 25;  // degrees, above the plane of x and y

  // Throws Failure (kInput).
  void check() const;
};

// The picture depends on the set of triangles alone, not on their order: of two that are as near at
// a pixel, the one with the smaller colour is seen. All is computed in whole numbers, but for
// roots and quotients, which IEEE 754 gives exactly.
class Canvas {
 public:
  // Throws Failure (kInput) as View::check().
  Canvas(const Grid& grid, const View& view);

  void draw(std::span<const Triangle> triangles);
  Picture picture() const;

 private:
  struct Corner {
    std::array<std::int64_t, 3> place;   // 256 to a pixel: right, down, away
    std::array<std::int64_t, 3> normal;  // the same directions
  };
  struct Pixel {
    std::int64_t depth;
    std::uint32_t colour;
    bool operator<(const Pixel& other) const {
      return std::tie(depth, colour) < std::tie(other.depth, other.colour);
    }
  };

  Corner project(const Vertex& vertex) const;
  void draw(Corner a, Corner b, Corner c);

  View view_;
  std::array<std::int64_t, 3> middle_{};                 // of the grid, in halves of places
  std::array<std::array<std::int64_t, 3>, 3> scaled_{};  // halves of places to 256ths of pixels
  std::array<std::array<std::int64_t, 3>, 3> turned_{};  // the turn alone
  std::vector<Pixel> pixels_;
};

}  // namespace rdma::isosurface
