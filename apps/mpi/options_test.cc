// SPDX-License-Identifier: GPL-2.0
#include "options.h"

#include <gtest/gtest.h>

#include "failure.h"

namespace rdma::mpibench {
namespace {

CommandLine read(const std::vector<std::string>& words) {
  return parse(words, {"latency", "halo"});
}

// Says what parse() has against the words.
std::string complaint(const std::vector<std::string>& words) {
  try {
    read(words);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.cause(), Cause::kInput);
    return failure.what();
  }
  return "nothing";
}

TEST(Options, an_experiment_has_its_own) {
  const CommandLine line = read({"latency", "--sizes", "1,2,1048576", "--rounds", "7", "--", "halo",
                                 "--by", "onesided", "--json", "out"});
  ASSERT_EQ(line.experiments.size(), 2U);
  EXPECT_EQ(line.experiments[0].experiment, "latency");
  EXPECT_EQ(line.experiments[0].sizes, (std::vector<std::size_t>{1, 2, 1048576}));
  EXPECT_EQ(line.experiments[0].rounds, 7U);
  EXPECT_EQ(line.experiments[0].by, "messages");
  EXPECT_EQ(line.experiments[1].by, "onesided");
  EXPECT_TRUE(line.experiments[1].sizes.empty());
  EXPECT_EQ(line.json, "out");
  EXPECT_FALSE(line.help);
}

TEST(Options, help_wins) {
  EXPECT_TRUE(read({"--help"}).help);
  EXPECT_TRUE(read({"latency", "--sizes", "x", "-h"}).help);
}

TEST(Options, an_experiment_must_be_there_and_be_known) {
  EXPECT_NE(complaint({}).find("missing"), std::string::npos);
  EXPECT_NE(complaint({"latency", "--"}).find("missing"), std::string::npos);
  EXPECT_NE(complaint({"--", "latency"}).find("missing"), std::string::npos);
  EXPECT_NE(complaint({"latensy"}).find("'latensy'"), std::string::npos);
  EXPECT_NE(complaint({"latency", "halo"}).find("'halo'"), std::string::npos);
  EXPECT_NE(complaint({"--rounds", "3", "latency"}).find("before"), std::string::npos);
}

TEST(Options, numbers_are_checked) {
  for (const char* bad : {"", "x", "-1", "1x", "1,", ",1", "1,,2", "1e3", "99999999999999999999",
                          "1073741825", " 1"}) {
    EXPECT_NE(complaint({"latency", "--sizes", bad}), "nothing") << bad;
  }
  EXPECT_EQ(complaint({"latency", "--sizes", "0,1073741824"}), "nothing");
  EXPECT_NE(complaint({"latency", "--rounds", "0"}), "nothing");
  EXPECT_NE(complaint({"latency", "--grid", "1"}), "nothing");
  EXPECT_NE(complaint({"latency", "--rounds"}).find("needs a value"), std::string::npos);
  EXPECT_NE(complaint({"latency", "--round"}).find("no option --round;"), std::string::npos);
  EXPECT_NE(complaint({"--bogus"}).find("no option --bogus;"), std::string::npos);
}

TEST(Options, words_are_checked_and_the_right_ones_named) {
  EXPECT_NE(complaint({"halo", "--by", "post"}).find("messages, onesided"), std::string::npos);
  EXPECT_NE(complaint({"halo", "--compute", "think"}).find("spin, sleep"), std::string::npos);
  EXPECT_NE(complaint({"halo", "--operation", "swap"}).find("accumulate"), std::string::npos);
  EXPECT_NE(complaint({"halo", "--speed", "9"}).find("--speed"), std::string::npos);
}

}  // namespace
}  // namespace rdma::mpibench
