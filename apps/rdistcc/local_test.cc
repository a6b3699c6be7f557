// SPDX-License-Identifier: GPL-2.0
// What is done to files and programs of this host.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include "failure.h"
#include "file.h"
#include "process.h"
#include "distribute.h"
#include "temporary_folder.h"

namespace rdma::rdistcc {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

class Here : public testing::Test {
 protected:
  static std::string read(const std::string& name) {
    std::ostringstream text;
    text << std::ifstream(name).rdbuf();
    return text.str();
  }

  const TemporaryFolder folder_;
};

TEST_F(Here, OutputIsThereWholeOrNotAtAll) {
  std::ofstream(folder_.file("x.o")) << "before";
  const std::string text = "after";
  {
    const Output output(folder_.file("x.o"));
    output.write(std::as_bytes(std::span(text)));
  }
  EXPECT_EQ(read(folder_.file("x.o")), "before");
  EXPECT_EQ(folder_.files(), 1U);
  Output output(folder_.file("x.o"));
  output.write(std::as_bytes(std::span(text)));
  output.commit();
  EXPECT_EQ(read(folder_.file("x.o")), "after");
  EXPECT_EQ(folder_.files(), 1U);
}

TEST_F(Here, OutputWhereNothingCanBe) {
  EXPECT_THROW(Output{folder_.file("none/x.o")}, Failure);
}

TEST_F(Here, MappingIsTheFile) {
  const Output output(folder_.file("x"));
  reserve(output.file(), 8192, "x");
  EXPECT_EQ(length_of(output.file()), 8192U);
  const Mapping mapping(output.file(), 8192);
  mapping.bytes()[8191] = std::byte{7};
  std::byte got{};
  ASSERT_EQ(pread(output.file().number(), &got, 1, 8191), 1);
  EXPECT_EQ(got, std::byte{7});
}

class Run : public Here {
 protected:
  Confinement confinement(std::uint64_t seconds) const {
    return {.directory = folder_.path(),
            .seconds = seconds,
            .file_bytes = 4096,
            .memory_bytes = std::uint64_t{1} << 30};
  }
  // Runs a shell's command, confined; returns its status and keeps what it said.
  int run(const std::string& command) {
    const Descriptor said(open(folder_.file("said").c_str(), O_CREAT | O_TRUNC | O_RDWR, 0600));
    Process process({.command = {"/bin/sh", "-c", command},
                     .output = said.number(),
                     .error = said.number(),
                     .confinement = confinement(1)});
    EXPECT_TRUE(process.wait(seconds(10)));
    return process.status();
  }
  std::string said() const { return read(folder_.file("said")); }
};

TEST_F(Run, StatusAndWords) {
  EXPECT_EQ(run("echo out; echo err >&2; exit 3"), 3);
  EXPECT_EQ(said(), "out\nerr\n");
}

TEST_F(Run, WorksInItsDirectoryWithABareEnvironment) {
  setenv("SECRET", "x", 1);
  EXPECT_EQ(run("pwd; echo \"$TMPDIR $SECRET\"; cat"), 0);
  EXPECT_EQ(said(), folder_.path() + "\n" + folder_.path() + " \n");
}

TEST_F(Run, LimitsOfTimeAndFiles) {
  EXPECT_GT(run("while :; do :; done"), 128);
  EXPECT_NE(run("head -c 100000 /dev/zero >big; exit $?"), 0);
  EXPECT_LE(fs::file_size(folder_.file("big")), 4096U);
}

TEST_F(Run, EndsWithAllThatItStarted) {
  const auto begin = std::chrono::steady_clock::now();
  {
    Process process(
        {.command = {"/bin/sh", "-c", "sleep 60 & sleep 60"}, .confinement = confinement(9)});
    EXPECT_FALSE(process.wait(std::chrono::milliseconds(100)));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(10));
}

// Whoever started it is killed, and so can't end anything itself: what the program started ends as
// well. All of them hold the pipe, whose end is that of the last.
TEST_F(Run, EndsWithItsStarterHoweverThatEnds) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const Descriptor begun(ends[0]);
  Descriptor held(ends[1]);
  const pid_t starter = fork();
  if (starter == 0) {
    Process process({.command = {"/bin/sh", "-c", "sleep 60 & echo; sleep 60"},
                     .output = held.number(),
                     .confinement = confinement(9)});
    process.wait(seconds(60));
    _exit(0);
  }
  held = Descriptor();
  char line = 0;
  ASSERT_EQ(::read(begun.number(), &line, 1), 1);
  ASSERT_EQ(kill(starter, SIGKILL), 0);
  ASSERT_EQ(waitpid(starter, nullptr, 0), starter);
  pollfd end{.fd = begun.number(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&end, 1, 5000), 1) << "a process that it started is still there";
}

TEST(Process, WhatIsNotThere) {
  Process process({.command = {"no-such-program"}, .confinement = {}});
  ASSERT_TRUE(process.wait(seconds(10)));
  EXPECT_EQ(process.status(), 127);
}

TEST(Report, IsJson) {
  Report report;
  report.source = "a \"b\"\\\n.c";
  report.bytes_out = 7;
  const std::string json = report.json();
  EXPECT_NE(json.find(R"("source": "a \"b\"\\\u000a.c")"), std::string::npos) << json;
  EXPECT_NE(json.find("\"bytes_out\": 7"), std::string::npos) << json;
}

}  // namespace
}  // namespace rdma::rdistcc
