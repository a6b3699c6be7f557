// SPDX-License-Identifier: GPL-2.0
// What comes from users and peers: hosts, networks, messages, and a client's slots.
#include <gtest/gtest.h>

#include "hosts.h"
#include "message.h"
#include "temporary_folder.h"

namespace rdma::rdistcc {
namespace {

TEST(Hosts, AddressesAndSlots) {
  const std::vector<Host> hosts = read_hosts("  10.0.0.1:3640/8\t[fd00::2]:1\n");
  ASSERT_EQ(hosts.size(), 2U);
  EXPECT_EQ(hosts[0].address.text(), "10.0.0.1:3640");
  EXPECT_EQ(hosts[0].slots, 8U);
  EXPECT_EQ(hosts[1].address.text(), "[fd00::2]:1");
  EXPECT_EQ(hosts[1].slots, 4U);
  EXPECT_TRUE(read_hosts("").empty());
}

TEST(Hosts, WrongOnes) {
  for (const char* text : {"10.0.0.1", "10.0.0.1:3640/0", "10.0.0.1:3640/x", "10.0.0.1:3640/257",
                           "10.0.0.1:3640/-1", "/4", "a:1 b"}) {
    EXPECT_THROW(read_hosts(text), Failure) << text;
  }
}

TEST(Hosts, AreNamedOnceInAMessage) {
  const Host host = read_hosts("10.0.0.1:3640")[0];
  EXPECT_EQ(of_host(host, "it does not answer"), "10.0.0.1:3640: it does not answer");
  EXPECT_EQ(of_host(host, "10.0.0.1:3640 refused the connection"),
            "10.0.0.1:3640 refused the connection");
  EXPECT_EQ(of_host(host, "no RDMA device reaches 10.0.0.1:3640: rdma link add"),
            "no RDMA device reaches 10.0.0.1:3640: rdma link add");
  EXPECT_EQ(of_host(read_hosts("nowhere:1")[0], "there is no host 'nowhere': not known"),
            "there is no host 'nowhere': not known");
}

TEST(Network, Contains) {
  EXPECT_TRUE(Network("10.0.0.0/24").contains("10.0.0.255"));
  EXPECT_FALSE(Network("10.0.0.0/24").contains("10.0.1.0"));
  EXPECT_TRUE(Network("10.0.0.0/23").contains("10.0.1.0"));
  EXPECT_TRUE(Network("10.0.0.7").contains("10.0.0.7"));
  EXPECT_FALSE(Network("10.0.0.7").contains("10.0.0.6"));
  EXPECT_TRUE(Network("10.0.0.7").contains("::ffff:10.0.0.7"));
  EXPECT_TRUE(Network("0.0.0.0/0").contains("1.2.3.4"));
  EXPECT_FALSE(Network("0.0.0.0/0").contains("fd00::1"));
  EXPECT_TRUE(Network("fd00::/64").contains("fd00::1"));
  EXPECT_FALSE(Network("fd00::/64").contains("fd00:0:0:1::1"));
  EXPECT_FALSE(Network("::/0").contains("no address"));
}

TEST(Network, WrongOnes) {
  for (const char* text : {"", "10.0.0.0/33", "fd00::/129", "10.0.0.0/", "10.0.0.0/x",
                           "10.0.0.0/-1", "host", "/0", "10.0.0/8"}) {
    EXPECT_THROW(Network{text}, Failure) << text;
  }
}

Request some_request() {
  return {.source = {.address = 1, .length = 2, .key = 3},
          .suffix = "i",
          .compiler = "gcc",
          .arguments = {"-O2", "", "-g"}};
}

TEST(Message, RequestComesBack) {
  const Request back = Request::from_bytes(some_request().to_bytes());
  EXPECT_EQ(back.source, some_request().source);
  EXPECT_EQ(back.suffix, "i");
  EXPECT_EQ(back.compiler, "gcc");
  EXPECT_EQ(back.arguments, some_request().arguments);
}

TEST(Message, ReplyComesBack) {
  Reply reply;
  reply.kind = Reply::Kind::kCompiled;
  reply.status = 4;
  reply.object = {.address = 1, .length = 2, .key = 3};
  reply.messages = {.address = 4, .length = 5, .key = 6};
  reply.compiling = 7;
  reply.reading = 8;
  reply.registering = 9;
  reply.text = "why";
  const Reply back = Reply::from_bytes(reply.to_bytes());
  EXPECT_EQ(back.kind, reply.kind);
  EXPECT_EQ(back.status, 4U);
  EXPECT_EQ(back.object, reply.object);
  EXPECT_EQ(back.messages, reply.messages);
  EXPECT_EQ(back.compiling, 7U);
  EXPECT_EQ(back.reading, 8U);
  EXPECT_EQ(back.registering, 9U);
  EXPECT_EQ(back.text, "why");
}

// Whatever is cut off, added or changed is an error, and never more than that.
TEST(Message, CutOffOrTooLong) {
  auto bytes = some_request().to_bytes();
  for (std::size_t length = 0; length < bytes.size(); length++) {
    EXPECT_THROW(Request::from_bytes(std::span(bytes).first(length)), Failure) << length;
  }
  bytes.push_back({});
  EXPECT_THROW(Request::from_bytes(bytes), Failure);
  bytes = Reply().to_bytes();
  for (std::size_t length = 0; length < bytes.size(); length++) {
    EXPECT_THROW(Reply::from_bytes(std::span(bytes).first(length)), Failure) << length;
  }
}

TEST(Message, AnyByteChanged) {
  const auto whole = some_request().to_bytes();
  for (std::size_t at = 0; at < whole.size(); at++) {
    for (const unsigned value : {0U, 1U, 127U, 128U, 255U}) {
      auto bytes = whole;
      bytes[at] = static_cast<std::byte>(value);
      try {
        Request::from_bytes(bytes);
      } catch (const Failure& failure) {
        EXPECT_EQ(failure.cause(), Cause::kProtocol);
      }
    }
  }
}

class SlotsTest : public testing::Test {
 protected:
  const TemporaryFolder folder_;
};

TEST_F(SlotsTest, TheFreestHostAndNoMoreThanThereAre) {
  const std::vector<Host> hosts = read_hosts("a:1/1 b:2/2");
  const Slots slots(folder_.path());
  const auto first = slots.take(hosts, {});
  const auto second = slots.take(hosts, {});
  auto third = slots.take(hosts, {});
  ASSERT_TRUE(first && second && third);
  EXPECT_EQ(first->host, &hosts[0]);
  EXPECT_EQ(second->host, &hosts[1]);
  EXPECT_EQ(third->host, &hosts[1]);
  EXPECT_FALSE(slots.take(hosts, {}));
  third.reset();
  EXPECT_TRUE(slots.take(hosts, {}));
}

TEST_F(SlotsTest, HostsThatAreDownOrTried) {
  const std::vector<Host> hosts = read_hosts("a:1 b:2");
  const Slots slots(folder_.path());
  EXPECT_EQ(slots.take(hosts, {&hosts[0]})->host, &hosts[1]);
  slots.mark_down(hosts[1]);
  EXPECT_EQ(slots.take(hosts, {})->host, &hosts[0]);
  EXPECT_FALSE(slots.take(hosts, {&hosts[0]}));
}

}  // namespace
}  // namespace rdma::rdistcc
