// SPDX-License-Identifier: GPL-2.0
// What is left to chance, from a seed.
#pragma once

#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <random>
#include <thread>

namespace rdma::storm {

class Chance {
 public:
  explicit Chance(std::uint64_t seed) : engine_(seed) {}

  // 0 to `end` - 1.
  std::size_t below(std::size_t end) { return engine_() % end; }
  bool one_in(std::size_t times) { return below(times) == 0; }
  // A time between nothing and a quarter of a second, each size as likely: races of microseconds
  // are met as well as those of timers.
  std::chrono::microseconds a_while() {
    static constexpr std::size_t kLongest[] = {1, 100, 1000, 10000, 250000};
    return std::chrono::microseconds(below(kLongest[below(5)]));
  }
  void nap() { std::this_thread::sleep_for(a_while()); }

 private:
  std::mt19937_64 engine_;
};

}  // namespace rdma::storm
