// SPDX-License-Identifier: GPL-2.0
// FPDUs as they are written, against RFC 5044, 4.1, by hand.
#include "wire.hpp"

#include <gtest/gtest.h>

namespace weft::test {
namespace {

TEST(Fpdu, ByHand) {
  EXPECT_EQ(written({0x11, 0x22, 0x33}, false),
            (Bytes{0x00, 0x03, 0x11, 0x22, 0x33, 0x00, 0x00, 0x00, 0, 0, 0, 0}));
  EXPECT_EQ(written({0x11, 0x22}, false), (Bytes{0x00, 0x02, 0x11, 0x22, 0, 0, 0, 0}));
  EXPECT_EQ(written({}, false), (Bytes{0x00, 0x00, 0x00, 0x00, 0, 0, 0, 0}));
}

// The CRC runs over length, ULPDU and padding, for each amount of padding.
TEST(Fpdu, TheCrcCoversAllBeforeIt) {
  for (u32 len = 0; len <= 70; len++) {
    const Bytes ulpdu = counting(len, 7, 1);
    const Bytes fpdu = written(ulpdu, true);
    Bytes covered = Bytes{static_cast<u8>(len >> 8), static_cast<u8>(len)} + ulpdu;
    covered.resize((covered.size() + 3) / 4 * 4);
    ASSERT_EQ(exact(fpdu, covered.size()), covered) << len;
    ASSERT_EQ(fpdu.size(), covered.size() + WEFT_CRC_LEN);
    ASSERT_TRUE(
        weft_crc_good(fpdu.data() + covered.size(),
                      crc32c(WEFT_CRC_SEED, covered.data(), static_cast<u32>(covered.size()))))
        << len;
  }
}

// An FPDU whose payload lies elsewhere ends with the same bytes.
TEST(Fpdu, ApartItEndsAlike) {
  for (u32 len = 0; len <= 70; len++) {
    for (const bool crc : {false, true}) {
      const Bytes fpdu = written(Bytes(len, 0x5a), crc);
      const u32 front = WEFT_MPA_LEN + len;
      const u32 sum = crc32c(WEFT_CRC_SEED, fpdu.data(), front);
      Bytes back(fpdu.size() - front, 0xee);
      ASSERT_EQ(weft_fpdu_end_apart(back.data(), len, crc, sum), back.size());
      ASSERT_TRUE(
          std::equal(back.begin(), back.end(), fpdu.begin() + static_cast<std::ptrdiff_t>(front)))
          << len << crc;
    }
  }
}

TEST(Fpdu, TheLongestHasRoom) {
  EXPECT_EQ(written(Bytes(WEFT_MAX_ULPDU), false).size(), 65544U);
  EXPECT_GE(WEFT_FPDU_ROOM(WEFT_MAX_ULPDU), 65544U);
}

}  // namespace
}  // namespace weft::test
