// SPDX-License-Identifier: GPL-2.0
// Radix sort of 32-bit keys, digit by digit from the lowest. Each host has some of the places; in
// each pass a host writes its keys to the places, on all hosts, that the digit gives them.
#include <numeric>

#include "options.h"

namespace rdma::sharedmemory {
namespace {

constexpr std::size_t kMostBits = 16;
constexpr std::size_t kKeyBits = 32;

class Radix : public Kernel {
 public:
  Radix(Layout& layout, int hosts, const Options& options)
      : count_(options.size),
        bits_(options.bits),
        digits_(std::size_t{1} << std::min(bits_, kMostBits)),
        seed_(options.seed) {
    refuse_if(bits_ < 1 || bits_ > kMostBits, Cause::kInput, "radix: --bits is 1 to 16, not ",
              bits_);
    refuse_if(count_ < static_cast<std::size_t>(hosts) || count_ > UINT32_MAX, Cause::kInput,
              "radix: --size ", count_, " is no number of keys from the number of hosts to ",
              UINT32_MAX);
    const std::size_t most = Part::most(count_, hosts);
    keys_ = {layout.map<std::uint32_t>(most), layout.map<std::uint32_t>(most)};
    sorted_ = layout.map<std::uint32_t>(most);
    counts_ = layout.map<std::uint32_t>(static_cast<std::size_t>(hosts) * digits_);
    own_ = layout.map<std::uint32_t>(digits_);
  }

  void fill(World& world) override {
    const Part part = world.part(count_);
    const auto mine = world.of(from());
    for (std::size_t i = 0; i < part.size(); ++i) mine[i] = radix_input(seed_, part.first + i);
  }

  void run(World& world) override {
    for (std::size_t shift = 0; shift < kKeyBits; shift += bits_) {
      const Counts counts = sort_here(world, shift);
      world.barrier();
      send(world, counts);
      world.barrier();
      ++pass_;
      world.progress("digit", pass_, (kKeyBits + bits_ - 1) / bits_);
    }
  }

  Result gather(World& world) override {
    Result result = Result::with_room<std::uint32_t>(count_);
    for (int host = 0; host < world.hosts(); ++host) {
      const Part part = world.part(count_, host);
      const auto keys = sorted_.at(0, part.size());
      world.fetch(host, from().at(0, keys.count), keys);
      result.put(part.first, world.of(keys));
    }
    return result;
  }

 private:
  using Counts = std::vector<std::size_t>;  // [digit]

  const Array<std::uint32_t>& from() const { return keys_[pass_ % 2]; }
  const Array<std::uint32_t>& to() const { return keys_[(pass_ + 1) % 2]; }

  // Sorts this host's keys by the digit into `sorted_`, tells all hosts how many it has of each,
  // and returns that.
  Counts sort_here(World& world, std::size_t shift) {
    const auto here = world.of(from().at(0, world.part(count_).size()));
    // Other hosts can write the keys meanwhile: counted and placed from one copy.
    const std::vector<std::uint32_t> keys(here.begin(), here.end());
    const auto digit = [&](std::uint32_t key) { return key >> shift & (digits_ - 1); };
    Counts counts(digits_);
    for (const std::uint32_t key : keys) ++counts[digit(key)];
    Counts next(digits_);
    std::exclusive_scan(counts.begin(), counts.end(), next.begin(), std::size_t{0});
    const auto sorted = world.of(sorted_);
    for (const std::uint32_t key : keys) sorted[next[digit(key)]++] = key;
    std::copy(counts.begin(), counts.end(), world.of(own_).begin());
    const auto mine = counts_.at(static_cast<std::size_t>(world.rank()) * digits_, digits_);
    for (int host = 0; host < world.hosts(); ++host) world.write(host, own_.all(), mine);
    return counts;
  }

  // Writes this host's keys to where they belong.
  void send(World& world, const Counts& counts) {
    const auto all = world.of(counts_);
    const auto rank = static_cast<std::size_t>(world.rank());
    std::size_t place = 0;  // where keys of this digit begin, among all
    std::size_t here = 0;   // and where in `sorted_`
    for (std::size_t digit = 0; digit < digits_; ++digit) {
      std::size_t to = place;
      for (std::size_t host = 0; host < static_cast<std::size_t>(world.hosts()); ++host) {
        const std::size_t theirs = all[host * digits_ + digit];
        place += theirs;
        to += host < rank ? theirs : 0;
      }
      // A row of equal digits may reach over several hosts' places.
      std::size_t left = counts[digit];
      refuse_if(to > count_ || left > count_ - to, Cause::kProtocol,
                "another host counted more keys than there are; what it wrote is wrong");
      while (left > 0) {
        const int host = Part::owner(count_, world.hosts(), to);
        const Part part = world.part(count_, host);
        const std::size_t some = std::min(left, part.last - to);
        world.write(host, sorted_.at(here, some), this->to().at(to - part.first, some));
        here += some;
        to += some;
        left -= some;
      }
    }
  }

  std::size_t count_;
  std::size_t bits_;  // of a digit
  std::size_t digits_;
  std::uint64_t seed_;
  std::size_t pass_ = 0;
  std::array<Array<std::uint32_t>, 2> keys_;
  Array<std::uint32_t> sorted_;
  Array<std::uint32_t> counts_;  // [host][digit], written by each host
  Array<std::uint32_t> own_;     // [digit], what this host writes there
};

}  // namespace

std::uint32_t radix_input(std::uint64_t seed, std::size_t index) {
  return static_cast<std::uint32_t>(random_bits(seed, index) >> 32);
}

std::unique_ptr<Kernel> make_radix(Layout& layout, int hosts, const Options& options) {
  return std::make_unique<Radix>(layout, hosts, options);
}

}  // namespace rdma::sharedmemory
