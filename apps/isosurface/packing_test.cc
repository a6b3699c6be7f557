// SPDX-License-Identifier: GPL-2.0
#include "packing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "temporary.h"

namespace rdma::isosurface {
namespace {

template <typename What>
std::vector<std::byte> packed(const What& what) {
  std::vector<std::byte> memory(1 << 20);
  memory.resize(pack(what, memory));
  return memory;
}

std::vector<std::byte> packed(const Mesh& mesh) { return packed(std::span<const Triangle>(mesh)); }

const Volume& ball() {
  static const Volume volume = make_field("ball", {9, 8, 7});
  return volume;
}

Block block_of(const Box& cells) {
  return {cells, cut(ball().brick, points_for(ball().grid, cells))};
}

TEST(Chunk, AHeaderIsReadAsItWasWritten) {
  std::vector<std::byte> chunk(Header::kBytes + 100);
  const Header header{Kind::kBlock, 77, 100};
  header.pack(chunk);
  EXPECT_EQ(Header::unpack(chunk), header);
}

TEST(Chunk, AHeaderThatLiesIsRefused) {
  std::vector<std::byte> chunk(Header::kBytes + 100);
  const auto said = [&chunk](const std::function<void()>& spoil) {
    Header{Kind::kBlock, 77, 100}.pack(chunk);
    spoil();
    return failure_of([&] { Header::unpack(chunk); });
  };
  EXPECT_EQ(said([&] { chunk[0] = std::byte{0}; }),
            "the peer sent a chunk that does not begin as one");
  EXPECT_EQ(said([&] { chunk[7] = std::byte{9}; }), "the peer sent a chunk of the unknown kind 9");
  EXPECT_EQ(said([&] { chunk[7] = std::byte{0}; }), "the peer sent a chunk of the unknown kind 0");
  EXPECT_EQ(said([&] { chunk[15] = std::byte{101}; }),
            "the peer sent a chunk of 100 bytes whose header says 101");
  EXPECT_EQ(said([&] { chunk.resize(15); }), "the peer sent too few bytes for what it said");
}

TEST(Chunk, AnImmediateIsReadAsItWasWritten) {
  const Immediate immediate{63, Header::kLongestChunk};
  EXPECT_EQ(Immediate::unpack(immediate.pack()), immediate);
}

TEST(Chunk, AnOpeningIsReadAsItWasWritten) {
  const Opening opening{ball().grid, 12};
  const auto bytes = packed(opening);
  ASSERT_EQ(bytes.size(), Opening::kBytes);
  EXPECT_EQ(unpack_opening(bytes), opening);
}

TEST(Chunk, AnOpeningThatLiesIsRefused) {
  const auto said = [](std::span<const std::byte> opening) {
    return failure_of([&] { unpack_opening(opening); });
  };
  Grid grid = ball().grid;
  grid.points[2] = 2'000'000'000;
  EXPECT_TRUE(says(said(packed(Opening{grid, 1})), "a grid that can't be"));
  auto bytes = packed(Opening{ball().grid, 8 * 7 * 6 + 1});
  EXPECT_EQ(said(bytes), "the peer sent an opening of 337 blocks for 336 cells");
  bytes.pop_back();
  EXPECT_EQ(said(bytes), "the peer sent an opening of 63 bytes");
}

TEST(Chunk, ABlockIsReadAsItWasWritten) {
  const Block block = block_of({{2, 2, 2}, {5, 4, 6}});
  const auto bytes = packed(block);
  EXPECT_EQ(bytes.size(), bytes_of_samples(block.brick.samples.size()));
  EXPECT_EQ(unpack_block(ball().grid, bytes), block);
}

TEST(Chunk, ABlockThatLiesIsRefused) {
  using Limits = std::numeric_limits<std::int32_t>;
  const auto said = [](const std::function<void(Block&)>& spoil) {
    Block block = block_of({{2, 2, 2}, {5, 4, 6}});
    spoil(block);
    return failure_of([&] { unpack_block(ball().grid, packed(block)); });
  };
  EXPECT_EQ(said([](Block&) {}), "nothing");
  const std::string outside = "the peer sent a block that lies outside the grid";
  EXPECT_EQ(said([](Block& b) { b.cells.end[0] = 9; }), outside);
  EXPECT_EQ(said([](Block& b) { b.cells.begin[1] = -1; }), outside);
  EXPECT_EQ(said([](Block& b) { b.cells.end[2] = b.cells.begin[2]; }), outside);
  EXPECT_EQ(said([](Block& b) { b.cells.end[0] = Limits::min(); }), outside);
  EXPECT_EQ(said([](Block& b) { b.cells.end[0] = Limits::max(); }), outside);
  EXPECT_NE(said([](Block& b) { b.cells.end[0] -= 1; }), "nothing");
  EXPECT_NE(said([](Block& b) { b.brick.samples.pop_back(); }), "nothing");
  EXPECT_EQ(said([](Block& b) { b.brick.samples[3] = NAN; }),
            "the peer sent a sample that is no finite number");
}

TEST(Chunk, ABrickMayHaveTheLastPoints) {
  const Brick brick = cut(ball().brick, {{5, 5, 5}, {9, 8, 7}});
  EXPECT_EQ(unpack_brick(ball().grid, packed(brick)), brick);
}

TEST(Chunk, TrianglesAreReadAsTheyWereWritten) {
  Mesh mesh;
  extract(ball().grid, ball().brick, ball().grid.cells(), 0.3F, mesh);
  const auto bytes = packed(mesh);
  EXPECT_EQ(bytes.size(), mesh.size() * kTriangleBytes);
  Mesh read;
  unpack_triangles(ball().grid, bytes, read);
  EXPECT_EQ(read, mesh);
}

// What is said of these triangles, which are appended to `read`.
std::string said_of(std::span<const std::byte> triangles, Mesh& read) {
  return failure_of([&] { unpack_triangles(ball().grid, triangles, read); });
}

TEST(Chunk, TrianglesOutsideTheGridAreRefused) {
  const std::int32_t last = 8 * kPlaces;
  Mesh read;
  for (const std::int32_t x : {-1, last + 1, std::numeric_limits<std::int32_t>::min()}) {
    Mesh one(1);
    one[0][2].place[0] = x;
    EXPECT_EQ(said_of(packed(one), read), "the peer sent a triangle that lies outside the grid");
  }
  EXPECT_EQ(said_of(std::vector<std::byte>(55), read),
            "the peer sent 55 bytes of triangles, which are 54 each");
  EXPECT_EQ(said_of({}, read), "the peer sent 0 bytes of triangles, which are 54 each");
}

// One that covers the whole picture takes long to draw, and a chunk has thousands.
TEST(Chunk, TrianglesLargerThanACellAreRefused) {
  Mesh read;
  for (const std::int32_t size : {kPlaces, kPlaces + 1}) {
    Mesh one(1);
    one[0][1].place = {0, kPlaces, 0};
    one[0][2].place = {0, kPlaces, size};
    EXPECT_EQ(said_of(packed(one), read),
              size == kPlaces ? "nothing" : "the peer sent a triangle that is larger than a cell");
  }
  EXPECT_EQ(read.size(), 1U);
}

// Whatever bytes come, they are taken or refused: the sanitizers and the checks below see the rest.
TEST(Chunk, SpoiledBytesAreTakenOrRefused) {
  std::mt19937 random(11);
  Mesh mesh;
  extract(ball().grid, ball().brick, {{0, 0, 0}, {4, 4, 4}}, 0.3F, mesh);
  const auto block = packed(block_of({{2, 2, 2}, {5, 4, 6}}));
  const auto triangles = packed(mesh);
  const auto opening = packed(Opening{ball().grid, 12});
  const auto word = pack(Question{ball().grid.all()});
  const auto spoil = [&random](std::vector<std::byte> bytes) {
    for (unsigned i = 0; i < 1 + random() % 3; ++i)
      bytes[random() % std::min<std::size_t>(bytes.size(), 64)] = static_cast<std::byte>(random());
    if (random() % 4 == 0) bytes.resize(random() % (bytes.size() + 8));
    return bytes;
  };
  int taken = 0;
  int refused = 0;
  const auto attempt = [&](const std::function<void()>& call) {
    failure_of(call) == "nothing" ? ++taken : ++refused;
  };
  for (int round = 0; round < 5000; ++round) {
    attempt([&] {
      const Block read = unpack_block(ball().grid, spoil(block));
      // What is taken can be worked on.
      Mesh out;
      extract(ball().grid, read.brick, read.cells, 0.3F, out);
    });
    attempt([&] {
      Mesh out;
      unpack_triangles(ball().grid, spoil(triangles), out);
    });
    attempt([&] { unpack_opening(spoil(opening)); });
    attempt([&] { unpack_word(spoil(word)); });
  }
  EXPECT_GT(taken, 100);
  EXPECT_GT(refused, 100);
}

TEST(Word, EachIsReadAsItWasWritten) {
  const Ring ring{4, 4096, {0x1234567890, 16384, 0xabcdef01}};
  for (const Word& word : {Word(ring), Word(Credit{7}), Word(Done{}),
                           Word(Question{{{1, -2, 3}, {4, 5, 6}}}), Word(Abort{"a reason"})})
    EXPECT_EQ(unpack_word(pack(word)), word);
  EXPECT_EQ(std::get<Abort>(unpack_word(pack(Abort{"the disk\nis \x1b[31mfull"}))).reason,
            "the disk?is ?[31mfull");
}

TEST(Word, WhatIsNoneIsRefused) {
  EXPECT_NE(failure_of([] { unpack_word({}); }), "nothing");
  auto longer = pack(Credit{7});
  longer.push_back(std::byte{0});
  EXPECT_EQ(failure_of([&] { unpack_word(longer); }),
            "the peer sent a message that is longer than it should be");
  longer[0] = std::byte{99};
  EXPECT_EQ(failure_of([&] { unpack_word(longer); }),
            "the peer sent a message of the unknown type 99");
  EXPECT_EQ(std::get<Abort>(unpack_word(pack(Abort{std::string(5000, 'x')}))).reason,
            std::string(400, 'x'));
}

TEST(Word, ARingThatLiesIsRefused) {
  const auto said = [](const std::function<void(Ring&)>& spoil) {
    Ring ring{4, 4096, {4096, 16384, 1}};
    spoil(ring);
    return failure_of([&] { unpack_word(pack(ring)); });
  };
  EXPECT_EQ(said([](Ring&) {}), "nothing");
  EXPECT_NE(said([](Ring& ring) { ring.slots = 0; }), "nothing");
  EXPECT_NE(said([](Ring& ring) { ring.slots = 65; }), "nothing");
  EXPECT_NE(said([](Ring& ring) { ring.slot_bytes = 1023; }), "nothing");
  EXPECT_NE(said([](Ring& ring) { ring.slot_bytes = 0xffffffff; }), "nothing");
  EXPECT_EQ(said([](Ring& ring) { ring.region.length -= 1; }),
            "the peer sent a ring that is not as long as its slots");
}

}  // namespace
}  // namespace rdma::isosurface
