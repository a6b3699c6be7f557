// SPDX-License-Identifier: GPL-2.0
#include "wire.hpp"

#include <gtest/gtest.h>

namespace weft::test {
namespace {

// A ULPDU with this type, SSN 0x01020304 and ack 0x05060708.
Bytes ulpdu(u8 type, const Bytes& body = {}) {
  return Bytes{type, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8} + body;
}

bool decode(const Bytes& bytes, weft_path_hdr* hdr) {
  const Bytes copy = exact(bytes, bytes.size());
  return weft_path_decode(copy.data(), static_cast<u32>(copy.size()), hdr);
}

TEST(Path, DecodesASegment) {
  weft_path_hdr hdr{};
  EXPECT_TRUE(decode(ulpdu(WEFT_PATH_SEGMENT, {9}), &hdr));
  EXPECT_EQ(hdr.type, WEFT_PATH_SEGMENT);
  EXPECT_EQ(hdr.ssn, 0x01020304U);
  EXPECT_EQ(hdr.ack, 0x05060708U);
}

TEST(Path, RefusesASegmentWithoutOrWithTooManyBytes) {
  weft_path_hdr hdr{};
  EXPECT_FALSE(decode(ulpdu(WEFT_PATH_SEGMENT), &hdr));
  const u32 most = WEFT_PATH_MAX_ULPDU - WEFT_PATH_HDR_LEN;
  EXPECT_TRUE(decode(ulpdu(WEFT_PATH_SEGMENT, Bytes(most)), &hdr));
  EXPECT_FALSE(decode(ulpdu(WEFT_PATH_SEGMENT, Bytes(most + 1)), &hdr));
}

TEST(Path, EachTypeHasItsLength) {
  weft_path_hdr hdr{};
  for (const auto& [type, len] : {std::pair<u8, u32>{WEFT_PATH_END, 0},
                                  {WEFT_PATH_ACK, 0},
                                  {WEFT_PATH_JOIN, 8},
                                  {WEFT_PATH_CHALLENGE, 16},
                                  {WEFT_PATH_ANSWER, 8}}) {
    for (u32 n = 0; n < 16; n++)
      EXPECT_EQ(decode(ulpdu(type, Bytes(n)), &hdr), n == len) << type << " " << n;
  }
}

TEST(Path, RefusesUnknownTypes) {
  weft_path_hdr hdr{};
  for (u32 type = 0; type < 256; type++) {
    const bool known = (type >= WEFT_PATH_SEGMENT && type <= WEFT_PATH_ACK) ||
                       (type >= WEFT_PATH_ADDRESSES && type <= WEFT_PATH_ANSWER);
    bool any = false;
    for (const u32 n : {0, 1, 8, 16, 20})
      any |= decode(ulpdu(static_cast<u8>(type), Bytes(n)), &hdr);
    EXPECT_EQ(any, known) << type;
  }
}

TEST(Path, RefusesWhatIsTooShort) {
  weft_path_hdr hdr{};
  const Bytes whole = ulpdu(WEFT_PATH_ACK);
  for (size_t len = 0; len < whole.size(); len++)
    EXPECT_FALSE(decode(exact(whole, len), &hdr)) << len;
}

TEST(Path, ReservedBytesAreIgnoredAndWrittenAsZero) {
  weft_path_hdr hdr{};
  Bytes bytes = ulpdu(WEFT_PATH_ACK);
  bytes[1] = bytes[2] = bytes[3] = 0xff;
  EXPECT_TRUE(decode(bytes, &hdr));
  Bytes again(bytes.size(), 0xee);
  weft_path_encode(again.data(), &hdr);
  EXPECT_EQ(again, ulpdu(WEFT_PATH_ACK));
}

TEST(Path, AddressesComeAsTheyWent) {
  weft_path_addrs in{};
  for (u8 i = 0; i < WEFT_PATH_KEY_LEN; i++) in.key[i] = static_cast<u8>(0xa0 + i);
  in.port = 0xbeef;
  in.paths = 3;
  for (u8 num = 0; num <= WEFT_PATH_MAX_ADDRS; num++) {
    in.num = num;
    for (u8 i = 0; i < num; i++) {
      in.addr[i][0] = i;
      in.addr[i][15] = 0xff;
    }
    Bytes bytes(WEFT_PATH_MAX_CONTROL, 0xee);
    const weft_path_hdr hdr{.type = WEFT_PATH_ADDRESSES, .ssn = 0, .ack = 7};
    weft_path_encode(bytes.data(), &hdr);
    const u32 len = weft_path_encode_addrs(bytes.data(), &in);
    EXPECT_EQ(len, 12U + 20 + 16U * num);
    weft_path_hdr seen{};
    weft_path_addrs out{};
    bytes.resize(len);
    ASSERT_TRUE(decode(bytes, &seen));
    weft_path_decode_addrs(bytes.data(), &out);
    EXPECT_EQ(bytes[12], 0xa0);
    EXPECT_EQ(memcmp(out.key, in.key, sizeof(in.key)), 0);
    EXPECT_EQ(out.port, in.port);
    EXPECT_EQ(out.paths, in.paths);
    EXPECT_EQ(out.num, num);
    EXPECT_EQ(memcmp(out.addr, in.addr, sizeof(in.addr)), 0);
  }
}

TEST(Path, RefusesAddressesThatDoNotFitTheirNumber) {
  weft_path_hdr hdr{};
  for (u32 num = 0; num < 256; num++) {
    Bytes body(20 + 16 * num);
    body[19] = static_cast<u8>(num);
    EXPECT_EQ(decode(ulpdu(WEFT_PATH_ADDRESSES, body), &hdr), num <= WEFT_PATH_MAX_ADDRS) << num;
    body.push_back(0);
    EXPECT_FALSE(decode(ulpdu(WEFT_PATH_ADDRESSES, body), &hdr)) << num;
  }
  EXPECT_FALSE(decode(ulpdu(WEFT_PATH_ADDRESSES, Bytes(19)), &hdr));
}

TEST(Path, NoncesAndProofsLieBehindTheHeader) {
  Bytes bytes = ulpdu(WEFT_PATH_CHALLENGE, Bytes(16));
  weft_path_put_number(bytes.data(), 0, 0x1122334455667788);
  weft_path_put_number(bytes.data(), 1, 0x99aabbccddeeff01);
  EXPECT_EQ(weft_path_number(bytes.data(), 0), 0x1122334455667788U);
  EXPECT_EQ(weft_path_number(bytes.data(), 1), 0x99aabbccddeeff01U);
  EXPECT_EQ(bytes, ulpdu(WEFT_PATH_CHALLENGE, {0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99,
                                               0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff, 0x01}));
}

TEST(Path, AClaimHasAllThatItIsAbout) {
  weft_path_claim claim{.responder = true, .number = 7};
  memset(claim.addr, 0xdd, sizeof(claim.addr));
  claim.joined = 0x0102030405060708;
  claim.challenged = 0x1112131415161718;
  Bytes bytes(WEFT_PATH_CLAIM_LEN, 0xee);
  weft_path_encode_claim(bytes.data(), &claim);
  EXPECT_EQ(bytes,
            (Bytes{0, 0, 0, 1, 0, 0, 0, 7} + Bytes(16, 0xdd) + Bytes{1, 2, 3, 4, 5, 6, 7, 8} +
             Bytes{0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18}));
  claim.responder = false;
  weft_path_encode_claim(bytes.data(), &claim);
  EXPECT_EQ(bytes[3], 0);
}

TEST(Path, SequenceNumbersWrap) {
  EXPECT_TRUE(weft_path_before(1, 2));
  EXPECT_FALSE(weft_path_before(2, 2));
  EXPECT_FALSE(weft_path_before(3, 2));
  EXPECT_TRUE(weft_path_before(0xffffffff, 0));
  EXPECT_FALSE(weft_path_before(0, 0xffffffff));
}

TEST(Path, TheLongestFpdusFit) {
  EXPECT_EQ(weft_fpdu_len(WEFT_PATH_MAX_ULPDU), WEFT_PATH_MAX_FPDU);
  // That of the stream, without the header.
  EXPECT_EQ(weft_fpdu_len(WEFT_PATH_MAX_ULPDU - WEFT_PATH_HDR_LEN), WEFT_PATH_EMSS);
  EXPECT_EQ(WEFT_PATH_EMSS % 4, 0U);
}

}  // namespace
}  // namespace weft::test
