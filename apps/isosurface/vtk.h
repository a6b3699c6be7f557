// SPDX-License-Identifier: GPL-2.0
// Files in VTK's legacy format, as viewers such as ParaView read and write them.
#pragma once

#include <string>

#include "tetrahedra.h"

namespace rdma::isosurface {

// Reads structured points with one scalar to a point, of any of VTK's number types up to double,
// BINARY (big endian) or ASCII. Throws Failure (kInput) that names the file and what is wrong in
// it: a word of the header, a size, a file that ends too early, a sample that is no number.
Volume read_volume(const std::string& name);

enum class Encoding { kBinary, kAscii };

// Writes structured points of type float. Throws Failure (kSystem).
void write_volume(const Volume& volume, const std::string& name, Encoding encoding);
// Writes polydata: the triangles, with a normal to each corner. Throws Failure (kSystem).
void write_surface(const Grid& grid, const Mesh& mesh, const std::string& name);

}  // namespace rdma::isosurface
