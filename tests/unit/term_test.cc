// SPDX-License-Identifier: GPL-2.0
#include "wire.hpp"

#include <gtest/gtest.h>

namespace weft::test {
namespace {

const Bytes kWrite = {0xc1, 0x40, 0x12, 0x34, 0x56, 0x78, 0x11,
                      0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88};
const Bytes kSend = {0x41, 0x43, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                     0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00};
const Bytes kReadReq = {0x41, 0x41, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00,
                        0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0xaa, 0xbb, 0xcc, 0xdd, 0x01, 0x02,
                        0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x00, 0x00, 0x10, 0x00, 0x55, 0x66,
                        0x77, 0x88, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18};

constexpr weft_term kAccess{WEFT_TERM_RDMAP, WEFT_RDMAP_PROTECTION, WEFT_RP_ACCESS};
constexpr weft_term kBounds{WEFT_TERM_DDP, WEFT_DDP_TAGGED_BUFFER, WEFT_DT_BOUNDS};
constexpr weft_term kNoBuffer{WEFT_TERM_DDP, WEFT_DDP_UNTAGGED_BUFFER, WEFT_DU_NO_BUFFER};

Bytes encode(const weft_term& term, const Bytes& segment, u16 ulpdu_len) {
  Bytes buf(WEFT_TERM_MAX_LEN, 0xaa);
  const u32 len = weft_term_encode(buf.data(), &term, segment.empty() ? nullptr : segment.data(),
                                   static_cast<u32>(segment.size()), ulpdu_len);
  return exact(buf, len);
}

struct Decoded {
  bool ok = false;
  weft_term term{};
  u8 op = 0;
  u32 msn = 0xdead;  // is to be overwritten
};

Decoded decode(const Bytes& bytes) {
  const Bytes copy = exact(bytes, bytes.size());
  Decoded d;
  d.ok = weft_term_decode(copy.data(), static_cast<u32>(copy.size()), &d.term, &d.op, &d.msn);
  return d;
}

// The payload that tshark decoded: M, D and R, the length 46, both headers.
TEST(Term, ReadRequestIsShownWhole) {
  EXPECT_EQ(encode(kAccess, kReadReq, 46), (Bytes{0x01, 0x02, 0xe0, 0x00, 0x00, 0x2e} + kReadReq));
}

TEST(Term, OtherSegmentsShowTheirDdpHeader) {
  EXPECT_EQ(encode(kAccess, kWrite, 19), (Bytes{0x01, 0x02, 0xc0, 0x00, 0x00, 0x13} + kWrite));
  EXPECT_EQ(encode(kBounds, kWrite, 19), (Bytes{0x11, 0x01, 0xc0, 0x00, 0x00, 0x13} + kWrite));
  EXPECT_EQ(encode(kNoBuffer, kSend, 0xffff), (Bytes{0x12, 0x02, 0xc0, 0x00, 0xff, 0xff} + kSend));
}

// However long it is, and whatever lies where a Read Request has its opcode.
TEST(Term, OnlyAReadRequestHasAnRdmapHeader) {
  const Bytes payload(28, 0x55);
  EXPECT_EQ(encode(kAccess, kSend + payload, 46),
            (Bytes{0x01, 0x02, 0xc0, 0x00, 0x00, 0x2e} + kSend));
  Bytes tagged = kWrite + payload + payload;
  tagged[1] = kReadReq[1];
  EXPECT_EQ(encode(kAccess, tagged, 70),
            (Bytes{0x01, 0x02, 0xc0, 0x00, 0x00, 0x46} + exact(tagged, 14)));
}

TEST(Term, DdpErrorsShowNoRdmapHeader) {
  EXPECT_EQ(encode(kNoBuffer, kReadReq, 46),
            (Bytes{0x12, 0x02, 0xc0, 0x00, 0x00, 0x2e} + exact(kReadReq, 18)));
}

TEST(Term, LowerAndLocalErrorsShowNothing) {
  for (u8 code = WEFT_MPA_CLOSED; code <= WEFT_MPA_NO_RTR_MATCH; code++) {
    const weft_term llp{WEFT_TERM_LLP, WEFT_LLP_MPA, code};
    EXPECT_EQ(encode(llp, kWrite, 19), (Bytes{0x20, code, 0x00, 0x00}));
  }
  EXPECT_EQ(encode({WEFT_TERM_RDMAP, WEFT_RDMAP_LOCAL, 0}, kReadReq, 46), Bytes(4));
  EXPECT_EQ(encode({WEFT_TERM_DDP, WEFT_DDP_LOCAL, 0}, kWrite, 19), (Bytes{0x10, 0, 0, 0}));
}

TEST(Term, AHeaderOfAnotherVersionIsNotShown) {
  EXPECT_EQ(encode({WEFT_TERM_DDP, WEFT_DDP_TAGGED_BUFFER, WEFT_DT_VERSION}, kWrite, 19),
            (Bytes{0x11, 0x04, 0, 0}));
  EXPECT_EQ(encode({WEFT_TERM_DDP, WEFT_DDP_UNTAGGED_BUFFER, WEFT_DU_VERSION}, kSend, 19),
            (Bytes{0x12, 0x06, 0, 0}));
  // Code 4 among the untagged errors is a message offset, which is shown.
  EXPECT_EQ(encode({WEFT_TERM_DDP, WEFT_DDP_UNTAGGED_BUFFER, WEFT_DU_MO}, kSend, 18).size(), 24U);
}

TEST(Term, NothingToShow) {
  EXPECT_EQ(encode(kAccess, {}, 0), (Bytes{0x01, 0x02, 0x00, 0x00}));
  EXPECT_EQ(encode(kAccess, exact(kWrite, 13), 13), (Bytes{0x01, 0x02, 0x00, 0x00}));
  EXPECT_EQ(encode(kAccess, exact(kSend, 14), 14), (Bytes{0x01, 0x02, 0x00, 0x00}));
  // A read request cut short is shown without its RDMAP header.
  EXPECT_EQ(encode(kAccess, exact(kReadReq, 45), 45),
            (Bytes{0x01, 0x02, 0xc0, 0x00, 0x00, 0x2d} + exact(kReadReq, 18)));
}

TEST(Term, EveryReasonRoundTrips) {
  for (u32 reason = 0; reason < 0x10000; reason++) {
    const weft_term in{static_cast<u8>(reason >> 12), static_cast<u8>(reason >> 8 & 0xf),
                       static_cast<u8>(reason)};
    for (const Bytes* segment : {&kWrite, &kSend, &kReadReq}) {
      const Bytes wire = encode(in, *segment, 100);
      ASSERT_LE(wire.size(), size_t{WEFT_TERM_MAX_LEN});
      const Decoded out = decode(wire);
      ASSERT_TRUE(out.ok);
      ASSERT_EQ(std::tie(out.term.layer, out.term.etype, out.term.code),
                std::tie(in.layer, in.etype, in.code));
      if (wire.size() == 4) {
        ASSERT_EQ(out.op, 0xff);
      } else {
        ASSERT_EQ(out.op, (*segment)[1] & 0xf);
        ASSERT_EQ(out.msn,
                  ((*segment)[0] & 0x80) != 0 ? 0 : get_unaligned_be32(segment->data() + 10));
      }
    }
  }
}

TEST(Term, WhatIsCutShortIsAsGoodAsAbsent) {
  const Bytes whole = encode(kAccess, kReadReq, 46);
  for (size_t len = 0; len <= whole.size(); len++) {
    const Decoded d = decode(exact(whole, len));
    EXPECT_EQ(d.ok, len >= 4) << len;
    EXPECT_EQ(d.op, len >= 6 + 18 ? 1 : 0xff) << len;
    EXPECT_EQ(d.msn, len >= 6 + 18 ? get_unaligned_be32(kReadReq.data() + 10) : 0) << len;
  }
}

TEST(Term, AnyHeaderControlBitsAreSafe) {
  for (u32 hdrct = 0; hdrct < 256; hdrct++) {
    for (const Bytes* segment : {&kWrite, &kSend, &kReadReq}) {
      Bytes wire = Bytes{0x01, 0x02, static_cast<u8>(hdrct), 0x00};
      wire = wire + Bytes{0x00, 0x2e} + *segment;
      const Decoded d = decode(wire);
      EXPECT_TRUE(d.ok);
      EXPECT_EQ(d.op, (hdrct & 0x40) != 0 ? (*segment)[1] & 0xf : 0xff);
    }
  }
}

}  // namespace
}  // namespace weft::test
