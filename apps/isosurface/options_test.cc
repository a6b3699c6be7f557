// SPDX-License-Identifier: GPL-2.0
#include "options.h"

#include <gtest/gtest.h>

#include "temporary.h"

namespace isosurface {
namespace {

Options parsed(std::vector<std::string> words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size());
  for (std::string& word : words)
    pointers.push_back(word.data());
  return {pointers, {"size", "iso", "out"}, {"draw"}};
}

TEST(Options, AreRead) {
  const Options options = parsed({"a.vtk", "--size", "64x32", "--draw", "--iso", "-0.5"});
  EXPECT_EQ(options.others({"VOLUME"}), std::vector<std::string>{"a.vtk"});
  EXPECT_EQ(options.numbers("size", 'x', 2, 1, 100), (std::vector<long>{64, 32}));
  EXPECT_TRUE(options.has("draw"));
  EXPECT_DOUBLE_EQ(options.real("iso", 0), -0.5);
  EXPECT_EQ(options.number("out", 7, 0, 9), 7);
}

TEST(Options, SayWhatIsWrong) {
  EXPECT_EQ(failure_of([] {
              parsed({"--colour", "red"});
            }),
            "there is no option --colour here; see isosurface --help");
  EXPECT_EQ(failure_of([] { parsed({"--size"}); }), "--size takes a value; see isosurface --help");
  EXPECT_EQ(failure_of([] {
              parsed({"--iso", "1x"}).real("iso", 0);
            }),
            "--iso takes a number, not '1x'");
  EXPECT_EQ(failure_of([] {
              parsed({"--out", "10"}).number("out", 1, 0, 9);
            }),
            "--out takes a whole number from 0 to 9, not '10'");
  EXPECT_EQ(failure_of([] {
              parsed({"--size", "64"}).numbers("size", 'x', 2, 1, 100);
            }),
            "--size takes 2 numbers with 'x' between them, not '64'");
  EXPECT_EQ(failure_of([] {
              parsed({"--size", "64x"}).numbers("size", 'x', 2, 1, 100);
            }),
            "--size takes a whole number from 1 to 100, not ''");
  EXPECT_EQ(failure_of([] { parsed({}).needed("out"); }),
            "--out is missing; see isosurface --help");
  EXPECT_EQ(failure_of([] { parsed({}).others({"VOLUME"}); }),
            "VOLUME is missing; see isosurface --help");
  EXPECT_EQ(failure_of([] {
              parsed({"a", "b"}).others({"VOLUME"});
            }),
            "'b' is one word too many; see isosurface --help");
}

}  // namespace
}  // namespace isosurface
