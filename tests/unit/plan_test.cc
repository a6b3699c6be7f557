// SPDX-License-Identifier: GPL-2.0
#include "random.h"
#include "wire.hpp"

#include <gtest/gtest.h>

namespace weft::test {
namespace {

constexpr u32 kOverhead = WEFT_MPA_LEN + WEFT_CRC_LEN;

// Segment sizes of MTU 576, 1450, 1500, 9000 and of the loopback device.
constexpr u32 kEmss[] = {128, 132, 524, 1396, 1448, 8948, 65480};

// Properties of every FPDU, wherever it lies.
void check_fpdu(const weft_fpdu& f, bool tagged, u32 left) {
  const u32 ulpdu = weft_ddp_hdr_len(tagged) + f.payload;
  ASSERT_LE(ulpdu, WEFT_MAX_ULPDU);
  ASSERT_EQ(f.len, (WEFT_MPA_LEN + ulpdu + 3) / 4 * 4 + WEFT_CRC_LEN);
  ASSERT_EQ(f.len % 4, 0U);
  ASSERT_LE(f.payload, left);
  ASSERT_EQ(f.last, f.payload == left);
}

TEST(Plan, PaddingFillsUpToFour) {
  for (u32 ulpdu = 0; ulpdu <= WEFT_MAX_ULPDU; ulpdu++) {
    ASSERT_LT(weft_fpdu_pad(ulpdu), 4U);
    ASSERT_EQ((WEFT_MPA_LEN + ulpdu + weft_fpdu_pad(ulpdu)) % 4, 0U);
  }
  EXPECT_EQ(weft_fpdu_len(14), 20U);
  EXPECT_EQ(weft_fpdu_len(15), 24U);
  EXPECT_EQ(weft_fpdu_len(WEFT_MAX_ULPDU), 65544U);
}

// Memory for the next FPDU is found by this length, so a huge message must not look short.
TEST(Plan, RestIsNoShorterThanTheFpdu) {
  for (const bool tagged : {false, true}) {
    for (const u32 left : {0U, 1U, 1428U, 65534U, 65535U, 65536U, 0x7fffffffU, 0xffffffe0U,
                           0xffffffe8U, 0xfffffff0U, 0xfffffffeU, 0xffffffffU}) {
      for (const u32 emss : kEmss) {
        weft_fpdu f{};
        ASSERT_TRUE(weft_plan_fpdu(emss, emss, emss, tagged, left, &f));
        EXPECT_LE(f.len, std::min(weft_plan_rest(tagged, left), emss)) << left;
        EXPECT_EQ(weft_plan_rest(tagged, left) <= emss, f.last) << left;
      }
    }
  }
}

TEST(Plan, KnownCuts) {
  weft_fpdu f{};
  // MTU 1500 with timestamps: 1448 bytes hold 1428 tagged or 1424 untagged.
  ASSERT_TRUE(weft_plan_fpdu(1448, 1448, 1448, true, 1048576, &f));
  EXPECT_EQ(f.payload, 1428U);
  EXPECT_EQ(f.len, 1448U);
  EXPECT_FALSE(f.last);
  ASSERT_TRUE(weft_plan_fpdu(1448, 1448, 1448, false, 1048576, &f));
  EXPECT_EQ(f.payload, 1424U);
  EXPECT_EQ(f.len, 1448U);

  ASSERT_TRUE(weft_plan_fpdu(1448, 1448, 1448, true, 1428, &f));
  EXPECT_TRUE(f.last);
  ASSERT_TRUE(weft_plan_fpdu(1448, 1448, 1448, true, 1429, &f));
  EXPECT_FALSE(f.last);

  // One byte: 2 + 14 + 1 + 3 + 4.
  ASSERT_TRUE(weft_plan_fpdu(1448, 1448, 1448, true, 1, &f));
  EXPECT_EQ(weft_fpdu_pad(weft_ddp_hdr_len(true) + f.payload), 3U);
  EXPECT_EQ(f.len, 24U);
  // An empty message has an FPDU, too.
  ASSERT_TRUE(weft_plan_fpdu(1448, 1448, 20, true, 0, &f));
  EXPECT_EQ(f.len, 20U);
  EXPECT_TRUE(f.last);
  EXPECT_FALSE(weft_plan_fpdu(1448, 1448, 16, true, 0, &f));
  EXPECT_FALSE(weft_plan_fpdu(1448, 1448, 20, false, 0, &f));

  // A rest of a segment is filled from 128 bytes on.
  EXPECT_FALSE(weft_plan_fpdu(1448, 1448, 124, true, 1000, &f));
  ASSERT_TRUE(weft_plan_fpdu(1448, 1448, 128, true, 1000, &f));
  EXPECT_EQ(f.len, 128U);
}

// Every room of small segments, every rest of a message up to three segments.
TEST(Plan, Exhaustive) {
  for (u32 emss = 128; emss <= 160; emss += 4) {
    for (u32 room = 4; room <= emss; room += 4) {
      for (u32 left = 0; left <= 3 * emss; left++) {
        for (const bool tagged : {false, true}) {
          weft_fpdu f{};
          const u32 whole = weft_fpdu_len(weft_ddp_hdr_len(tagged) + left);
          const bool planned = weft_plan_fpdu(emss, emss, room, tagged, left, &f);
          ASSERT_EQ(planned, whole <= room || room >= WEFT_PLAN_MIN_ROOM);
          if (!planned) {
            ASSERT_LT(room, emss);
            continue;
          }
          ASSERT_NO_FATAL_FAILURE(check_fpdu(f, tagged, left));
          ASSERT_LE(f.len, room);
          ASSERT_EQ(f.last, whole <= room);
          if (!f.last) {
            ASSERT_EQ(f.len, room) << "an FPDU that goes on fills its segment";
            ASSERT_GT(f.payload, 0U);
          }
        }
      }
    }
  }
}

TEST(Plan, HugeMessagesDoNotOverflow) {
  for (const u32 emss : kEmss) {
    for (const u32 left : {0x7fffffffU, 0x80000000U, 0xfffffff0U, 0xffffffffU}) {
      weft_fpdu f{};
      ASSERT_TRUE(weft_plan_fpdu(emss, emss, emss, true, left, &f));
      ASSERT_NO_FATAL_FAILURE(check_fpdu(f, true, left));
      EXPECT_FALSE(f.last);
      EXPECT_EQ(f.len, emss);
    }
  }
}

// Segments that no FPDU can fill, since its length field has 16 bits.
TEST(Plan, SegmentsBeyondTheLengthField) {
  for (u32 emss = 65520; emss <= 65600; emss += 4) {
    for (const bool tagged : {false, true}) {
      weft_fpdu f{};
      ASSERT_TRUE(weft_plan_fpdu(emss, emss, emss, tagged, 1 << 20, &f));
      ASSERT_NO_FATAL_FAILURE(check_fpdu(f, tagged, 1 << 20));
      ASSERT_EQ(f.len, std::min(emss, weft_fpdu_len(WEFT_MAX_ULPDU))) << "emss " << emss;
    }
  }
}

// TCP's queue as the planner sees it: segments that fill up and end.
class Stream {
 public:
  Stream(u32 emss, u32 max_fpdu) : emss_(emss), max_fpdu_(max_fpdu), room_(emss) {}

  // Plans one message to its end.
  void send(bool tagged, u32 size) {
    u32 left = size;
    u32 sum = 0;
    for (bool last = false; !last;) {
      weft_fpdu f{};
      if (!weft_plan_fpdu(emss_, max_fpdu_, room_, tagged, left, &f)) {
        ASSERT_LT(room_, WEFT_PLAN_MIN_ROOM) << "a large room was given up";
        ASSERT_NE(room_, emss_) << "a fresh segment was refused";
        end_segment();
        continue;
      }
      ASSERT_NO_FATAL_FAILURE(check_fpdu(f, tagged, left));
      ASSERT_LE(f.len, max_fpdu_);
      if (max_fpdu_ == emss_) {
        ASSERT_LE(f.len, room_) << "an FPDU crosses a segment boundary";
      }
      if (!f.last) {
        ASSERT_EQ((emss_ - room_ + f.len) % emss_, 0U) << "an FPDU goes on, but not to a boundary";
      }
      room_ = emss_ - (emss_ - room_ + f.len) % emss_;
      ASSERT_GE(room_, 4U);
      ASSERT_LE(room_, emss_);
      bytes_ += f.len;
      fpdus_++;
      sum += f.payload;
      left -= f.payload;
      last = f.last;
    }
    ASSERT_EQ(sum, size);
  }

  void end_segment() {
    wasted_ += room_;
    room_ = emss_;
  }

  u64 bytes() const { return bytes_; }
  u64 wasted() const { return wasted_; }
  u64 fpdus() const { return fpdus_; }

 private:
  u32 emss_;
  u32 max_fpdu_;
  u32 room_;
  u64 bytes_ = 0;
  u64 wasted_ = 0;
  u64 fpdus_ = 0;
};

TEST(Plan, TrainsOfRandomMessages) {
  std::mt19937 random = fresh_random(5044);
  for (const u32 emss : kEmss) {
    Stream stream(emss, emss);
    for (int i = 0; i < 20000; i++) {
      // Tiny, around one segment, and some segments long.
      const u32 kind = random() % 8;
      const u32 below = kind < 4 ? 64 : kind < 7 ? 2 * emss : 20 * emss;
      const u32 size = random() % below;
      ASSERT_NO_FATAL_FAILURE(stream.send(random() % 2 == 0, size)) << "emss " << emss;
      if (random() % 50 == 0) stream.end_segment();
    }
  }
}

TEST(Plan, TrainsOfTinyMessages) {
  for (const u32 emss : kEmss) {
    for (u32 size = 0; size <= 32; size++) {
      for (const bool tagged : {false, true}) {
        Stream stream(emss, emss);
        for (int i = 0; i < 2000; i++) ASSERT_NO_FATAL_FAILURE(stream.send(tagged, size));
        EXPECT_EQ(stream.fpdus(), 2000U) << "a tiny message was cut";
      }
    }
  }
}

TEST(Plan, ALongTrainIsOneSegmentPerFpdu) {
  constexpr u32 kFpdus = 1000;
  for (const u32 emss : kEmss) {
    const u32 per_fpdu = emss - kOverhead - WEFT_DDP_TAGGED_LEN;
    Stream stream(emss, emss);
    ASSERT_NO_FATAL_FAILURE(stream.send(true, kFpdus * per_fpdu));
    EXPECT_EQ(stream.fpdus(), u64{kFpdus});
    EXPECT_EQ(stream.bytes(), u64{kFpdus} * emss);
    EXPECT_EQ(stream.wasted(), 0U);
  }
}

// Where the peer agreed to large FPDUs they take whole segments, and fewer headers.
TEST(Plan, LargeFpdus) {
  std::mt19937 random = fresh_random(5041);
  for (const u32 emss : kEmss) {
    for (const u32 max_fpdu : {emss, emss + 4, 2 * emss, 16384U, 65540U, 65544U, 100000U}) {
      if (max_fpdu < emss) continue;
      Stream stream(emss, max_fpdu);
      for (int i = 0; i < 2000; i++) {
        ASSERT_NO_FATAL_FAILURE(stream.send(random() % 2 == 0, random() % 200000))
            << "emss " << emss << " max " << max_fpdu;
      }
    }
  }
  Stream small(1448, 1448);
  Stream large(1448, 65544);
  ASSERT_NO_FATAL_FAILURE(small.send(true, 10 << 20));
  ASSERT_NO_FATAL_FAILURE(large.send(true, 10 << 20));
  EXPECT_LT(large.fpdus() * 40, small.fpdus());
}

TEST(Plan, RoomIsNeverNegative) {
  std::mt19937 random = fresh_random(5040);
  for (int i = 0; i < 1000000; i++) {
    const u32 emss = 128 + random() % 16350 * 4;
    const u32 max_fpdu = random() % 2 == 0 ? emss : emss + random() % 70000;
    const u32 room = 4 + random() % (emss / 4) * 4;
    const u32 left = random() % 4 == 0 ? random() : random() % 70000;
    const bool tagged = random() % 2 == 0;
    weft_fpdu f{};
    if (!weft_plan_fpdu(emss, max_fpdu, room, tagged, left, &f)) {
      ASSERT_LT(room, emss);
      continue;
    }
    ASSERT_NO_FATAL_FAILURE(check_fpdu(f, tagged, left));
    ASSERT_LE(f.len, max_fpdu);
    if (max_fpdu == emss) {
      ASSERT_LE(f.len, room);
    }
  }
}

}  // namespace
}  // namespace weft::test
