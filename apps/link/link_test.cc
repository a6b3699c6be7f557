// SPDX-License-Identifier: GPL-2.0
// Addresses and settings; what ends tell each other, whose bytes from a peer are held to what they
// may be; links over TCP between two ends in this process. What links over both transports must do
// between two hosts is selftest_main.cc's.
#include <gtest/gtest.h>

#include <future>

#include "protocol.h"
#include "socket.h"
#include "tcp_regions.h"
#include "transports.h"

namespace rdma {
namespace {

using std::chrono::seconds;

Failure failure_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Failure& failure) {
    return failure;
  }
  throw std::runtime_error("nothing failed");
}

Cause cause_of(const std::function<void()>& body) { return failure_of(body).cause(); }

std::string sentence_of(const std::function<void()>& body) { return failure_of(body).what(); }

TEST(Address, HostAndPort) {
  const Address address = Address::parse("10.0.0.1:3640");
  EXPECT_EQ(address.host, "10.0.0.1");
  EXPECT_EQ(address.port, 3640);
  EXPECT_EQ(address.text(), "10.0.0.1:3640");
}

TEST(Address, Ipv6InBrackets) {
  const Address address = Address::parse("[fd00::1]:65535");
  EXPECT_EQ(address.host, "fd00::1");
  EXPECT_EQ(address.port, 65535);
  EXPECT_EQ(address.text(), "[fd00::1]:65535");
}

TEST(Address, WrongOnesSayWhatToWrite) {
  for (const char* text :
       {"", ":", "10.0.0.1", "10.0.0.1:", ":3640", "10.0.0.1:65536", "10.0.0.1:-1",
        "10.0.0.1:3640x", "10.0.0.1: 3640", "fd00::1:3640", "[]:3640"}) {
    SCOPED_TRACE(text);
    const Failure failure = failure_of([&] { Address::parse(text); });
    EXPECT_EQ(failure.cause(), Cause::kInput);
    EXPECT_NE(std::strstr(failure.what(), "write HOST:PORT"), nullptr) << failure.what();
  }
}

TEST(Address, ResolvesAndComesBack) {
  for (const char* text : {"127.0.0.1:7", "[::1]:7"})
    EXPECT_EQ(Address::of(Address::parse(text).resolve()).text(), text);
  EXPECT_EQ(Address::of(Address::parse("*:7").resolve()).text(), "0.0.0.0:7");
}

TEST(Address, UnknownHost) { EXPECT_THROW(Address::parse("no such host:1").resolve(), Failure); }

TEST(Transport, Names) {
  EXPECT_EQ(parse_transport("rdma"), Transport::kRdma);
  EXPECT_EQ(parse_transport("tcp"), Transport::kTcp);
  EXPECT_EQ(name_of(parse_transport("tcp")), "tcp");
  EXPECT_THROW(parse_transport("RDMA"), Failure);
}

TEST(Settings, LimitsAreNamed) {
  Settings().check();
  EXPECT_EQ(sentence_of([] { Settings{.credits = 3}.check(); }),
            "credits is 3; it may be 4 to 4096");
}

TEST(RemoteRegion, BytesAreBigEndian) {
  const RemoteRegion region{.address = 0x0102030405060708, .length = 0x11, .key = 0xa1b2c3d4};
  const auto bytes = region.to_bytes();
  EXPECT_EQ(bytes[0], std::byte{1});
  EXPECT_EQ(bytes[15], std::byte{0x11});
  EXPECT_EQ(bytes[16], std::byte{0xa1});
  EXPECT_EQ(RemoteRegion::from_bytes(bytes), region);
}

TEST(RemoteRegion, ShortOrOverTheEnd) {
  const auto whole = RemoteRegion{.address = 1, .length = 2, .key = 3}.to_bytes();
  EXPECT_EQ(cause_of([&] { RemoteRegion::from_bytes(std::span(whole).first(19)); }),
            Cause::kProtocol);
  const RemoteRegion over{
      .address = 2, .length = std::numeric_limits<std::uint64_t>::max() - 1, .key = 3};
  EXPECT_EQ(cause_of([&] { RemoteRegion::from_bytes(over.to_bytes()); }), Cause::kProtocol);
}

TEST(Hello, ComesBack) {
  const Settings settings{.credits = 77, .message_bytes = 123456};
  const Hello hello{std::span<const std::byte>(Hello(settings).to_bytes())};
  EXPECT_EQ(hello.credits, 77);
  EXPECT_EQ(hello.message_bytes, 123456U);
}

TEST(Hello, WrongOnes) {
  auto bytes = Hello(Settings{}).to_bytes();
  EXPECT_EQ(cause_of([&] { Hello(std::span<const std::byte>(bytes).first(11)); }),
            Cause::kProtocol);
  bytes[4] = std::byte{0xff};  // credits
  EXPECT_EQ(cause_of([&] { Hello{std::span<const std::byte>(bytes)}; }), Cause::kProtocol);
  bytes = Hello(Settings{}).to_bytes();
  bytes[0] = std::byte{0};
  EXPECT_EQ(cause_of([&] { Hello{std::span<const std::byte>(bytes)}; }), Cause::kProtocol);
}

TEST(Frame, ComesBack) {
  const Frame frame{.type = Frame::Type::kCompareSwap,
                    .credits = 9,
                    .key = 1,
                    .address = 2,
                    .length = 3,
                    .first = 4,
                    .second = 5};
  EXPECT_EQ(Frame::from_bytes(frame.to_bytes()), frame);
}

TEST(Frame, UnknownTypes) {
  auto bytes = Frame{.type = Frame::Type::kRead}.to_bytes();
  for (const unsigned type : {0U, 10U, 255U}) {
    bytes[0] = static_cast<std::byte>(type);
    EXPECT_EQ(cause_of([&] { Frame::from_bytes(bytes); }), Cause::kProtocol);
  }
  bytes = Frame{.type = Frame::Type::kRead}.to_bytes();
  bytes[1] = std::byte{1};
  EXPECT_EQ(cause_of([&] { Frame::from_bytes(bytes); }), Cause::kProtocol);
}

TEST(Credits, SpentAndReturned) {
  Credits credits(4, 2);
  credits.spend();
  EXPECT_TRUE(credits.any());
  credits.spend();
  EXPECT_FALSE(credits.any());
  credits.returned(2);
  EXPECT_TRUE(credits.any());
  EXPECT_EQ(cause_of([&] { credits.returned(1); }), Cause::kProtocol);
}

TEST(Credits, NothingIsNotGivenBackAlone) {
  Credits credits(4, 2);
  credits.spend();
  credits.returned(0);
  EXPECT_EQ(cause_of([&] { credits.returned(0, true); }), Cause::kProtocol);
  EXPECT_EQ(cause_of([&] { credits.returned(2, true); }), Cause::kProtocol);
  credits.returned(1, true);
}

TEST(Credits, DueByHalf) {
  Credits credits(4, 4);
  credits.arrived();
  credits.arrived();
  credits.taken();
  EXPECT_FALSE(credits.due());
  credits.taken();
  EXPECT_TRUE(credits.due());
  EXPECT_EQ(credits.give_back(), 2U);
  EXPECT_EQ(credits.give_back(), 0U);
}

TEST(Credits, NoMoreThanThereIsRoomFor) {
  Credits credits(4, 4);
  for (int i = 0; i < 4; i++) credits.arrived();
  EXPECT_EQ(cause_of([&] { credits.arrived(); }), Cause::kProtocol);
  credits.taken();  // and not given back
  EXPECT_EQ(cause_of([&] { credits.arrived(); }), Cause::kProtocol);
  credits.give_back();
  credits.arrived();
}

class Regions : public testing::Test {
 protected:
  alignas(8) std::array<std::byte, 64> bytes_{};
  RegionTable table_;
};

TEST_F(Regions, KeyRightAndBounds) {
  const std::uint32_t key = table_.add(bytes_, kRemoteRead);
  table_.check({.key = key, .address = 0, .length = 64}, kRemoteRead);
  table_.check({.key = key, .address = 64, .length = 0}, kRemoteRead);
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  for (const Part part : {Part{key, 0, 65}, Part{key, 1, 64}, Part{key, 65, 0}, Part{key, kMost, 2},
                          Part{key, 2, kMost}, Part{key + 1, 0, 1}}) {
    EXPECT_EQ(cause_of([&] { table_.check(part, kRemoteRead); }), Cause::kRefused)
        << part.key << " " << part.address << " " << part.length;
  }
  EXPECT_EQ(cause_of([&] { table_.check({key, 0, 1}, kRemoteWrite); }), Cause::kRefused);
  table_.remove(key);
  EXPECT_EQ(cause_of([&] { table_.check({key, 0, 1}, kRemoteRead); }), Cause::kRefused);
}

TEST_F(Regions, Atomics) {
  const std::uint32_t key = table_.add(bytes_, kRemoteAtomic);
  Frame frame{.type = Frame::Type::kFetchAdd, .key = key, .address = 8, .first = 5};
  EXPECT_EQ(table_.execute(frame), 0U);
  EXPECT_EQ(table_.execute(frame), 5U);
  frame = {.type = Frame::Type::kCompareSwap, .key = key, .address = 8, .first = 9, .second = 1};
  EXPECT_EQ(table_.execute(frame), 10U);
  frame.first = 10;
  EXPECT_EQ(table_.execute(frame), 10U);
  EXPECT_EQ(table_.execute(frame), 1U);
  for (const std::uint64_t address : {4, 57, 64}) {
    frame.address = address;
    EXPECT_EQ(cause_of([&] { table_.execute(frame); }), Cause::kRefused) << address;
  }
}

std::vector<std::byte> pattern(std::size_t length, unsigned seed) {
  std::vector<std::byte> bytes(length);
  for (std::size_t i = 0; i < length; i++)
    bytes[i] = static_cast<std::byte>((i * 31 + seed + i / 256) & 0xff);
  return bytes;
}

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

std::unique_ptr<Listener> listen(const Settings& settings = {}, Admit admit = {}) {
  return Listener::listen(Transport::kTcp, Address::parse("127.0.0.1:0"), settings,
                          std::move(admit));
}

std::unique_ptr<Link> connect_to(const Listener& listener, const Settings& settings = {}) {
  return connect(Transport::kTcp, listener.address(), seconds(5), settings);
}

// Two ends of a connection, with memory at each.
class Pair : public testing::Test {
 protected:
  static constexpr std::size_t kSize = std::size_t{3} << 20;

  void SetUp() override { connect_both({}, {}); }

  void connect_both(const Settings& near, const Settings& far) {
    near_.reset();
    far_.reset();
    const auto listener = listen(far);
    auto connecting = std::async(std::launch::async, [&] { return connect_to(*listener, near); });
    far_ = listener->accept(seconds(5));
    near_ = connecting.get();
    ASSERT_NE(far_, nullptr);
  }

  std::vector<std::byte> source_ = pattern(kSize, 1);
  std::vector<std::byte> sink_ = std::vector<std::byte>(kSize);
  std::unique_ptr<Link> near_;
  std::unique_ptr<Link> far_;
};

TEST_F(Pair, WriteIsThereWhenItsNotificationIs) {
  const auto from = near_->expose(source_, kLocal);
  const auto into = far_->expose(sink_, kRemoteWrite);
  near_->write(*from, 0, kSize / 2, into->remote(), 0);
  near_->write_notify(*from, kSize / 2, kSize / 2, into->remote(), kSize / 2, 0xdeadbeef);
  const auto arrival = far_->receive(seconds(5));
  ASSERT_TRUE(arrival);
  EXPECT_EQ(arrival->immediate, 0xdeadbeef);
  EXPECT_EQ(sink_, source_);
  EXPECT_EQ(near_->statistics().bytes_written, kSize);
  EXPECT_EQ(near_->statistics().operations, 2U);
}

TEST_F(Pair, ReadsInBothDirectionsAtOnce) {
  std::vector<std::byte> other(kSize);
  const auto there = far_->expose(source_, kRemoteRead);
  const auto here = near_->expose(sink_, kRemoteRead);
  const auto back = far_->expose(other, kLocal);
  std::fill(sink_.begin() + kSize / 2, sink_.end(), std::byte{7});
  // More than sockets hold, so that each end answers while it asks.
  auto far = std::async(std::launch::async, [&] {
    far_->read(*back, 0, kSize / 2, here->remote(), kSize / 2);
    far_->flush();
  });
  near_->read(*here, 0, kSize / 2, there->remote(), 0);
  near_->flush();
  far.get();
  EXPECT_TRUE(std::equal(sink_.begin(), sink_.begin() + kSize / 2, source_.begin()));
  EXPECT_EQ(std::count(other.begin(), other.begin() + kSize / 2, std::byte{7}),
            static_cast<long>(kSize / 2));
}

TEST_F(Pair, WritesAndReadsInBothDirectionsDoNotWaitForEachOther) {
  std::vector<std::byte> other(kSize);
  const auto here = near_->expose(sink_, kRemoteRead | kRemoteWrite);
  const auto there = far_->expose(other, kRemoteRead | kRemoteWrite);
  const auto work = [](Link& link, const Region& own, const RemoteRegion& theirs) {
    for (int round = 0; round < 20; round++) {
      link.read(own, 0, kSize / 2, theirs, 0);
      link.write(own, kSize / 2, kSize / 2, theirs, kSize / 2);
    }
    link.flush();
  };
  auto far = std::async(std::launch::async, [&] { work(*far_, *there, here->remote()); });
  work(*near_, *here, there->remote());
  far.get();
}

TEST_F(Pair, MoreReadsThanTheDepth) {
  const auto there = far_->expose(source_, kRemoteRead);
  const auto here = near_->expose(sink_, kLocal);
  for (std::size_t at = 0; at < kSize; at += 4096)
    near_->read(*here, at, 4096, there->remote(), at);
  near_->flush();
  EXPECT_EQ(sink_, source_);
}

TEST_F(Pair, Atomics) {
  alignas(8) std::array<std::byte, 16> word{};
  const auto there = far_->expose(word, kRemoteAtomic);
  EXPECT_EQ(near_->fetch_add(there->remote(), 8, 3), 0U);
  EXPECT_EQ(near_->compare_swap(there->remote(), 8, 4, 9), 3U);
  EXPECT_EQ(near_->compare_swap(there->remote(), 8, 3, 9), 3U);
  EXPECT_EQ(near_->fetch_add(there->remote(), 8, 0), 9U);
}

TEST_F(Pair, MessagesInOrderPastAllCredits) {
  auto sender = std::async(std::launch::async, [&] {
    for (int i = 0; i < 500; i++) near_->send(bytes_of(std::to_string(i)));
  });
  for (int i = 0; i < 500; i++) {
    const auto arrival = far_->receive(seconds(5));
    ASSERT_TRUE(arrival);
    EXPECT_EQ(arrival->message, bytes_of(std::to_string(i)));
    EXPECT_FALSE(arrival->immediate);
  }
  sender.get();
  EXPECT_FALSE(far_->receive(Limit(0)));
}

TEST_F(Pair, SenderWaitsForAReceiverThatDoesNotReceive) {
  connect_both({.patience = Limit(100)}, {});
  EXPECT_EQ(cause_of([&] {
              for (int i = 0; i < 33; i++) near_->send({});
            }),
            Cause::kTimeout);
  EXPECT_EQ(near_->statistics().operations, 32U);
}

TEST_F(Pair, MessageLimitIsTheSmaller) {
  connect_both({}, {.message_bytes = 100});
  EXPECT_EQ(near_->message_limit(), 100U);
  EXPECT_EQ(cause_of([&] { near_->send(pattern(101, 0)); }), Cause::kInput);
  near_->send(pattern(100, 0));
  EXPECT_EQ(far_->receive(seconds(5))->message, pattern(100, 0));
}

TEST_F(Pair, OwnBoundsAreTheCallersMistake) {
  const auto from = near_->expose(source_, kLocal);
  const auto into = far_->expose(sink_, kRemoteWrite);
  EXPECT_EQ(cause_of([&] { near_->write(*from, 1, kSize, into->remote(), 0); }), Cause::kInput);
  EXPECT_EQ(cause_of([&] { near_->write(*from, 0, kSize, into->remote(), 1); }), Cause::kInput);
  EXPECT_EQ(cause_of([&] { near_->fetch_add(into->remote(), 4, 1); }), Cause::kInput);
  EXPECT_EQ(cause_of([&] { near_->expose({}, kLocal); }), Cause::kInput);
  // And the link goes on.
  near_->write_notify(*from, 0, 1, into->remote(), 0, 1);
  EXPECT_TRUE(far_->receive(seconds(5)));
}

// What a peer may not: each ends the connection for both.
class Refused : public Pair, public testing::WithParamInterface<int> {};

TEST_P(Refused, EndsTheConnection) {
  const auto from = near_->expose(source_, kLocal);
  const auto readable = far_->expose(std::span(sink_).first(4096), kRemoteRead);
  const auto writable = far_->expose(std::span(sink_).last(4096), kRemoteWrite);
  RemoteRegion remote = writable->remote();
  const Cause cause = cause_of([&] {
    switch (GetParam()) {
      case 0:
        remote.key ^= 1;
        near_->write(*from, 0, 4096, remote, 0);
        break;
      case 1:
        remote.length += 1;
        near_->write(*from, 0, 4097, remote, 0);
        break;
      case 2:
        near_->write(*from, 0, 4096, readable->remote(), 0);
        break;
      case 3:
        near_->read(*from, 0, 4096, remote, 0);
        break;
      case 4:
        near_->fetch_add(remote, 0, 1);
        break;
      default:
        remote.address = ~std::uint64_t{0} - 7;
        near_->write(*from, 0, 4096, remote, 0);
    }
    near_->flush();
    near_->receive(seconds(5));
  });
  EXPECT_EQ(cause, Cause::kRefused);
  EXPECT_EQ(cause_of([&] { far_->receive(seconds(5)); }), Cause::kRefused);
  EXPECT_EQ(std::count(sink_.begin(), sink_.end(), std::byte{0}), static_cast<long>(kSize));
}

INSTANTIATE_TEST_SUITE_P(Requests, Refused, testing::Range(0, 6));

// A peer that speaks by itself, and says what no link of ours does.
class Hostile : public testing::Test {
 protected:
  void SetUp() override {
    const Settings settings{.message_bytes = 64, .patience = seconds(5)};
    const auto listener = listen(settings);
    peer_ = connect_socket(listener->address(), Deadline(seconds(5)));
    say(Hello(settings).to_bytes());
    link_ = listener->accept(seconds(5));
    ASSERT_NE(link_, nullptr);
    // What comes after the link's own greeting is its refusal.
    std::array<std::byte, Hello::kBytes> greeting{};
    ASSERT_EQ(recv(peer_.number(), greeting.data(), greeting.size(), MSG_WAITALL),
              static_cast<ssize_t>(greeting.size()));
  }

  void say(std::span<const std::byte> bytes) const {
    // The link may have given it up already.
    send(peer_.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  void say(const Frame& frame) const { say(frame.to_bytes()); }
  // The link's end, after all that it takes, and after the frames.
  template <typename... Frames>
  Cause end(const Frames&... frames) const {
    (say(frames), ...);
    return cause_of([&] {
      while (link_->receive(seconds(5))) {
      }
      throw Failure(Cause::kTimeout, "the link goes on");
    });
  }

  Descriptor peer_;
  std::unique_ptr<Link> link_;
};

TEST_F(Hostile, AnswerThatNobodyAskedFor) {
  EXPECT_EQ(end(Frame{.type = Frame::Type::kAnswer}), Cause::kProtocol);
}

TEST_F(Hostile, AnswerOfAnotherLength) {
  std::array<std::byte, 8> memory{};
  const auto own = link_->expose(memory, kLocal);
  link_->read(*own, 0, 8, {.address = 0, .length = 8, .key = 1}, 0);
  EXPECT_EQ(end(Frame{.type = Frame::Type::kAnswer, .length = 9}), Cause::kProtocol);
}

TEST_F(Hostile, MessageThatIsTooLong) {
  EXPECT_EQ(end(Frame{.type = Frame::Type::kMessage, .length = 65}), Cause::kProtocol);
}

TEST_F(Hostile, MoreMessagesThanThereIsRoomFor) {
  for (int i = 0; i < 40; i++) say({.type = Frame::Type::kMessage});
  EXPECT_TRUE(wait_ready(peer_.number(), Deadline(seconds(5))));  // its refusal
  EXPECT_EQ(end(), Cause::kProtocol);
}

TEST_F(Hostile, CreditsThatItNeverHad) {
  EXPECT_EQ(end(Frame{.type = Frame::Type::kCredits, .credits = 1}), Cause::kProtocol);
}

TEST_F(Hostile, CreditsOfNothing) {
  EXPECT_EQ(end(Frame{.type = Frame::Type::kCredits}), Cause::kProtocol);
}

TEST_F(Hostile, LengthOverTheEndOfAllAddresses) {
  std::array<std::byte, 8> memory{};
  const auto own = link_->expose(memory, kRemoteWrite | kRemoteRead);
  say({.type = Frame::Type::kWrite,
       .key = own->remote().key,
       .address = 8,
       .length = ~std::uint64_t{0} - 3});
  EXPECT_EQ(end(), Cause::kRefused);
}

TEST_F(Pair, RegionThatHasEndedIsOutOfReach) {
  const auto from = near_->expose(source_, kLocal);
  auto into = far_->expose(sink_, kRemoteWrite);
  const RemoteRegion remote = into->remote();
  into.reset();
  EXPECT_EQ(cause_of([&] {
              near_->write(*from, 0, kSize, remote, 0);
              near_->receive(seconds(5));
            }),
            Cause::kRefused);
}

TEST_F(Pair, WhatWasSentArrivesBeforeTheEnd) {
  near_->send(bytes_of("last words"));
  near_->flush();
  near_.reset();
  EXPECT_EQ(far_->receive(seconds(5))->message, bytes_of("last words"));
  EXPECT_EQ(cause_of([&] { far_->receive(seconds(5)); }), Cause::kLost);
  EXPECT_EQ(cause_of([&] { far_->send({}); }), Cause::kLost);
}

TEST_F(Pair, WaitsForTheFirstOfSeveral) {
  auto first_near = std::move(near_);
  auto first_far = std::move(far_);
  connect_both({}, {});
  const std::array<Link*, 2> links{first_far.get(), far_.get()};
  EXPECT_EQ(wait_any(links, Limit(10)), nullptr);
  near_->send(bytes_of("x"));
  EXPECT_EQ(wait_any(links, seconds(5)), far_.get());
  EXPECT_TRUE(far_->receive(Limit(0)));
  first_near.reset();
  EXPECT_EQ(wait_any(links, seconds(5)), first_far.get());
  EXPECT_THROW(first_far->receive(Limit(0)), Failure);
}

TEST(TcpListener, RefusesWhomItDoesNotAdmit) {
  const auto listener = listen({}, [](const Address& peer) { return peer.host != "127.0.0.1"; });
  auto connecting =
      std::async(std::launch::async, [&] { return cause_of([&] { connect_to(*listener); }); });
  EXPECT_EQ(listener->accept(Limit(300)), nullptr);
  EXPECT_EQ(connecting.get(), Cause::kRefused);
}

TEST(TcpListener, SilentAndWrongPeersCostTheOthersNothing) {
  const auto listener = listen();
  std::vector<Descriptor> silent;
  for (int i = 0; i < 70; i++) {
    silent.push_back(connect_socket(listener->address(), Deadline(seconds(5))));
    if (i % 2 == 1) send(silent.back().number(), "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL);
    EXPECT_EQ(listener->accept(Limit(0)), nullptr);
  }
  auto connecting = std::async(std::launch::async, [&] { return connect_to(*listener); });
  EXPECT_NE(listener->accept(seconds(5)), nullptr);
  EXPECT_NE(connecting.get(), nullptr);
}

TEST(TcpListener, WhereItCanNotListenTheNextStepIsSaid) {
  const auto listener = listen();
  const auto said = [](const Address& address) {
    return sentence_of([&] { Listener::listen(Transport::kTcp, address); });
  };
  EXPECT_NE(said(listener->address()).find("take another port"), std::string::npos);
  // Of a network for examples, which no host has.
  EXPECT_NE(said(Address::parse("192.0.2.1:0")).find("an address of this host"), std::string::npos);
}

TEST(TcpListener, NobodyListens) {
  auto listener = listen();
  const Address address = listener->address();
  listener.reset();
  EXPECT_EQ(cause_of([&] { connect(Transport::kTcp, address, seconds(5)); }), Cause::kRefused);
}

TEST(RdmaLink, WithoutADeviceTheNextStepIsSaid) {
  const auto step = [](const std::function<void()>& action) {
    const Failure failure = failure_of(action);
    EXPECT_EQ(failure.cause(), Cause::kDevice) << failure.what();
    const std::string said = failure.what();
    return said.substr(std::min(said.find(": ") + 2, said.size()));
  };
  const Address address = Address::parse("127.0.0.1:1");
  const std::string add = "rdma link add weft0 type weft netdev ";
  EXPECT_EQ(step([&] { Listener::listen(Transport::kRdma, address); }), add + "lo");
  EXPECT_EQ(step([&] { connect(Transport::kRdma, address, seconds(5)); }), add + "lo");
  // Every address is of no device more than of another.
  EXPECT_EQ(step([] { Listener::listen(Transport::kRdma, Address::parse("*:1")); }),
            add + "NETDEV");
}

}  // namespace
}  // namespace rdma
