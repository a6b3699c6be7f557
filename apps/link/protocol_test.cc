// SPDX-License-Identifier: GPL-2.0
// What ends tell each other: regions, hellos, frames, credits. Bytes from a peer are held to what
// they may be.
#include <gtest/gtest.h>

#include <limits>

#include "credits.h"
#include "hello.h"
#include "tcp_frame.h"
#include "tcp_regions.h"

namespace rdma {

namespace {

Cause cause_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Failure& failure) {
    return failure.cause();
  }
  throw std::runtime_error("nothing failed");
}

TEST(RemoteRegion, BytesAreBigEndian) {
  const RemoteRegion region{.address = 0x0102030405060708, .length = 0x11, .key = 0xa1b2c3d4};
  const auto bytes = region.to_bytes();
  EXPECT_EQ(bytes[0], std::byte{1});
  EXPECT_EQ(bytes[15], std::byte{0x11});
  EXPECT_EQ(bytes[16], std::byte{0xa1});
  EXPECT_EQ(RemoteRegion::from_bytes(bytes), region);
}

TEST(RemoteRegion, ShortOrOverTheEnd) {
  const auto whole = RemoteRegion{.address = 1, .length = 2, .key = 3}.to_bytes();
  EXPECT_EQ(cause_of([&] { RemoteRegion::from_bytes(std::span(whole).first(19)); }),
            Cause::kProtocol);
  const RemoteRegion over{
      .address = 2, .length = std::numeric_limits<std::uint64_t>::max() - 1, .key = 3};
  EXPECT_EQ(cause_of([&] { RemoteRegion::from_bytes(over.to_bytes()); }), Cause::kProtocol);
}

TEST(Hello, ComesBack) {
  Settings settings;
  settings.credits = 77;
  settings.message_bytes = 123456;
  const Hello hello{std::span<const std::byte>(Hello(settings).to_bytes())};
  EXPECT_EQ(hello.credits, 77);
  EXPECT_EQ(hello.message_bytes, 123456U);
}

TEST(Hello, WrongOnes) {
  auto bytes = Hello(Settings{}).to_bytes();
  EXPECT_EQ(cause_of([&] { Hello(std::span<const std::byte>(bytes).first(11)); }),
            Cause::kProtocol);
  bytes[4] = std::byte{0xff};  // credits
  EXPECT_EQ(cause_of([&] { Hello{std::span<const std::byte>(bytes)}; }), Cause::kProtocol);
  bytes = Hello(Settings{}).to_bytes();
  bytes[0] = std::byte{0};
  EXPECT_EQ(cause_of([&] { Hello{std::span<const std::byte>(bytes)}; }), Cause::kProtocol);
}

TEST(Frame, ComesBack) {
  const Frame frame{.type = Frame::Type::kCompareSwap,
                    .credits = 9,
                    .key = 1,
                    .address = 2,
                    .length = 3,
                    .first = 4,
                    .second = 5};
  const Frame back = Frame::from_bytes(frame.to_bytes());
  EXPECT_EQ(back.type, frame.type);
  EXPECT_EQ(back.credits, 9);
  EXPECT_EQ(back.key, 1U);
  EXPECT_EQ(back.address, 2U);
  EXPECT_EQ(back.length, 3U);
  EXPECT_EQ(back.first, 4U);
  EXPECT_EQ(back.second, 5U);
}

TEST(Frame, UnknownTypes) {
  auto bytes = Frame{.type = Frame::Type::kRead}.to_bytes();
  for (const unsigned type : {0U, 10U, 255U}) {
    bytes[0] = static_cast<std::byte>(type);
    EXPECT_EQ(cause_of([&] { Frame::from_bytes(bytes); }), Cause::kProtocol);
  }
  bytes = Frame{.type = Frame::Type::kRead}.to_bytes();
  bytes[1] = std::byte{1};
  EXPECT_EQ(cause_of([&] { Frame::from_bytes(bytes); }), Cause::kProtocol);
}

TEST(Credits, SpentAndReturned) {
  Credits credits(4, 2);
  credits.spend();
  EXPECT_TRUE(credits.any());
  credits.spend();
  EXPECT_FALSE(credits.any());
  credits.returned(2);
  EXPECT_TRUE(credits.any());
  EXPECT_EQ(cause_of([&] { credits.returned(1); }), Cause::kProtocol);
}

TEST(Credits, NothingIsNotGivenBackAlone) {
  Credits credits(4, 2);
  credits.spend();
  credits.returned(0);
  EXPECT_EQ(cause_of([&] { credits.returned_alone(0); }), Cause::kProtocol);
  EXPECT_EQ(cause_of([&] { credits.returned_alone(2); }), Cause::kProtocol);
  credits.returned_alone(1);
}

TEST(Credits, DueByHalf) {
  Credits credits(4, 4);
  credits.arrived();
  credits.arrived();
  credits.taken();
  EXPECT_FALSE(credits.due());
  credits.taken();
  EXPECT_TRUE(credits.due());
  EXPECT_EQ(credits.give_back(), 2U);
  EXPECT_EQ(credits.give_back(), 0U);
}

TEST(Credits, NoMoreThanThereIsRoomFor) {
  Credits credits(4, 4);
  for (int i = 0; i < 4; i++) {
    credits.arrived();
  }
  EXPECT_EQ(cause_of([&] { credits.arrived(); }), Cause::kProtocol);
  credits.taken();  // and not given back
  EXPECT_EQ(cause_of([&] { credits.arrived(); }), Cause::kProtocol);
  credits.give_back();
  credits.arrived();
}

class Regions : public testing::Test {
 protected:
  alignas(8) std::array<std::byte, 64> bytes_{};
  RegionTable table_;
};

TEST_F(Regions, KeyRightAndBounds) {
  const std::uint32_t key = table_.add(bytes_, kRemoteRead);
  table_.check({.key = key, .address = 0, .length = 64}, kRemoteRead);
  table_.check({.key = key, .address = 64, .length = 0}, kRemoteRead);
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  for (const Part part : {Part{key, 0, 65}, Part{key, 1, 64}, Part{key, 65, 0}, Part{key, kMost, 2},
                          Part{key, 2, kMost}, Part{key + 1, 0, 1}}) {
    EXPECT_EQ(cause_of([&] { table_.check(part, kRemoteRead); }), Cause::kRefused)
        << part.key << " " << part.address << " " << part.length;
  }
  EXPECT_EQ(cause_of([&] { table_.check({key, 0, 1}, kRemoteWrite); }), Cause::kRefused);
  table_.remove(key);
  EXPECT_EQ(cause_of([&] { table_.check({key, 0, 1}, kRemoteRead); }), Cause::kRefused);
}

TEST_F(Regions, Atomics) {
  const std::uint32_t key = table_.add(bytes_, kRemoteAtomic);
  Frame frame{.type = Frame::Type::kFetchAdd, .key = key, .address = 8, .first = 5};
  EXPECT_EQ(table_.execute(frame), 0U);
  EXPECT_EQ(table_.execute(frame), 5U);
  frame = {.type = Frame::Type::kCompareSwap, .key = key, .address = 8, .first = 9, .second = 1};
  EXPECT_EQ(table_.execute(frame), 10U);
  frame.first = 10;
  EXPECT_EQ(table_.execute(frame), 10U);
  EXPECT_EQ(table_.execute(frame), 1U);
  for (const std::uint64_t address : {4, 57, 64}) {
    frame.address = address;
    EXPECT_EQ(cause_of([&] { table_.execute(frame); }), Cause::kRefused) << address;
  }
}

}  // namespace

}  // namespace rdma
