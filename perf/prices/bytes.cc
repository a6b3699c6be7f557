// SPDX-License-Identifier: GPL-2.0
#include "bytes.h"

#include <nmmintrin.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "best.h"
#include "pages.h"

namespace rdma::prices {

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kPiece = 64U << 10;  // what a program sends at once
constexpr std::size_t kHot = 64U << 10;
constexpr std::size_t kL3 = 4U << 20;  // read and written: 8 MiB
constexpr std::size_t kCold = 512U << 20;
// So many bytes a round, but the whole of the memory at least once.
constexpr std::size_t kRound = 64U << 20;
constexpr int kRounds = 15;
constexpr int kColdRounds = 5;

// Two equal pieces of memory, in large pages as the kernel's own mapping is.
class Memory {
 public:
  Memory() {
    madvise(from(), 2 * kCold, MADV_HUGEPAGE);
    for (std::size_t i = 0; i < 2 * kCold; i += kPage) {
      from()[i] = static_cast<std::uint8_t>(i >> 12U);
    }
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
      for (std::size_t at = 0; at < span; at += piece) {
        routine(memory.to() + at, memory.from() + at, piece);
      }
    }
  });
  return took / static_cast<double>(times * span);
}

}  // namespace

std::vector<BytePrice> bytes() {
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

double string_ns(const std::vector<BytePrice>& of) {
  constexpr std::size_t kShort = 64;
  constexpr int kTimes = 1'000'000;
  alignas(64) std::array<std::uint8_t, 2 * kShort> memory{};
  double price = 0;
  for (const BytePrice& bytes : of) {
    const bool copies = bytes.what == "copied_b";
    if (!copies && bytes.what != "cleared") {
      continue;
    }
    const double took = best_each_ns(kRounds, kTimes, [&] {
      (copies ? copy_bytes : clear)(memory.data(), memory.data() + kShort, kShort);
    });
    price += (took - static_cast<double>(kShort) * bytes.hot) / 2;
  }
  return price;
}

}  // namespace rdma::prices
