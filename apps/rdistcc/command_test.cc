// SPDX-License-Identifier: GPL-2.0
#include "command.h"

#include <gtest/gtest.h>

namespace rdma::rdistcc {
namespace {

std::string join(const Arguments& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : " ") + word;
  }
  return text;
}

Command read(const std::string& line) {
  return read_command(split(line));
}

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
             "--param=ssp-buffer-size=4")) {
    EXPECT_TRUE(is_allowed(option)) << option;
  }
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
             "-time -Q -mabi=/../x -pass-exit-codes -static -shared -Ofast/../x")) {
    EXPECT_FALSE(is_allowed(option)) << option;
  }
}

}  // namespace
}  // namespace rdma::rdistcc
