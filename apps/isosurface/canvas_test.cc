// SPDX-License-Identifier: GPL-2.0
#include "canvas.h"

#include <gtest/gtest.h>
#include <png.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "filters.h"
#include "new_file.h"
#include "temporary.h"

namespace rdma::isosurface {
namespace {

std::array<int, 3> colour_at(const Picture& picture, std::int32_t x, std::int32_t y) {
  const auto at = 3 * static_cast<std::size_t>(y * picture.width + x);
  return {picture.pixels[at], picture.pixels[at + 1], picture.pixels[at + 2]};
}

TEST(Canvas, TheOrderOfTrianglesMakesNoDifference) {
  const Volume volume = make_field("gyroid", {24, 24, 24});
  Mesh mesh;
  extract(volume.grid, volume.brick, volume.grid.cells(), 0, mesh);
  // Each lies on another one of another shade.
  Mesh twins = mesh;
  for (Triangle& twin : twins)
    for (Vertex& vertex : twin) vertex.normal = {0, 0, 32767};
  mesh.insert(mesh.end(), twins.begin(), twins.end());
  const View view{160, 120, 40, 20};
  Canvas first(volume.grid, view);
  first.draw(mesh);
  std::mt19937 random(3);
  for (int round = 0; round < 3; ++round) {
    std::shuffle(mesh.begin(), mesh.end(), random);
    Canvas other(volume.grid, view);
    other.draw(mesh);
    EXPECT_EQ(other.picture().pixels, first.picture().pixels);
  }
}

TEST(Canvas, BlocksMakeTheSamePicture) {
  const Volume volume = make_field("gyroid", {20, 20, 20});
  const View view{128, 128, 30, 25};
  const Picture whole = render(volume, 0, 1024, view, nullptr);
  for (const std::int32_t edge : {3, 7, 16})
    EXPECT_EQ(render(volume, 0, edge, view, nullptr).pixels, whole.pixels);
}

TEST(Canvas, ABallIsRoundAndSeenFromOutside) {
  const Volume volume = make_field("ball", {33, 33, 33});
  const View view{200, 200, 10, 5};
  const Picture picture = render(volume, 0.25F, 32, view, nullptr);
  // The diagonal, 2 sqrt 3 long, takes 192 pixels: the radius of 0.75 is 41.6.
  const auto background = colour_at(picture, 0, 0);
  for (const int away : {0, 38}) {
    for (const auto& [x, y] : std::initializer_list<std::pair<int, int>>{
             {100 + away, 100}, {100 - away, 100}, {100, 100 + away}, {100, 100 - away}}) {
      const auto colour = colour_at(picture, x, y);
      EXPECT_NE(colour, background) << x << ' ' << y;
      EXPECT_GT(colour[0], colour[2]) << "the outside is orange";
    }
  }
  EXPECT_EQ(colour_at(picture, 100 + 45, 100), background);
  EXPECT_EQ(colour_at(picture, 100, 100 - 45), background);
}

TEST(Canvas, WhatIsNearHidesWhatIsFar) {
  const Grid grid{{3, 3, 3}, {}, {1, 1, 1}};
  const auto plane = [](std::int32_t x, std::array<std::int16_t, 3> normal) {
    const std::int32_t far = 2 * kPlaces;
    return Triangle{Vertex{{x, 0, 0}, normal}, Vertex{{x, far, 0}, normal},
                    Vertex{{x, 0, far}, normal}};
  };
  const View view{64, 64, 0, 0};  // from x
  const auto drawn = [&](const Mesh& mesh) {
    Canvas canvas(grid, view);
    canvas.draw(mesh);
    return canvas.picture();
  };
  const Triangle near = plane(2 * kPlaces, {32767, 0, 0});
  const Triangle far = plane(0, {0, 0, 32767});
  EXPECT_NE(drawn({near}).pixels, drawn({far}).pixels);
  EXPECT_EQ(drawn({far, near}).pixels, drawn({near}).pixels);
}

TEST(Canvas, RefusesSizesAndAngles) {
  for (const View& view :
       {View{15, 100, 0, 0}, View{100, 4097, 0, 0}, View{100, 100, 361, 0}, View{100, 100, 0, 91}})
    EXPECT_NE(failure_of([&] { view.check(); }), "nothing");
}

TEST(Picture, APngIsReadAsTheSamePixels) {
  Picture picture{16, 17, {}};
  std::mt19937 random(5);
  for (int i = 0; i < 16 * 17 * 3; ++i)
    picture.pixels.push_back(static_cast<std::uint8_t>(random()));
  const std::vector<std::byte> file = to_png(picture);
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  ASSERT_NE(png_image_begin_read_from_memory(&image, file.data(), file.size()), 0);
  image.format = PNG_FORMAT_RGB;
  std::vector<std::uint8_t> pixels(PNG_IMAGE_SIZE(image));
  ASSERT_NE(png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr), 0);
  EXPECT_EQ(image.width, 16U);
  EXPECT_EQ(pixels, picture.pixels);
}

TEST(NewFile, IsThereWholeOrNotAtAll) {
  const TemporaryFolder folder;
  const std::string name = folder.file("a");
  {
    NewFile file(name);
    file.write("half");
  }
  EXPECT_EQ(folder.files(), 0U);
  NewFile file(name);
  file.write("whole");
  EXPECT_EQ(contents_of(name), "");
  file.commit();
  EXPECT_EQ(contents_of(name), "whole");
  EXPECT_EQ(folder.files(), 1U);
}

// As root a device would be replaced by a picture.
TEST(NewFile, ReplacesNothingButAFile) {
  const TemporaryFolder folder;
  const std::string name = folder.file("link");
  std::filesystem::create_symlink("nowhere", name);
  EXPECT_EQ(failure_of([&] { NewFile file(name); }),
            name + " is there and no regular file; it is not replaced: name another");
  EXPECT_NE(failure_of([] { NewFile file("/dev/null"); }), "nothing");
  EXPECT_NE(failure_of([&] { NewFile file(folder.file(".")); }), "nothing");
  EXPECT_EQ(folder.files(), 1U);
}

TEST(NewFile, WritesThroughNoLinkThatWaitsForIt) {
  const TemporaryFolder folder;
  const std::string other = folder.file("other");
  const std::string name = folder.file("a");
  write_file(other, "mine");
  std::filesystem::create_symlink(other, name + ".partial-" + std::to_string(getpid()));
  NewFile file(name);
  file.write("whole");
  file.commit();
  EXPECT_EQ(contents_of(name), "whole");
  EXPECT_EQ(contents_of(other), "mine");
}

TEST(NewFile, SaysWhyItCantBe) {
  EXPECT_EQ(failure_of([] { NewFile("/nowhere/a"); }),
            "/nowhere/a can't be made: No such file or directory");
}

}  // namespace
}  // namespace rdma::isosurface
