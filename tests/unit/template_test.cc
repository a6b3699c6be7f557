// SPDX-License-Identifier: GPL-2.0
// A segment as the template of the next: what fits it is what decoding would make of it.
#include <gtest/gtest.h>

#include <array>

#include "wire.hpp"

namespace {

using Head = std::array<u8, WEFT_DDP_MAX_LEN>;

// A SEND's or a WRITE's header.
Head head(bool tagged, u64 place, bool last, u32 msn = 7) {
  weft_ddp_hdr hdr{.opcode = static_cast<u8>(tagged ? WEFT_RDMAP_WRITE : WEFT_RDMAP_SEND),
                   .tagged = tagged,
                   .last = last,
                   .stag = 0x1234,
                   .qn = WEFT_QN_SEND,
                   .msn = msn};
  if (tagged)
    hdr.to = place;
  else
    hdr.mo = static_cast<u32>(place);
  Head bytes{};
  weft_ddp_encode(bytes.data(), &hdr);
  return bytes;
}

// A template that has decoded a header.
weft_template known(const Head& bytes, u32 payload) {
  weft_template t{};
  weft_term err{};
  std::memcpy(t.hdr, bytes.data(), sizeof(t.hdr));
  t.len = weft_ddp_hdr_len(t.hdr[0] & WEFT_DDP_TAGGED) + payload;
  EXPECT_TRUE(weft_template_decode(&t, WEFT_DDP_MAX_LEN, false, &err));
  return t;
}

class Template : public testing::TestWithParam<bool> {};

TEST_P(Template, FollowsAsDecodingWould) {
  const bool tagged = GetParam();
  weft_template t = known(head(tagged, 5000, false), 1000);
  EXPECT_EQ(t.payload_len, 1000U);
  EXPECT_EQ(weft_template_place(&t), 5000U);

  const Head next = head(tagged, 6000, true);
  t.len = weft_ddp_hdr_len(tagged) + 24;
  ASSERT_TRUE(weft_template_follow(&t, next.data(), next.size()));
  const weft_template decoded = known(next, 24);
  EXPECT_EQ(t.payload_len, decoded.payload_len);
  EXPECT_EQ(t.hdr_len, decoded.hdr_len);
  EXPECT_EQ(weft_template_place(&t), weft_template_place(&decoded));
  EXPECT_EQ(t.ddp.last, decoded.ddp.last);
  EXPECT_EQ(t.ddp.opcode, decoded.ddp.opcode);
  EXPECT_EQ(0, std::memcmp(t.hdr, decoded.hdr, sizeof(t.hdr)));
}

TEST_P(Template, FitsWhatIsOfItsKind) {
  const bool tagged = GetParam();
  weft_template t = known(head(tagged, 5000, false), 1000);
  const Head next = head(tagged, 6000, false);
  EXPECT_TRUE(weft_template_follow(&t, next.data(), t.hdr_len));
  EXPECT_FALSE(weft_template_follow(&t, head(tagged, 7000, false).data(), t.hdr_len - 1))
      << "a part";
  EXPECT_EQ(weft_template_place(&t), 6000U);
  EXPECT_TRUE(weft_template_follow(&t, head(tagged, 1, false).data(), next.size())) << "anywhere";
  EXPECT_FALSE(weft_template_follow(&t, head(!tagged, 6000, false).data(), next.size()));
  t.known = false;
  EXPECT_FALSE(weft_template_follow(&t, next.data(), next.size()));
}

// The next message of a queue is of its kind, too.
TEST_P(Template, FollowsToTheNextMessage) {
  const bool tagged = GetParam();
  weft_template t = known(head(tagged, 5000, true), 1000);
  const Head next = head(tagged, 0, true, 8);
  ASSERT_TRUE(weft_template_follow(&t, next.data(), next.size()));
  const weft_template decoded = known(next, 1000);
  EXPECT_EQ(t.ddp.msn, decoded.ddp.msn);
  EXPECT_EQ(weft_template_place(&t), 0U);
}

// What a row of alike segments leaves behind is the last of them.
TEST_P(Template, Advances) {
  const bool tagged = GetParam();
  weft_template t = known(head(tagged, 5000, false), 1000);
  weft_template_advance(&t, 3000);
  EXPECT_EQ(0, std::memcmp(t.hdr, known(head(tagged, 8000, false), 1000).hdr, t.hdr_len));
  EXPECT_TRUE(weft_template_follow(&t, head(tagged, 9000, true).data(), t.hdr_len));
}

TEST_P(Template, ShowsAWrongHeaderOnlyWhole) {
  const bool tagged = GetParam();
  weft_template t{};
  weft_term err{};
  const Head good = head(tagged, 0, true);
  std::memcpy(t.hdr, good.data(), sizeof(t.hdr));
  t.hdr[0] ^= 3;  // another DDP version
  t.len = weft_ddp_hdr_len(tagged) + 8;
  EXPECT_FALSE(weft_template_decode(&t, WEFT_DDP_MAX_LEN, false, &err));
  EXPECT_EQ(t.hdr_len, weft_ddp_hdr_len(tagged));
  const weft_template wrong = t;
  EXPECT_FALSE(weft_template_follow(&t, wrong.hdr, sizeof(t.hdr))) << "what is wrong is no pattern";
  EXPECT_FALSE(weft_template_decode(&t, weft_ddp_hdr_len(tagged) - 1, false, &err));
  EXPECT_EQ(t.hdr_len, 0U);
  EXPECT_FALSE(weft_template_decode(&t, 0, false, &err));
  EXPECT_EQ(t.hdr_len, 0U);
}

INSTANTIATE_TEST_SUITE_P(Wire, Template, testing::Bool());

}  // namespace
