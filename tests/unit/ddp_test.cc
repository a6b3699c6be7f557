// SPDX-License-Identifier: GPL-2.0
#include "wire.hpp"

#include <gtest/gtest.h>

#include <array>
#include <optional>

namespace weft::test {
namespace {

using Refusal = std::tuple<u8, u8, u8>;  // layer, type, code

constexpr Refusal kCutShort{WEFT_TERM_DDP, WEFT_DDP_LOCAL, 0};
constexpr Refusal kTaggedVersion{WEFT_TERM_DDP, WEFT_DDP_TAGGED_BUFFER, WEFT_DT_VERSION};
constexpr Refusal kUntaggedVersion{WEFT_TERM_DDP, WEFT_DDP_UNTAGGED_BUFFER, WEFT_DU_VERSION};
constexpr Refusal kQueueNumber{WEFT_TERM_DDP, WEFT_DDP_UNTAGGED_BUFFER, WEFT_DU_QN};
constexpr Refusal kRdmapVersion{WEFT_TERM_RDMAP, WEFT_RDMAP_OPERATION, WEFT_RO_VERSION};
constexpr Refusal kOpcode{WEFT_TERM_RDMAP, WEFT_RDMAP_OPERATION, WEFT_RO_OPCODE};

// Headers as tshark decoded them.
const Bytes kWrite = {0xc1, 0x40, 0x12, 0x34, 0x56, 0x78, 0x11,
                      0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88};
const Bytes kSendInv = {0x41, 0x44, 0xca, 0xfe, 0x00, 0x01, 0x00, 0x00, 0x00,
                        0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00};
const Bytes kReadReq = {0x41, 0x41, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                        0x01, 0x00, 0x00, 0x00, 0x07, 0x00, 0x00, 0x00, 0x00};

Bytes put(Bytes bytes, size_t at, u8 value) {
  bytes[at] = value;
  return bytes;
}

// Nothing where the header is good, and the reason where it is refused.
std::optional<Refusal> refusal_of(const Bytes& bytes, bool extended = false) {
  const Bytes copy = exact(bytes, bytes.size());
  auto hdr = used<weft_ddp_hdr>();
  weft_term err{0xaa, 0xaa, 0xaa};
  const u32 len = weft_ddp_decode(copy.data(), static_cast<u32>(copy.size()), extended, &hdr, &err);
  if (len != 0) {
    EXPECT_EQ(len, hdr.tagged ? 14U : 18U);
    EXPECT_EQ(err.layer, 0xaa) << "the reason is written only on failure";
    return std::nullopt;
  }
  return fields(err);
}

// kWrite and kSendInv in their fields.
constexpr weft_ddp_hdr kWriteHdr{.opcode = WEFT_RDMAP_WRITE,
                                 .tagged = true,
                                 .last = true,
                                 .stag = 0x12345678,
                                 .to = 0x1122334455667788ULL};
constexpr weft_ddp_hdr kSendInvHdr{
    .opcode = WEFT_RDMAP_SEND_INV, .last = true, .inv_stag = 0xcafe0001, .msn = 1};

// Decodes a good header, whose length this end knows.
weft_ddp_hdr decoded(const u8* bytes, u32 len, bool extended = false) {
  auto hdr = used<weft_ddp_hdr>();
  weft_term err{};
  EXPECT_EQ(weft_ddp_decode(bytes, len, extended, &hdr, &err), len);
  return hdr;
}

TEST(Ddp, DecodesTagged) { EXPECT_EQ(fields(decoded(kWrite.data(), 14)), fields(kWriteHdr)); }

TEST(Ddp, DecodesUntagged) {
  EXPECT_EQ(fields(decoded(kSendInv.data(), 18)), fields(kSendInvHdr));
  // The same bits mean nothing where no STag is invalidated.
  EXPECT_EQ(decoded(put(kSendInv, 1, 0x43).data(), 18).inv_stag, 0U);
}

TEST(Ddp, EncodesWhatTsharkDecoded) {
  Bytes buf(WEFT_DDP_MAX_LEN, 0xaa);
  ASSERT_EQ(weft_ddp_encode(buf.data(), &kWriteHdr), 14U);
  EXPECT_EQ(exact(buf, 14), kWrite);
  ASSERT_EQ(weft_ddp_encode(buf.data(), &kSendInvHdr), 18U);
  EXPECT_EQ(buf, kSendInv);
}

u8 queue_of(u8 opcode) {
  const bool asks = opcode == WEFT_RDMAP_READ_REQ || opcode == WEFT_RDMAP_ATOMIC_REQ;
  return asks                               ? WEFT_QN_READ_REQ
         : opcode == WEFT_RDMAP_TERMINATE   ? WEFT_QN_TERMINATE
         : opcode == WEFT_RDMAP_ATOMIC_RESP ? WEFT_QN_ATOMIC_RESP
                                            : WEFT_QN_SEND;
}

TEST(Ddp, EveryOpcodeRoundTrips) {
  for (u8 opcode = 0; opcode <= WEFT_RDMAP_SEND_SE_IMM; opcode++) {
    for (const bool last : {false, true}) {
      weft_ddp_hdr in{.opcode = opcode, .last = last};
      in.tagged = opcode == WEFT_RDMAP_WRITE || opcode == WEFT_RDMAP_READ_RESP;
      if (in.tagged) {
        in.stag = 0x89abcdef;
        in.to = 0xfedcba9876543210ULL;
      } else {
        in.qn = queue_of(opcode);
        in.msn = 0xffffffff;
        in.mo = 0x80000001;
        if (opcode == WEFT_RDMAP_SEND_INV || opcode == WEFT_RDMAP_SEND_SE_INV)
          in.inv_stag = 0x01020304;
        if (opcode == WEFT_RDMAP_SEND_IMM || opcode == WEFT_RDMAP_SEND_SE_IMM) in.imm = 0x01020304;
      }
      Bytes buf(WEFT_DDP_MAX_LEN, 0xee);
      const u32 len = weft_ddp_encode(buf.data(), &in);
      ASSERT_EQ(len, weft_ddp_hdr_len(in.tagged));
      EXPECT_EQ((buf[0] & WEFT_DDP_TAGGED) != 0, in.tagged);

      EXPECT_EQ(fields(decoded(buf.data(), len, true)), fields(in)) << "opcode " << int{opcode};
    }
  }
}

// RFC 5040, 4.1: the field is reserved there, and zero.
TEST(Ddp, AnStagThatIsNotForThePeerStaysHere) {
  const weft_ddp_hdr send{.opcode = WEFT_RDMAP_SEND, .inv_stag = 0x01020304, .imm = 0x01020304};
  Bytes buf(WEFT_DDP_MAX_LEN, 0xee);
  ASSERT_EQ(weft_ddp_encode(buf.data(), &send), WEFT_DDP_UNTAGGED_LEN);
  EXPECT_EQ(get_unaligned_be32(&buf[2]), 0U);
}

TEST(Ddp, RefusesEveryLengthThatIsTooShort) {
  for (size_t len = 0; len < 14; len++) EXPECT_EQ(refusal_of(exact(kWrite, len)), kCutShort) << len;
  for (size_t len = 0; len < 18; len++)
    EXPECT_EQ(refusal_of(exact(kSendInv, len)), kCutShort) << len;
  EXPECT_EQ(refusal_of(kWrite + Bytes(100)), std::nullopt);
}

TEST(Ddp, RefusesOtherVersions) {
  for (const u8 version : {0, 2, 3}) {
    const u8 tagged = static_cast<u8>(0xc0 | version);
    const u8 untagged = static_cast<u8>(0x40 | version);
    EXPECT_EQ(refusal_of(put(kWrite, 0, tagged)), kTaggedVersion);
    EXPECT_EQ(refusal_of(put(kSendInv, 0, untagged)), kUntaggedVersion);
    // The version decides what the rest means, so it is judged even of a stump.
    EXPECT_EQ(refusal_of({tagged}), kTaggedVersion);
    EXPECT_EQ(refusal_of({untagged}), kUntaggedVersion);

    const u8 rdmap = static_cast<u8>(version << 6);
    EXPECT_EQ(refusal_of(put(kWrite, 1, rdmap)), kRdmapVersion);
    EXPECT_EQ(refusal_of(put(kSendInv, 1, rdmap | 4)), kRdmapVersion);
  }
}

TEST(Ddp, RefusesUnknownOpcodes) {
  for (u8 opcode = 8; opcode < 16; opcode++) {
    EXPECT_EQ(refusal_of(put(kWrite, 1, 0x40 | opcode)), kOpcode);
    EXPECT_EQ(refusal_of(put(kSendInv, 1, 0x40 | opcode)), kOpcode);
  }
}

TEST(Ddp, KnowsMoreOpcodesOfAPeerThatAgreed) {
  for (u8 opcode = 8; opcode < 16; opcode++) {
    EXPECT_EQ(refusal_of(put(kWrite, 1, 0x40 | opcode), true), kOpcode) << "none is tagged";
    for (u8 qn = 0; qn < 5; qn++) {
      const Bytes bytes = put(put(kSendInv, 1, 0x40 | opcode), 9, qn);
      const std::optional<Refusal> refusal = refusal_of(bytes, true);
      if (qn == 4) {
        EXPECT_EQ(refusal, kQueueNumber);
      } else if (opcode <= WEFT_RDMAP_SEND_SE_IMM && qn == queue_of(opcode)) {
        EXPECT_EQ(refusal, std::nullopt) << int{opcode};
      } else {
        EXPECT_EQ(refusal, kOpcode) << int{opcode} << " on queue " << int{qn};
      }
      EXPECT_EQ(refusal_of(bytes), qn > 2 ? kQueueNumber : kOpcode);
    }
  }
}

TEST(Ddp, ImmediateDataLiesWhereAnStagWould) {
  const Bytes send = put(kSendInv, 1, 0x40 | WEFT_RDMAP_SEND_IMM);
  const weft_ddp_hdr hdr = decoded(send.data(), 18, true);
  EXPECT_EQ(hdr.imm, 0xcafe0001U);
  EXPECT_EQ(hdr.inv_stag, 0U);
}

TEST(Ddp, RefusesAnOpcodeInTheWrongBufferModel) {
  for (u8 opcode = 0; opcode < 8; opcode++) {
    const bool tagged = opcode == WEFT_RDMAP_WRITE || opcode == WEFT_RDMAP_READ_RESP;
    EXPECT_EQ(refusal_of(put(kWrite, 1, 0x40 | opcode)),
              tagged ? std::nullopt : std::optional(kOpcode));
    if (tagged) {
      EXPECT_EQ(refusal_of(put(kSendInv, 1, 0x40 | opcode)), kOpcode);
    }
  }
}

TEST(Ddp, RefusesAnotherQueue) {
  for (const u8 opcode : {1, 3, 4, 5, 6, 7}) {
    const u8 own = opcode == 1 ? 1 : opcode == 7 ? 2 : 0;
    for (u8 qn = 0; qn < 3; qn++) {
      EXPECT_EQ(refusal_of(put(put(kSendInv, 1, 0x40 | opcode), 9, qn)),
                qn == own ? std::nullopt : std::optional(kOpcode))
          << "opcode " << int{opcode} << " on queue " << int{qn};
    }
    EXPECT_EQ(refusal_of(put(put(kSendInv, 1, 0x40 | opcode), 9, 3)), kQueueNumber);
    // All 32 bits of the queue number count.
    for (size_t byte = 6; byte < 9; byte++)
      EXPECT_EQ(refusal_of(put(put(kReadReq, 1, 0x40 | opcode), byte, 1)), kQueueNumber);
  }
}

TEST(Ddp, IgnoresReservedBits) {
  for (const u8 reserved : {0x04, 0x08, 0x10, 0x20, 0x3c}) {
    EXPECT_EQ(refusal_of(put(kWrite, 0, 0xc1 | reserved)), std::nullopt);
    EXPECT_EQ(refusal_of(put(kSendInv, 0, 0x41 | reserved)), std::nullopt);
  }
  for (const u8 reserved : {0x10, 0x20, 0x30}) {
    EXPECT_EQ(refusal_of(put(kWrite, 1, 0x40 | reserved)), std::nullopt);
    EXPECT_EQ(refusal_of(put(kSendInv, 1, 0x44 | reserved)), std::nullopt);
  }
}

// All 65,536 control fields: accepted exactly where T, versions and opcode fit.
TEST(Ddp, EveryControlField) {
  int accepted = 0;
  for (u32 control = 0; control < 0x10000; control++) {
    Bytes bytes = kReadReq;
    put_unaligned_be16(static_cast<u16>(control), bytes.data());
    const u32 opcode = control & 0xf;
    if (opcode != 1) bytes[9] = opcode == 7 ? 2 : 0;
    const bool tagged = (control & 0x8000) != 0;
    const bool good = (control & 0x0300) == 0x0100 && (control & 0x00c0) == 0x0040 && opcode < 8 &&
                      tagged == (opcode == 0 || opcode == 2);
    ASSERT_EQ(refusal_of(bytes) == std::nullopt, good) << std::hex << control;
    accepted += good ? 1 : 0;
  }
  // Six reserved bits and L are free: 128 times the eight opcodes.
  EXPECT_EQ(accepted, 8 * 128);
}

// The header of a segment, and of the one behind it.
struct Pair {
  std::array<u8, WEFT_DDP_MAX_LEN> prev{};
  std::array<u8, WEFT_DDP_MAX_LEN> next{};

  Pair(u8 opcode, bool tagged, u32 payload) {
    weft_ddp_hdr hdr{.opcode = opcode,
                     .tagged = tagged,
                     .stag = 0x01020304,
                     .to = 0xfffffff0,
                     .msn = 7,
                     .mo = 0xfff0};
    weft_ddp_encode(prev.data(), &hdr);
    next = prev;
    hdr.last = true;
    hdr.to += payload;
    hdr.mo += payload;
    weft_ddp_encode_place(next.data(), &hdr);
  }
  [[nodiscard]] bool alike() const { return weft_ddp_alike(prev.data(), next.data()); }
};

TEST(Ddp, SegmentsOfAKindAreAlike) {
  for (const bool tagged : {false, true}) {
    const u8 opcode = tagged ? WEFT_RDMAP_WRITE : WEFT_RDMAP_SEND;
    Pair pair(opcode, tagged, 1400);
    pair.next.at(13) ^= 1;  // the last byte of the offset, or of the number
    EXPECT_TRUE(pair.alike());
    weft_ddp_hdr first = decoded(pair.prev.data(), weft_ddp_hdr_len(tagged));
    weft_ddp_decode_place(pair.next.data(), &first);
    EXPECT_TRUE(first.last);
    EXPECT_EQ(fields(first), fields(decoded(pair.next.data(), weft_ddp_hdr_len(tagged))));
  }
}

TEST(Ddp, AnyOtherDifferenceBeginsAnew) {
  for (const bool tagged : {false, true}) {
    const Pair pair(tagged ? WEFT_RDMAP_READ_RESP : WEFT_RDMAP_SEND, tagged, 1400);
    const u32 len = weft_ddp_hdr_len(tagged);
    for (u32 bit = 0; bit < 8 * len; bit++) {
      Pair other = pair;
      other.next.at(bit / 8) ^= static_cast<u8>(1U << bit % 8);
      // Whether it is the last, and its place: offset, or number and offset.
      const bool free = bit == 6 || bit >= 8 * (tagged ? 6U : 10U);
      EXPECT_EQ(other.alike(), free) << (tagged ? "tagged, bit " : "untagged, bit ") << bit;
    }
  }
}

// A segment and another that repeats it, but for its offset.
struct Repeated : Pair {
  bool tagged;

  explicit Repeated(bool is_tagged)
      : Pair(is_tagged ? WEFT_RDMAP_READ_RESP : WEFT_RDMAP_SEND, is_tagged, 0), tagged(is_tagged) {
    next = prev;
    weft_ddp_encode_offset(next.data(), tagged, kAt);
  }
  [[nodiscard]] bool repeats(u64 at = kAt) const {
    return weft_ddp_repeats(prev.data(), next.data(), tagged, at);
  }
  static constexpr u64 kAt = 0xfedcba98;
};

TEST(Ddp, ARepeatedSegmentHasTheOffsetAskedFor) {
  for (const bool tagged : {false, true}) {
    const Repeated segment(tagged);
    EXPECT_TRUE(segment.repeats());
    for (u32 bit = 0; bit < 64; bit++)
      EXPECT_FALSE(segment.repeats(Repeated::kAt ^ 1ULL << bit)) << tagged << ", bit " << bit;
    // A value past 32 bits is no offset of a message.
    EXPECT_FALSE(segment.repeats(Repeated::kAt + (1ULL << 32)));
    const weft_ddp_hdr hdr = decoded(segment.next.data(), weft_ddp_hdr_len(tagged));
    EXPECT_EQ(tagged ? hdr.to : hdr.mo, Repeated::kAt);
  }
}

// Whether it is the last as well: nothing is free.
TEST(Ddp, ASegmentWithAnyOtherDifferenceRepeatsNothing) {
  for (const bool tagged : {false, true}) {
    const Repeated segment(tagged);
    const u32 bits = 8 * weft_ddp_hdr_len(tagged);
    for (u32 bit = 0; bit < bits; bit++) {
      Repeated other = segment;
      other.next.at(bit / 8) ^= static_cast<u8>(1U << bit % 8);
      EXPECT_FALSE(other.repeats()) << (tagged ? "tagged, bit " : "untagged, bit ") << bit;
    }
  }
}

TEST(Ddp, ReadRequestRoundTrips) {
  const weft_read_req in{0xaabbccdd, 0x0102030405060708ULL, 4096, 0x55667788,
                         0x1112131415161718ULL};
  const Bytes wire = {0xaa, 0xbb, 0xcc, 0xdd, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06,
                      0x07, 0x08, 0x00, 0x00, 0x10, 0x00, 0x55, 0x66, 0x77, 0x88,
                      0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18};
  Bytes buf(WEFT_READ_REQ_LEN, 0xaa);
  weft_read_req_encode(buf.data(), &in);
  EXPECT_EQ(buf, wire);

  weft_read_req out{};
  weft_read_req_decode(wire.data(), &out);
  EXPECT_EQ(fields(out), fields(in));
}

}  // namespace
}  // namespace weft::test
