// SPDX-License-Identifier: GPL-2.0
#include <gtest/gtest.h>

#include <atomic>

#include "run.h"
#include "together.h"

namespace rdma::sharedmemory {
namespace {

bool all_are(std::span<const std::uint64_t> numbers, std::uint64_t value) {
  return std::ranges::all_of(numbers, [&](std::uint64_t each) { return each == value; });
}

// Shares with one array of numbers in them.
class WorldTest : public testing::TestWithParam<int> {
 protected:
  static constexpr std::size_t kNumbers = 1000;

  template <typename Work>
  std::vector<std::string> run(const Work& work) {
    return together(hosts, layout, control, work);
  }

  static void expect_all_hear_of(int victim, const std::vector<std::string>& failures) {
    for (std::size_t host = 0; host < static_cast<std::size_t>(victim); ++host)
      EXPECT_TRUE(says(failures[host], "host " + std::to_string(victim) + " ended"));
  }
  // Some hosts hear first that another has failed.
  static void expect_one_says(const std::string& part, const std::vector<std::string>& failures) {
    EXPECT_TRUE(std::ranges::any_of(
        failures, [&](const std::string& each) { return bool(says(each, part)); }));
  }

  int hosts = GetParam();
  Layout layout;
  Control control{layout, hosts};
  Array<std::uint64_t> numbers = layout.map<std::uint64_t>(kNumbers);
  Array<std::uint64_t> scratch = layout.map<std::uint64_t>(kNumbers);
};

INSTANTIATE_TEST_SUITE_P(Hosts, WorldTest, testing::Values(2, 3, 4),
                         [](const auto& hosts) { return "of" + std::to_string(hosts.param); });

TEST_P(WorldTest, reads_what_others_wrote_before_a_barrier) {
  EXPECT_TRUE(all_well(run([&](World& world) {
    const auto rank = static_cast<std::uint64_t>(world.rank());
    for (std::uint64_t round = 1; round <= 50; ++round) {
      for (std::uint64_t& each : world.of(numbers)) each = round * 10 + rank;
      world.barrier();
      for (int host = 0; host < hosts; ++host) {
        world.read(host, numbers.all(), scratch.all());
        world.fence();
        EXPECT_TRUE(all_are(world.of(scratch), round * 10 + static_cast<std::uint64_t>(host)));
      }
      world.barrier();
    }
  })));
}

TEST_P(WorldTest, what_is_written_before_a_barrier_is_there_after_it) {
  EXPECT_TRUE(all_well(run([&](World& world) {
    const auto rank = static_cast<std::size_t>(world.rank());
    const auto all = static_cast<std::size_t>(hosts);
    const std::size_t some = kNumbers / all;
    for (std::uint64_t round = 1; round <= 50; ++round) {
      std::ranges::fill(world.of(scratch), round);
      for (int host = 0; host < hosts; ++host)
        world.write(host, scratch.at(0, some), numbers.at(rank * some, some));
      world.barrier();
      EXPECT_TRUE(all_are(world.of(numbers.at(0, some * all)), round));
      world.barrier();
    }
  })));
}

TEST_P(WorldTest, a_notification_comes_after_what_was_written) {
  EXPECT_TRUE(all_well(run([&](World& world) {
    const int next = (world.rank() + 1) % hosts;
    const int last = (world.rank() + hosts - 1) % hosts;
    // In a ring a host may be ahead of the next by as many rounds as there are others.
    const std::size_t some = kNumbers / static_cast<std::size_t>(hosts);
    for (std::uint64_t round = 1; round <= 200; ++round) {
      const std::size_t turn = round % static_cast<std::size_t>(hosts) * some;
      world.settle(next);
      std::ranges::fill(world.of(scratch.at(turn, some)), round);
      // In a third of the rounds most goes before, without a notification.
      const std::size_t before = round % 3 == 0 ? some - 1 : 0;
      world.write(next, scratch.at(turn, before), numbers.at(turn, before));
      world.write_notify(next, scratch.at(turn + before, some - before),
                         numbers.at(turn + before, some - before));
      world.await(last);
      EXPECT_TRUE(all_are(world.of(numbers.at(turn, some)), round));
    }
  })));
}

TEST_P(WorldTest, a_lock_is_one_hosts_at_a_time) {
  constexpr std::uint64_t kRounds = 40;
  std::atomic<int> inside = 0;
  EXPECT_TRUE(all_well(run([&](World& world) {
    for (std::uint64_t i = 0; i < kRounds; ++i) {
      world.lock(hosts - 1, 1);
      EXPECT_EQ(++inside, 1);
      world.read(0, numbers.at(7, 1), scratch.at(0, 1));
      world.fence();
      ++world.of(scratch)[0];
      world.write(0, scratch.at(0, 1), numbers.at(7, 1));
      --inside;
      world.unlock(hosts - 1, 1);
    }
    world.barrier();
    if (world.rank() == 0) {
      EXPECT_EQ(world.of(numbers)[7], kRounds * static_cast<std::uint64_t>(hosts));
    }
  })));
}

TEST_P(WorldTest, fetch_add_loses_nothing_and_gives_each_value_once) {
  constexpr std::uint64_t kRounds = 100;
  EXPECT_TRUE(all_well(run([&](World& world) {
    for (std::uint64_t i = 0; i < kRounds; ++i) {
      const auto before = world.fetch_add(1, numbers.at(3, 1), 1);
      world.of(scratch)[before] = 1;
    }
    world.barrier();
    // Each value was had by one host.
    std::uint64_t sum = 0;
    for (int host = 0; host < hosts; ++host) {
      world.read(host, scratch.all(), numbers.all());
      world.fence();
      for (const std::uint64_t each : world.of(numbers)) sum += each;
    }
    EXPECT_EQ(sum, kRounds * static_cast<std::uint64_t>(hosts));
  })));
}

TEST_P(WorldTest, a_lock_that_is_not_held_is_not_given_back) {
  expect_one_says("a lock is given back that this host has not",
                  run([&](World& world) { world.unlock(0, 0); }));
}

TEST_P(WorldTest, who_waits_for_a_host_that_ends_hears_of_it) {
  const int victim = hosts - 1;
  const auto begin = Clock::now();
  const auto failures = run([&](World& world) {
    world.barrier();
    if (world.rank() == victim) throw std::runtime_error("the victim");
    world.barrier();
  });
  expect_all_hear_of(victim, failures);
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(10));
}

TEST_P(WorldTest, who_waits_for_a_lock_of_a_host_that_ends_hears_of_it) {
  const int victim = hosts - 1;
  const auto failures = run([&](World& world) {
    if (world.rank() == victim) world.lock(0, 0);
    world.barrier();
    if (world.rank() == victim) throw std::runtime_error("the victim");
    world.lock(0, 0);
  });
  expect_all_hear_of(victim, failures);
}

TEST_P(WorldTest, a_host_that_is_none_is_refused) {
  expect_one_says("there is no host", run([&](World& world) {
                    world.write(hosts, numbers.at(0, 1), scratch.at(0, 1));
                  }));
}

Peers meet(const std::vector<Address>& addresses, int rank, const std::string& task,
           const Share& share, std::chrono::seconds patience = std::chrono::seconds(10)) {
  return {{Transport::kTcp, addresses, rank, task, patience}, share.bytes()};
}

void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(10)); }

// Connects as soon as somebody listens.
std::unique_ptr<Link> knock(const Address& address) {
  for (;; pause()) {
    try {
      return connect(Transport::kTcp, address, std::chrono::seconds(1));
    } catch (const Failure&) {
      continue;
    }
  }
}

TEST(PeersTest, another_task_is_refused_on_both_hosts) {
  const auto addresses = free_addresses(2);
  const auto failures = each_in_a_thread(2, [&](int rank) {
    const Share share(100);
    meet(addresses, rank, rank == 0 ? "lu" : "fft", share);
  });
  EXPECT_TRUE(says(failures[0], "runs 'fft' on 2 hosts, this host 'lu'"));
  EXPECT_TRUE(says(failures[1], "runs 'lu' on 2 hosts, this host 'fft'"));
}

// A host that is the only one of two to come must say this of the other.
void expect_alone_says(int rank, const std::string& what) {
  const auto addresses = free_addresses(2);
  const auto failures = each_in_a_thread(
      1, [&](int) { meet(addresses, rank, "fft", Share(100), std::chrono::seconds(1)); });
  const int other = 1 - rank;
  EXPECT_TRUE(
      says(failures[0], sentence("host ", other, " (",
                                 addresses[static_cast<std::size_t>(other)].text(), ") ", what)));
}

TEST(PeersTest, a_host_that_does_not_come_is_named) { expect_alone_says(0, "did not come"); }

TEST(PeersTest, a_host_that_is_not_there_is_named) { expect_alone_says(1, "is not there"); }

TEST(PeersTest, a_stranger_is_passed_over) {
  const auto addresses = free_addresses(2);
  std::atomic<bool> knocked = false;
  EXPECT_TRUE(all_well(each_in_a_thread(3, [&](int rank) {
    if (rank == 2) {
      const auto link = knock(addresses[0]);
      link->send(std::vector<std::byte>(64, std::byte{7}));
      knocked = true;
      return;
    }
    while (rank == 1 && !knocked) pause();
    const Share share(100);
    meet(addresses, rank, "fft", share).leave();
  })));
}

TEST(PeersTest, a_silent_stranger_holds_nobody_up) {
  const auto addresses = free_addresses(2);
  std::atomic<bool> knocked = false;
  std::atomic<int> met = 0;
  const auto begin = Clock::now();
  EXPECT_TRUE(all_well(each_in_a_thread(3, [&](int rank) {
    if (rank < 2) {
      while (rank == 1 && !knocked) pause();
      const Share share(100);
      Peers peers = meet(addresses, rank, "fft", share, std::chrono::seconds(20));
      ++met;
      peers.leave();
      return;
    }
    const auto link = knock(addresses[0]);
    knocked = true;
    while (met < 2 && Clock::now() - begin < std::chrono::seconds(15)) pause();
    EXPECT_LT(Clock::now() - begin, std::chrono::seconds(8));
  })));
}

TEST(DeviceTest, without_one_the_next_step_is_said) {
  const auto said = each_in_a_thread(1, [](int) { check_device({"127.0.0.1", 7000}); });
  EXPECT_TRUE(says(said[0], "rdma link add weft0 type weft"));
}

}  // namespace
}  // namespace rdma::sharedmemory
