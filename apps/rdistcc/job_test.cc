// SPDX-License-Identifier: GPL-2.0
// A job from end to end: a client and a daemon's serve() in this process, over TCP, with gcc.
#include "job.h"

#include <gtest/gtest.h>

#include <future>

#include "deadline.h"
#include "distribute.h"
#include "protocol.h"
#include "temporary_folder.h"
#include "transports.h"

namespace rdma::rdistcc {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

class JobTest : public testing::Test {
 protected:
  void SetUp() override {
    rules_.directory = folder_.file("jobs");
    fs::create_directory(rules_.directory);
    rules_.compilers["gcc"] = "/usr/bin/gcc";
    listener_ = Listener::listen(Transport::kTcp, Address::parse("127.0.0.1:0"), link_settings());
  }

  // Serves one client; returns the line for the log.
  std::future<std::string> serve_one() {
    return std::async(std::launch::async, [this] {
      const auto link = listener_->accept(seconds(10));
      return serve(*link, rules_, stopping_);
    });
  }
  // Has a preprocessed source compiled.
  int compile(const std::string& source) {
    const Descriptor file(memfd_create("source", MFD_CLOEXEC));
    EXPECT_EQ(write(file.number(), source.data(), source.size()),
              static_cast<ssize_t>(source.size()));
    const Command command = read_command({"gcc", "-O1", "-c", "x.c", "-o", object()});
    Report report;
    const Host host{.address = listener_->address(), .slots = 1};
    auto daemon = serve_one();
    const int status = distribute(command, host, Transport::kTcp, file, report);
    said_ = daemon.get();
    EXPECT_TRUE(fs::is_empty(rules_.directory));
    return status;
  }
  // Why a source is not compiled here; empty if it is.
  std::string refusal(const std::string& source) {
    try {
      compile(source);
    } catch (const Elsewhere& failure) {
      return failure.what();
    }
    return {};
  }
  std::string object() const { return folder_.file("x.o"); }

  const TemporaryFolder folder_;
  Rules rules_;
  std::atomic<bool> stopping_ = false;
  std::unique_ptr<Listener> listener_;
  std::string said_;
};

TEST_F(JobTest, MakesAnObject) {
  EXPECT_EQ(compile("int one(void) { return 1; }\n"), 0);
  EXPECT_GT(fs::file_size(object()), 0U);
  EXPECT_TRUE(said_.starts_with("gcc: status 0, 28 bytes in")) << said_;
}

TEST_F(JobTest, CompilerThatFailsLeavesNothing) {
  EXPECT_EQ(compile("int broken( {\n"), 1);
  EXPECT_FALSE(fs::exists(object()));
}

TEST_F(JobTest, CompilerWithoutMemoryIsNoSuccess) {
  rules_.memory_bytes = std::uint64_t{20} << 20;
  try {
    EXPECT_NE(compile("int one(void) { return 1; }\n"), 0);
  } catch (const Elsewhere& failure) {
    EXPECT_FALSE(failure.down) << failure.what();
  }
  EXPECT_FALSE(fs::exists(object()));
}

TEST_F(JobTest, PrecompiledHeaderIsRefused) {
  const std::string why = refusal("#pragma GCC pch_preprocess \"/tmp/x.gch\"\nint x;\n");
  EXPECT_NE(why.find("precompiled header"), std::string::npos) << why;
}

TEST_F(JobTest, CompilerThatCannotBeRunIsTriedElsewhere) {
  rules_.compilers["gcc"] = "/usr/bin/no-such-gcc";
  const std::string why = refusal("int x;\n");
  EXPECT_NE(why.find("can't be run"), std::string::npos) << why;
}

// A client that does not hold itself to the list of arguments, of compilers, or of lengths.
TEST_F(JobTest, WhatIsNotForClients) {
  std::vector<std::byte> source(16);
  for (const auto& [compiler, argument, suffix, length] :
       {std::tuple{"gcc", "-B/tmp", "i", 16U}, std::tuple{"sh", "-O2", "i", 16U},
        std::tuple{"../bin/gcc", "-O2", "i", 16U}, std::tuple{"gcc", "-O2", "S", 16U},
        std::tuple{"gcc", "-O2", "i", 0U}, std::tuple{"gcc", "-O2", "i", 1U << 30}}) {
    auto daemon = serve_one();
    {
      const auto link = connect(Transport::kTcp, listener_->address(), seconds(5), link_settings());
      const auto region = link->expose(source, kRemoteRead);
      RemoteRegion named = region->remote();
      named.length = length;
      link->send(
          Request{.source = named, .suffix = suffix, .compiler = compiler, .arguments = {argument}}
              .to_bytes());
      const auto answer = link->receive(seconds(5));
      ASSERT_TRUE(answer);
      EXPECT_EQ(Reply::from_bytes(answer->message).kind, Reply::Kind::kRefused) << argument;
    }
    EXPECT_TRUE(daemon.get().starts_with("refused: ")) << compiler;
  }
}

// A client that gives its source a byte now and then would never be done.
TEST_F(JobTest, SourceThatTricklesIsGivenUp) {
  rules_.transfer = std::chrono::milliseconds(300);
  auto daemon = serve_one();
  const Descriptor socket = connect_socket(listener_->address(), Deadline(seconds(5)));
  const auto tell = [&](std::span<const std::byte> bytes) {
    return send(socket.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  };
  const auto request = Request{
      .source = {.address = 0, .length = 1U << 20, .key = 1},
      .suffix = "i",
      .compiler = "gcc",
      .arguments = {}}.to_bytes();
  EXPECT_TRUE(tell(Hello(link_settings()).to_bytes()));
  EXPECT_TRUE(tell(Frame{.type = Frame::Type::kMessage, .length = request.size()}.to_bytes()));
  EXPECT_TRUE(tell(request));
  // What the read that comes now is answered by.
  std::array<std::byte, Hello::kBytes + Frame::kBytes> read{};
  ASSERT_EQ(recv(socket.number(), read.data(), read.size(), MSG_WAITALL),
            static_cast<ssize_t>(read.size()));
  EXPECT_TRUE(tell(Frame{.type = Frame::Type::kAnswer, .length = 1U << 20}.to_bytes()));
  const Deadline patience(seconds(5));
  while (daemon.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready &&
         !patience.over())
    tell(std::array{std::byte{' '}});
  EXPECT_FALSE(patience.over());
  shutdown(socket.number(), SHUT_RDWR);
  EXPECT_THROW(daemon.get(), Failure);
  EXPECT_TRUE(fs::is_empty(rules_.directory));
}

}  // namespace
}  // namespace rdma::rdistcc
