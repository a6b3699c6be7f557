// SPDX-License-Identifier: GPL-2.0
#include "wire.hpp"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <string_view>

namespace weft::test {
namespace {

using Trailer = std::array<u8, WEFT_CRC_LEN>;

u32 crc_of(const Bytes& bytes) {
  return crc32c(WEFT_CRC_SEED, bytes.data(), static_cast<u32>(bytes.size()));
}

Trailer trailer_of(const Bytes& bytes) {
  Trailer trailer{};
  put_unaligned_le32(~crc_of(bytes), trailer.data());
  return trailer;
}

// RFC 3720, B.4, in the order in which the bytes are sent.
TEST(Crc, PublishedVectors) {
  EXPECT_EQ(trailer_of(Bytes(32, 0x00)), (Trailer{0xaa, 0x36, 0x91, 0x8a}));
  EXPECT_EQ(trailer_of(Bytes(32, 0xff)), (Trailer{0x43, 0xab, 0xa8, 0x62}));

  Bytes rising(32);
  std::iota(rising.begin(), rising.end(), u8{0});
  EXPECT_EQ(trailer_of(rising), (Trailer{0x4e, 0x79, 0xdd, 0x46}));
  EXPECT_EQ(trailer_of({rising.rbegin(), rising.rend()}), (Trailer{0x5c, 0xdb, 0x3f, 0x11}));

  const Bytes read_10 = {0x01, 0xc0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                         0x00, 0x00, 0x00, 0x00, 0x14, 0x00, 0x00, 0x00, 0x00, 0x00, 0x04, 0x00,
                         0x00, 0x00, 0x00, 0x14, 0x00, 0x00, 0x00, 0x18, 0x28, 0x00, 0x00, 0x00,
                         0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00};
  EXPECT_EQ(trailer_of(read_10), (Trailer{0x56, 0x3a, 0x96, 0xd9}));
}

TEST(Crc, CheckValueOfTheCatalogue) {
  constexpr std::string_view kDigits = "123456789";
  EXPECT_EQ(~crc_of({kDigits.begin(), kDigits.end()}), 0xe3069283U);
}

// A zero-length RDMA Write; tshark calls its CRC good.
TEST(Crc, FpduThatTsharkJudged) {
  const Bytes fpdu = {0x00, 0x0e, 0xc1, 0x40, 0x12, 0x34, 0x56, 0x78, 0x11, 0x22,
                      0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0xb3, 0x79, 0x45, 0xce};
  EXPECT_EQ(trailer_of(exact(fpdu, 16)), (Trailer{0xb3, 0x79, 0x45, 0xce}));
  EXPECT_TRUE(weft_crc_good(&fpdu[16], crc_of(exact(fpdu, 16))));
}

TEST(Crc, PiecesAddUpToTheWhole) {
  const Bytes data = counting(257, 37);
  for (u32 cut = 0; cut <= 257; cut++) {
    const u32 crc = crc32c(WEFT_CRC_SEED, data.data(), cut);
    EXPECT_EQ(crc32c(crc, data.data() + cut, 257 - cut), crc_of(data)) << cut;
  }
}

TEST(Crc, EveryFlippedBitIsSeen) {
  Bytes data(64, 0x5a);
  const Trailer trailer = trailer_of(data);
  for (u32 bit = 0; bit < 64 * 8; bit++) {
    data[bit / 8] ^= static_cast<u8>(1U << bit % 8);
    EXPECT_FALSE(weft_crc_good(trailer.data(), crc_of(data)));
    data[bit / 8] ^= static_cast<u8>(1U << bit % 8);
  }
  const u32 crc = crc_of(data);
  EXPECT_TRUE(weft_crc_good(trailer.data(), crc));
  for (u32 bit = 0; bit < 32; bit++) {
    Trailer bad = trailer;
    bad[bit / 8] ^= static_cast<u8>(1U << bit % 8);
    EXPECT_FALSE(weft_crc_good(bad.data(), crc)) << "trailer bit " << bit;
  }
}

}  // namespace
}  // namespace weft::test
