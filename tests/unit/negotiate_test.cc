// SPDX-License-Identifier: GPL-2.0
#include "wire.hpp"

#include <gtest/gtest.h>

#include <vector>

#include <algorithm>

namespace weft::test {
namespace {

constexpr u8 kAllRtr = WEFT_RTR_SEND | WEFT_RTR_WRITE | WEFT_RTR_READ;
constexpr u16 kUnset = WEFT_MPA_RD_UNSET;

constexpr weft_mpa_policy kPolicy{.revision = 2,
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
  weft_mpa_frame frame{};
  weft_mpa_agreed agreed{};
};

weft_mpa_frame request(const weft_mpa_policy& policy) {
  auto req = used<weft_mpa_frame>();
  weft_mpa_request(&policy, 0, &req);
  return req;
}

Outcome answer(const weft_mpa_frame& req, const weft_mpa_policy& policy, u16 private_len = 0) {
  Outcome o;
  o.frame = used<weft_mpa_frame>();
  o.code = weft_mpa_answer(&req, &policy, private_len, &o.frame, &o.agreed);
  return o;
}

Outcome settle(const weft_mpa_frame& req, const weft_mpa_frame& reply,
               const weft_mpa_policy& policy) {
  Outcome o;
  o.code = weft_mpa_settle(&req, &reply, &policy, &o.agreed);
  return o;
}

weft_mpa_frame good_reply(const weft_mpa_frame& req) {
  const Outcome o = answer(req, kPolicy);
  EXPECT_EQ(o.code, 0);
  return o.frame;
}

// As it travels: encoded by one end, decoded by the other.
weft_mpa_frame over_the_wire(const weft_mpa_frame& frame) {
  Bytes buf(WEFT_MPA_MAX_FRAME, 0xaa);
  const Bytes private_data(frame.private_len);
  const u32 len = weft_mpa_encode(buf.data(), &frame, private_data.data());
  EXPECT_NE(len, 0U);
  weft_mpa_frame out{};
  EXPECT_NE(weft_mpa_decode(buf.data(), len, frame.reply, &out), 0U);
  return out;
}

TEST(Negotiate, RequestSaysWhatThePolicyWishes) {
  weft_mpa_frame req{};
  weft_mpa_request(&kPolicy, 42, &req);
  EXPECT_FALSE(req.reply);
  EXPECT_EQ(req.revision, 2);
  EXPECT_TRUE(req.enhanced);
  EXPECT_TRUE(req.crc);
  EXPECT_FALSE(req.markers);
  EXPECT_FALSE(req.reject);
  EXPECT_TRUE(req.p2p);
  EXPECT_EQ(req.rtr, kAllRtr);
  EXPECT_EQ(req.ird, 16);
  EXPECT_EQ(req.ord, 8);
  EXPECT_EQ(req.private_len, 42);

  weft_mpa_policy old = kPolicy;
  old.revision = 1;
  old.crc = WEFT_CRC_OFF;
  req = request(old);
  EXPECT_EQ(req.revision, 1);
  EXPECT_FALSE(req.enhanced);
  EXPECT_FALSE(req.p2p);
  EXPECT_EQ(req.rtr, 0);
  EXPECT_FALSE(req.crc);
}

TEST(Negotiate, RequestOffersOnlyWhatItCanKeep) {
  weft_mpa_policy policy = kPolicy;
  policy.ord = 0;
  EXPECT_EQ(request(policy).rtr, WEFT_RTR_SEND | WEFT_RTR_WRITE) << "an RTR read needs ORD";
  policy.rtr = WEFT_RTR_READ;
  EXPECT_FALSE(request(policy).p2p);
  EXPECT_EQ(request(policy).rtr, 0);
  policy.p2p = false;
  policy.rtr = kAllRtr;
  EXPECT_EQ(request(policy).rtr, 0);
}

// Both ends must wish to; an answer is another bit than the offer.
// A handshake whose ends wish something or not.
struct Handshake {
  bool initiator;
  bool responder;
  weft_mpa_frame request;
  Outcome there;
  Outcome here;
};

// Who of the two wishes it, in all combinations, with revision 1 and 2.
std::vector<Handshake> handshakes(bool weft_mpa_policy::*wish) {
  std::vector<Handshake> all;
  for (unsigned bits = 0; bits < 8; bits++) {
    Handshake h{};
    h.initiator = (bits & 1) != 0;
    h.responder = (bits & 2) != 0;
    weft_mpa_policy a = kPolicy;
    weft_mpa_policy b = kPolicy;
    a.revision = (bits & 4) != 0 ? 2 : 1;
    a.*wish = h.initiator;
    b.*wish = h.responder;
    h.request = request(a);
    h.there = answer(over_the_wire(h.request), b);
    EXPECT_EQ(h.there.code, 0);
    h.here = settle(h.request, over_the_wire(h.there.frame), a);
    EXPECT_EQ(h.here.code, 0);
    all.push_back(h);
  }
  return all;
}

TEST(Negotiate, ExtensionTable) {
  for (const Handshake& h : handshakes(&weft_mpa_policy::extend)) {
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
    weft_mpa_policy policy = kPolicy;
    policy.revision = revision;
    const weft_mpa_frame req = request(policy);
    weft_mpa_frame plain = request(policy);
    plain.extend = false;
    weft_mpa_frame reply = good_reply(plain);
    EXPECT_FALSE(settle(req, over_the_wire(reply), policy).agreed.extended);

    Bytes request_bytes(WEFT_MPA_MAX_FRAME, 0xaa);
    Bytes reply_bytes(WEFT_MPA_MAX_FRAME, 0xaa);
    ASSERT_NE(weft_mpa_encode(request_bytes.data(), &req, nullptr), 0U);
    const u32 len = weft_mpa_encode(reply_bytes.data(), &reply, nullptr);
    ASSERT_NE(len, 0U);
    for (const u8 own : {0x00, 0x01, 0x08, 0x02}) {
      reply_bytes[16] |= (request_bytes[16] & 0x0f) | own;
      weft_mpa_frame echo{};
      ASSERT_NE(weft_mpa_decode(reply_bytes.data(), len, true, &echo), 0U);
      const Outcome here = settle(req, echo, policy);
      ASSERT_EQ(here.code, 0);
      EXPECT_FALSE(here.agreed.extended) << "with " << int{own};
    }

    // And a request of ones is no offer.
    weft_mpa_frame ones = req;
    ones.extended = true;
    const Outcome there = answer(ones, policy);
    ASSERT_EQ(there.code, 0);
    EXPECT_FALSE(there.agreed.extended);
    EXPECT_FALSE(there.frame.extended);
  }
}

TEST(Negotiate, PathsTable) {
  for (const Handshake& h : handshakes(&weft_mpa_policy::paths)) {
    EXPECT_EQ(h.request.paths, h.initiator);
    EXPECT_EQ(h.there.frame.paths, h.initiator && h.responder);
    EXPECT_EQ(h.there.agreed.paths, h.initiator && h.responder);
    EXPECT_EQ(h.here.agreed.paths, h.initiator && h.responder);
  }
}

// Paths are for extended connections without markers, and no other peer's bits make them.
TEST(Negotiate, PathsNeedExtensionsAndNoMarkers) {
  weft_mpa_policy policy = kPolicy;
  policy.paths = true;
  weft_mpa_policy plain = policy;
  plain.extend = false;
  weft_mpa_policy marking = policy;
  marking.markers = true;
  EXPECT_FALSE(request(plain).paths);
  EXPECT_FALSE(request(marking).paths);
  const weft_mpa_frame req = over_the_wire(request(policy));
  EXPECT_TRUE(req.paths);
  EXPECT_FALSE(answer(req, plain).agreed.paths);
  EXPECT_FALSE(answer(req, marking).agreed.paths);
  EXPECT_FALSE(answer(req, plain).frame.paths);
  // An echo of all that was sent, and a reply with every bit.
  weft_mpa_frame reply = answer(req, policy).frame;
  EXPECT_TRUE(settle(req, over_the_wire(reply), policy).agreed.paths);
  reply.extend = true;
  EXPECT_FALSE(settle(req, over_the_wire(reply), policy).agreed.paths);
  reply.extend = false;
  reply.extended = false;
  EXPECT_FALSE(settle(req, over_the_wire(reply), policy).agreed.paths);
  reply.extended = true;
  reply.markers = true;
  EXPECT_FALSE(settle(req, over_the_wire(reply), policy).agreed.paths);
  // A reply that takes what was not offered.
  reply.markers = false;
  weft_mpa_policy one = policy;
  one.paths = false;
  EXPECT_FALSE(settle(over_the_wire(request(one)), over_the_wire(reply), one).agreed.paths);
}

TEST(Negotiate, ARefusalExtendsNothing) {
  weft_mpa_policy policy = kPolicy;
  policy.crc = WEFT_CRC_REQUIRED;
  policy.paths = true;
  weft_mpa_frame req = request(policy);
  req.crc = false;
  const Outcome there = answer(req, policy, 42);
  EXPECT_NE(there.code, 0);
  EXPECT_TRUE(there.frame.reject);
  EXPECT_EQ(there.frame.private_len, 42);
  EXPECT_FALSE(there.frame.extended || there.frame.extend || there.frame.paths);
  // RFC 6581, 9.2: but it says what the Request asked for.
  EXPECT_TRUE(there.frame.p2p && there.frame.rtr == WEFT_RTR_WRITE);
}

// RFC 5044, 7.1: CRCs are used if either end asks. An end that requires them refuses one that
// does not ask itself.
TEST(Negotiate, CrcTable) {
  for (const u8 initiator : {WEFT_CRC_OFF, WEFT_CRC_PREFERRED, WEFT_CRC_REQUIRED}) {
    for (const u8 responder : {WEFT_CRC_OFF, WEFT_CRC_PREFERRED, WEFT_CRC_REQUIRED}) {
      for (const u8 revision : {1, 2}) {
        weft_mpa_policy a = kPolicy;
        weft_mpa_policy b = kPolicy;
        a.crc = initiator;
        b.crc = responder;
        a.revision = revision;
        const weft_mpa_frame req = request(a);
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
    weft_mpa_policy policy = kPolicy;
    policy.revision = revision;
    const weft_mpa_frame req = request(policy);
    weft_mpa_frame reply = good_reply(req);
    reply.crc = false;
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
      weft_mpa_policy a = kPolicy;
      weft_mpa_policy b = kPolicy;
      a.revision = initiator;
      b.revision = responder;
      const Outcome o = answer(request(a), b);
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
  weft_mpa_policy old = kPolicy;
  old.revision = 1;
  const weft_mpa_frame req = request(old);
  const Outcome there = answer(req, kPolicy);
  const Outcome here = settle(req, there.frame, old);
  for (const Outcome& o : {there, here}) {
    EXPECT_EQ(o.code, 0);
    EXPECT_FALSE(o.agreed.p2p);
    EXPECT_EQ(o.agreed.rtr, 0);
    EXPECT_EQ(o.agreed.ird, 16);
    EXPECT_EQ(o.agreed.ord, 8);
  }
}

TEST(Negotiate, PlainRevisionTwoIsAnsweredPlainly) {
  weft_mpa_frame req{};
  req.revision = 2;
  const Outcome o = answer(req, kPolicy);
  EXPECT_EQ(o.code, 0);
  EXPECT_EQ(o.frame.revision, 2);
  EXPECT_FALSE(o.frame.enhanced);
  EXPECT_FALSE(o.agreed.p2p);
  EXPECT_EQ(o.agreed.ird, 16);
  EXPECT_EQ(settle(req, o.frame, kPolicy).code, 0);
}

TEST(Negotiate, AResponderThatKnowsOnlyRevisionOne) {
  const weft_mpa_frame req = request(kPolicy);
  weft_mpa_frame reply = good_reply(req);
  EXPECT_FALSE(weft_mpa_outdated(&req, &reply));
  reply.reject = true;
  EXPECT_FALSE(weft_mpa_outdated(&req, &reply)) << "the application refuses";
  reply.enhanced = false;
  EXPECT_TRUE(weft_mpa_outdated(&req, &reply)) << "the revision is an echo";
  reply.reject = false;
  EXPECT_FALSE(weft_mpa_outdated(&req, &reply)) << "it is in operation, and to be told";
  reply.revision = 1;
  EXPECT_TRUE(weft_mpa_outdated(&req, &reply));

  weft_mpa_policy old = kPolicy;
  old.revision = 1;
  const weft_mpa_frame first = request(old);
  for (const bool refuses : {false, true}) {
    reply.reject = refuses;
    EXPECT_FALSE(weft_mpa_outdated(&first, &reply)) << "there is no older revision";
  }
}

TEST(Negotiate, SettleRefusesAnotherRevisionOrForm) {
  const weft_mpa_frame req = request(kPolicy);
  weft_mpa_frame reply = good_reply(req);
  reply.revision = 1;
  reply.enhanced = false;
  EXPECT_EQ(settle(req, reply, kPolicy).code, WEFT_MPA_BAD_HANDSHAKE);
  reply.revision = 2;
  EXPECT_EQ(settle(req, reply, kPolicy).code, WEFT_MPA_BAD_HANDSHAKE);

  weft_mpa_policy old = kPolicy;
  old.revision = 1;
  const weft_mpa_frame old_req = request(old);
  EXPECT_EQ(settle(old_req, good_reply(req), old).code, WEFT_MPA_BAD_HANDSHAKE);

  reply = good_reply(req);
  reply.reject = true;
  EXPECT_EQ(settle(req, reply, kPolicy).code, WEFT_MPA_BAD_HANDSHAKE);
}

// RFC 5044, 7.1: whoever wants markers gets them, in its own direction.
TEST(Negotiate, MarkersAreSentIfThePeerWantsThem) {
  for (const bool there : {false, true}) {
    for (const u8 revision : {1, 2}) {
      weft_mpa_policy policy = kPolicy;
      policy.revision = revision;
      weft_mpa_frame req = request(policy);
      req.markers = there;
      const Outcome o = answer(req, policy);
      EXPECT_EQ(o.code, 0);
      EXPECT_EQ(o.agreed.marks_out, there);
      EXPECT_FALSE(over_the_wire(o.frame).markers);

      req.markers = false;
      weft_mpa_frame reply = good_reply(req);
      reply.markers = there;
      const Outcome here = settle(req, reply, policy);
      EXPECT_EQ(here.code, 0);
      EXPECT_EQ(here.agreed.marks_out, there);
    }
  }
}

// Each direction by itself, over both revisions. A refusal asks for nothing.
TEST(Negotiate, MarkersAreAskedForByPolicy) {
  for (const Handshake& h : handshakes(&weft_mpa_policy::markers)) {
    EXPECT_EQ(h.request.markers, h.initiator);
    EXPECT_EQ(h.there.frame.markers, h.responder);
    EXPECT_EQ(h.there.agreed.marks_out, h.initiator);
    EXPECT_EQ(h.there.agreed.marks_in, h.responder);
    EXPECT_EQ(h.here.agreed.marks_out, h.responder);
    EXPECT_EQ(h.here.agreed.marks_in, h.initiator);
  }
  weft_mpa_policy picky = kPolicy;
  picky.markers = true;
  picky.crc = WEFT_CRC_REQUIRED;
  weft_mpa_frame req = request(kPolicy);
  req.crc = false;
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
    weft_mpa_policy a = kPolicy;
    weft_mpa_policy b = kPolicy;
    a.rtr = b.rtr = WEFT_RTR_WRITE;
    a.ird = c.init_ird;
    a.ord = c.init_ord;
    b.ird = c.resp_ird;
    b.ord = c.resp_ord;
    const weft_mpa_frame req = request(a);
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
  weft_mpa_frame req = request(kPolicy);
  req.ird = kUnset;
  req.ord = kUnset;
  const Outcome o = answer(req, kPolicy);
  EXPECT_EQ(o.code, 0);
  EXPECT_EQ(o.agreed.ird, 16);
  EXPECT_EQ(o.agreed.ord, 8);
  EXPECT_EQ(o.frame.ird, kUnset);
  EXPECT_EQ(o.frame.ord, kUnset);

  req = request(kPolicy);
  weft_mpa_frame reply = good_reply(req);
  reply.ird = kUnset;
  reply.ord = kUnset;
  const Outcome here = settle(req, reply, kPolicy);
  EXPECT_EQ(here.code, 0);
  EXPECT_EQ(here.agreed.ird, 16);
  EXPECT_EQ(here.agreed.ord, 8);
}

TEST(Negotiate, TooManyReadsFromTheResponder) {
  const weft_mpa_frame req = request(kPolicy);
  weft_mpa_frame reply = good_reply(req);
  reply.ord = req.ird;
  EXPECT_EQ(settle(req, reply, kPolicy).code, 0);
  reply.ord++;
  EXPECT_EQ(settle(req, reply, kPolicy).code, WEFT_MPA_INSUFFICIENT_IRD);
}

TEST(Negotiate, RtrTable) {
  for (u8 offer = 0; offer < 8; offer++) {
    for (u8 accept = 0; accept < 8; accept++) {
      weft_mpa_policy a = kPolicy;
      weft_mpa_policy b = kPolicy;
      a.rtr = offer;
      b.rtr = accept;
      const weft_mpa_frame req = request(a);
      EXPECT_EQ(req.p2p, offer != 0);
      const Outcome there = answer(over_the_wire(req), b);
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
      ASSERT_EQ(there.code, 0);
      ASSERT_EQ(here.code, 0);
      EXPECT_TRUE(there.agreed.p2p);
      EXPECT_TRUE(here.agreed.p2p);
      EXPECT_EQ(there.agreed.rtr, expected);
      EXPECT_EQ(here.agreed.rtr, expected);
    }
  }
}

TEST(Negotiate, RtrReadNeedsRoomForARead) {
  weft_mpa_frame req = request(kPolicy);
  req.rtr = WEFT_RTR_READ | WEFT_RTR_SEND;
  weft_mpa_policy none = kPolicy;
  none.ird = 0;
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
  weft_mpa_frame reply = good_reply(req);
  reply.rtr = WEFT_RTR_READ;
  reply.ird = 0;
  EXPECT_EQ(settle(req, reply, kPolicy).code, WEFT_MPA_NO_RTR_MATCH);
}

TEST(Negotiate, SettleHoldsTheResponderToTheOffer) {
  weft_mpa_policy policy = kPolicy;
  policy.rtr = WEFT_RTR_WRITE | WEFT_RTR_READ;
  const weft_mpa_frame req = request(policy);
  weft_mpa_frame reply = good_reply(req);
  reply.rtr = 0;
  EXPECT_EQ(settle(req, reply, policy).code, WEFT_MPA_NO_RTR_MATCH);
  reply.rtr = WEFT_RTR_SEND;
  EXPECT_EQ(settle(req, reply, policy).code, WEFT_MPA_NO_RTR_MATCH);
  // A responder that accepts several leaves the choice to the initiator.
  reply.rtr = kAllRtr;
  EXPECT_EQ(settle(req, reply, policy).agreed.rtr, WEFT_RTR_WRITE);
  reply.p2p = false;
  EXPECT_EQ(settle(req, reply, policy).code, WEFT_MPA_NO_RTR_MATCH);

  policy.p2p = false;
  const weft_mpa_frame plain = request(policy);
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
    weft_mpa_policy a{};
    weft_mpa_policy b{};
    a.revision = (bits & 1) != 0 ? 2 : 1;
    b.revision = (bits & 2) != 0 ? 2 : 1;
    a.crc = kCrc[(bits >> 2 & 3) % 3];
    b.crc = kCrc[(bits >> 2) % 3];
    a.p2p = (bits & 16) != 0;
    b.p2p = (bits & 32) != 0;
    a.rtr = bits >> 6 & 7;
    b.rtr = bits >> 9 & 7;
    for (const u16 depth : depths) {
      for (const u16 other : depths) {
        a.ird = b.ord = depth;
        a.ord = b.ird = other;
        const weft_mpa_frame req = request(a);
        const Outcome there = answer(over_the_wire(req), b);
        const weft_mpa_frame reply = over_the_wire(there.frame);
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
