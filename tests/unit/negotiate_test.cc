// SPDX-License-Identifier: GPL-2.0
#include "wire.hpp"

#include <gtest/gtest.h>

namespace weft::test {
namespace {

constexpr u8 kAllRtr = WEFT_RTR_SEND | WEFT_RTR_WRITE | WEFT_RTR_READ;
constexpr u16 kUnset = WEFT_MPA_RD_UNSET;

using Policy = weft_mpa_policy;
using Frame = weft_mpa_frame;

constexpr Policy kPolicy{.revision = 2,
                         .crc = WEFT_CRC_PREFERRED,
                         .rtr = kAllRtr,
                         .p2p = true,
                         .extend = true,
                         .paths = false,
                         .markers = false,
                         .ird = 16,
                         .ord = 8};

struct Outcome {
  int code = -1;
  Frame frame{};
  weft_mpa_agreed agreed{};
};

Frame request(const Policy& policy) {
  auto req = used<Frame>();
  weft_mpa_request(&policy, 0, &req);
  return req;
}

Outcome answer(const Frame& req, const Policy& policy, u16 private_len = 0) {
  Outcome o;
  o.frame = used<Frame>();
  o.code = weft_mpa_answer(&req, &policy, private_len, &o.frame, &o.agreed);
  return o;
}

Outcome settle(const Frame& req, const Frame& reply, const Policy& policy) {
  Outcome o;
  o.code = weft_mpa_settle(&req, &reply, &policy, &o.agreed);
  return o;
}

Frame good_reply(const Frame& req) {
  const Outcome o = answer(req, kPolicy);
  EXPECT_EQ(o.code, 0);
  return o.frame;
}

// As it travels: encoded by one end, decoded by the other.
Frame over_the_wire(const Frame& frame) {
  Bytes buf(WEFT_MPA_MAX_FRAME, 0xaa);
  const Bytes private_data(frame.private_len);
  const u32 len = weft_mpa_encode(buf.data(), &frame, private_data.data());
  EXPECT_NE(len, 0U);
  Frame out{};
  EXPECT_NE(weft_mpa_decode(buf.data(), len, frame.reply, &out), 0U);
  return out;
}

TEST(Negotiate, RequestSaysWhatThePolicyWishes) {
  Frame req{};
  weft_mpa_request(&kPolicy, 42, &req);
  EXPECT_EQ(fields(req), fields(Frame{.revision = 2,
                                      .crc = true,
                                      .enhanced = true,
                                      .extend = true,
                                      .p2p = true,
                                      .rtr = kAllRtr,
                                      .ird = 16,
                                      .ord = 8,
                                      .private_len = 42}));
  EXPECT_EQ(fields(request(with(kPolicy, &Policy::revision, 1, &Policy::crc, WEFT_CRC_OFF))),
            fields(Frame{.revision = 1, .extend = true}));
}

TEST(Negotiate, RequestOffersOnlyWhatItCanKeep) {
  Policy policy = with(kPolicy, &Policy::ord, 0);
  EXPECT_EQ(request(policy).rtr, WEFT_RTR_SEND | WEFT_RTR_WRITE) << "an RTR read needs ORD";
  policy.rtr = WEFT_RTR_READ;
  EXPECT_FALSE(request(policy).p2p);
  EXPECT_EQ(request(policy).rtr, 0);
  policy.p2p = false;
  policy.rtr = kAllRtr;
  EXPECT_EQ(request(policy).rtr, 0);
}

// A handshake whose ends wish something or not.
struct Handshake {
  bool initiator;
  bool responder;
  Frame request;
  Outcome there;
  Outcome here;
};

// Who of the two wishes it, in all combinations, with revision 1 and 2.
std::vector<Handshake> handshakes(bool Policy::*wish) {
  std::vector<Handshake> all;
  for (unsigned bits = 0; bits < 8; bits++) {
    Handshake h{.initiator = (bits & 1) != 0, .responder = (bits & 2) != 0};
    const Policy a = with(kPolicy, &Policy::revision, (bits & 4) != 0 ? 2 : 1, wish, h.initiator);
    h.request = request(a);
    h.there = answer(over_the_wire(h.request), with(kPolicy, wish, h.responder));
    EXPECT_EQ(h.there.code, 0);
    h.here = settle(h.request, over_the_wire(h.there.frame), a);
    EXPECT_EQ(h.here.code, 0);
    all.push_back(h);
  }
  return all;
}

// Both ends must wish to; an answer is another bit than the offer.
TEST(Negotiate, ExtensionTable) {
  for (const Handshake& h : handshakes(&Policy::extend)) {
    EXPECT_EQ(h.request.extend, h.initiator);
    EXPECT_FALSE(h.request.extended);
    EXPECT_FALSE(h.there.frame.extend) << "an offer is never sent back";
    EXPECT_EQ(h.there.agreed.extended, h.initiator && h.responder);
    EXPECT_EQ(h.here.agreed.extended, h.initiator && h.responder);
  }
}

// siw's reply has the reserved bits of the request, and may have one of its own.
TEST(Negotiate, AnEchoAgreesToNothing) {
  for (const u8 revision : {1, 2}) {
    const Policy policy = with(kPolicy, &Policy::revision, revision);
    const Frame req = request(policy);
    const Frame reply = good_reply(with(req, &Frame::extend, false));
    EXPECT_FALSE(settle(req, over_the_wire(reply), policy).agreed.extended);

    Bytes request_bytes(WEFT_MPA_MAX_FRAME, 0xaa);
    Bytes reply_bytes(WEFT_MPA_MAX_FRAME, 0xaa);
    ASSERT_NE(weft_mpa_encode(request_bytes.data(), &req, nullptr), 0U);
    const u32 len = weft_mpa_encode(reply_bytes.data(), &reply, nullptr);
    ASSERT_NE(len, 0U);
    for (const u8 own : {0x00, 0x01, 0x08, 0x02}) {
      reply_bytes[16] |= (request_bytes[16] & 0x0f) | own;
      Frame echo{};
      ASSERT_NE(weft_mpa_decode(reply_bytes.data(), len, true, &echo), 0U);
      const Outcome here = settle(req, echo, policy);
      ASSERT_EQ(here.code, 0);
      EXPECT_FALSE(here.agreed.extended) << "with " << int{own};
    }

    // And a request of ones is no offer.
    const Outcome there = answer(with(req, &Frame::extended, true), policy);
    ASSERT_EQ(there.code, 0);
    EXPECT_FALSE(there.agreed.extended);
    EXPECT_FALSE(there.frame.extended);
  }
}

TEST(Negotiate, PathsTable) {
  for (const Handshake& h : handshakes(&Policy::paths)) {
    EXPECT_EQ(h.request.paths, h.initiator);
    EXPECT_EQ(h.there.frame.paths, h.initiator && h.responder);
    EXPECT_EQ(h.there.agreed.paths, h.initiator && h.responder);
    EXPECT_EQ(h.here.agreed.paths, h.initiator && h.responder);
  }
}

// Paths are for extended connections without markers, and no other peer's bits make them.
TEST(Negotiate, PathsNeedExtensionsAndNoMarkers) {
  const Policy policy = with(kPolicy, &Policy::paths, true);
  const Policy plain = with(policy, &Policy::extend, false);
  const Policy marking = with(policy, &Policy::markers, true);
  EXPECT_FALSE(request(plain).paths);
  EXPECT_FALSE(request(marking).paths);
  const Frame req = over_the_wire(request(policy));
  EXPECT_TRUE(req.paths);
  EXPECT_FALSE(answer(req, plain).agreed.paths);
  EXPECT_FALSE(answer(req, marking).agreed.paths);
  EXPECT_FALSE(answer(req, plain).frame.paths);
  // An echo of all that was sent, and a reply with every bit.
  const Frame reply = answer(req, policy).frame;
  const auto paths = [&](const Frame& said) {
    return settle(req, over_the_wire(said), policy).agreed.paths;
  };
  EXPECT_TRUE(paths(reply));
  EXPECT_FALSE(paths(with(reply, &Frame::extend, true)));
  EXPECT_FALSE(paths(with(reply, &Frame::extended, false)));
  EXPECT_FALSE(paths(with(reply, &Frame::markers, true)));
  // A reply that takes what was not offered.
  EXPECT_FALSE(settle(over_the_wire(request(kPolicy)), over_the_wire(reply), kPolicy).agreed.paths);
}

TEST(Negotiate, ARefusalExtendsNothing) {
  const Policy policy = with(kPolicy, &Policy::crc, WEFT_CRC_REQUIRED, &Policy::paths, true);
  const Outcome there = answer(with(request(policy), &Frame::crc, false), policy, 42);
  EXPECT_NE(there.code, 0);
  EXPECT_TRUE(there.frame.reject);
  EXPECT_EQ(there.frame.private_len, 42);
  EXPECT_FALSE(there.frame.extended || there.frame.extend || there.frame.paths);
  // RFC 6581, 9.2: but it says what the Request asked for.
  EXPECT_TRUE(there.frame.p2p && there.frame.rtr == WEFT_RTR_WRITE);
}

// RFC 5044, 7.1: CRCs are used if an end asks. One that requires them refuses one that does not.
TEST(Negotiate, CrcTable) {
  for (const u8 initiator : {WEFT_CRC_OFF, WEFT_CRC_PREFERRED, WEFT_CRC_REQUIRED}) {
    for (const u8 responder : {WEFT_CRC_OFF, WEFT_CRC_PREFERRED, WEFT_CRC_REQUIRED}) {
      for (const u8 revision : {1, 2}) {
        const Policy a = with(kPolicy, &Policy::crc, initiator, &Policy::revision, revision);
        const Policy b = with(kPolicy, &Policy::crc, responder);
        const Frame req = request(a);
        EXPECT_EQ(req.crc, initiator != WEFT_CRC_OFF);
        const Outcome there = answer(over_the_wire(req), b);
        if (initiator == WEFT_CRC_OFF && responder == WEFT_CRC_REQUIRED) {
          EXPECT_EQ(there.code, WEFT_MPA_LOCAL);
          EXPECT_TRUE(over_the_wire(there.frame).reject);
          EXPECT_TRUE(weft_mpa_lacks_crc(&b, &req));
          continue;
        }
        ASSERT_EQ(there.code, 0);
        EXPECT_FALSE(weft_mpa_lacks_crc(&b, &req));
        const Outcome here = settle(req, over_the_wire(there.frame), a);
        ASSERT_EQ(here.code, 0) << "a responder that does not ask says back what it was asked";
        const bool expected = initiator != WEFT_CRC_OFF || responder != WEFT_CRC_OFF;
        EXPECT_EQ(here.agreed.crc, expected);
        EXPECT_EQ(there.agreed.crc, expected);
      }
    }
  }
}

// A responder must use CRCs even if its Reply does not repeat the wish. That is enough for an
// initiator that prefers CRCs, and not for one that requires them.
TEST(Negotiate, AReplyThatDoesNotAskForCrc) {
  for (const u8 revision : {1, 2}) {
    Policy policy = with(kPolicy, &Policy::revision, revision);
    const Frame req = request(policy);
    Frame reply = with(good_reply(req), &Frame::crc, false);
    EXPECT_EQ(settle(req, reply, policy).code, 0);
    EXPECT_TRUE(settle(req, reply, policy).agreed.crc);
    EXPECT_FALSE(weft_mpa_lacks_crc(&policy, &reply));
    policy.crc = WEFT_CRC_REQUIRED;
    EXPECT_EQ(settle(req, reply, policy).code, WEFT_MPA_LOCAL);
    EXPECT_TRUE(weft_mpa_lacks_crc(&policy, &reply));
    reply.crc = true;
    EXPECT_EQ(settle(req, reply, policy).code, 0);
  }
}

TEST(Negotiate, RevisionTable) {
  for (const u8 initiator : {1, 2}) {
    for (const u8 responder : {1, 2}) {
      const Outcome o = answer(request(with(kPolicy, &Policy::revision, initiator)),
                               with(kPolicy, &Policy::revision, responder));
      EXPECT_TRUE(o.frame.reply);
      if (initiator > responder) {
        EXPECT_EQ(o.code, WEFT_MPA_BAD_HANDSHAKE);
        EXPECT_TRUE(o.frame.reject);
        EXPECT_EQ(o.frame.revision, 1);
        EXPECT_FALSE(o.frame.enhanced);
        over_the_wire(o.frame);
      } else {
        EXPECT_EQ(o.code, 0);
        EXPECT_EQ(o.frame.revision, initiator);
        EXPECT_EQ(o.agreed.revision, initiator);
        EXPECT_EQ(o.frame.enhanced, initiator == 2);
        EXPECT_EQ(o.agreed.p2p, initiator == 2);
      }
    }
  }
}

TEST(Negotiate, RevisionOneLeavesReadsToTheApplications) {
  const Policy old = with(kPolicy, &Policy::revision, 1);
  const Frame req = request(old);
  const Outcome there = answer(req, kPolicy);
  const Outcome here = settle(req, there.frame, old);
  for (const Outcome& o : {there, here}) {
    EXPECT_EQ(o.code, 0);
    EXPECT_EQ(
        fields(o.agreed),
        fields(weft_mpa_agreed{.revision = 1, .crc = true, .extended = true, .ird = 16, .ord = 8}));
  }
}

TEST(Negotiate, PlainRevisionTwoIsAnsweredPlainly) {
  const Frame req{.revision = 2};
  const Outcome o = answer(req, kPolicy);
  EXPECT_EQ(o.code, 0);
  EXPECT_EQ(o.frame.revision, 2);
  EXPECT_FALSE(o.frame.enhanced);
  EXPECT_FALSE(o.agreed.p2p);
  EXPECT_EQ(o.agreed.ird, 16);
  EXPECT_EQ(settle(req, o.frame, kPolicy).code, 0);
}

TEST(Negotiate, AResponderThatKnowsOnlyRevisionOne) {
  const Frame req = request(kPolicy);
  Frame reply = good_reply(req);
  EXPECT_FALSE(weft_mpa_outdated(&req, &reply));
  reply.reject = true;
  EXPECT_FALSE(weft_mpa_outdated(&req, &reply)) << "the application refuses";
  reply.enhanced = false;
  EXPECT_TRUE(weft_mpa_outdated(&req, &reply)) << "the revision is an echo";
  reply.reject = false;
  EXPECT_FALSE(weft_mpa_outdated(&req, &reply)) << "it is in operation, and to be told";
  reply.revision = 1;
  EXPECT_TRUE(weft_mpa_outdated(&req, &reply));

  const Policy old = with(kPolicy, &Policy::revision, 1);
  const Frame first = request(old);
  for (const bool refuses : {false, true}) {
    reply.reject = refuses;
    EXPECT_FALSE(weft_mpa_outdated(&first, &reply)) << "there is no older revision";
  }
}

TEST(Negotiate, SettleRefusesAnotherRevisionOrForm) {
  const Frame req = request(kPolicy);
  Frame reply = good_reply(req);
  reply.revision = 1;
  reply.enhanced = false;
  EXPECT_EQ(settle(req, reply, kPolicy).code, WEFT_MPA_BAD_HANDSHAKE);
  reply.revision = 2;
  EXPECT_EQ(settle(req, reply, kPolicy).code, WEFT_MPA_BAD_HANDSHAKE);

  const Policy old = with(kPolicy, &Policy::revision, 1);
  EXPECT_EQ(settle(request(old), good_reply(req), old).code, WEFT_MPA_BAD_HANDSHAKE);
  reply = with(good_reply(req), &Frame::reject, true);
  EXPECT_EQ(settle(req, reply, kPolicy).code, WEFT_MPA_BAD_HANDSHAKE);
}

// RFC 5044, 7.1: whoever wants markers gets them, in its own direction.
TEST(Negotiate, MarkersAreSentIfThePeerWantsThem) {
  for (const bool there : {false, true}) {
    for (const u8 revision : {1, 2}) {
      const Policy policy = with(kPolicy, &Policy::revision, revision);
      const Frame req = request(policy);
      const Outcome o = answer(with(req, &Frame::markers, there), policy);
      EXPECT_EQ(o.code, 0);
      EXPECT_EQ(o.agreed.marks_out, there);
      EXPECT_FALSE(over_the_wire(o.frame).markers);

      const Outcome here = settle(req, with(good_reply(req), &Frame::markers, there), policy);
      EXPECT_EQ(here.code, 0);
      EXPECT_EQ(here.agreed.marks_out, there);
    }
  }
}

// Each direction by itself, over both revisions. A refusal asks for nothing.
TEST(Negotiate, MarkersAreAskedForByPolicy) {
  for (const Handshake& h : handshakes(&Policy::markers)) {
    EXPECT_EQ(h.request.markers, h.initiator);
    EXPECT_EQ(h.there.frame.markers, h.responder);
    EXPECT_EQ(h.there.agreed.marks_out, h.initiator);
    EXPECT_EQ(h.there.agreed.marks_in, h.responder);
    EXPECT_EQ(h.here.agreed.marks_out, h.responder);
    EXPECT_EQ(h.here.agreed.marks_in, h.initiator);
  }
  const Policy picky = with(kPolicy, &Policy::markers, true, &Policy::crc, WEFT_CRC_REQUIRED);
  const Frame req = with(request(kPolicy), &Frame::crc, false);
  EXPECT_TRUE(answer(req, picky).frame.reject);
  EXPECT_FALSE(answer(req, picky).frame.markers);
}

TEST(Negotiate, ReadDepthTable) {
  struct Case {
    u16 init_ird, init_ord;  // the initiator's wishes
    u16 resp_ird, resp_ord;  // the responder's
    u16 there_ird, there_ord, here_ird, here_ord;
  };
  const Case cases[] = {
      {16, 8, 16, 8, 8, 8, 16, 8},    // enough on both sides
      {4, 8, 16, 8, 8, 4, 4, 8},      // the initiator takes fewer
      {16, 8, 4, 8, 4, 8, 16, 4},     // the responder takes fewer
      {0, 8, 16, 8, 8, 0, 0, 8},      // reads in one direction only
      {16, 0, 16, 8, 0, 8, 16, 0},    // and in the other
      {0, 0, 0, 0, 0, 0, 0, 0},       // none at all
      {128, 128, 1, 1, 1, 1, 128, 1}  // far apart
  };
  for (const Case& c : cases) {
    const Policy writes = with(kPolicy, &Policy::rtr, WEFT_RTR_WRITE);
    const Policy a = with(writes, &Policy::ird, c.init_ird, &Policy::ord, c.init_ord);
    const Policy b = with(writes, &Policy::ird, c.resp_ird, &Policy::ord, c.resp_ord);
    const Frame req = request(a);
    const Outcome there = answer(over_the_wire(req), b);
    ASSERT_EQ(there.code, 0);
    EXPECT_EQ(there.agreed.ird, c.there_ird);
    EXPECT_EQ(there.agreed.ord, c.there_ord);
    const Outcome here = settle(req, over_the_wire(there.frame), a);
    ASSERT_EQ(here.code, 0);
    EXPECT_EQ(here.agreed.ird, c.here_ird);
    EXPECT_EQ(here.agreed.ord, c.here_ord);
  }
}

TEST(Negotiate, ReadDepthsLeftToTheApplications) {
  const auto unset = [](const Frame& frame) {
    return with(frame, &Frame::ird, kUnset, &Frame::ord, kUnset);
  };
  const Frame req = request(kPolicy);
  const Outcome there = answer(unset(req), kPolicy);
  EXPECT_EQ(there.frame.ird, kUnset);
  EXPECT_EQ(there.frame.ord, kUnset);
  for (const Outcome& o : {there, settle(req, unset(good_reply(req)), kPolicy)}) {
    EXPECT_EQ(o.code, 0);
    EXPECT_EQ(o.agreed.ird, 16);
    EXPECT_EQ(o.agreed.ord, 8);
  }
}

TEST(Negotiate, TooManyReadsFromTheResponder) {
  const Frame req = request(kPolicy);
  Frame reply = with(good_reply(req), &Frame::ord, req.ird);
  EXPECT_EQ(settle(req, reply, kPolicy).code, 0);
  reply.ord++;
  EXPECT_EQ(settle(req, reply, kPolicy).code, WEFT_MPA_INSUFFICIENT_IRD);
}

TEST(Negotiate, RtrTable) {
  for (u8 offer = 0; offer < 8; offer++) {
    for (u8 accept = 0; accept < 8; accept++) {
      const Policy a = with(kPolicy, &Policy::rtr, offer);
      const Frame req = request(a);
      EXPECT_EQ(req.p2p, offer != 0);
      const Outcome there = answer(over_the_wire(req), with(kPolicy, &Policy::rtr, accept));
      if (offer == 0) {
        EXPECT_EQ(there.code, 0);
        EXPECT_FALSE(there.agreed.p2p);
        EXPECT_EQ(there.agreed.rtr, 0);
        continue;
      }
      const u8 both = offer & accept;
      if (both == 0) {
        EXPECT_EQ(there.code, WEFT_MPA_NO_RTR_MATCH);
        EXPECT_TRUE(there.frame.reject);
        EXPECT_TRUE(there.frame.p2p);
        EXPECT_EQ(there.frame.rtr, accept) << "what this end takes";
        continue;
      }
      const u8 expected = (both & WEFT_RTR_WRITE) != 0  ? WEFT_RTR_WRITE
                          : (both & WEFT_RTR_READ) != 0 ? WEFT_RTR_READ
                                                        : WEFT_RTR_SEND;
      const Outcome here = settle(req, over_the_wire(there.frame), a);
      for (const Outcome& o : {there, here}) {
        ASSERT_EQ(o.code, 0);
        EXPECT_TRUE(o.agreed.p2p);
        EXPECT_EQ(o.agreed.rtr, expected);
      }
    }
  }
}

TEST(Negotiate, RtrReadNeedsRoomForARead) {
  Frame req = with(request(kPolicy), &Frame::rtr, WEFT_RTR_READ | WEFT_RTR_SEND);
  const Policy none = with(kPolicy, &Policy::ird, 0);
  EXPECT_EQ(answer(req, none).agreed.rtr, WEFT_RTR_SEND);
  req.rtr = WEFT_RTR_READ;
  EXPECT_EQ(answer(req, none).code, WEFT_MPA_NO_RTR_MATCH);

  // Some peers offer an RTR read and leave it out of their ORD.
  req.ord = 0;
  const Outcome there = answer(req, kPolicy);
  EXPECT_EQ(there.code, 0);
  EXPECT_EQ(there.agreed.ird, 1);
  EXPECT_EQ(there.frame.ird, 1);

  // And a responder may choose it without room.
  req = request(kPolicy);
  const Frame reply = with(good_reply(req), &Frame::rtr, WEFT_RTR_READ, &Frame::ird, 0);
  EXPECT_EQ(settle(req, reply, kPolicy).code, WEFT_MPA_NO_RTR_MATCH);
}

TEST(Negotiate, SettleHoldsTheResponderToTheOffer) {
  Policy policy = with(kPolicy, &Policy::rtr, WEFT_RTR_WRITE | WEFT_RTR_READ);
  const Frame req = request(policy);
  Frame reply = good_reply(req);
  for (const u8 chosen : {u8{0}, u8{WEFT_RTR_SEND}}) {
    reply.rtr = chosen;
    EXPECT_EQ(settle(req, reply, policy).code, WEFT_MPA_NO_RTR_MATCH);
  }
  // A responder that accepts several leaves the choice to the initiator.
  reply.rtr = kAllRtr;
  EXPECT_EQ(settle(req, reply, policy).agreed.rtr, WEFT_RTR_WRITE);
  reply.p2p = false;
  EXPECT_EQ(settle(req, reply, policy).code, WEFT_MPA_NO_RTR_MATCH);

  policy.p2p = false;
  const Frame plain = request(policy);
  reply = good_reply(plain);
  EXPECT_EQ(settle(plain, reply, policy).code, 0);
  reply.p2p = true;
  EXPECT_EQ(settle(plain, reply, policy).code, WEFT_MPA_BAD_HANDSHAKE);
}

// For every pair of policies, both ends agree or the responder refuses.
TEST(Negotiate, BothEndsAgreeWhateverTheyWish) {
  const u16 depths[] = {0, 1, 7, kUnset - 1};
  constexpr u8 kCrc[] = {WEFT_CRC_OFF, WEFT_CRC_PREFERRED, WEFT_CRC_REQUIRED};
  for (u32 bits = 0; bits < 4096; bits++) {
    Policy a{.revision = static_cast<u8>((bits & 1) != 0 ? 2 : 1),
             .crc = kCrc[(bits >> 2 & 3) % 3],
             .rtr = static_cast<u8>(bits >> 6 & 7),
             .p2p = (bits & 16) != 0};
    Policy b{.revision = static_cast<u8>((bits & 2) != 0 ? 2 : 1),
             .crc = kCrc[(bits >> 2) % 3],
             .rtr = static_cast<u8>(bits >> 9 & 7),
             .p2p = (bits & 32) != 0};
    for (const u16 depth : depths) {
      for (const u16 other : depths) {
        a.ird = b.ord = depth;
        a.ord = b.ird = other;
        const Frame req = request(a);
        const Outcome there = answer(over_the_wire(req), b);
        const Frame reply = over_the_wire(there.frame);
        ASSERT_EQ(reply.reject, there.code != 0);
        if (there.code != 0) {
          ASSERT_NE(settle(req, reply, a).code, 0);
          continue;
        }
        const Outcome here = settle(req, reply, a);
        ASSERT_EQ(here.code, 0);
        ASSERT_EQ(here.agreed.revision, there.agreed.revision);
        ASSERT_EQ(here.agreed.crc, there.agreed.crc);
        ASSERT_EQ(here.agreed.p2p, there.agreed.p2p);
        ASSERT_EQ(here.agreed.rtr, there.agreed.rtr);
        if (req.enhanced) {
          ASSERT_LE(here.agreed.ord, there.agreed.ird);
          ASSERT_LE(there.agreed.ord, here.agreed.ird);
        }
      }
    }
  }
}

}  // namespace
}  // namespace weft::test
