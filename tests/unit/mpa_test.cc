// SPDX-License-Identifier: GPL-2.0
#include "wire.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace weft::test {
namespace {

Bytes text(std::string_view s) { return {s.begin(), s.end()}; }

const Bytes kReqKey = text("MPA ID Req Frame");
const Bytes kRepKey = text("MPA ID Rep Frame");

Bytes frame_of(const Bytes& key, u8 flags, u8 revision, const Bytes& private_data) {
  return key +
         Bytes{flags, revision, static_cast<u8>(private_data.size() >> 8),
               static_cast<u8>(private_data.size())} +
         private_data;
}

// Offset of the private data, 0 for a refusal.
u32 decode(const Bytes& bytes, bool reply, weft_mpa_frame* frame) {
  const Bytes copy = exact(bytes, bytes.size());
  return weft_mpa_decode(copy.data(), static_cast<u32>(copy.size()), reply, frame);
}

bool accepted(const Bytes& bytes, bool reply) {
  weft_mpa_frame frame{.revision = 0xaa};
  const u32 at = decode(bytes, reply, &frame);
  EXPECT_EQ(frame.revision == 0xaa, at == 0) << "the result is written only on success";
  if (at != 0) {
    EXPECT_EQ(at + frame.private_len, bytes.size());
  }
  return at != 0;
}

TEST(Mpa, DecodesARequest) {
  weft_mpa_frame f{};
  EXPECT_EQ(decode(frame_of(kReqKey, 0xc0, 1, text("abc")), false, &f), 20U);
  EXPECT_EQ(fields(f),
            fields(weft_mpa_frame{.revision = 1, .markers = true, .crc = true, .private_len = 3}));
}

TEST(Mpa, DecodesAReject) {
  weft_mpa_frame f{};
  EXPECT_EQ(decode(frame_of(kRepKey, 0x20, 1, text("no")), true, &f), 20U);
  EXPECT_EQ(fields(f),
            fields(weft_mpa_frame{.reply = true, .revision = 1, .reject = true, .private_len = 2}));
}

// RFC 6581, 9: A is the IRD word's first bit, B its second; C and D the ORD's.
TEST(Mpa, DecodesEnhanced) {
  struct Case {
    Bytes words;
    bool p2p;
    u8 rtr;
    u16 ird, ord;
  };
  const Case cases[] = {
      {{0x00, 0x04, 0x00, 0x08}, false, 0, 4, 8},
      {{0x80, 0x04, 0x00, 0x08}, true, 0, 4, 8},
      {{0xc0, 0x04, 0x00, 0x08}, true, WEFT_RTR_SEND, 4, 8},
      {{0x80, 0x04, 0x80, 0x08}, true, WEFT_RTR_WRITE, 4, 8},
      {{0x80, 0x04, 0x40, 0x08}, true, WEFT_RTR_READ, 4, 8},
      {{0xff, 0xff, 0xff, 0xff}, true, 7, 0x3fff, 0x3fff},
      {{0x2a, 0xaa, 0x15, 0x55}, false, 0, 0x2aaa, 0x1555},
  };
  for (const Case& c : cases) {
    weft_mpa_frame f{};
    ASSERT_EQ(decode(frame_of(kReqKey, 0x50, 2, c.words + text("app")), false, &f), 24U);
    EXPECT_EQ(fields(f), fields(weft_mpa_frame{.revision = 2,
                                               .crc = true,
                                               .enhanced = true,
                                               .p2p = c.p2p,
                                               .rtr = c.rtr,
                                               .ird = c.ird,
                                               .ord = c.ord,
                                               .private_len = 3}));
  }
}

TEST(Mpa, EnhancedNeedsRoomAndRevisionTwo) {
  for (size_t len = 0; len < 4; len++) {
    EXPECT_FALSE(accepted(frame_of(kReqKey, 0x10, 2, Bytes(len)), false)) << len;
    EXPECT_FALSE(accepted(frame_of(kRepKey, 0x10, 2, Bytes(len)), true)) << len;
  }
  EXPECT_TRUE(accepted(frame_of(kReqKey, 0x10, 2, Bytes(4)), false));

  // In revision 1 the bit is a reserved one, and the bytes the application's.
  weft_mpa_frame f{};
  EXPECT_EQ(decode(frame_of(kReqKey, 0x10, 1, Bytes(4)), false, &f), 20U);
  EXPECT_FALSE(f.enhanced);
  EXPECT_EQ(f.private_len, 4);
  // Revision 2 without it has none of the four bytes either.
  EXPECT_EQ(decode(frame_of(kReqKey, 0x00, 2, Bytes(4)), false, &f), 20U);
  EXPECT_FALSE(f.enhanced);
}

TEST(Mpa, RefusesTheWrongKey) {
  EXPECT_FALSE(accepted(frame_of(kReqKey, 0, 1, {}), true));
  EXPECT_FALSE(accepted(frame_of(kRepKey, 0, 1, {}), false));
  for (size_t i = 0; i < 16; i++) {
    for (u8 bit = 1; bit != 0; bit = static_cast<u8>(bit << 1)) {
      for (const bool reply : {false, true}) {
        Bytes frame = frame_of(reply ? kRepKey : kReqKey, 0, 1, {});
        frame[i] ^= bit;
        EXPECT_FALSE(accepted(frame, reply));
      }
    }
  }
}

TEST(Mpa, RefusesEveryOtherRevision) {
  for (u32 revision = 0; revision < 256; revision++) {
    const bool known = revision == 1 || revision == 2;
    EXPECT_EQ(accepted(frame_of(kReqKey, 0, static_cast<u8>(revision), {}), false), known);
    EXPECT_EQ(accepted(frame_of(kRepKey, 0, static_cast<u8>(revision), {}), true), known);
  }
}

// RFC 5044, 7.1.1: not checked on reception.
TEST(Mpa, DoesNotLookAtTheRejectFlagOfARequest) {
  auto f = used<weft_mpa_frame>();
  EXPECT_NE(decode(frame_of(kReqKey, 0x20, 1, {}), false, &f), 0U);
  EXPECT_FALSE(f.reject);
}

TEST(Mpa, IgnoresReservedFlags) {
  for (u8 flags = 0; flags < 16; flags++) {
    EXPECT_TRUE(accepted(frame_of(kReqKey, flags, 1, {}), false));
    EXPECT_TRUE(accepted(frame_of(kRepKey, flags, 2, {}), true));
  }
}

TEST(Mpa, RefusesALengthThatDisagrees) {
  const Bytes whole = frame_of(kReqKey, 0x40, 1, Bytes(33));
  for (size_t len = 0; len < whole.size(); len++)
    EXPECT_FALSE(accepted(exact(whole, len), false)) << len;
  EXPECT_TRUE(accepted(whole, false));
  EXPECT_FALSE(accepted(whole + Bytes(1), false));
}

TEST(Mpa, PrivateDataHasALimit) {
  EXPECT_TRUE(accepted(frame_of(kReqKey, 0, 1, Bytes(512)), false));
  EXPECT_FALSE(accepted(frame_of(kReqKey, 0, 1, Bytes(513)), false));
  EXPECT_FALSE(accepted(frame_of(kReqKey, 0, 1, Bytes(0xffff)), false));
}

TEST(Mpa, TotalLength) {
  Bytes header = frame_of(kReqKey, 0, 1, {});
  for (u32 len = 0; len < 0x10000; len++) {
    put_unaligned_be16(static_cast<u16>(len), &header[18]);
    ASSERT_EQ(weft_mpa_total_len(header.data()), len <= 512 ? 20 + len : 0U);
  }
}

TEST(Mpa, KeyIsRefusedAtItsFirstWrongByte) {
  for (const bool reply : {false, true}) {
    const Bytes& key = reply ? kRepKey : kReqKey;
    const Bytes& other = reply ? kReqKey : kRepKey;
    for (u32 len = 0; len <= 16; len++) {
      Bytes part = len > 0 ? exact(key, len) : Bytes(1);
      EXPECT_TRUE(weft_mpa_key_prefix_ok(part.data(), len, reply));
      if (len > 0) {
        part[len - 1] ^= 0x20;
        EXPECT_FALSE(weft_mpa_key_prefix_ok(part.data(), len, reply));
      }
      // "MPA ID Req" and "MPA ID Rep" part at their tenth byte.
      EXPECT_EQ(weft_mpa_key_prefix_ok(other.data(), len, reply), len < 10);
    }
    // The bytes behind the key are not looked at.
    const Bytes longer = key + Bytes(4, 0xff);
    EXPECT_TRUE(weft_mpa_key_prefix_ok(longer.data(), 20, reply));
  }
}

// The frames that tshark decoded.
TEST(Mpa, EncodesKnownFrames) {
  weft_mpa_frame f{.revision = 2,
                   .crc = true,
                   .enhanced = true,
                   .p2p = true,
                   .rtr = WEFT_RTR_WRITE | WEFT_RTR_READ,
                   .ird = 4,
                   .ord = 8,
                   .private_len = 3};
  Bytes buf(WEFT_MPA_MAX_FRAME, 0xaa);
  ASSERT_EQ(weft_mpa_encode(buf.data(), &f, text("abc").data()), 27U);
  EXPECT_EQ(exact(buf, 27),
            frame_of(kReqKey, 0x50, 2, Bytes{0x80, 0x04, 0xc0, 0x08} + text("abc")));

  f.reply = true;
  f.rtr = WEFT_RTR_WRITE;
  ASSERT_EQ(weft_mpa_encode(buf.data(), &f, text("xyz").data()), 27U);
  EXPECT_EQ(exact(buf, 27),
            frame_of(kRepKey, 0x50, 2, Bytes{0x80, 0x04, 0x80, 0x08} + text("xyz")));
}

TEST(Mpa, EveryFrameRoundTrips) {
  for (u32 bits = 0; bits < 1024; bits++) {
    weft_mpa_frame in{.reply = (bits & 1) != 0, .markers = (bits & 2) != 0, .crc = (bits & 4) != 0};
    in.reject = in.reply && (bits & 8) != 0;
    in.revision = (bits & 16) != 0 ? 2 : 1;
    in.enhanced = in.revision == 2 && (bits & 32) != 0;
    if (in.enhanced) {
      in.p2p = (bits & 64) != 0;
      in.rtr = static_cast<u8>(bits >> 7);
      in.ird = 0x2aaa;
      in.ord = 0x1555;
    }
    for (const u16 private_len : {0, 1, 508}) {
      in.private_len = private_len;
      Bytes private_data(private_len, 0x77);
      Bytes buf(WEFT_MPA_MAX_FRAME, 0xaa);
      const u32 len =
          weft_mpa_encode(buf.data(), &in, private_len != 0 ? private_data.data() : nullptr);
      ASSERT_EQ(len, 20U + (in.enhanced ? 4 : 0) + private_len);
      ASSERT_EQ(weft_mpa_total_len(buf.data()), len);

      weft_mpa_frame out{};
      const u32 at = decode(exact(buf, len), in.reply, &out);
      ASSERT_EQ(at, len - private_len);
      EXPECT_EQ(Bytes(buf.begin() + at, buf.begin() + len), private_data);
      EXPECT_EQ(fields(out), fields(in));
    }
  }
}

TEST(Mpa, RefusesToEncodeWhatCannotBeSaid) {
  Bytes buf(WEFT_MPA_MAX_FRAME, 0xaa);
  const Bytes data(0xffff);
  const auto encode = [&](u8 revision, bool enhanced, u16 private_len, u16 ird, u16 ord) {
    const weft_mpa_frame f{.revision = revision,
                           .enhanced = enhanced,
                           .ird = ird,
                           .ord = ord,
                           .private_len = private_len};
    return weft_mpa_encode(buf.data(), &f, data.data());
  };
  EXPECT_EQ(encode(1, false, 512, 0, 0), 532U);
  EXPECT_EQ(encode(1, false, 513, 0, 0), 0U);
  EXPECT_EQ(encode(1, false, 0xffff, 0, 0), 0U);
  EXPECT_EQ(encode(2, true, 508, 0, 0), 532U);
  EXPECT_EQ(encode(2, true, 509, 0, 0), 0U);
  EXPECT_EQ(encode(1, true, 0, 0, 0), 0U);
  EXPECT_EQ(encode(2, true, 0, 0x4000, 0), 0U);
  EXPECT_EQ(encode(2, true, 0, 0, 0x4000), 0U);
  EXPECT_EQ(encode(2, true, 0, 0x3fff, 0x3fff), 24U);
}

}  // namespace
}  // namespace weft::test
