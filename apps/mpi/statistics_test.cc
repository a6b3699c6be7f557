// SPDX-License-Identifier: GPL-2.0
#include "statistics.h"

#include <gtest/gtest.h>

#include "require.h"

namespace rdma::mpibench {
namespace {

Samples of(std::initializer_list<double> values) {
  Samples samples;
  for (const double value : values) {
    samples.add(value);
  }
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

}  // namespace
}  // namespace rdma::mpibench
