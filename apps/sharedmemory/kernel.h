// SPDX-License-Identifier: GPL-2.0
// One of the computations, divided among hosts. Its constructor maps its arrays in a layout, the
// same on every host.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "world.h"

namespace rdma::sharedmemory {

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
  void put(std::size_t first, std::span<const T> elements) {
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
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  // Makes this host's part of the input. A barrier follows.
  virtual void fill(World& world) = 0;
  // The work, with all other hosts. It may be run once. A barrier follows.
  virtual void run(World& world) = 0;
  // Collects the result from all hosts. One host does it, while the others wait at a barrier.
  virtual Result gather(World& world) = 0;

 protected:
  Kernel() = default;
};

// Copies a host's elements to where they belong in a result, by way of `scratch` of this host.
template <typename T>
void collect(World& world, int host, const Array<T>& from, std::size_t first, std::size_t count,
             const Array<T>& scratch, Result& result, std::size_t place) {
  while (count > 0) {
    const std::size_t some = count < scratch.count ? count : scratch.count;
    const auto into = scratch.at(0, some);
    world.read(host, from.at(first, some), into);
    world.fence();
    result.put(place, std::span<const T>(world.of(into)));
    first += some;
    place += some;
    count -= some;
  }
}

}  // namespace rdma::sharedmemory
