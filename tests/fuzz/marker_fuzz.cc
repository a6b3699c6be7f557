// SPDX-License-Identifier: GPL-2.0
// The reader of markers on any stream. Its bytes are cut as the input says, and what is read does
// not depend on that. The stream is either the input itself, or FPDUs written from it, which come
// back as they were.
#include "input.hpp"

#include <algorithm>

using namespace weft::fuzz;  // NOLINT(google-build-using-namespace)

namespace {

struct Read {
  Bytes plain;
  Bytes markers;
  bool wrong = false;

  bool operator==(const Read&) const = default;
};

// Reads in pieces: each byte of @cuts is the length of one, and 0 of any length.
Read read(const Bytes& stream, const Bytes& cuts) {
  weft_marks marks{};
  Bytes fpdu;
  Read out;
  size_t at = 0;
  for (size_t i = 0; at < stream.size(); i++) {
    const u32 cut = i < cuts.size() ? cuts[i] : 0;
    u32 n = static_cast<u32>(stream.size() - at);
    n = cut != 0 ? std::min(n, cut) : n;
    if (weft_marks_next(&marks, &n)) {
      require(n > 0 && n <= WEFT_MARKER_LEN, "a marker's bytes are four");
      const auto verdict = weft_marks_take(&marks, stream.data() + at, n);
      at += n;
      if (verdict == WEFT_MARKS_WRONG) {
        out.wrong = true;
        return out;
      }
      if (verdict == WEFT_MARKS_WHOLE) {
        out.markers.insert(out.markers.end(), marks.bytes, marks.bytes + WEFT_MARKER_LEN);
      }
      continue;
    }
    // Up to the end of the length field, and of the FPDU.
    const u32 have = static_cast<u32>(fpdu.size());
    n = std::min(n, have < WEFT_MPA_LEN ? WEFT_MPA_LEN - have
                                        : weft_fpdu_len(weft_get_be16(fpdu.data())) - have);
    require(n > 0, "there is progress");
    fpdu.insert(fpdu.end(), stream.begin() + static_cast<std::ptrdiff_t>(at),
                stream.begin() + static_cast<std::ptrdiff_t>(at + n));
    weft_marks_pass(&marks, n);
    at += n;
    require(marks.at == static_cast<u16>(at), "the place in the stream is counted");
    if (fpdu.size() >= WEFT_MPA_LEN && fpdu.size() == weft_fpdu_len(weft_get_be16(fpdu.data()))) {
      out.plain = weft::test::operator+(std::move(out.plain), fpdu);
      fpdu.clear();
      marks.amid = false;
    }
  }
  out.plain = weft::test::operator+(std::move(out.plain), fpdu);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8* data, size_t size) {
  Input input(data, size);
  const bool written = input.flag();
  Bytes cuts(input.byte() % 64);
  std::generate(cuts.begin(), cuts.end(), [&] { return input.byte(); });

  if (!written) {
    const Bytes stream = input.rest();
    require(read(stream, cuts) == read(stream, {}), "cuts change nothing");
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
  const Read got = read(stream, cuts);
  require(!got.wrong, "the markers that are written are right");
  require(got.plain == plain, "the FPDUs are as they were");
  require(got.markers.size() == stream.size() - plain.size(), "the rest is markers");
  return 0;
}
