// SPDX-License-Identifier: GPL-2.0
// Frames of paths, as a hostile peer sends them.
#include "input.hpp"

using namespace weft::fuzz;  // NOLINT(google-build-using-namespace)

namespace {

// When a ULPDU is good, said a second time and in other words.
bool should_accept(const Bytes& b) {
  if (b.size() < 12) return false;
  const size_t body = b.size() - 12;
  switch (b[0]) {
    case 1:
      return body > 0 && b.size() <= 16000 - 6;
    case 2:
    case 3:
      return body == 0;
    case 7:
      return body >= 20 && b[31] <= 8 && body == 20 + size_t{16} * b[31];
    case 8:
    case 10:
      return body == 8;
    case 9:
      return body == 16;
    default:
      return false;
  }
}

// Writes what was decoded of a frame that is no segment.
Bytes write_again(const Bytes& from, const weft_path_hdr& hdr) {
  Bytes to(WEFT_PATH_MAX_CONTROL);
  u32 len = WEFT_PATH_HDR_LEN;
  weft_path_encode(to.data(), &hdr);
  if (hdr.type == WEFT_PATH_JOIN || hdr.type == WEFT_PATH_ANSWER) {
    weft_path_put_number(to.data(), 0, weft_path_number(from.data(), 0));
    len = WEFT_PATH_JOIN_LEN;
  } else if (hdr.type == WEFT_PATH_CHALLENGE) {
    weft_path_put_number(to.data(), 0, weft_path_number(from.data(), 0));
    weft_path_put_number(to.data(), 1, weft_path_number(from.data(), 1));
    len = WEFT_PATH_CHALLENGE_LEN;
  } else if (hdr.type == WEFT_PATH_ADDRESSES) {
    weft_path_addrs addrs{};
    weft_path_decode_addrs(from.data(), &addrs);
    len = weft_path_encode_addrs(to.data(), &addrs);
  }
  to.resize(len);
  return to;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8* data, size_t size) {
  Bytes bytes(data, data + size);

  weft_path_hdr hdr{};
  const bool good = weft_path_decode(bytes.data(), static_cast<u32>(bytes.size()), &hdr);
  require(good == should_accept(bytes), "exactly the good frames are accepted");
  if (!good || hdr.type == WEFT_PATH_SEGMENT) return 0;
  std::fill_n(bytes.begin() + 1, 3, u8{0});
  require(write_again(bytes, hdr) == bytes, "an accepted frame is the same when written again");
  return 0;
}
