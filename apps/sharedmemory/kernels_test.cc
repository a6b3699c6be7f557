// SPDX-License-Identifier: GPL-2.0
// Each kernel alone, against what is known by another way, and several hosts against one, bit by
// bit.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "run.h"
#include "together.h"

namespace rdma::sharedmemory {
namespace {

Options alone(const std::string& kernel, std::size_t size, std::size_t steps = 2) {
  Options options;
  options.kernel = kernel;
  options.size = size;
  options.steps = steps;
  options.alone = true;
  return options;
}

template <typename T>
std::vector<T> result_of(const Options& options) {
  return run(options).result->as<T>();
}

TEST(FftTest, is_the_sum_that_defines_it) {
  constexpr std::size_t kPoints = 256;
  const auto found = result_of<Complex>(alone("fft", kPoints));
  for (std::size_t k = 0; k < kPoints; ++k) {
    Complex sum = 0;
    for (std::size_t i = 0; i < kPoints; ++i) {
      sum += fft_input(1, i) * std::polar(1.0, -2 * std::numbers::pi *
                                                   static_cast<double>(i * k % kPoints) / kPoints);
    }
    EXPECT_LT(std::abs(found[k] - sum), 1e-12) << k;
  }
}

TEST(LuTest, multiplied_it_is_the_matrix) {
  constexpr std::size_t kSize = 96;
  const auto found = result_of<double>(alone("lu", kSize));
  for (std::size_t row = 0; row < kSize; ++row) {
    for (std::size_t column = 0; column < kSize; ++column) {
      double sum = row <= column ? found[row * kSize + column] : 0;
      for (std::size_t k = 0; k < std::min(row, column + 1); ++k)
        sum += found[row * kSize + k] * found[k * kSize + column];
      EXPECT_NEAR(sum, lu_input(1, kSize, row, column), 1e-11) << row << ", " << column;
    }
  }
}

TEST(RadixTest, is_what_sorting_gives) {
  constexpr std::size_t kKeys = 10000;
  std::vector<std::uint32_t> keys(kKeys);
  for (std::size_t i = 0; i < kKeys; ++i) keys[i] = radix_input(1, i);
  std::ranges::sort(keys);
  for (const std::size_t bits : {1, 5, 8, 16}) {
    Options options = alone("radix", kKeys);
    options.bits = bits;
    EXPECT_EQ(result_of<std::uint32_t>(options), keys) << bits;
  }
}

// So many keys of each digit that the places overflow an int.
TEST(RadixTest, counts_of_another_host_that_are_wrong_are_refused) {
  constexpr std::size_t kKeys = 100;
  constexpr std::size_t kDigits = std::size_t{1} << 16;
  Layout layout;
  const Control control(layout, 2);
  Layout until_counts = layout;
  Options options = alone("radix", kKeys);
  options.bits = 16;
  const auto kernel = make_radix(layout, 2, options);
  for (int array = 0; array < 3; ++array) until_counts.map<std::uint32_t>(kKeys / 2);
  const auto counts = until_counts.map<std::uint32_t>(2 * kDigits);
  const auto failures = together(2, layout, control, [&](World& world) {
    if (world.rank() == 0) {
      kernel->fill(world);
      kernel->run(world);
      return;
    }
    std::ranges::fill(world.of(counts), UINT32_MAX);
    world.write(0, counts.at(kDigits, kDigits), counts.at(kDigits, kDigits));
    world.barrier();
  });
  EXPECT_TRUE(says(failures[0], "another host counted more keys than there are"));
}

std::vector<Body> bodies_of(std::size_t count) {
  std::vector<Body> bodies(count);
  for (std::size_t i = 0; i < count; ++i) bodies[i] = barnes_input(1, count, i);
  return bodies;
}

// What the tree leaves out is one in a hundred.
TEST(OctreeTest, is_near_the_sum_over_all_bodies) {
  constexpr std::size_t kBodies = 500;
  const auto bodies = bodies_of(kBodies);
  const Octree tree(bodies);
  std::uint64_t pulls = 0;
  double wrong = 0;
  double all = 0;
  for (std::size_t i = 0; i < kBodies; ++i) {
    const Vector found = tree.acceleration(i, pulls);
    Vector sum;
    for (std::size_t j = 0; j < kBodies; ++j) {
      const Vector way = bodies[i].at.to(bodies[j].at);
      const double square = way.square() + Octree::kSoftening * Octree::kSoftening;
      sum.add(i == j ? 0 : bodies[j].mass / (square * std::sqrt(square)), way);
    }
    wrong += std::sqrt(sum.to(found).square());
    all += std::sqrt(sum.square());
  }
  EXPECT_LT(wrong, all / 100);
  EXPECT_LT(pulls, kBodies * (kBodies - 1));
}

// Other hosts can write where Barnes has the bodies.
TEST(OctreeTest, bodies_that_change_behind_it_change_nothing) {
  auto bodies = bodies_of(100);
  const Octree tree(bodies);
  std::uint64_t pulls = 0;
  const Vector before = tree.acceleration(5, pulls);
  std::ranges::fill(bodies, Body{{1, 1, 1}, 1});
  const Vector after = tree.acceleration(5, pulls);
  EXPECT_EQ(before, after);
}

TEST(OctreeTest, bodies_in_one_place_end) {
  const std::vector<Body> bodies(100, Body{{0.25, 0.25, 0.25}, 1});
  std::uint64_t pulls = 0;
  const Vector found = Octree(bodies).acceleration(5, pulls);
  EXPECT_EQ(found.x, 0);
  EXPECT_EQ(pulls, bodies.size() - 1);
}

// The error of the grid falls with the square of its cells, and each cycle takes most of the rest
// away.
TEST(OceanTest, is_near_what_solves_the_equation) {
  constexpr std::size_t kCells = 64;
  constexpr std::size_t kCycles = 8;
  const auto found = result_of<double>(alone("ocean", kCells, kCycles));
  double worst = 0;
  for (std::size_t i = 1; i < kCells; ++i) {
    for (std::size_t j = 1; j < kCells; ++j) {
      worst = std::max(worst, std::abs(found[(i - 1) * (kCells - 1) + j - 1] -
                                       ocean_solution(1, static_cast<double>(j) / kCells,
                                                      static_cast<double>(i) / kCells)));
    }
  }
  EXPECT_LT(worst, 0.02);
  const auto* const residuals = &found[(kCells - 1) * (kCells - 1)];
  for (std::size_t i = 1; i < kCycles; ++i) EXPECT_LT(residuals[i], residuals[i - 1] / 4) << i;
}

struct Case {
  const char* kernel;
  std::size_t size;
};

class HostsTest : public testing::TestWithParam<std::tuple<Case, int>> {};

INSTANTIATE_TEST_SUITE_P(Kernels, HostsTest,
                         testing::Combine(testing::Values(Case{"fft", 1024}, Case{"lu", 96},
                                                          Case{"radix", 5001}, Case{"barnes", 301},
                                                          Case{"ocean", 32}),
                                          testing::Values(2, 3, 4)),
                         [](const auto& info) {
                           return std::get<0>(info.param).kernel +
                                  std::to_string(std::get<1>(info.param));
                         });

TEST_P(HostsTest, have_the_result_of_one) {
  const auto [what, hosts] = GetParam();
  const auto addresses = free_addresses(hosts);
  EXPECT_TRUE(all_well(each_in_a_thread(hosts, [&, what = what](int rank) {
    Options options = alone(what.kernel, what.size);
    options.alone = false;
    options.hosts = addresses;
    options.rank = rank;
    options.transport = Transport::kTcp;
    const Outcome outcome = run(options);
    EXPECT_EQ(outcome.difference, "");
    EXPECT_EQ(outcome.result.has_value(), rank == 0);
    EXPECT_GT(outcome.times.seconds(Activity::kWaiting), 0);
  })));
}

TEST(ResultTest, a_difference_is_found_where_it_is) {
  Result one = Result::with_room<double>(10);
  Result other = one;
  EXPECT_EQ(difference_of(one, other), "");
  double seven = 7;
  other.put(3, std::span(&seven, 1));
  EXPECT_EQ(difference_of(one, other), "number 3 is another one");
  EXPECT_EQ(difference_of(one, Result::with_room<double>(9)), "80 bytes, not 72");
}

}  // namespace
}  // namespace rdma::sharedmemory
