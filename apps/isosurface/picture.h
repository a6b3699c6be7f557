// SPDX-License-Identifier: GPL-2.0
// A picture, and how it becomes a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

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

}  // namespace rdma::isosurface
