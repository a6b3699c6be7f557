// SPDX-License-Identifier: GPL-2.0
// A segment as the template of the next: what it goes on with is what decoding would make of it.
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "wire.hpp"

namespace {

using Head = std::array<u8, WEFT_MPA_LEN + WEFT_DDP_MAX_LEN>;

// A SEND's or a WRITE's header, with its length field.
Head head(bool tagged, u32 payload, u64 place, bool last) {
  weft_ddp_hdr hdr{};
  hdr.opcode = tagged ? WEFT_RDMAP_WRITE : WEFT_RDMAP_SEND;
  hdr.tagged = tagged;
  hdr.last = last;
  hdr.stag = 0x1234;
  hdr.qn = WEFT_QN_SEND;
  hdr.msn = 7;
  if (tagged)
    hdr.to = place;
  else
    hdr.mo = static_cast<u32>(place);
  Head bytes{};
  weft_put_be16(bytes.data(), static_cast<u16>(weft_ddp_hdr_len(tagged) + payload));
  weft_ddp_encode(bytes.data() + WEFT_MPA_LEN, &hdr);
  return bytes;
}

// A template that has decoded a header, and whose FPDU has ended.
weft_template ended(const Head& bytes) {
  weft_template t{};
  weft_term err{};
  std::memcpy(t.hdr, bytes.data(), sizeof(t.hdr));
  t.ulpdu_len = weft_get_be16(t.hdr);
  EXPECT_TRUE(weft_template_decode(&t, WEFT_DDP_MAX_LEN, false, &err));
  t.ended = true;
  return t;
}

class Template : public testing::TestWithParam<bool> {};

TEST_P(Template, FollowsAsDecodingWould) {
  const bool tagged = GetParam();
  weft_template t = ended(head(tagged, 1000, 5000, false));
  EXPECT_EQ(t.payload_len, 1000U);
  EXPECT_EQ(weft_template_place(&t), 5000U);

  const Head next = head(tagged, 24, 6000, true);
  ASSERT_TRUE(weft_template_goes_on(&t, next.data(), next.size()));
  t.ulpdu_len = weft_get_be16(next.data());
  weft_template_follow(&t, next.data());
  const weft_template decoded = ended(next);
  EXPECT_EQ(t.payload_len, decoded.payload_len);
  EXPECT_EQ(t.hdr_len, decoded.hdr_len);
  EXPECT_EQ(weft_template_place(&t), weft_template_place(&decoded));
  EXPECT_EQ(t.ddp.last, decoded.ddp.last);
  EXPECT_EQ(t.ddp.opcode, decoded.ddp.opcode);
  EXPECT_EQ(0, std::memcmp(t.hdr, decoded.hdr, sizeof(t.hdr)));
  EXPECT_FALSE(t.ended) << "it has yet to come";
}

TEST_P(Template, GoesOnOnlyBehindWhatEnded) {
  const bool tagged = GetParam();
  weft_template t = ended(head(tagged, 1000, 5000, false));
  const Head next = head(tagged, 1000, 6000, false);
  EXPECT_TRUE(weft_template_goes_on(&t, next.data(), t.hdr_len));
  EXPECT_FALSE(weft_template_goes_on(&t, next.data(), t.hdr_len - 1)) << "a part of a header";
  EXPECT_FALSE(weft_template_goes_on(&t, head(tagged, 1000, 6001, false).data(), next.size()));
  EXPECT_FALSE(weft_template_goes_on(&t, head(!tagged, 1000, 6000, false).data(), next.size()));
  t.ended = false;
  EXPECT_FALSE(weft_template_goes_on(&t, next.data(), next.size()));
}

// What a row of alike FPDUs leaves behind is the last of them.
TEST_P(Template, Advances) {
  const bool tagged = GetParam();
  weft_template t = ended(head(tagged, 1000, 5000, false));
  weft_template_advance(&t, 3000);
  EXPECT_EQ(0, std::memcmp(t.hdr, ended(head(tagged, 1000, 8000, false)).hdr, t.hdr_len));
  EXPECT_TRUE(weft_template_goes_on(&t, head(tagged, 10, 9000, true).data(), t.hdr_len));
}

TEST_P(Template, ShowsAWrongHeaderOnlyWhole) {
  const bool tagged = GetParam();
  weft_template t{};
  weft_term err{};
  const Head good = head(tagged, 8, 0, true);
  std::memcpy(t.hdr, good.data(), sizeof(t.hdr));
  t.hdr[WEFT_MPA_LEN] ^= 3;  // another DDP version
  t.ulpdu_len = weft_get_be16(t.hdr);
  EXPECT_FALSE(weft_template_decode(&t, WEFT_DDP_MAX_LEN, false, &err));
  EXPECT_EQ(t.hdr_len, WEFT_MPA_LEN + weft_ddp_hdr_len(tagged));
  EXPECT_FALSE(weft_template_decode(&t, weft_ddp_hdr_len(tagged) - 1, false, &err));
  EXPECT_EQ(t.hdr_len, 0U);
  EXPECT_FALSE(weft_template_decode(&t, 0, false, &err));
  EXPECT_EQ(t.hdr_len, 0U);
}

INSTANTIATE_TEST_SUITE_P(Wire, Template, testing::Bool());

}  // namespace
