// SPDX-License-Identifier: GPL-2.0
// A reader of a stream of FPDUs with markers, which gets it in pieces.
#pragma once

#include "wire.hpp"

namespace weft::test {

struct Read {
  Bytes plain;
  Bytes markers;
  bool wrong = false;

  bool operator==(const Read&) const = default;
};

// Reads in pieces of @cuts bytes; 0 is any length. Calls `must` for each property that is to hold.
template <typename Must>
Read read(const Bytes& stream, const std::vector<u32>& cuts, const Must& must) {
  weft_marks marks{};
  Bytes fpdu;
  Read out;
  auto cut = cuts.begin();
  u32 left = 0;  // of the piece
  u32 n = 0;
  for (size_t at = 0; at < stream.size(); left -= std::min(left, n)) {
    if (left == 0 && cut != cuts.end()) left = *cut++;
    n = static_cast<u32>(stream.size() - at);
    n = left != 0 ? std::min(n, left) : n;
    if (weft_marks_next(&marks, &n)) {
      must(n > 0 && n <= WEFT_MARKER_LEN, "a marker's bytes are four");
      const auto verdict = weft_marks_take(&marks, stream.data() + at, n);
      at += n;
      if (verdict == WEFT_MARKS_WRONG) {
        out.wrong = true;
        return out;
      }
      if (verdict == WEFT_MARKS_WHOLE)
        out.markers.insert(out.markers.end(), marks.bytes, marks.bytes + WEFT_MARKER_LEN);
      continue;
    }
    // Up to the end of the length field, and of the FPDU.
    const u32 have = static_cast<u32>(fpdu.size());
    n = std::min(n, have < WEFT_MPA_LEN ? WEFT_MPA_LEN - have
                                        : weft_fpdu_len(get_unaligned_be16(fpdu.data())) - have);
    must(n > 0, "there is progress");
    fpdu.insert(fpdu.end(), stream.begin() + static_cast<std::ptrdiff_t>(at),
                stream.begin() + static_cast<std::ptrdiff_t>(at + n));
    weft_marks_pass(&marks, n);
    at += n;
    must(marks.at == static_cast<u16>(at), "the place in the stream is counted");
    if (fpdu.size() >= WEFT_MPA_LEN &&
        fpdu.size() == weft_fpdu_len(get_unaligned_be16(fpdu.data()))) {
      out.plain = std::move(out.plain) + fpdu;
      fpdu.clear();
      marks.amid = false;
    }
  }
  out.plain = std::move(out.plain) + fpdu;
  return out;
}

}  // namespace weft::test
