// SPDX-License-Identifier: GPL-2.0
// Command lines; what comes from users and peers; what is done to files and programs of this host.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include "command.h"
#include "distribute.h"
#include "failure.h"
#include "file.h"
#include "hosts.h"
#include "message.h"
#include "process.h"
#include "temporary_folder.h"

namespace rdma::rdistcc {
namespace {

std::string join(const Arguments& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

Command read(const std::string& line) { return read_command(split(line)); }

TEST(Command, PreprocessesHereAndCompilesThere) {
  const Command command =
      read("gcc -O2 -Iinclude -I other -DX=1 -D Y -Wall -g -c src/x.c -o out/x.o");
  EXPECT_EQ(command.local, "");
  EXPECT_EQ(command.compiler, "gcc");
  EXPECT_EQ(command.source, "src/x.c");
  EXPECT_EQ(command.object, "out/x.o");
  EXPECT_EQ(command.suffix, "i");
  EXPECT_EQ(join(command.compile), "-O2 -Wall -g");
  EXPECT_EQ(join(command.preprocess), "gcc -E -O2 -Iinclude -I other -DX=1 -D Y -Wall -g src/x.c");
}

TEST(Command, ObjectWithoutAName) {
  EXPECT_EQ(read("gcc -c src/x.y.c").object, "x.y.o");
  EXPECT_EQ(read("g++ -c x.cpp -ox.obj").object, "x.obj");
  EXPECT_EQ(read("g++ -c x.cpp").suffix, "ii");
}

TEST(Command, DependenciesAreNamedAsTheCompilerWould) {
  EXPECT_EQ(join(read("gcc -MD -c x.c -o d/x.o").preprocess), "gcc -E -MD -MF d/x.d -MQ d/x.o x.c");
  EXPECT_EQ(join(read("gcc -MMD -MF y.d -MT t -c x.c").preprocess),
            "gcc -E -MMD -MF y.d -MT t x.c");
  EXPECT_EQ(join(read("gcc -Wp,-MMD,.x.o.d -c x.c").preprocess), "gcc -E -Wp,-MMD,.x.o.d x.c");
  EXPECT_EQ(join(read("gcc -MD -c x.c -o noname").preprocess),
            "gcc -E -MD -MF noname.d -MQ noname x.c");
}

TEST(Command, ParameterInTwoWords) {
  const Command command = read("gcc --param ssp-buffer-size=4 -c x.c");
  EXPECT_EQ(command.local, "");
  EXPECT_EQ(join(command.compile), "--param=ssp-buffer-size=4");
}

// What is done here, and why.
class Local : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(Local, SaysWhy) {
  EXPECT_EQ(read(GetParam().first).local, GetParam().second) << GetParam().first;
}

INSTANTIATE_TEST_SUITE_P(
    Commands, Local,
    testing::Values(std::pair{"", "there is no compiler"},
                    std::pair{"/opt/gcc -c x.c", "the compiler is named by a path"},
                    std::pair{"gcc x.c -o x", "it links, or does not compile"},
                    std::pair{"gcc x.o y.o -o x", "x.o is neither C nor C++"},
                    std::pair{"gcc -E x.c", "-E is not for another host"},
                    std::pair{"gcc -S x.c", "-S is not for another host"},
                    std::pair{"gcc -M x.c", "-M is not for another host"},
                    std::pair{"gcc -P -c x.c", "-P is not for another host"},
                    std::pair{"gcc -MM -c x.c", "-MM is not for another host"},
                    std::pair{"gcc -c x.c y.c", "there are several sources"},
                    std::pair{"gcc -c", "there is no source"},
                    std::pair{"gcc -c x.s", "x.s is neither C nor C++"},
                    std::pair{"gcc -c x.c -o", "the value of -o is missing"},
                    std::pair{"gcc -c x.c -o a -o b", "there are two outputs"},
                    std::pair{"gcc -c x.c -o -", "the output is no file"},
                    std::pair{"gcc -c x.c -o /dev/null", "the output is no file"},
                    std::pair{"gcc -c @file", "arguments are in a file"},
                    std::pair{"gcc -c -D", "the value of -D is missing"},
                    std::pair{"gcc -c -x c++ x.c", "-x is not for another host"},
                    std::pair{"gcc -c - ", "- is not for another host"},
                    std::pair{"gcc -march=native -c x.c", "-march=native is not for another host"},
                    std::pair{"gcc -fprofile-generate -c x.c",
                              "-fprofile-generate is not for another host"},
                    std::pair{"gcc -gsplit-dwarf -c x.c", "-gsplit-dwarf is not for another host"},
                    std::pair{"gcc -save-temps -c x.c", "-save-temps is not for another host"}));

TEST(Allowed, OptionsOfCompilation) {
  for (const std::string& option :
       split("-O -O2 -Os -g -g3 -ggdb -gdwarf-4 -Wall -Wno-unused -Wformat=2 -w -ansi -std=gnu11 "
             "-std=c++20 -pedantic -pipe -m32 -march=x86-64-v2 -mno-sse -mcmodel=kernel -fPIC "
             "-fno-strict-aliasing -fstack-protector-strong -fvisibility=hidden "
             "-fmacro-prefix-map=./= -fsanitize=address,undefined -flto -pg "
             "--param=ssp-buffer-size=4"))
    EXPECT_TRUE(is_allowed(option)) << option;
}

// Each of these would run a program, read or write a file, or make another object than here.
TEST(Allowed, NothingElse) {
  EXPECT_FALSE(is_allowed(""));
  EXPECT_FALSE(is_allowed("-O2 -o x"));
  for (const std::string& option :
       split("- x.c -o -ofile -c -E -S -x -B/tmp -B -specs=/tmp/s -wrapper -wrapper,x "
             "@/tmp/arguments -fplugin=/tmp/x.so -fplugin-arg-x -fno-plugin -fdump-tree-all "
             "-fprofile-use=/etc/passwd -fprofile-dir=/tmp -ftest-coverage -fstack-usage "
             "-fcallgraph-info -fsave-optimization-record -fopt-info-all=/tmp/x -fself-test=/tmp "
             "-fsyntax-only -fmodules-ts -fmodule-mapper=|x -fcompare-debug -fauto-profile=/tmp/x "
             "-fbranch-probabilities -fdiagnostics-format=sarif-file -flto=jobserver -fuse-ld=gold "
             "-fpreprocessed -fno-preprocessed -fdirectives-only -fpch-preprocess -ftime-trace "
             "-fintrinsic-modules-path -gen-decls -gnatO -foffload=x -funknown=/tmp/x -fPIC;x -f "
             "-Wa,-a=/tmp/x -Wl,-T/tmp/x -Wp,-MD,/tmp/x -Xassembler -Xlinker -Xpreprocessor -I/tmp "
             "-include -imacros -isystem -iplugindir=/tmp -dumpdir -dumpbase -aux-info -save-temps "
             "-T/tmp/x -L/tmp -lx -march=native -mtune=native -gsplit-dwarf --sysroot=/tmp --param "
             "--param=x=/tmp -std=/tmp -no-canonical-prefixes -### -v --help -print-file-name=x "
             "-time -Q -mabi=/../x -pass-exit-codes -static -shared -Ofast/../x"))
    EXPECT_FALSE(is_allowed(option)) << option;
}

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
                           "10.0.0.1:3640/-1", "/4", "a:1 b"})
    EXPECT_THROW(read_hosts(text), Failure) << text;
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
                           "10.0.0.0/-1", "host", "/0", "10.0.0/8"})
    EXPECT_THROW(Network{text}, Failure) << text;
}

Request some_request() {
  return {.source = {.address = 1, .length = 2, .key = 3},
          .suffix = "i",
          .compiler = "gcc",
          .arguments = {"-O2", "", "-g"}};
}

TEST(Message, RequestComesBack) {
  EXPECT_EQ(Request::from_bytes(some_request().to_bytes()), some_request());
}

TEST(Message, ReplyComesBack) {
  const Reply reply{.kind = Reply::Kind::kCompiled,
                    .status = 4,
                    .object = {.address = 1, .length = 2, .key = 3},
                    .messages = {.address = 4, .length = 5, .key = 6},
                    .compiling = 7,
                    .reading = 8,
                    .registering = 9,
                    .text = "why"};
  EXPECT_EQ(Reply::from_bytes(reply.to_bytes()), reply);
}

// Whatever is cut off, added or changed is an error, and never more than that.
TEST(Message, CutOffOrTooLong) {
  auto bytes = some_request().to_bytes();
  for (std::size_t length = 0; length < bytes.size(); length++)
    EXPECT_THROW(Request::from_bytes(std::span(bytes).first(length)), Failure) << length;
  bytes.push_back({});
  EXPECT_THROW(Request::from_bytes(bytes), Failure);
  bytes = Reply().to_bytes();
  for (std::size_t length = 0; length < bytes.size(); length++)
    EXPECT_THROW(Reply::from_bytes(std::span(bytes).first(length)), Failure) << length;
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

TEST_F(Here, OutputWhereNothingCanBe) { EXPECT_THROW(Output{folder_.file("none/x.o")}, Failure); }

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
