// SPDX-License-Identifier: GPL-2.0
#include "wire.hpp"

#include <gtest/gtest.h>

namespace weft::test {
namespace {

Bytes message(u16 code, const Bytes& private_data) {
  return Bytes{0, 0, static_cast<u8>(code >> 8), static_cast<u8>(code)} + private_data;
}

// Offset of the private data, 0 for a refusal.
u32 decode(const Bytes& bytes, weft_mpa_frame* frame) {
  const Bytes copy = exact(bytes, bytes.size());
  return weft_session_decode(copy.data(), static_cast<u32>(copy.size()), frame);
}

TEST(Session, DecodesAnInitiate) {
  weft_mpa_frame f{};
  EXPECT_EQ(decode(message(1, {7, 8}), &f), 4U);
  EXPECT_EQ(fields(f), fields(weft_mpa_frame{.revision = 1, .private_len = 2}));
}

TEST(Session, DecodesAnEnhancedInitiateThatOffersToExtend) {
  weft_mpa_frame f{};
  // peer-to-peer with a SEND, IRD 2; RTR by READ, ORD 3
  EXPECT_EQ(decode(message(0x8005, {0xc0, 2, 0x40, 3, 9}), &f), 8U);
  EXPECT_EQ(fields(f), fields(weft_mpa_frame{.revision = 2,
                                             .enhanced = true,
                                             .extend = true,
                                             .p2p = true,
                                             .rtr = WEFT_RTR_SEND | WEFT_RTR_READ,
                                             .ird = 2,
                                             .ord = 3,
                                             .private_len = 1}));
}

TEST(Session, DecodesReplies) {
  for (const u16 code : {2, 3, 6, 7}) {
    weft_mpa_frame f{};
    EXPECT_NE(decode(message(code, {0, 1, 0, 1}), &f), 0U) << code;
    EXPECT_TRUE(f.reply);
    EXPECT_EQ(f.reject, code == 3 || code == 7);
    EXPECT_EQ(f.enhanced, code >= 6);
    EXPECT_FALSE(f.extended);
  }
}

TEST(Session, RefusesUnknownCodes) {
  weft_mpa_frame f{};
  for (u32 code = 0; code <= 0xffff; code++) {
    const u32 plain = code & 0x7fff;
    const bool known =
        plain >= (code == plain ? 1U : 5U) && plain <= 7 && plain != WEFT_SESSION_TERMINATE;
    EXPECT_EQ(decode(message(static_cast<u16>(code), Bytes(4)), &f) != 0, known) << code;
  }
}

TEST(Session, RefusesWrongLengths) {
  weft_mpa_frame f{.revision = 0xaa};
  EXPECT_EQ(decode({0, 0, 0}, &f), 0U);
  EXPECT_EQ(decode(message(1, Bytes(513)), &f), 0U);
  EXPECT_EQ(decode(message(5, Bytes(3)), &f), 0U);
  EXPECT_EQ(f.revision, 0xaa) << "the result is written only on success";
  EXPECT_EQ(decode(message(1, Bytes(512)), &f), 4U);
  EXPECT_EQ(decode(message(5, Bytes(512)), &f), 8U);
  EXPECT_EQ(decode(message(5, Bytes(4)), &f), 8U);
}

TEST(Session, WritesWhatItReads) {
  for (u32 bits = 0; bits < 16; bits++) {
    weft_mpa_frame in{.reply = (bits & 1) != 0};
    in.reject = in.reply && (bits & 2) != 0;
    in.enhanced = (bits & 4) != 0;
    in.revision = in.enhanced ? 2 : 1;
    (in.reply ? in.extended : in.extend) = (bits & 8) != 0;
    if (in.enhanced) {
      in.p2p = true;
      in.rtr = WEFT_RTR_WRITE;
      in.ird = 0x2aaa;
      in.ord = 0x1555;
    }
    for (const u16 private_len : {0, 1, 508}) {
      in.private_len = private_len;
      const Bytes private_data(private_len, 0x77);
      Bytes buf(WEFT_SESSION_MAX_LEN, 0xaa);
      const u32 len = weft_session_encode(buf.data(), 0x1234, &in,
                                          private_len != 0 ? private_data.data() : nullptr);
      ASSERT_EQ(len, 4U + (in.enhanced ? 4 : 0) + private_len);
      EXPECT_EQ(buf[0], 0x12);
      EXPECT_EQ(buf[1], 0x34);

      weft_mpa_frame out{};
      const u32 at = decode(exact(buf, len), &out);
      ASSERT_EQ(at, len - private_len);
      EXPECT_EQ(Bytes(buf.begin() + at, buf.begin() + len), private_data);
      EXPECT_EQ(fields(out), fields(with(in, &weft_mpa_frame::extend, in.extend && in.enhanced,
                                         &weft_mpa_frame::extended, in.extended && in.enhanced,
                                         &weft_mpa_frame::crc, out.crc)));
    }
  }
}

TEST(Session, RefusesToEncodeWhatCannotBeSaid) {
  Bytes buf(WEFT_SESSION_MAX_LEN, 0xaa);
  const Bytes data(513);
  for (const weft_mpa_frame& f :
       {weft_mpa_frame{.revision = 1, .private_len = 513},
        weft_mpa_frame{.revision = 2, .enhanced = true, .private_len = 509},
        weft_mpa_frame{.revision = 2, .enhanced = true, .ird = 0x4000}}) {
    EXPECT_EQ(weft_session_encode(buf.data(), 0, &f, data.data()), 0U);
  }
}

TEST(Session, NumbersMessages) {
  const auto number = [](u16 ssn, u32 near) {
    const Bytes message{static_cast<u8>(ssn >> 8), static_cast<u8>(ssn)};
    return weft_session_number(message.data(), near);
  };
  for (const u32 near : {0x12345U, 0x10000U, 0x1ffffU, 0U, 5U, 0xffffffffU}) {
    for (const u32 away : {0U, 1U, 0x7fffU})
      EXPECT_EQ(number(static_cast<u16>(near + away), near), near + away) << near;
    for (const u32 away : {1U, 0x7fffU, 0x8000U})
      EXPECT_EQ(number(static_cast<u16>(near - away), near), near - away) << near;
  }
}

TEST(Session, KnowsATerminate) {
  Bytes buf(WEFT_SESSION_HDR_LEN, 0xaa);
  EXPECT_EQ(weft_session_encode_terminate(buf.data(), 0xfffe), 4U);
  EXPECT_EQ(buf, (Bytes{0xff, 0xfe, 0, 4}));
  EXPECT_TRUE(weft_session_is_terminate(buf.data(), 4));
  EXPECT_FALSE(weft_session_is_terminate(buf.data(), 3));
  buf[3] = 5;
  EXPECT_FALSE(weft_session_is_terminate(buf.data(), 4));
}

}  // namespace
}  // namespace weft::test
