// SPDX-License-Identifier: GPL-2.0
#include "vtk.h"

#include <gtest/gtest.h>

#include "temporary.h"

namespace rdma::isosurface {
namespace {

class Vtk : public testing::Test {
 protected:
  // What is said of a file with these contents.
  std::string said(const std::string& contents) const {
    write_file(name(), contents);
    return failure_of([this] { read_volume(name()); });
  }
  std::string name() const { return folder_.file("volume.vtk"); }

  TemporaryFolder folder_;
};

const std::string kStart = "# vtk DataFile Version 3.0\ntitle\n";
const std::string kPlace =
    "DATASET STRUCTURED_POINTS\nDIMENSIONS 2 2 2\nORIGIN 0 0 0\nSPACING 1 1 1\n";
const std::string kData = "POINT_DATA 8\nSCALARS v float\nLOOKUP_TABLE default\n";
const std::string kAscii = kStart + "ASCII\n" + kPlace + kData;

TEST_F(Vtk, ReadsWhatItWrites) {
  const Volume volume = make_field("marschner-lobb", {5, 7, 3});
  for (const Encoding encoding : {Encoding::kBinary, Encoding::kAscii}) {
    write_volume(volume, name(), encoding);
    const Volume read = read_volume(name());
    EXPECT_EQ(read.grid, volume.grid);
    EXPECT_EQ(read.brick.samples, volume.brick.samples);
  }
}

TEST_F(Vtk, ReadsEachType) {
  using namespace std::string_literals;
  const std::initializer_list<std::tuple<std::string, std::string, float>> types{
      {"unsigned_char", "\xfe", 254},
      {"char", "\xfe", -2},
      {"unsigned_short", "\xff\xfe", 65534},
      {"short", "\xff\xfe", -2},
      {"unsigned_int", "\x00\x01\x00\x00"s, 65536},
      {"int", "\xff\xff\xff\xfe", -2},
      {"float", "\x3f\x80\x00\x00"s, 1},
      {"double", "\x40\x00\x00\x00\x00\x00\x00\x00"s, 2}};
  for (const auto& [type, number, value] : types) {
    std::string file = kStart;
    file.append("BINARY\n").append(kPlace).append("POINT_DATA 8\nSCALARS v ").append(type);
    file.append(" 1\nLOOKUP_TABLE default\n");
    for (int i = 0; i < 8; ++i) file += number;
    EXPECT_EQ(said(file), "nothing") << type;
    EXPECT_EQ(read_volume(name()).brick.samples, std::vector<float>(8, value)) << type;
  }
}

TEST_F(Vtk, SaysWhatIsWrong) {
  const std::string points = kStart + "ASCII\nDATASET STRUCTURED_POINTS\n";
  const std::string placed = kStart + "ASCII\n" + kPlace;
  const std::initializer_list<std::pair<std::string, std::string>> wrong{
      {"P5 1 1\n",
       "is no VTK file of the legacy format: its first line is 'P5 1 1', "
       "not '# vtk DataFile Version ...'"},
      {"", "ends where the line '# vtk DataFile Version 3.0' should be"},
      {std::string(5000, 'x'),
       "has a line of more than 1024 letters where the line '# vtk DataFile Version 3.0' "
       "should be"},
      {kStart + "XML\n", "its third line is 'xml', not BINARY or ASCII"},
      {kStart + "ASCII\nDATASET POLYDATA\n", "holds 'POLYDATA', not STRUCTURED_POINTS"},
      {points + "DIMENSIONS 2 2\n", "DIMENSIONS takes three numbers"},
      {points + "DIMENSIONS 2 2 two\n", "DIMENSIONS has 'two' where a number should be"},
      {points + kData, "has POINT_DATA before DIMENSIONS"},
      {points + "DIMENSIONS 2 2 3\n" + kData, "POINT_DATA says 8 samples, but DIMENSIONS make 12"},
      {placed + "POINT_DATA 8\nVECTORS v float\n",
       "has 'VECTORS' where 'SCALARS name type' should be"},
      {placed + "POINT_DATA 8\nSCALARS v bit\n",
       "its scalars are of type 'bit'; known are char, short, int, each also with unsigned_, float "
       "and double"},
      {placed + "POINT_DATA 8\nSCALARS v float 3\n",
       "has '3' values to a point; a surface is made from one"},
      {kAscii + "1 2 3 4 5", "ends after 5 of 8 samples; the file is cut off"},
      {kAscii + "1 2 3 4 5 6 seven 8", "the samples has 'seven' where a number should be"},
      {kAscii + "1 2 3 4 5 6 7 nan",
       "sample 7 is no number, or too large for 32 bits; a surface needs finite samples"},
      {kAscii + "1 2 3 4 5 6 7 1e300",
       "sample 7 is no number, or too large for 32 bits; a surface needs finite samples"},
      {kAscii + std::string(2000, '0') + "1 2 3 4 5 6 7 8",
       "has '" + std::string(40, '0') + "...' where a number should be"}};
  for (const auto& [file, why] : wrong) EXPECT_EQ(said(file), name() + ": " + why);
  EXPECT_TRUE(says(failure_of([this] { read_volume(folder_.file("none")); }), "No such file"));
  EXPECT_EQ(failure_of([this] { read_volume(folder_.file(".")); }),
            folder_.file(".") + ": is a directory, not a volume");
}

TEST_F(Vtk, ABinaryFileThatIsCutOffAnywhereIsRefused) {
  write_volume(make_field("ball", {4, 3, 2}), name(), Encoding::kBinary);
  const std::string whole = contents_of(name());
  // But for the line's end behind the samples, which no reader needs.
  for (std::size_t length = 0; length + 1 < whole.size(); ++length)
    EXPECT_NE(said(whole.substr(0, length)), "nothing") << length;
  EXPECT_EQ(said(whole.substr(0, whole.size() - 1)), "nothing");
}

TEST_F(Vtk, WritesASurfaceWithSharedCorners) {
  const Volume volume = make_field("ball", {9, 9, 9});
  Mesh mesh;
  extract(volume.grid, volume.brick, volume.grid.cells(), 0.4F, mesh);
  write_surface(volume.grid, mesh, name());
  const std::string file = contents_of(name());
  // A closed surface without a hole in it: corners - edges + triangles = 2, and 3 edges to 2
  // triangles.
  const std::size_t corners = mesh.size() / 2 + 2;
  EXPECT_NE(file.find("POINTS " + std::to_string(corners) + " float\n"), std::string::npos);
  EXPECT_NE(file.find("POLYGONS " + std::to_string(mesh.size()) + ' ' +
                      std::to_string(4 * mesh.size()) + '\n'),
            std::string::npos);
}

}  // namespace
}  // namespace rdma::isosurface
