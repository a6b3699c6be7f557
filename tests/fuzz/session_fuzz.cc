// SPDX-License-Identifier: GPL-2.0
// Session control messages of DDP over SCTP, as a hostile peer sends them.
#include "input.hpp"

using namespace weft::fuzz;  // NOLINT(google-build-using-namespace)

namespace {

// When a message is good, said a second time and in other words.
bool should_accept(const Bytes& b) {
  if (b.size() < 4 || b.size() > 4 + 512) return false;
  const unsigned code = b[2] * 256U + b[3];
  const unsigned plain = code & 0x7fffU;
  return code == 1 || code == 2 || code == 3 || (plain >= 5 && plain <= 7 && b.size() >= 8);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8* data, size_t size) {
  const Bytes bytes(data, data + size);
  const u32 len = static_cast<u32>(bytes.size());

  weft_mpa_frame frame{};
  const u32 at = weft_session_decode(bytes.data(), len, &frame);
  require((at != 0) == should_accept(bytes), "exactly the good messages are accepted");
  if (at == 0) return 0;
  require(at + frame.private_len == len, "private data reaches to the end");
  require(!weft_session_is_terminate(bytes.data(), len), "a handshake ends no session");

  Bytes mpa(WEFT_MPA_MAX_FRAME);
  require(weft_mpa_encode(mpa.data(), &frame, bytes.data() + at) ==
              WEFT_MPA_HDR_LEN + (frame.enhanced ? WEFT_MPA_V2_LEN : 0) + frame.private_len,
          "an accepted message is a frame of MPA's");

  Bytes again(WEFT_SESSION_MAX_LEN);
  const u16 ssn = static_cast<u16>(bytes[0] << 8 | bytes[1]);
  const u32 again_len = weft_session_encode(again.data(), ssn, &frame, bytes.data() + at);
  require(again_len == len, "an accepted message can be written again");
  require(std::equal(bytes.begin(), bytes.end(), again.begin()), "and is the same then");
  return 0;
}
