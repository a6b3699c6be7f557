// SPDX-License-Identifier: GPL-2.0
#include "picture.h"

#include <png.h>

#include "failure.h"
#include "new_file.h"

namespace rdma::isosurface {

std::vector<std::byte> to_png(const Picture& picture) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(picture.width);
  image.height = static_cast<png_uint_32>(picture.height);
  image.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::vector<std::byte> file(size);
  if (png_image_write_to_memory(&image, file.data(), &size, 0, picture.pixels.data(), 0, nullptr) ==
      0)
    throw Failure(Cause::kSystem, std::string("libpng: ") + image.message);
  file.resize(size);
  return file;
}

void write_png(const Picture& picture, const std::string& name) {
  const std::vector<std::byte> bytes = to_png(picture);
  NewFile file(name);
  file.write(bytes);
  file.commit();
}

}  // namespace rdma::isosurface
