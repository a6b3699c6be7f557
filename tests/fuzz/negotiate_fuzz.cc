// SPDX-License-Identifier: GPL-2.0
// The handshake's agreement: any request and any reply that the parser lets
// through, against any policy. What is agreed must be bearable for this end
// and must lie within what the peer said.
#include "input.hpp"

#include <bit>

using namespace weft::fuzz;  // NOLINT(google-build-using-namespace)

namespace {

// A policy as weft_cm_param_ok() lets it through: its depths are numbers.
weft_mpa_policy take_policy(Input& input) {
  weft_mpa_policy policy{};
  policy.revision = input.flag() ? 2 : 1;
  policy.crc = input.byte() % 3;
  policy.rtr = input.byte() & 7;
  const u8 wishes = input.byte();
  policy.p2p = (wishes & 1) != 0;
  policy.extend = (wishes & 2) != 0;
  policy.markers = (wishes & 4) != 0;
  policy.ird = input.half() % WEFT_MPA_RD_UNSET;
  policy.ord = input.half() % WEFT_MPA_RD_UNSET;
  return policy;
}

// A frame as weft_mpa_decode() could have made it.
weft_mpa_frame take_frame(Input& input, bool reply) {
  const u8 flags = input.byte();
  weft_mpa_frame frame{};
  frame.reply = reply;
  frame.revision = (flags & 1) != 0 ? 2 : 1;
  frame.markers = (flags & 2) != 0;
  frame.crc = (flags & 4) != 0;
  frame.reject = reply && (flags & 8) != 0;
  frame.enhanced = frame.revision == 2 && (flags & 16) != 0;
  frame.extend = (flags & 64) != 0;
  frame.extended = (flags & 128) != 0;
  frame.private_len = input.half() % 509;
  if (frame.enhanced) {
    frame.p2p = (flags & 32) != 0;
    frame.rtr = input.byte() & 7;
    frame.ird = input.half() & WEFT_MPA_MAX_RD;
    frame.ord = input.half() & WEFT_MPA_MAX_RD;
  }
  return frame;
}

void check_sendable(const weft_mpa_frame& frame) {
  Bytes buf(WEFT_MPA_MAX_FRAME);
  const Bytes private_data(frame.private_len);
  const u32 len = weft_mpa_encode(buf.data(), &frame, private_data.data());
  require(len != 0, "what is to be sent can be encoded");
  weft_mpa_frame again{};
  require(weft_mpa_decode(buf.data(), len, frame.reply, &again) != 0, "and decoded");
}

void check_agreed(const weft_mpa_agreed& agreed, const weft_mpa_policy& policy,
                  const weft_mpa_frame& request, const weft_mpa_frame& peer) {
  require(agreed.revision == request.revision, "the revision is the request's");
  require(agreed.crc == (request.crc || peer.crc || policy.crc != WEFT_CRC_OFF),
          "CRCs are used if anyone asks");
  require(policy.crc != WEFT_CRC_REQUIRED || peer.crc,
          "nothing is agreed with a peer that does not ask for CRCs where they are required");
  require(agreed.marks_out == peer.markers, "the peer gets markers if it wants them");
  require(agreed.marks_in == policy.markers, "this end gets markers if it wants them");
  require(std::popcount(agreed.rtr) == (agreed.p2p ? 1 : 0),
          "one RTR with peer-to-peer, else none");
  require(agreed.p2p == request.p2p, "the initiator decides on peer-to-peer");
  require((agreed.rtr & ~request.rtr) == 0, "the RTR is one of those offered");
  require(agreed.ird < WEFT_MPA_RD_UNSET && agreed.ord < WEFT_MPA_RD_UNSET, "depths are numbers");
  require(agreed.ord <= policy.ord, "no more reads than wished for");
  require(agreed.ird <= policy.ird, "no more reads than can be taken");
  require(!peer.enhanced || peer.ird == WEFT_MPA_RD_UNSET || agreed.ord <= peer.ird,
          "no more reads than the peer takes");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8* data, size_t size) {
  Input input(data, size);
  const weft_mpa_policy policy = take_policy(input);

  // As the responder, to any request.
  const weft_mpa_frame request = take_frame(input, false);
  weft_mpa_frame reply{};
  weft_mpa_agreed agreed{};
  int code = weft_mpa_answer(&request, &policy, input.half() % 509, &reply, &agreed);
  require(reply.reply && reply.reject == (code != 0), "a refusal is a Reject");
  require(reply.revision <= request.revision, "the initiator understands the reply");
  check_sendable(reply);
  require(!reply.extend && (code == 0 || !reply.extended), "an offer is never sent back");
  require(reply.markers == (code == 0 && policy.markers), "the reply asks for markers");
  if (code == 0) {
    check_agreed(agreed, policy, request, request);
    require((agreed.rtr & ~policy.rtr) == 0, "the RTR is one that this end takes");
    require(agreed.rtr != WEFT_RTR_READ || agreed.ird > 0, "an RTR read finds room");
    require(reply.enhanced == request.enhanced, "the reply has the request's form");
    require(agreed.extended == reply.extended, "the reply tells of extensions");
    require(!agreed.extended || (policy.extend && request.extend), "both ends wish to extend");
  }

  // As the initiator, to any reply.
  weft_mpa_frame own{};
  weft_mpa_request(&policy, 0, &own);
  check_sendable(own);
  const weft_mpa_frame any = take_frame(input, true);
  code = weft_mpa_settle(&own, &any, &policy, &agreed);
  if (code == 0) {
    require(!any.reject, "a Reject settles nothing");
    require(agreed.extended == (policy.extend && any.extended && !any.extend),
            "an offer that is answered, and not echoed, extends");
    check_agreed(agreed, policy, own, any);
    require((agreed.rtr & ~any.rtr) == 0, "the RTR is one that the responder takes");
    require(agreed.rtr != WEFT_RTR_READ || agreed.ord > 0, "an RTR read may be sent");
    require(!any.enhanced || any.ord == WEFT_MPA_RD_UNSET || any.ord <= agreed.ird,
            "the responder's reads find room");
  }
  return 0;
}
