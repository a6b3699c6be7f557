// SPDX-License-Identifier: GPL-2.0
// One of the computations, divided among hosts.
#pragma once

#include <complex>

#include "octree.h"
#include "world.h"

namespace rdma::sharedmemory {

struct Options;

// All of a kernel's result, in an order that does not depend on the number of hosts.
struct Result {
  std::vector<std::byte> bytes;
  std::size_t element = 1;  // bytes of one number in it

  template <typename T>
  static Result with_room(std::size_t count) {
    return {std::vector<std::byte>(count * sizeof(T)), sizeof(T)};
  }
  // Copies elements to their place, counted in elements.
  template <typename T>
  void put(std::size_t first, std::span<T> elements) {
    std::memcpy(bytes.data() + first * sizeof(T), elements.data(), elements.size_bytes());
  }
  template <typename T>
  std::vector<T> as() const {
    std::vector<T> numbers(bytes.size() / sizeof(T));
    std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(T));
    return numbers;
  }
};

class Kernel {
 public:
  virtual ~Kernel() = default;

  // Makes this host's part of the input. A barrier follows.
  virtual void fill(World& world) = 0;
  // The work, with all other hosts. It may be run once. A barrier follows.
  virtual void run(World& world) = 0;
  // Collects the result from all hosts. One host does it, while the others wait at a barrier.
  virtual Result gather(World& world) = 0;
};

// Each maps a kernel's arrays in a layout, the same on every host. Throws Failure (kInput) for a
// size that the kernel can't have on so many hosts.
std::unique_ptr<Kernel> make_fft(Layout& layout, int hosts, const Options& options);
std::unique_ptr<Kernel> make_lu(Layout& layout, int hosts, const Options& options);
std::unique_ptr<Kernel> make_radix(Layout& layout, int hosts, const Options& options);
std::unique_ptr<Kernel> make_barnes(Layout& layout, int hosts, const Options& options);
std::unique_ptr<Kernel> make_ocean(Layout& layout, int hosts, const Options& options);

// The input is a function of its number, so that each host makes its own part of it, and one
// process all of it. A number without order for `index`, another one for each `seed` (the mixer of
// SplitMix64):
constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t mixed = (seed * 0x2545f4914f6cdd1dU + index + 1) * 0x9e3779b97f4a7c15U;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9U;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebU;
  return mixed ^ (mixed >> 31);
}
// The same in [0, 1).
constexpr double random_unit(std::uint64_t seed, std::uint64_t index) {
  return static_cast<double>(random_bits(seed, index) >> 11) * 0x1p-53;
}

using Complex = std::complex<double>;
Complex fft_input(std::uint64_t seed, std::size_t index);
// The diagonal outweighs its rows, so that no pivots are needed.
double lu_input(std::uint64_t seed, std::size_t size, std::size_t row, std::size_t column);
std::uint32_t radix_input(std::uint64_t seed, std::size_t index);
Body barnes_input(std::uint64_t seed, std::size_t count, std::size_t index);
// The function that solves the equation of ocean without a grid, at a point of the unit square.
double ocean_solution(std::uint64_t seed, double x, double y);

}  // namespace rdma::sharedmemory
