// SPDX-License-Identifier: GPL-2.0
#include "radix.h"

#include <algorithm>
#include <numeric>

#include "barrier.h"
#include "failure.h"
#include "random.h"

namespace rdma::sharedmemory {
namespace {

constexpr unsigned kMostBits = 16;

}  // namespace

Radix::Radix(Layout& layout, int hosts, std::size_t keys, unsigned bits, std::uint64_t seed)
    : count_(keys), bits_(bits), digits_(std::size_t{1} << std::min(bits, kMostBits)), seed_(seed) {
  if (bits < 1 || bits > kMostBits) {
    throw Failure(Cause::kInput, "radix: --bits is 1 to 16, not " + std::to_string(bits));
  }
  if (keys < static_cast<std::size_t>(hosts) || keys > UINT32_MAX) {
    throw Failure(Cause::kInput, "radix: --size " + std::to_string(keys) +
                                     " is no number of keys from the number of hosts "
                                     "to 4294967295");
  }
  const std::size_t most = Part::most(keys, hosts);
  keys_ = {layout.map<std::uint32_t>(most), layout.map<std::uint32_t>(most)};
  sorted_ = layout.map<std::uint32_t>(most);
  counts_ = layout.map<std::uint32_t>(static_cast<std::size_t>(hosts) * digits_);
  own_ = layout.map<std::uint32_t>(digits_);
}

std::uint32_t Radix::input(std::uint64_t seed, std::size_t index) {
  return static_cast<std::uint32_t>(random_bits(seed, index) >> 32);
}

void Radix::fill(World& world) {
  const Part part = Part::of(count_, world.hosts(), world.rank());
  const auto mine = world.of(from());
  for (std::size_t i = 0; i < part.size(); ++i) {
    mine[i] = input(seed_, part.first + i);
  }
}

Radix::Counts Radix::sort_here(World& world, unsigned shift) {
  const auto keys = world.of(from().at(0, Part::of(count_, world.hosts(), world.rank()).size()));
  const auto digit = [&](std::uint32_t key) { return key >> shift & (digits_ - 1); };
  Counts counts(digits_);
  for (const std::uint32_t key : keys) {
    ++counts[digit(key)];
  }
  Counts next(digits_);
  std::exclusive_scan(counts.begin(), counts.end(), next.begin(), std::size_t{0});
  const auto sorted = world.of(sorted_);
  for (const std::uint32_t key : keys) {
    sorted[next[digit(key)]++] = key;
  }
  std::copy(counts.begin(), counts.end(), world.of(own_).begin());
  for (int host = 0; host < world.hosts(); ++host) {
    world.write(host, own_.all(),
                counts_.at(static_cast<std::size_t>(world.rank()) * digits_, digits_));
  }
  return counts;
}

void Radix::send(World& world, const Counts& counts) {
  const auto all = world.of(counts_);
  const auto rank = static_cast<std::size_t>(world.rank());
  std::size_t place = 0;  // where keys of this digit begin, among all
  std::size_t here = 0;   // and where in `sorted_`
  for (std::size_t digit = 0; digit < digits_; ++digit) {
    std::size_t to = place;
    for (int host = 0; host < world.hosts(); ++host) {
      const std::size_t theirs = all[static_cast<std::size_t>(host) * digits_ + digit];
      place += theirs;
      to += static_cast<std::size_t>(host) < rank ? theirs : 0;
    }
    // A row of equal digits may reach over several hosts' places.
    std::size_t left = counts[digit];
    if (to > count_ || left > count_ - to) {
      throw Failure(Cause::kProtocol,
                    "another host counted more keys than there are; what it wrote is wrong");
    }
    while (left > 0) {
      const int host = Part::owner(count_, world.hosts(), to);
      const Part part = Part::of(count_, world.hosts(), host);
      const std::size_t some = std::min(left, part.last - to);
      world.write(host, sorted_.at(here, some), this->to().at(to - part.first, some));
      here += some;
      to += some;
      left -= some;
    }
  }
}

void Radix::run(World& world) {
  const std::size_t passes = (kKeyBits + bits_ - 1) / bits_;
  for (unsigned shift = 0; shift < kKeyBits; shift += bits_) {
    const Counts counts = sort_here(world, shift);
    barrier(world);
    send(world, counts);
    barrier(world);
    ++pass_;
    world.progress("digit", pass_, passes);
  }
}

Result Radix::gather(World& world) {
  Result result = Result::with_room<std::uint32_t>(count_);
  for (int host = 0; host < world.hosts(); ++host) {
    const Part part = Part::of(count_, world.hosts(), host);
    collect(world, host, from(), 0, part.size(), sorted_, result, part.first);
  }
  return result;
}

}  // namespace rdma::sharedmemory
