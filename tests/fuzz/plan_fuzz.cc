// SPDX-License-Identifier: GPL-2.0
// The segment planner over trains of messages. The input is a segment size and
// a largest FPDU, then a message in each five bytes; some end the segment.
#include "input.hpp"

using namespace weft::fuzz;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const u8* data, size_t size) {
  Input input(data, size);
  const u32 emss = WEFT_MIN_EMSS + input.half() * 4U;
  const u32 max_fpdu = std::max(emss, input.word() % 100000U);
  // Beyond this the length field ends an FPDU before the segment does.
  const bool fillable = emss <= 65540;
  u32 room = emss;

  for (int messages = 0; !input.empty() && messages < 64; messages++) {
    const u8 kind = input.byte();
    const bool tagged = (kind & 1) != 0;
    u32 left = input.word();
    if ((kind & 2) != 0) room = emss;
    // Enough FPDUs of a huge message to see its steady state.
    for (int fpdus = 0; fpdus < 100; fpdus++) {
      weft_fpdu f{};
      if (!weft_plan_fpdu(emss, max_fpdu, room, tagged, left, &f)) {
        require(room != emss, "a fresh segment takes an FPDU");
        require(room < WEFT_PLAN_MIN_ROOM, "a large room is not given up");
        require(left > room || weft_fpdu_len(weft_ddp_hdr_len(tagged) + left) > room,
                "what fits is not put off");
        room = emss;
        continue;
      }
      // Memory for an FPDU of a segment is found before it is planned.
      require(!fillable || (weft_plan_rest(tagged, left) <= room) == (f.last && f.len <= room),
              "the rest of a message is known to fit, or not to");
      const u32 ulpdu = weft_ddp_hdr_len(tagged) + f.payload;
      require(ulpdu <= WEFT_MAX_ULPDU, "the length field holds the ULPDU");
      require(f.payload <= left && f.last == (f.payload == left), "the message is not exceeded");
      require(f.last || f.payload > 0, "there is progress");
      require(f.len == weft_fpdu_len(ulpdu) && f.len % 4 == 0,
              "the parts add up to a multiple of four");
      require(f.len <= max_fpdu, "the largest FPDU is not exceeded");
      require(max_fpdu > emss || f.len <= room, "an FPDU keeps to its segment");
      const u32 used = (emss - room + f.len) % emss;
      require(f.last || used == 0 || !fillable, "an FPDU that goes on ends with a segment");
      room = emss - used;
      left -= f.payload;
      if (f.last) break;
    }
  }
  return 0;
}
