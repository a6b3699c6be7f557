// SPDX-License-Identifier: GPL-2.0
#include "report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "pattern.h"
#include "require.h"
#include "traffic.h"

namespace rdma::mpibench {
namespace {

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
    root_ = fs::temp_directory_path() / ("traffic." + std::to_string(getpid()));
    put("class/net/lo/address", "00:00:00:00:00:00");
    put("class/net/lo/statistics/rx_bytes", "1000000");
    put("class/net/eth0/address", "02:00:00:00:00:01");
    put("class/net/eth0/statistics/rx_bytes", "10");
    put("class/net/eth0/statistics/tx_bytes", "20");
    device("weft0", "0200:0000:0001:0000:0000:0000:0000:0000", "3", "4");
    device("weft1", "0200:0000:0002:0000:0000:0000:0000:0000", "500", "600");
  }
  void TearDown() override { fs::remove_all(root_); }

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

  fs::path root_;
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
