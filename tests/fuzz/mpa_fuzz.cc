// SPDX-License-Identifier: GPL-2.0
// MPA frames as a hostile peer sends them: a byte says which is expected, the rest is what arrives.
#include "input.hpp"

#include <string_view>

using namespace weft::fuzz;  // NOLINT(google-build-using-namespace)

namespace {

// When a frame is good, said a second time and in other words.
bool should_accept(const Bytes& b, bool reply) {
  constexpr std::string_view kRequest = "MPA ID Req Frame";
  constexpr std::string_view kReply = "MPA ID Rep Frame";
  if (b.size() < 20 ||
      !std::ranges::equal(reply ? kReply : kRequest, Bytes(b.begin(), b.begin() + 16))) {
    return false;
  }
  const size_t private_len = size_t{b[18]} * 256 + b[19];
  const bool enhanced = b[17] == 2 && (b[16] & 0x10) != 0;
  return private_len <= 512 && b.size() == 20 + private_len && (b[17] == 1 || b[17] == 2) &&
         (!enhanced || private_len >= 4);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8* data, size_t size) {
  Input input(data, size);
  const bool reply = input.flag();
  const Bytes bytes = input.rest();
  const u32 len = static_cast<u32>(bytes.size());

  if (len == 0) return 0;
  bool key_ok = true;
  for (u32 part = 1; part <= std::min(len, 20U); part++) {
    const bool ok = weft_mpa_key_prefix_ok(bytes.data(), part, reply);
    require(key_ok || !ok, "a key once refused stays refused");
    key_ok = ok;
  }
  if (len >= WEFT_MPA_HDR_LEN) {
    const u32 total = weft_mpa_total_len(bytes.data());
    require(total == 0 || (total >= WEFT_MPA_HDR_LEN && total <= WEFT_MPA_MAX_FRAME),
            "a frame's length is within bounds");
  }

  weft_mpa_frame frame{};
  const u32 at = weft_mpa_decode(bytes.data(), len, reply, &frame);
  require((at != 0) == should_accept(bytes, reply), "exactly the good frames are accepted");
  if (at == 0) return 0;
  require(key_ok, "an accepted frame has an accepted key");
  require(at + frame.private_len == len, "private data reaches to the end");
  require(frame.reply == reply, "a frame is of the kind that was expected");

  Bytes again(WEFT_MPA_MAX_FRAME);
  const u32 again_len = weft_mpa_encode(again.data(), &frame, bytes.data() + at);
  require(again_len == len, "an accepted frame can be written again");
  // Reserved flags are not kept: two in revision 2, three in revision 1; nor flag R of a Request.
  again[16] |= bytes[16] & ((frame.revision == 2 ? 0x09 : 0x19) | (reply ? 0 : 0x20));
  require(std::equal(bytes.begin(), bytes.end(), again.begin()), "and is the same then");
  return 0;
}
