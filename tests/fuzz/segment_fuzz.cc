// SPDX-License-Identifier: GPL-2.0
// DDP headers and Terminates as a hostile peer sends them: a reason and a length, then a segment.
#include "input.hpp"

using namespace weft::fuzz;  // NOLINT(google-build-using-namespace)

namespace {

void fuzz_header(const Bytes& bytes, bool extended) {
  const u32 len = static_cast<u32>(bytes.size());
  weft_ddp_hdr hdr{};
  weft_term err{0xee, 0xee, 0xee};
  const u32 hdr_len = weft_ddp_decode(bytes.data(), len, extended, &hdr, &err);

  if (hdr_len == 0) {
    require(err.layer == WEFT_TERM_DDP || err.layer == WEFT_TERM_RDMAP, "a refusal has its layer");
    require(err.etype <= 2, "a refusal has its type");
    return;
  }
  require(err.layer == 0xee, "a success leaves no reason");
  require(hdr_len == weft_ddp_hdr_len(hdr.tagged) && hdr_len <= len, "a header fits its bytes");
  const u32 opcodes = extended ? WEFT_RDMAP_SEND_SE_IMM : WEFT_RDMAP_TERMINATE;
  const u32 queues = extended ? WEFT_QN_ATOMIC_RESP : WEFT_QN_TERMINATE;
  require(hdr.opcode <= opcodes && hdr.qn <= queues, "opcode and queue exist");
  require(hdr.tagged == (hdr.opcode == WEFT_RDMAP_WRITE || hdr.opcode == WEFT_RDMAP_READ_RESP),
          "tagged opcodes are tagged");

  Bytes again(hdr_len);
  require(weft_ddp_encode(again.data(), &hdr) == hdr_len, "a header can be written again");
  again[0] |= bytes[0] & 0x3c;
  again[1] |= bytes[1] & 0x30;
  if (!hdr.tagged && hdr.opcode != WEFT_RDMAP_SEND_INV && hdr.opcode != WEFT_RDMAP_SEND_SE_INV &&
      hdr.opcode != WEFT_RDMAP_SEND_IMM && hdr.opcode != WEFT_RDMAP_SEND_SE_IMM) {
    std::copy_n(bytes.begin() + 2, 4, again.begin() + 2);
  }
  require(std::equal(again.begin(), again.end(), bytes.begin()), "and is the same then");
}

// A header of the last one's kind is not decoded; decoding it must give the same.
void fuzz_next(const Bytes& bytes, bool extended) {
  constexpr u32 kHead = WEFT_DDP_MAX_LEN;
  if (bytes.size() < kHead + 2) return;
  weft_ddp_hdr prev{};
  weft_ddp_hdr next{};
  weft_term err{};
  Bytes head(bytes.begin() + 2, bytes.begin() + 2 + kHead);
  const u32 len = weft_ddp_decode(head.data(), WEFT_DDP_MAX_LEN, extended, &prev, &err);
  if (len == 0) return;
  // The next header: the same with another place, or with one byte changed.
  const u32 payload = get_unaligned_be16(bytes.data());
  Bytes other = head;
  weft_ddp_hdr place = prev;
  place.last = (payload & 1) != 0;
  place.to += payload;
  place.mo += payload;
  weft_ddp_encode_place(other.data(), &place);
  require(weft_ddp_alike(head.data(), other.data()), "another place makes no other kind");
  if (bytes.size() > kHead + 2) other[bytes[kHead + 2] % kHead] ^= bytes.back();
  if (!weft_ddp_alike(head.data(), other.data())) return;
  require(weft_ddp_decode(other.data(), WEFT_DDP_MAX_LEN, extended, &next, &err) == len,
          "what is alike can be decoded");
  weft_ddp_decode_place(other.data(), &prev);
  require(weft::test::fields(prev) == weft::test::fields(next),
          "and is what it was, in another place");
}

// One bit at a time, as the RFC's own pseudo-code has it.
u64 added(u64 a, u64 b, u64 ends) {
  u64 sum = 0;
  u64 carry = 0;
  for (unsigned bit = 0; bit < 64; bit++) {
    const u64 here = (a >> bit & 1) + (b >> bit & 1) + carry;
    sum |= (here & 1) << bit;
    carry = (ends >> bit & 1) != 0 ? 0 : here >> 1;
  }
  return sum;
}

u64 expected(const weft_atomic_req& req, u64 found) {
  if (req.op == WEFT_ATOMIC_FETCH_ADD) return added(found, req.data, req.mask);
  const bool equal = (found & req.compare_mask) == (req.compare & req.compare_mask);
  if (req.op == WEFT_ATOMIC_CMP_SWAP && !equal) return found;
  return (found & ~req.mask) | (req.data & req.mask);
}

// An atomic request, then the value that it finds.
void fuzz_atomic(const Bytes& bytes) {
  if (bytes.size() < WEFT_ATOMIC_REQ_LEN + 8) return;
  weft_atomic_req req{};
  weft_atomic_req_decode(bytes.data(), &req);
  require(req.op <= 0xf, "an operation has four bits");
  Bytes again(WEFT_ATOMIC_REQ_LEN);
  weft_atomic_req_encode(again.data(), &req);
  std::copy_n(bytes.begin(), 3, again.begin());
  again[3] |= bytes[3] & 0xf0;
  require(std::equal(again.begin(), again.end(), bytes.begin()), "a request is the same again");
  if (weft_atomic_op_ok(req.op)) {
    const u64 found = get_unaligned_be64(bytes.data() + WEFT_ATOMIC_REQ_LEN);
    require(weft_atomic_result(&req, found) == expected(req, found), "an operation is right");
  }

  weft_atomic_resp resp{};
  weft_atomic_resp_decode(bytes.data(), &resp);
  Bytes answer(WEFT_ATOMIC_RESP_LEN);
  weft_atomic_resp_encode(answer.data(), &resp);
  require(std::equal(answer.begin(), answer.end(), bytes.begin()), "a response is the same again");
}

void fuzz_terminate(const Bytes& bytes) {
  weft_term term{};
  u8 op = 0;
  u32 msn = 0;
  const bool ok = weft_term_decode(bytes.data(), static_cast<u32>(bytes.size()), &term, &op, &msn);
  require(ok == (bytes.size() >= 4), "four bytes make a Terminate");
  require(op == 0xff || op <= 0xf, "an opcode has four bits");
}

// A segment as the receiver would show it: its header, and a read request's.
void fuzz_answer(const weft_term& reason, u16 ulpdu_len, const Bytes& bytes) {
  for (const u32 len : {0U, 14U, 18U, 46U}) {
    if (len > bytes.size()) break;
    const Bytes segment = weft::test::exact(bytes, len);
    Bytes out(WEFT_TERM_MAX_LEN, 0xdd);
    const u32 out_len = weft_term_encode(out.data(), &reason, segment.data(), len, ulpdu_len);
    require(out_len == 4 || out_len == 20 || out_len == 24 || out_len == 52,
            "a Terminate has one of four lengths");
    require(std::all_of(out.begin() + out_len, out.end(), [](u8 b) { return b == 0xdd; }),
            "nothing is written beyond it");

    out.resize(out_len);
    weft_term seen{};
    u8 op = 0;
    u32 msn = 0;
    require(weft_term_decode(out.data(), out_len, &seen, &op, &msn), "it can be read");
    const weft_term sent{static_cast<u8>(reason.layer & 0xf), static_cast<u8>(reason.etype & 0xf),
                         reason.code};
    require(weft::test::fields(seen) == weft::test::fields(sent), "the reason arrives");
    require((op == 0xff) == (out_len == 4), "an opcode arrives with the header");
    require(op == 0xff || op == (segment[1] & 0xf), "it is the segment's");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8* data, size_t size) {
  Input input(data, size);
  const u8 where = input.byte();
  const weft_term reason{static_cast<u8>(where >> 4), static_cast<u8>(where & 0xf), input.byte()};
  const u16 ulpdu_len = input.half();
  const Bytes bytes = input.rest();

  fuzz_header(bytes, false);
  fuzz_header(bytes, true);
  fuzz_next(bytes, false);
  fuzz_next(bytes, true);
  fuzz_atomic(bytes);
  fuzz_terminate(bytes);
  fuzz_answer(reason, ulpdu_len, bytes);
  return 0;
}
