// SPDX-License-Identifier: GPL-2.0
#include "vtk.h"

#include <gtest/gtest.h>

#include "field.h"
#include "tetrahedra.h"
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
  struct Case {
    std::string type, bytes;
    float first;
  };
  const auto eight = [](const std::string& one) {
    std::string all;
    for (int i = 0; i < 8; ++i)
      all += one;
    return all;
  };
  for (const Case& one : std::initializer_list<Case>{
           {"unsigned_char", eight("\xfe"), 254},
           {"char", eight("\xfe"), -2},
           {"unsigned_short", eight("\xff\xfe"), 65534},
           {"short", eight("\xff\xfe"), -2},
           {"unsigned_int", eight(std::string("\x00\x01\x00\x00", 4)), 65536},
           {"int", eight("\xff\xff\xff\xfe"), -2},
           {"float", eight(std::string("\x3f\x80\x00\x00", 4)), 1},
           {"double", eight(std::string("\x40\x00\x00\x00\x00\x00\x00\x00", 8)), 2}}) {
    std::string file = kStart;
    file += "BINARY\n";
    file += kPlace;
    file += "POINT_DATA 8\nSCALARS v ";
    file += one.type;
    file += " 1\nLOOKUP_TABLE default\n";
    file += one.bytes;
    EXPECT_EQ(said(file), "nothing") << one.type;
    EXPECT_EQ(read_volume(name()).brick.samples, std::vector<float>(8, one.first)) << one.type;
  }
}

TEST_F(Vtk, SaysWhatIsWrong) {
  const std::string at = name() + ": ";
  EXPECT_EQ(said("P5 1 1\n"),
            at + "is no VTK file of the legacy format: its first line is 'P5 1 1', "
                 "not '# vtk DataFile Version ...'");
  EXPECT_EQ(said(""), at + "ends where the line '# vtk DataFile Version 3.0' should be");
  EXPECT_EQ(said(std::string(5000, 'x')),
            at + "has a line of more than 1024 letters where the line '# vtk DataFile Version 3.0' "
                 "should be");
  EXPECT_EQ(said(kStart + "XML\n"), at + "its third line is 'xml', not BINARY or ASCII");
  EXPECT_EQ(said(kStart + "ASCII\nDATASET POLYDATA\n"),
            at + "holds 'POLYDATA', not STRUCTURED_POINTS");
  EXPECT_EQ(said(kStart + "ASCII\nDATASET STRUCTURED_POINTS\nDIMENSIONS 2 2\n"),
            at + "DIMENSIONS takes three numbers");
  EXPECT_EQ(said(kStart + "ASCII\nDATASET STRUCTURED_POINTS\nDIMENSIONS 2 2 two\n"),
            at + "DIMENSIONS has 'two' where a number should be");
  EXPECT_EQ(said(kStart + "ASCII\nDATASET STRUCTURED_POINTS\n" + kData),
            at + "has POINT_DATA before DIMENSIONS");
  EXPECT_EQ(said(kStart + "ASCII\nDATASET STRUCTURED_POINTS\nDIMENSIONS 2 2 3\n" + kData),
            at + "POINT_DATA says 8 samples, but DIMENSIONS make 12");
  EXPECT_EQ(said(kStart + "ASCII\n" + kPlace + "POINT_DATA 8\nVECTORS v float\n"),
            at + "has 'VECTORS' where 'SCALARS name type' should be");
  EXPECT_EQ(said(kStart + "ASCII\n" + kPlace + "POINT_DATA 8\nSCALARS v bit\n"),
            at + "its scalars are of type 'bit'; known are char, short, int, each also with "
                 "unsigned_, float and double");
  EXPECT_EQ(said(kStart + "ASCII\n" + kPlace + "POINT_DATA 8\nSCALARS v float 3\n"),
            at + "has '3' values to a point; a surface is made from one");
  EXPECT_EQ(said(kAscii + "1 2 3 4 5"), at + "ends after 5 of 8 samples; the file is cut off");
  EXPECT_EQ(said(kAscii + "1 2 3 4 5 6 seven 8"),
            at + "the samples has 'seven' where a number should be");
  EXPECT_EQ(said(kAscii + "1 2 3 4 5 6 7 nan"),
            at + "sample 7 is no number, or too large for 32 bits; a surface needs finite samples");
  EXPECT_EQ(said(kAscii + "1 2 3 4 5 6 7 1e300"),
            at + "sample 7 is no number, or too large for 32 bits; a surface needs finite samples");
  EXPECT_EQ(said(kAscii + std::string(2000, '0') + "1 2 3 4 5 6 7 8"),
            at + "has '" + std::string(40, '0') + "...' where a number should be");
  EXPECT_NE(failure_of([this] { read_volume(folder_.file("none")); }).find("No such file"),
            std::string::npos);
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
