// SPDX-License-Identifier: GPL-2.0
#include "options.h"

#include <gtest/gtest.h>

#include "together.h"

namespace rdma::sharedmemory {
namespace {

Options parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "sharedmemory");
  Options options;
  CLI::App app;
  options.read_from(app);
  app.parse(static_cast<int>(arguments.size()), arguments.data());
  return options;
}

// What parse(), and then the kernel, say against arguments.
std::string refusal(const std::vector<const char*>& arguments) {
  try {
    Layout layout;
    const Options options = parse(arguments);
    options.make(layout, options.host_count());
    return "";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.cause(), Cause::kInput);
    return failure.what();
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
}

TEST(OptionsTest, are_what_the_line_says) {
  const Options options = parse({"lu", "--hosts", "10.0.0.1:7000,[fd00::2]:7001", "--rank", "1",
                                 "--transport", "tcp", "--size", "128", "--block", "8"});
  EXPECT_EQ(options.host_count(), 2);
  EXPECT_EQ(options.hosts[1].text(), "[fd00::2]:7001");
  EXPECT_EQ(options.rank, 1);
  EXPECT_EQ(options.transport, Transport::kTcp);
  EXPECT_EQ(options.task(), "lu --size 128 --steps 2 --block 8 --bits 8 --seed 1");
}

TEST(OptionsTest, wrong_ones_are_refused_with_the_reason) {
  EXPECT_TRUE(says(refusal({}), "KERNEL is required"));
  EXPECT_TRUE(says(refusal({"fff", "--alone"}), "there is no kernel 'fff'"));
  EXPECT_TRUE(says(refusal({"fft"}), "give either --alone, or --hosts"));
  EXPECT_TRUE(says(refusal({"fft", "lu", "--alone"}), "not expected: lu"));
  EXPECT_TRUE(says(refusal({"fft", "--alone", "--size"}), "--size: 1 required"));
  EXPECT_TRUE(says(refusal({"fft", "--alone", "--size", "12x"}), "12x"));
  EXPECT_TRUE(says(refusal({"fft", "--alone", "--size", "-4"}), "-4"));
  EXPECT_TRUE(says(refusal({"fft", "--hosts", "10.0.0.1:1"}), "2 to 64 addresses"));
  EXPECT_TRUE(says(refusal({"fft", "--hosts", "10.0.0.1:1,10.0.0.1:1"}), "twice"));
  EXPECT_TRUE(says(refusal({"fft", "--hosts", "10.0.0.1:1,10.0.0.2:0"}), "own address"));
  EXPECT_TRUE(says(refusal({"fft", "--hosts", "10.0.0.1:1,10.0.0.2:1", "--rank", "2"}),
                   "none of the 2 hosts"));
  EXPECT_NE(refusal({"fft", "--hosts", "10.0.0.1:1,", "--rank", "0"}), "");
  EXPECT_NE(refusal({"fft", "--alone", "--transport", "udp"}), "");
}

TEST(OptionsTest, sizes_that_a_kernel_can_not_have_are_refused) {
  EXPECT_TRUE(says(refusal({"fft", "--alone", "--size", "512"}), "a power of 4"));
  EXPECT_TRUE(says(refusal({"fft", "--size", "4", "--hosts", "a:1,b:1,c:1"}), "a row for each"));
  EXPECT_TRUE(says(refusal({"lu", "--alone", "--size", "100"}), "no multiple of --block 16"));
  EXPECT_TRUE(says(refusal({"lu", "--alone", "--size", "1048576"}), "64 GiB"));
  EXPECT_TRUE(says(refusal({"radix", "--alone", "--bits", "17"}), "1 to 16"));
  EXPECT_TRUE(says(refusal({"radix", "--size", "1", "--hosts", "a:1,b:1"}), "no number of keys"));
  EXPECT_TRUE(says(refusal({"barnes", "--alone", "--size", "4194305"}), "a number of bodies"));
  EXPECT_TRUE(says(refusal({"ocean", "--alone", "--size", "100"}), "a power of 2"));
  EXPECT_TRUE(says(refusal({"ocean", "--size", "4", "--hosts", "a:1,b:1"}), "from 8"));
}

TEST(GreetingTest, comes_as_it_went) {
  const Greeting sent{3, 4, {0x1122334455667788, 4096, 99}, "fft --size 16"};
  const Greeting got = Greeting::from_bytes(sent.to_bytes());
  EXPECT_EQ(got.host, sent.host);
  EXPECT_EQ(got.hosts, sent.hosts);
  EXPECT_EQ(got.share, sent.share);
  EXPECT_EQ(got.task, sent.task);
}

TEST(GreetingTest, what_is_none_is_refused) {
  const auto good = Greeting{0, 2, {}, "fft"}.to_bytes();
  for (std::size_t length = 0; length < good.size() - 3; ++length)
    EXPECT_THROW(Greeting::from_bytes(std::span(good).first(length)), Failure) << length;
  auto wrong = good;
  wrong[0] = std::byte{'x'};
  EXPECT_THROW(Greeting::from_bytes(wrong), Failure);
  auto longer = good;
  longer.resize(good.size() + Greeting::kMostTask);
  EXPECT_THROW(Greeting::from_bytes(longer), Failure);
}

TEST(GreetingTest, nothing_of_it_steers_a_terminal) {
  EXPECT_EQ(Greeting::from_bytes(Greeting{0, 2, {}, "a\x1b[2J\n"}.to_bytes()).task, "a?[2J?");
}

TEST(PartTest, all_things_have_one_owner) {
  for (std::size_t count = 1; count < 40; ++count) {
    for (int hosts = 1; hosts < 8; ++hosts) {
      std::size_t next = 0;
      for (int host = 0; host < hosts; ++host) {
        const Part part = Part::of(count, hosts, host);
        EXPECT_EQ(part.first, next);
        EXPECT_LE(part.size(), Part::most(count, hosts));
        for (; next < part.last; ++next) EXPECT_EQ(Part::owner(count, hosts, next), host);
      }
      EXPECT_EQ(next, count);
    }
  }
}

TEST(LayoutTest, arrays_do_not_overlap_and_are_not_left) {
  Layout layout;
  const auto one = layout.map<char>(3);
  const auto two = layout.map<double>(5);
  EXPECT_GE(two.offset, one.offset + 3);
  EXPECT_EQ(two.offset % Layout::kAlign, 0U);
  EXPECT_GE(layout.bytes(), two.offset + two.all().bytes());
  EXPECT_EQ(two.at(2, 3).offset, two.offset + 16);
  EXPECT_THROW(two.at(2, 4), Failure);
  EXPECT_THROW(two.at(6, 0), Failure);
  EXPECT_THROW(two.at(1, SIZE_MAX), Failure);
  EXPECT_THROW(layout.map<double>(SIZE_MAX / 8), Failure);
}

TEST(TimesTest, go_to_the_innermost_activity) {
  constexpr std::chrono::milliseconds kWhile{20};
  Times times;
  const auto pass = [&] {
    const auto end = Times::Clock::now() + kWhile;
    while (Times::Clock::now() < end) {
    }
  };
  times.restart();
  {
    const Times::Doing locks(times, Activity::kLocks);
    const Times::Doing data(times, Activity::kData);
    pass();
  }
  pass();
  times.stop();
  EXPECT_GE(times.seconds(Activity::kData), 0.02);
  EXPECT_GE(times.seconds(Activity::kComputing), 0.02);
  EXPECT_LT(times.seconds(Activity::kLocks), 0.02);
  EXPECT_EQ(times.seconds(Activity::kWaiting), 0);
}

}  // namespace
}  // namespace rdma::sharedmemory
