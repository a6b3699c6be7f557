// SPDX-License-Identifier: GPL-2.0
// The processes of a storm. Each goes on until it is killed, but the honest client.
#pragma once

#include <chrono>
#include <random>
#include <thread>

#include "address.h"

namespace rdma::storm {

// What is left to chance, from a seed.
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

struct Options {
  Address address;
  std::uint64_t seed = 1;
  std::string device;     // objects: of this one
  std::string listeners;  // strangers: also connect to the ports in this table of /proc/PID/net
  bool sctp = false;      // strangers: instead of TCP
};

// Listens, accepts, rejects, leaves, and ends, without end.
void serve(const Options& options);
// Connects, sends, and ends, without end.
void connect(const Options& options);
// Connects by plain sockets: half, wrong, reset.
void intrude(const Options& options);
// Makes and ends what needs no connection.
void churn(const Options& options);
// Answers honest clients, one after the other.
void answer(const Options& options);
// One honest client; prints how many milliseconds it took. Throws Failure if it was not served.
void ask(const Options& options);

// Has `life` lived in one child process after the other, some of which are killed in the middle of
// one.
[[noreturn]] void live(const Options& options,
                       void (*life)(const Options& options, Chance& chance));

}  // namespace rdma::storm
