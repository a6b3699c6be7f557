// SPDX-License-Identifier: GPL-2.0
// The processes of a storm. Each goes on until it is killed, but the honest client.
#pragma once

#include <fcntl.h>

#include <array>
#include <atomic>
#include <chrono>
#include <new>
#include <random>
#include <thread>

#include "address.h"
#include "descriptor.h"
#include "pages.h"

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

// How often each thing began, in a file that all processes of the storm share: they are killed, and
// could not say it.
enum Count : std::size_t {
  kListens,   // servers that listened
  kAccepts,   // requests that a server accepted
  kConnects,  // clients that reached ESTABLISHED
  kMessages,  // completions without error
  kFailures,  // completions with an error
  kAttempts,  // sockets of strangers
  kRequests,  // MPA Requests of strangers
  kTogether,  // disconnects beside a destroy of the same queue pair
  kObjects,   // regions, windows, queues and queue pairs without a connection
  kCounts
};
inline constexpr std::array<const char*, kCounts> kNames = {"listens",  "accepts",  "connects",
                                                            "messages", "failures", "attempts",
                                                            "requests", "together", "objects"};

using Counts = std::array<std::atomic<std::uint64_t>, kCounts>;

// The counts of that file, which is made if it is not there; or of this process alone, without a
// name. Throws Failure.
inline Counts& counts(const std::string& file = "") {
  static Counts alone{};
  static Counts* chosen = &alone;
  if (file.empty()) return *chosen;
  const Descriptor shared(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  must(ftruncate(shared.number(), sizeof(Counts)), "writing " + file);
  static const Pages pages(sizeof(Counts), MAP_SHARED, shared.number());
  chosen = std::launder(reinterpret_cast<Counts*>(pages.bytes()));
  return *chosen;
}

inline void count(Count which, std::uint64_t by = 1) {
  counts()[which].fetch_add(by, std::memory_order_relaxed);
}

struct Options {
  Address address;
  std::uint64_t seed = 1;
  std::string device;     // objects: of this one
  std::string listeners;  // strangers: also connect to the ports in this table of /proc/PID/net
  bool sctp = false;      // strangers: instead of TCP
};

// The parts; kParts in main.cc says of each what it does.
void serve(const Options& options);
void connect(const Options& options);
void intrude(const Options& options);
void churn(const Options& options);
void answer(const Options& options);
void ask(const Options& options);

// Lives in one child process after the other, some of which are killed in the middle of a life.
[[noreturn]] void live(const Options& options,
                       void (*life)(const Options& options, Chance& chance));

}  // namespace rdma::storm
