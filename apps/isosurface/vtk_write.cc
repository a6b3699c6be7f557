// SPDX-License-Identifier: GPL-2.0
#include <array>
#include <charconv>
#include <map>
#include <string_view>
#include <vector>

#include "new_file.h"
#include "bytes.h"
#include "vtk.h"

namespace rdma::isosurface {
namespace {

// The shortest text that is read as the same number.
template <typename Number>
std::string text_of(Number number) {
  std::array<char, 64> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  return {buffer.data(), result.ptr};
}

template <typename Number>
std::string text_of(const std::array<Number, 3>& three) {
  return text_of(three[0]) + ' ' + text_of(three[1]) + ' ' + text_of(three[2]);
}

template <typename Number>
void put(NewFile& file, Number number) {
  std::array<std::byte, sizeof(Number)> bytes{};
  Packer(bytes).put(number);
  file.write(bytes);
}

void write_head(NewFile& file, std::string_view title, Encoding encoding) {
  file.write("# vtk DataFile Version 3.0\n");
  file.write(title);
  file.write(encoding == Encoding::kBinary ? "\nBINARY\n" : "\nASCII\n");
}

}  // namespace

void write_volume(const Volume& volume, const std::string& name, Encoding encoding) {
  const Grid& grid = volume.grid;
  NewFile file(name);
  write_head(file, "a volume by isosurface generate", encoding);
  file.write("DATASET STRUCTURED_POINTS\nDIMENSIONS " + text_of(grid.points) + "\nORIGIN " +
             text_of(grid.origin) + "\nSPACING " + text_of(grid.spacing) + "\nPOINT_DATA " +
             text_of(volume.brick.samples.size()) +
             "\nSCALARS value float 1\nLOOKUP_TABLE default\n");
  for (const float sample : volume.brick.samples) {
    if (encoding == Encoding::kBinary)
      put(file, sample);
    else
      file.write(text_of(sample) + '\n');
  }
  if (encoding == Encoding::kBinary)
    file.write("\n");
  file.commit();
}

void write_surface(const Grid& grid, const Mesh& mesh, const std::string& name) {
  // Triangles share their corners.
  std::map<std::array<std::int32_t, 3>, std::int32_t> numbers;
  std::vector<const Vertex*> vertices;
  for (const Triangle& triangle : mesh)
    for (const Vertex& vertex : triangle)
      if (numbers.try_emplace(vertex.place, static_cast<std::int32_t>(vertices.size())).second)
        vertices.push_back(&vertex);

  NewFile file(name);
  write_head(file, "a surface by isosurface render", Encoding::kBinary);
  file.write("DATASET POLYDATA\nPOINTS " + text_of(vertices.size()) + " float\n");
  for (const Vertex* vertex : vertices)
    for (std::size_t axis = 0; axis < 3; ++axis)
      put(file, static_cast<float>(grid.origin[axis] +
                                   grid.spacing[axis] * static_cast<double>(vertex->place[axis]) /
                                       kPlaces));
  file.write("\nPOLYGONS " + text_of(mesh.size()) + ' ' + text_of(4 * mesh.size()) + '\n');
  for (const Triangle& triangle : mesh) {
    put(file, std::int32_t{3});
    for (const Vertex& vertex : triangle)
      put(file, numbers.at(vertex.place));
  }
  file.write("\nPOINT_DATA " + text_of(vertices.size()) + "\nNORMALS normals float\n");
  for (const Vertex* vertex : vertices)
    for (const std::int16_t part : vertex->normal)
      put(file, static_cast<float>(part) / 32767);
  file.write("\n");
  file.commit();
}

}  // namespace rdma::isosurface
