// SPDX-License-Identifier: GPL-2.0
// The reader of markers on any stream. Its bytes are cut as the input says, and what is read does
// not depend on that. The stream is either the input itself, or FPDUs written from it, which come
// back as they were.
#include "input.hpp"
#include "marks.hpp"

using namespace weft::fuzz;  // NOLINT(google-build-using-namespace)
using weft::test::read;

extern "C" int LLVMFuzzerTestOneInput(const u8* data, size_t size) {
  Input input(data, size);
  const bool written = input.flag();
  std::vector<u32> cuts(input.byte() % 64);
  std::generate(cuts.begin(), cuts.end(), [&] { return input.byte(); });

  if (!written) {
    const Bytes stream = input.rest();
    require(read(stream, cuts, require) == read(stream, {}, require), "cuts change nothing");
    return 0;
  }
  Bytes stream;
  Bytes plain;
  while (!input.empty() && stream.size() < 200000) {
    const u32 len = input.half() % (WEFT_MAX_ULPDU - 600);
    const u64 at = stream.size();
    const u32 all = weft_fpdu_len_marked(len, at);
    stream.resize(at + all);
    u8* const ulpdu = weft_fpdu_begin_marked(stream.data() + at, len, at);
    std::fill_n(ulpdu, len, input.byte());
    const Bytes without(ulpdu - WEFT_MPA_LEN, ulpdu + len);
    require(weft_fpdu_end_marked(stream.data() + at, len, at, false) == all, "as long as said");
    plain = weft::test::operator+(std::move(plain), without);
    plain.resize(plain.size() + weft_fpdu_pad(len) + WEFT_CRC_LEN);
  }
  const auto got = read(stream, cuts, require);
  require(!got.wrong, "the markers that are written are right");
  require(got.plain == plain, "the FPDUs are as they were");
  require(got.markers.size() == stream.size() - plain.size(), "the rest is markers");
  return 0;
}
