// SPDX-License-Identifier: GPL-2.0
// Prints what bytes and events cost on this machine, in nanoseconds, as one JSON object on a line.
// See perf/run prices, which makes prices in counted instructions of it.
#include <fcntl.h>
#include <nmmintrin.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "failure.h"
#include "pages.h"
#include "socket.h"
#include "../driver/mark.h"

namespace rdma::prices {

namespace {

constexpr int kRounds = 15;

// The least time of several rounds counts, because other work of the machine only adds to one.
// Returns the least of so many rounds, in nanoseconds.
template <typename Work>
double best_ns(int rounds, Work work) {
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < rounds; i++) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    least = std::min(least, took.count());
  }
  return least;
}

// The same for one of n operations.
template <typename Operation>
double best_each_ns(int rounds, int n, Operation operation) {
  return best_ns(rounds,
                 [&] {
                   for (int i = 0; i < n; i++) operation();
                 }) /
         n;
}

// --- Bytes ---

// Nanoseconds a byte. Hot memory is in the second cache, cold memory is in none.
struct BytePrice {
  std::string what;
  double hot;
  double l3;
  double cold;
};

constexpr std::size_t kPage = 4096;
constexpr std::size_t kPiece = 64U << 10;  // what a program sends at once
constexpr std::size_t kHot = 64U << 10;
constexpr std::size_t kL3 = 4U << 20;  // read and written: 8 MiB
constexpr std::size_t kCold = 512U << 20;
// So many bytes a round, but the whole of the memory at least once.
constexpr std::size_t kRound = 64U << 20;
constexpr int kColdRounds = 5;

// Two equal pieces of memory, in large pages as the kernel's own mapping is.
class Memory {
 public:
  Memory() {
    madvise(from(), 2 * kCold, MADV_HUGEPAGE);
    for (std::size_t i = 0; i < 2 * kCold; i += kPage)
      from()[i] = static_cast<std::uint8_t>(i >> 12U);
  }

  std::uint8_t* from() const { return pages_.bytes(); }
  std::uint8_t* to() const { return from() + kCold; }

 private:
  Pages pages_{2 * kCold, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE};
};

void copy_bytes(std::uint8_t* to, const std::uint8_t* from, std::size_t n) {
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n)::"memory");
}

void copy_words(std::uint8_t* to, const std::uint8_t* from, std::size_t n) {
  std::size_t words = n / 8;
  asm volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(words)::"memory");
}

void clear(std::uint8_t* to, const std::uint8_t*, std::size_t n) {
  std::size_t words = n / 8;
  asm volatile("rep stosq" : "+D"(to), "+c"(words) : "a"(0) : "memory");
}

// Three streams, as crc32q gives its result after three cycles and begins anew after one.
__attribute__((target("sse4.2"))) void check(std::uint8_t*, const std::uint8_t* from,
                                             std::size_t n) {
  const auto* words = reinterpret_cast<const std::uint64_t*>(from);
  const std::size_t third = n / 8 / 3;
  std::array<std::uint64_t, 3> sums{};
  for (std::size_t i = 0; i < third; i++) {
    sums[0] = _mm_crc32_u64(sums[0], words[i]);
    sums[1] = _mm_crc32_u64(sums[1], words[third + i]);
    sums[2] = _mm_crc32_u64(sums[2], words[2 * third + i]);
  }
  asm volatile("" ::"r"(sums[0]), "r"(sums[1]), "r"(sums[2]));
}

using Routine = void (*)(std::uint8_t* to, const std::uint8_t* from, std::size_t n);

// Nanoseconds a byte of a routine that walks through so much memory, piece by piece.
double walk(const Memory& memory, Routine routine, std::size_t span, std::size_t piece) {
  const std::size_t times = span < kRound ? kRound / span : 1;
  const double took = best_ns(span == kCold ? kColdRounds : kRounds, [&] {
    for (std::size_t i = 0; i < times; i++) {
      for (std::size_t at = 0; at < span; at += piece)
        routine(memory.to() + at, memory.from() + at, piece);
    }
  });
  return took / static_cast<double>(times * span);
}

// By the instructions that kernels use: copied_b (rep movsb), copied_q (rep movsq, by pages),
// cleared (rep stosq), checked (crc32q, three streams at once). Takes some seconds and a GiB of
// memory; throws Failure.
std::vector<BytePrice> byte_prices() {
  struct Kind {
    const char* what;
    Routine routine;
    std::size_t piece;
  };
  static constexpr std::array kKinds{
      Kind{"copied_b", copy_bytes, kPiece},
      Kind{"copied_q", copy_words, kPage},
      Kind{"cleared", clear, kPage},
      Kind{"checked", check, kPage},
  };
  const Memory memory;
  std::vector<BytePrice> found;
  found.reserve(kKinds.size());
  for (const Kind& kind : kKinds) {
    found.push_back({kind.what, walk(memory, kind.routine, kHot, kind.piece),
                     walk(memory, kind.routine, kL3, kind.piece),
                     walk(memory, kind.routine, kCold, kind.piece)});
  }
  return found;
}

// Nanoseconds that a string instruction takes beyond its bytes: the mean of one that copies 64
// bytes and of one that clears them, whose price is `hot` of copied_b and of cleared.
double string_ns(const std::vector<BytePrice>& of) {
  constexpr std::size_t kShort = 64;
  constexpr int kTimes = 1'000'000;
  alignas(64) std::array<std::uint8_t, 2 * kShort> memory{};
  double price = 0;
  for (const BytePrice& bytes : of) {
    const bool copies = bytes.what == "copied_b";
    if (!copies && bytes.what != "cleared") continue;
    const double took = best_each_ns(kRounds, kTimes, [&] {
      (copies ? copy_bytes : clear)(memory.data(), memory.data() + kShort, kShort);
    });
    price += (took - static_cast<double>(kShort) * bytes.hot) / 2;
  }
  return price;
}

// --- Events ---

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
    if (CPU_ISSET(i, &set)) found.push_back(i);
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
    for (int i = 0; i < kRounds * kExchanges; i++) sides.second();
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
      if (pipe2(both.data(), O_CLOEXEC) != 0) fail_errno("pipe2");
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

// Nanoseconds each.
struct EventPrice {
  std::string what;
  double ns;
};

// message is one of 64 bytes over TCP on loopback, its sender and its receiver on one processor. Of
// two processors: line (one that the other has written) and wake_other. Throws Failure, also
// where there is one processor only.
std::vector<EventPrice> event_prices() {
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

// So many messages there and as many back, between the marks of perf/driver/mark.h.
void messages(int rounds) {
  const Ends tcp = Ends::tcp();
  const Sides sides = tcp.sides();
  stay_on(processors()[0]);
  std::thread other([&] {
    for (int i = 0; i < 2 * rounds; i++) sides.second();
  });
  for (int i = 0; i < 2 * rounds; i++) {
    if (i == rounds) perf::mark_begin();
    sides.first();
  }
  perf::mark_end();
  other.join();
}

void print_all() {
  std::putchar('{');
  const std::vector<BytePrice> bytes = byte_prices();
  for (const BytePrice& price : bytes) {
    std::printf("\"%s\": {\"hot\": %.4f, \"l3\": %.4f, \"cold\": %.4f}, ", price.what.c_str(),
                price.hot, price.l3, price.cold);
  }
  std::printf("\"string\": %.1f", string_ns(bytes));
  for (const EventPrice& price : event_prices())
    std::printf(", \"%s\": %.1f", price.what.c_str(), price.ns);
  std::puts("}");
}

}  // namespace

}  // namespace rdma::prices

int main(int argc, char** argv) {
  const int rounds = argc == 3 && std::strcmp(argv[1], "messages") == 0 ? std::atoi(argv[2]) : 0;
  if (argc != 1 && rounds <= 0) {
    std::fputs(
        "usage: weft-prices              measures; some ten seconds\n"
        "       weft-prices messages N   N messages of 64 B there and back over TCP, between the "
        "marks of perf/count\n",
        stderr);
    return 2;
  }
  try {
    if (rounds > 0)
      rdma::prices::messages(rounds);
    else
      rdma::prices::print_all();
  } catch (const rdma::Failure& failure) {
    std::fprintf(stderr, "weft-prices: %s\n", failure.what());
    return 1;
  }
  return 0;
}
