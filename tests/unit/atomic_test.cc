// SPDX-License-Identifier: GPL-2.0
#include "wire.hpp"

#include <gtest/gtest.h>

namespace weft::test {
namespace {

constexpr u64 kOnes = ~u64{0};

u64 result(u8 op, u64 found, u64 data, u64 mask, u64 compare = 0, u64 compare_mask = 0) {
  const weft_atomic_req req{
      .op = op, .data = data, .mask = mask, .compare = compare, .compare_mask = compare_mask};
  return weft_atomic_result(&req, found);
}

u64 add(u64 found, u64 data, u64 ends) { return result(WEFT_ATOMIC_FETCH_ADD, found, data, ends); }

u64 swap(u64 found, u64 data, u64 mask) { return result(WEFT_ATOMIC_SWAP, found, data, mask); }

u64 compare_swap(u64 found, u64 compare, u64 compare_mask, u64 data, u64 mask) {
  return result(WEFT_ATOMIC_CMP_SWAP, found, data, mask, compare, compare_mask);
}

TEST(Atomic, AddsWithinFields) {
  EXPECT_EQ(add(40, 2, 0), 42U);
  EXPECT_EQ(add(kOnes, 1, 0), 0U);
  // A field's last bit is marked: two of 32 bits, eight of eight.
  EXPECT_EQ(add(0xffffffff'ffffffff, 0x00000001'00000001, 0x80000000'80000000), 0U);
  EXPECT_EQ(add(0x00000007'ffffffff, 0x00000001'00000002, 0x80000000'80000000),
            0x00000008'00000001U);
  EXPECT_EQ(add(0xff00ff00'ff00ff00, 0x01010101'01010101, 0x80808080'80808080),
            0x00010001'00010001U);
  EXPECT_EQ(add(0x7f7f7f7f'7f7f7f7f, 0x01010101'01010101, 0x80808080'80808080),
            0x80808080'80808080U);
  // Fields of one bit: exclusive or.
  EXPECT_EQ(add(0xff00ff00'12345678, 0xf0f0f0f0'ffffffff, kOnes), 0x0ff00ff0'edcba987U);
}

TEST(Atomic, SwapsUnderAMask) {
  EXPECT_EQ(swap(1, 2, kOnes), 2U);
  EXPECT_EQ(swap(1, 2, 0), 1U);
  EXPECT_EQ(swap(0x11223344'55667788, kOnes, 0x00ff0000'000000ff), 0x11ff3344'556677ffU);
}

TEST(Atomic, ComparesAndSwapsUnderMasks) {
  EXPECT_EQ(compare_swap(5, 5, kOnes, 7, kOnes), 7U);
  EXPECT_EQ(compare_swap(6, 5, kOnes, 7, kOnes), 6U);
  EXPECT_EQ(compare_swap(6, 5, 0, 7, kOnes), 7U) << "nothing is compared";
  EXPECT_EQ(compare_swap(0x1205, 0xff05, 0xff, 0x7700, 0xff00), 0x7705U);
  EXPECT_EQ(compare_swap(0x1206, 0xff05, 0xff, 0x7700, 0xff00), 0x1206U);
}

TEST(Atomic, RequestRoundTrips) {
  const weft_atomic_req in{.op = WEFT_ATOMIC_CMP_SWAP,
                           .id = 0xaabbccdd,
                           .stag = 0x12345678,
                           .to = 0x0102030405060708ULL,
                           .data = 0x1112131415161718ULL,
                           .mask = 0x2122232425262728ULL,
                           .compare = 0x3132333435363738ULL,
                           .compare_mask = 0x4142434445464748ULL};
  const Bytes wire = {0x00, 0x00, 0x00, 0x02, 0xaa, 0xbb, 0xcc, 0xdd, 0x12, 0x34, 0x56, 0x78, 0x01,
                      0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16,
                      0x17, 0x18, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28, 0x31, 0x32, 0x33,
                      0x34, 0x35, 0x36, 0x37, 0x38, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48};
  Bytes buf(WEFT_ATOMIC_REQ_LEN, 0xaa);
  weft_atomic_req_encode(buf.data(), &in);
  EXPECT_EQ(buf, wire);

  Bytes reserved = wire;
  reserved[0] = 0xff;
  reserved[3] |= 0xf0;
  for (const Bytes& bytes : {wire, reserved}) {
    weft_atomic_req out{};
    weft_atomic_req_decode(bytes.data(), &out);
    EXPECT_EQ(fields(out), fields(in));
  }
}

TEST(Atomic, ResponseRoundTrips) {
  const weft_atomic_resp in{.id = 0xaabbccdd, .original = 0x0102030405060708ULL};
  const Bytes wire = {0xaa, 0xbb, 0xcc, 0xdd, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08};
  Bytes buf(WEFT_ATOMIC_RESP_LEN, 0xaa);
  weft_atomic_resp_encode(buf.data(), &in);
  EXPECT_EQ(buf, wire);
  weft_atomic_resp out{};
  weft_atomic_resp_decode(wire.data(), &out);
  EXPECT_EQ(out.id, in.id);
  EXPECT_EQ(out.original, in.original);
}

TEST(Atomic, ThreeOperationsExist) {
  for (u8 op = 0; op < 16; op++) EXPECT_EQ(weft_atomic_op_ok(op), op < 3) << int{op};
}

}  // namespace
}  // namespace weft::test
