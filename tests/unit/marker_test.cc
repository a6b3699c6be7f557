// SPDX-License-Identifier: GPL-2.0
// Markers against RFC 5044, 4.3, by hand and by a writer and a reader that know no arithmetic.
#include "marks.hpp"
#include "random.h"

#include <gtest/gtest.h>

namespace weft::test {
namespace {

// Goes through an FPDU byte by byte and inserts what is due. The CRC is left as it is.
Bytes by_steps(u64 at, const Bytes& fpdu) {
  Bytes out;
  u64 begin = at;
  for (size_t i = 0; i < fpdu.size(); i++) {
    if (at % 512 == 0) {
      const u16 back = i == 0 ? 0 : static_cast<u16>(at - begin);
      out.insert(out.end(), {0, 0, static_cast<u8>(back >> 8), static_cast<u8>(back)});
      at += 4;
    }
    if (i == 0) begin = at;
    out.push_back(fpdu[i]);
    at++;
  }
  return out;
}

// The writer's FPDU at this place. The buffer has the exact length, for the address sanitizer.
Bytes marked(u64 at, const Bytes& ulpdu, bool crc) {
  const u32 len = static_cast<u32>(ulpdu.size());
  Bytes fpdu(weft_fpdu_len_marked(len, at), 0xee);
  std::copy(ulpdu.begin(), ulpdu.end(), weft_fpdu_begin_marked(fpdu.data(), len, at));
  EXPECT_EQ(weft_fpdu_end_marked(fpdu.data(), len, at, crc), fpdu.size());
  return fpdu;
}

TEST(Marker, ByHand) {
  // The first FPDU of a stream has the first marker before it, which points nowhere.
  EXPECT_EQ(marked(0, {0x11, 0x22}, false),
            (Bytes{0, 0, 0, 0, 0x00, 0x02, 0x11, 0x22, 0, 0, 0, 0}));
  // One behind the length field and two bytes, one before the CRC, none behind it.
  EXPECT_EQ(marked(508, {1, 2, 3, 4}, false),
            (Bytes{0, 4, 1, 2, 0, 0, 0, 4, 3, 4, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(marked(1020, {1, 2}, false), (Bytes{0, 2, 1, 2, 0, 0, 0, 4, 0, 0, 0, 0}));
  EXPECT_EQ(marked(504, {1, 2}, false), (Bytes{0, 2, 1, 2, 0, 0, 0, 0}));
  // The second of an FPDU that began behind a marker is 508 bytes behind the length field.
  const Bytes two = marked(1024, Bytes(600, 0x5a), false);
  EXPECT_EQ(two.size(), 608U + 8U);
  EXPECT_EQ(Bytes(two.begin() + 512, two.begin() + 516), (Bytes{0, 0, 0x01, 0xfc}));
}

// Each place of a marker, and each length of up to three of them.
TEST(Marker, AsByStepsAtEachPlace) {
  for (u64 at = 0; at < 512; at += 4) {
    for (u32 len = 0; len <= 1200; len += len < 40 || len > 470 ? 1 : 13) {
      const Bytes ulpdu = counting(len, 7, static_cast<u32>(at));
      const Bytes want = by_steps(at, written(ulpdu, false));
      ASSERT_EQ(marked(at, ulpdu, false), want) << "at " << at << ", " << len << " bytes";
      ASSERT_EQ(weft_marker_spread(at, weft_fpdu_len(len)), want.size());
    }
  }
}

// The CRC runs over all before it, its markers included.
TEST(Marker, TheCrcCoversMarkers) {
  for (u64 at = 0; at < 1024; at += 4) {
    const Bytes ulpdu = counting(700 + static_cast<u32>(at) % 9, 7, 3);
    const Bytes fpdu = marked(at, ulpdu, true);
    const size_t covered = fpdu.size() - WEFT_CRC_LEN;
    const Bytes without = marked(at, ulpdu, false);
    ASSERT_EQ(exact(fpdu, covered), exact(without, covered));
    ASSERT_TRUE(weft_crc_good(fpdu.data() + covered,
                              crc32c(WEFT_CRC_SEED, fpdu.data(), static_cast<u32>(covered))));
  }
}

TEST(Marker, RoomIsWhatSpreads) {
  for (u64 at = 0; at < 512; at += 4) {
    EXPECT_EQ(weft_marker_spread(at, 0), 0U);
    for (u32 len = 4; len <= 2600; len += 4) {
      const u32 room = weft_marker_room(at, len);
      ASSERT_LE(weft_marker_spread(at, room), len) << at;
      ASSERT_GT(weft_marker_spread(at, room + 4), len) << at;
    }
  }
}

Read pieces_of(const Bytes& stream, u32 length) {
  const std::vector<u32> cuts(stream.size() / length + 1, length);
  return read(stream, cuts, [](bool holds, const char* what) { EXPECT_TRUE(holds) << what; });
}

// A stream of FPDUs of many lengths, cut into pieces of each even length.
TEST(Marker, ReadInPieces) {
  Bytes stream;
  Bytes want;
  for (u32 i = 0; i < 60; i++) {
    const Bytes ulpdu = counting(i * 97 % 1300, 7, i);
    want = want + written(ulpdu, false);
    stream = stream + marked(stream.size(), ulpdu, false);
  }
  for (u32 cut = 2; cut < 1100; cut += cut < 40 ? 2 : 46) {
    const Read got = pieces_of(stream, cut);
    ASSERT_FALSE(got.wrong) << "pieces of " << cut;
    ASSERT_EQ(got.plain, want) << "pieces of " << cut;
  }
}

// Each wrong bit of a pointer is seen, but for the two that do not count and the reserved half.
TEST(Marker, WrongPointers) {
  const Bytes good = marked(0, counting(600, 7, 1), false);
  for (const size_t at : {0U, 512U}) {
    for (u32 bit = 0; bit < 32; bit++) {
      Bytes bad = good;
      bad[at + bit / 8] ^= static_cast<u8>(1U << bit % 8);
      const Read got = pieces_of(bad, static_cast<u32>(bad.size()));
      EXPECT_EQ(got.wrong, bit >= 16 && bit != 24 && bit != 25) << "bit " << bit << " at " << at;
    }
  }
}

// Every room of small segments at each place of a marker.
TEST(Marker, Planned) {
  for (u32 emss = 128; emss <= 700; emss += 52) {
    for (u64 at = 0; at < 512; at += 4) {
      for (u32 room = 4; room <= emss; room += 4) {
        for (const u32 left : {0U, 1U, 99U, 100U, 128U, 480U, 600U, 65535U, 0xffffffffU}) {
          const bool tagged = (left & 1) != 0;
          const u32 hdr = weft_ddp_hdr_len(tagged);
          const u32 whole = weft_marker_spread(at, weft_plan_rest(tagged, left));
          weft_fpdu f{};
          if (!weft_plan_marked(emss, at, room, tagged, left, &f)) {
            ASSERT_LT(room, emss) << "a fresh segment is used";
            ASSERT_LT(weft_marker_room(at, room), WEFT_PLAN_MIN_ROOM);
            ASSERT_GT(whole, room) << "what fits is not put off";
            continue;
          }
          ASSERT_EQ(f.last, whole <= room);
          ASSERT_EQ(f.last, f.payload == left);
          ASSERT_TRUE(f.last || f.payload > 0);
          ASSERT_EQ(f.len, weft_fpdu_len_marked(hdr + f.payload, at));
          ASSERT_LE(f.len, room);
          // What is left of the segment is at most a marker that has nothing behind it.
          ASSERT_TRUE(f.last || room - f.len <= WEFT_MARKER_LEN);
        }
      }
    }
  }
}

// Pointers have 16 bits, whatever the segment.
TEST(Marker, PlannedInHugeSegments) {
  for (u32 emss = 65400; emss <= 66200; emss += 4) {
    for (u64 at = 0; at < 512; at += 4) {
      weft_fpdu f{};
      ASSERT_TRUE(weft_plan_marked(emss, at, emss, true, 1 << 20, &f));
      ASSERT_LE(f.len, 0x10000U);
      ASSERT_LE(14 + f.payload, WEFT_MAX_ULPDU);
      ASSERT_GE(f.len + 8, std::min(emss, 0x10000U));
    }
  }
}

}  // namespace
}  // namespace weft::test
