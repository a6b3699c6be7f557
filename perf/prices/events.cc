// SPDX-License-Identifier: GPL-2.0
#include "events.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <functional>
#include <thread>

#include "socket.h"
#include "failure.h"
#include "../driver/mark.h"
#include "best.h"

namespace rdma::prices {

namespace {

constexpr int kRounds = 15;
constexpr int kOperations = 1'000'000;
constexpr int kCalls = 100'000;
constexpr int kExchanges = 5'000;
constexpr std::size_t kMessage = 64;

// The processors that this program may use.
std::vector<int> processors() {
  cpu_set_t set;
  std::vector<int> found;
  sched_getaffinity(0, sizeof(set), &set);
  for (int i = 0; i < CPU_SETSIZE; i++) {
    if (CPU_ISSET(i, &set)) {
      found.push_back(i);
    }
  }
  return found;
}

void stay_on(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  require_zero(pthread_setaffinity_np(pthread_self(), sizeof(set), &set), "pthread_setaffinity_np");
}

// Two sides of an exchange. Each takes a turn: the first begins, and the second answers.
struct Sides {
  std::function<void()> first;
  std::function<void()> second;
};

// Half of an exchange in nanoseconds, its sides on these processors.
double half_exchange(const Sides& sides, int here, int there) {
  stay_on(here);
  std::thread other([&] {
    stay_on(there);
    for (int i = 0; i < kRounds * kExchanges; i++) {
      sides.second();
    }
  });
  const double took = best_each_ns(kRounds, kExchanges, sides.first);
  other.join();
  return took / 2;
}

// Moves a message whole; whoever ends it early has ended the measurement.
void send_all(int to) {
  std::array<char, kMessage> bytes{};
  require(write(to, bytes.data(), bytes.size()) == ssize_t{kMessage}, "a message was cut");
}

void receive_all(int from) {
  std::array<char, kMessage> bytes{};
  for (std::size_t got = 0; got < bytes.size();) {
    const ssize_t n = read(from, bytes.data(), bytes.size() - got);
    require(n > 0, "the other side has ended");
    got += static_cast<std::size_t>(n);
  }
}

// Two ends that are connected, of TCP or of two pipes.
class Ends {
 public:
  static Ends tcp() {
    const Descriptor listening = listener({"127.0.0.1", 0}, 1);
    Descriptor near = connect_to(local_address(listening));
    Descriptor far = accept_from(listening);
    no_delay(near);
    no_delay(far);
    Ends made;
    made.kept_.push_back(std::move(near));
    made.kept_.push_back(std::move(far));
    made.from_ = made.to_ = {made.kept_[0].number(), made.kept_[1].number()};
    return made;
  }

  static Ends pipes() {
    Ends made;
    for (std::size_t i = 0; i < 2; i++) {
      std::array<int, 2> both{};
      if (pipe2(both.data(), O_CLOEXEC) != 0) {
        fail_errno("pipe2");
      }
      made.kept_.emplace_back(both[0]);
      made.kept_.emplace_back(both[1]);
      made.from_[1 - i] = both[0];
      made.to_[i] = both[1];
    }
    return made;
  }

  Sides sides() const {
    return {[this] { send_all(to_[0]), receive_all(from_[0]); },
            [this] { receive_all(from_[1]), send_all(to_[1]); }};
  }

 private:
  std::vector<Descriptor> kept_;
  std::array<int, 2> from_{};
  std::array<int, 2> to_{};
};

// A line that each side writes when the other has.
double moved_line(int here, int there) {
  alignas(128) std::atomic<unsigned> turn{0};
  unsigned mine = 0;
  unsigned theirs = 1;
  return half_exchange({[&] {
                          turn.store(++mine * 2 - 1, std::memory_order_release);
                          while (turn.load(std::memory_order_acquire) != mine * 2) {
                          }
                        },
                        [&] {
                          while (turn.load(std::memory_order_acquire) != theirs * 2 - 1) {
                          }
                          turn.store(theirs++ * 2, std::memory_order_release);
                        }},
                       here, there);
}

}  // namespace

std::vector<EventPrice> events() {
  const std::vector<int> there = processors();
  std::atomic<long> own{0};
  require(there.size() > 1, "a wake-up of another processor needs two processors");
  stay_on(there[0]);
  std::vector<EventPrice> found{
      {"locked", best_each_ns(kRounds, kOperations, [&] { own.fetch_add(1); })},
      {"system_call", best_each_ns(kRounds, kCalls, [] { syscall(SYS_getppid); })},
  };
  const Ends pipes = Ends::pipes();
  const Ends tcp = Ends::tcp();
  found.push_back({"wake", half_exchange(pipes.sides(), there[0], there[0])});
  found.push_back({"message", half_exchange(tcp.sides(), there[0], there[0])});
  found.push_back({"line", moved_line(there[0], there[1])});
  found.push_back({"wake_other", half_exchange(pipes.sides(), there[0], there[1])});
  return found;
}

void messages(int rounds) {
  const Ends tcp = Ends::tcp();
  const Sides sides = tcp.sides();
  stay_on(processors()[0]);
  std::thread other([&] {
    for (int i = 0; i < 2 * rounds; i++) {
      sides.second();
    }
  });
  for (int i = 0; i < 2 * rounds; i++) {
    if (i == rounds) {
      perf::mark_begin();
    }
    sides.first();
  }
  perf::mark_end();
  other.join();
}

}  // namespace rdma::prices
