// SPDX-License-Identifier: GPL-2.0
#include "address.h"

#include <gtest/gtest.h>

#include "failure.h"
#include "link.h"

namespace rdma {

namespace {

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
    try {
      Address::parse(text);
      FAIL() << "'" << text << "' was taken";
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.cause(), Cause::kInput) << text;
      EXPECT_NE(std::string(failure.what()).find("write HOST:PORT"), std::string::npos)
          << failure.what();
    }
  }
}

TEST(Address, ResolvesAndComesBack) {
  for (const char* text : {"127.0.0.1:7", "[::1]:7"}) {
    EXPECT_EQ(Address::of(Address::parse(text).resolve()).text(), text);
  }
  EXPECT_EQ(Address::of(Address::parse("*:7").resolve()).text(), "0.0.0.0:7");
}

TEST(Address, UnknownHost) {
  EXPECT_THROW(Address::parse("no such host:1").resolve(), Failure);
}

TEST(Transport, Names) {
  EXPECT_EQ(parse_transport("rdma"), Transport::kRdma);
  EXPECT_EQ(parse_transport("tcp"), Transport::kTcp);
  EXPECT_EQ(name_of(parse_transport("tcp")), "tcp");
  EXPECT_THROW(parse_transport("RDMA"), Failure);
}

TEST(Settings, LimitsAreNamed) {
  Settings settings;
  settings.check();
  settings.credits = 3;
  try {
    settings.check();
    FAIL() << "3 credits were taken";
  } catch (const Failure& failure) {
    EXPECT_STREQ(failure.what(), "credits is 3; it may be 4 to 4096");
  }
}

}  // namespace

}  // namespace rdma
