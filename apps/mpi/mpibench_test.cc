// SPDX-License-Identifier: GPL-2.0
// What mpibench reads, calculates and writes, without MPI.
#include <gtest/gtest.h>

#include "failure.h"
#include "grid.h"
#include "options.h"
#include "pattern.h"
#include "report.h"
#include "statistics.h"
#include "temporary_folder.h"

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
  for (const char* bad :
       {"", "x", "-1", "1x", "1,", ",1", "1,,2", "1e3", "99999999999999999999", "1073741825", " 1"})
    EXPECT_NE(complaint({"latency", "--sizes", bad}), "nothing") << bad;
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

TEST(Options, an_operation_that_the_experiment_lacks_is_refused) {
  Options options;
  EXPECT_EQ(options.operations_of({"put", "get"}), (std::vector<std::string>{"put", "get"}));
  options.operation = "get";
  EXPECT_EQ(options.operations_of({"put", "get"}), std::vector<std::string>{"get"});
  options.operation = "send";
  EXPECT_THROW(options.operations_of({"put", "get"}), Failure);
}

Samples of(std::initializer_list<double> values) {
  Samples samples;
  for (const double value : values) samples.add(value);
  return samples;
}

TEST(Samples, quantiles_are_samples_by_nearest_rank) {
  const Samples samples = of({5, 1, 4, 2, 3, 10, 9, 8, 7, 6});
  EXPECT_EQ(samples.quantile(0), 1);
  EXPECT_EQ(samples.quantile(0.1), 1);
  EXPECT_EQ(samples.quantile(0.11), 2);
  EXPECT_EQ(samples.median(), 5);
  EXPECT_EQ(samples.quantile(0.99), 10);
  EXPECT_EQ(samples.quantile(1), 10);
  EXPECT_EQ(samples.mean(), 5.5);
  EXPECT_EQ(samples.count(), 10U);
}

TEST(Samples, one_is_every_quantile) {
  const Samples samples = of({3});
  EXPECT_EQ(samples.quantile(0), 3);
  EXPECT_EQ(samples.median(), 3);
  EXPECT_EQ(samples.quantile(1), 3);
}

TEST(Samples, nothing_has_no_quantile) {
  EXPECT_THROW((void)Samples().median(), Failure);
  EXPECT_THROW((void)Samples().mean(), Failure);
  EXPECT_THROW((void)of({1}).quantile(1.01), Failure);
  EXPECT_THROW((void)of({1}).quantile(-0.01), Failure);
}

TEST(Overlap, is_the_share_of_the_shorter_that_was_hidden) {
  EXPECT_EQ(overlap(10, 10, 10), 1);    // all of it
  EXPECT_EQ(overlap(10, 10, 20), 0);    // one after the other
  EXPECT_EQ(overlap(10, 10, 15), 0.5);  // half
  EXPECT_EQ(overlap(10, 40, 45), 0.5);  // of the shorter
  EXPECT_EQ(overlap(10, 10, 30), 0);    // noise does not make it less than nothing
  EXPECT_EQ(overlap(10, 10, 5), 1);     // or more than all
  EXPECT_EQ(overlap(0, 10, 10), 0);
}

TEST(LogP, latency_is_what_the_overheads_leave) {
  const LogP of = logp_of(1, 2, 3, 20);
  EXPECT_EQ(of.send_overhead, 1);
  EXPECT_EQ(of.receive_overhead, 2);
  EXPECT_EQ(of.gap, 3);
  EXPECT_EQ(of.latency, 7);
  EXPECT_EQ(logp_of(9, 9, 1, 10).latency, 0);
}

TEST(Share, all_rows_are_somebodys_and_as_equal_as_can_be) {
  for (std::size_t rows = 1; rows < 40; rows++) {
    for (std::size_t ranks = 1; ranks <= rows; ranks++) {
      std::size_t next = 0;
      for (std::size_t rank = 0; rank < ranks; rank++) {
        const auto [first, last] = share_of(rows, ranks, rank);
        EXPECT_EQ(first, next);
        EXPECT_GE(last - first, rows / ranks);
        EXPECT_LE(last - first, rows / ranks + 1);
        next = last;
      }
      EXPECT_EQ(next, rows);
    }
  }
}

TEST(Jacobi, inner_values_are_the_mean_of_four_and_edges_stay) {
  // Three rows of three, and a row of a neighbour's above and below.
  const std::vector<double> old{0, 0, 0, 4, 8, 4, 1, 5, 3, 2, 6, 2, 0, 0, 0};
  std::vector<double> next(old.size());
  jacobi_step(old, next, 3, 3, true, true);
  EXPECT_EQ(next[7], 0.25 * (8 + 6 + 1 + 3));
  for (const std::size_t edge : {3, 4, 5, 6, 8, 9, 10, 11})
    EXPECT_EQ(next[edge], old[edge]) << edge;
}

TEST(Jacobi, a_part_takes_the_neighbours_rows) {
  const std::vector<double> old{0, 40, 0, 0, 8, 0, 0, 20, 0};
  std::vector<double> next(old.size());
  jacobi_step(old, next, 1, 3, false, false);
  EXPECT_EQ(next[4], 0.25 * (40 + 20));
}

namespace fs = std::filesystem;

TEST(Record, is_json) {
  EXPECT_EQ(Record().text(), "{}");
  EXPECT_EQ(Record().add("a", 1).add("b", 0.5).add("c", "x").text(),
            R"({"a": 1, "b": 0.5, "c": "x"})");
  EXPECT_EQ(Record().add("n", 123456789012.0).text(), R"({"n": 123456789012})");
  EXPECT_EQ(Record().add("n", NAN).add("m", -INFINITY).text(), R"({"n": null, "m": null})");
  EXPECT_EQ(Record().add("s", "a\"b\\c\n").text(), R"({"s": "a\"b\\c\u000a"})");
}

TEST(Report, a_file_that_takes_nothing_is_a_failure) {
  Report report("/dev/full");
  EXPECT_THROW(report.write(Record().add("a", 1)), Failure);
  EXPECT_THROW(Report("/no/such/folder/file"), Failure);
}

TEST(Pattern, tells_messages_apart) {
  std::vector<std::byte> bytes(1000);
  fill(bytes, 1, 7);
  EXPECT_TRUE(holds(bytes, 1, 7));
  EXPECT_FALSE(holds(bytes, 0, 7));
  EXPECT_FALSE(holds(bytes, 1, 8));
  bytes[999] ^= std::byte{1};
  EXPECT_FALSE(holds(bytes, 1, 7));
  stamp(bytes, 0x12345);
  EXPECT_TRUE(stamped(bytes, 0x12345));
  EXPECT_FALSE(stamped(bytes, 0x12346));
  EXPECT_TRUE(stamped(std::span(bytes).first(1), 0x45));
  EXPECT_TRUE(stamped({}, 9));
}

// A /sys with two devices, of which the first is this host's.
class TrafficTest : public testing::Test {
 protected:
  void SetUp() override {
    put("class/net/lo/address", "00:00:00:00:00:00");
    put("class/net/lo/statistics/rx_bytes", "1000000");
    put("class/net/eth0/address", "02:00:00:00:00:01");
    put("class/net/eth0/statistics/rx_bytes", "10");
    put("class/net/eth0/statistics/tx_bytes", "20");
    device("weft0", "0200:0000:0001:0000:0000:0000:0000:0000", "3", "4");
    device("weft1", "0200:0000:0002:0000:0000:0000:0000:0000", "500", "600");
  }

  void put(const std::string& file, const std::string& text) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text << '\n';
  }
  void device(const std::string& name, const char* gid, const char* rx, const char* tx) const {
    const std::string port = "class/infiniband/" + name + "/ports/1/";
    put(port + "gids/0", gid);
    put(port + "hw_counters/rx_bytes", rx);
    put(port + "hw_counters/tx_bytes", tx);
  }

  Traffic count() const { return traffic(root_ / "class/net", root_ / "class/infiniband"); }

  const TemporaryFolder folder_;
  const fs::path root_ = folder_.path();
};

TEST_F(TrafficTest, this_hosts_devices_alone_count) {
  const Traffic now = count();
  EXPECT_EQ(now.device_bytes, 7U);
  EXPECT_EQ(now.interface_bytes, 30U);
}

TEST_F(TrafficTest, a_host_without_devices_counts_nothing) {
  fs::remove_all(root_ / "class/infiniband");
  EXPECT_EQ(count().device_bytes, 0U);
  EXPECT_EQ(traffic(root_ / "nowhere", root_ / "nowhere").interface_bytes, 0U);
}

}  // namespace
}  // namespace rdma::mpibench
