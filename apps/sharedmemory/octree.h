// SPDX-License-Identifier: GPL-2.0
// The tree of Barnes and Hut: a cube that has bodies is cut into eight, until few are in each. Seen
// from far away, a cube is one body at its centre of mass.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rdma::sharedmemory {

struct Vector {
  double x = 0;
  double y = 0;
  double z = 0;

  void add(double times, const Vector& other) {
    x += times * other.x;
    y += times * other.y;
    z += times * other.z;
  }
  // The way from here to there.
  Vector to(const Vector& there) const { return {there.x - x, there.y - y, there.z - z}; }
  double square() const { return x * x + y * y + z * z; }
  bool operator==(const Vector&) const = default;
};

struct Body {
  Vector at;
  double mass = 0;
};

class Octree {
 public:
  // A cube is one body if its side is less than this much of its distance.
  static constexpr double kOpening = 0.6;
  // The distance that is added to all, so that bodies which meet pull with a finite force.
  static constexpr double kSoftening = 0.01;

  // The tree of `bodies` as they are now, bit by bit a function of them alone. It has a copy: they
  // may lie where other hosts write, and what was counted must be what is placed.
  explicit Octree(std::span<const Body> bodies);

  // What pulls body number `index`, and by how many others; the gravitational constant is 1.
  Vector acceleration(std::size_t index, std::uint64_t& interactions) const;

 private:
  static constexpr std::size_t kLeaf = 8;  // bodies that need no further cut
  static constexpr int kDeepest = 40;      // bodies in one place can't be told apart
  static constexpr std::size_t kEighths = 8;

  struct Cube {
    Body whole;  // all of it as one body
    double side = 0;
    std::uint32_t first = 0;  // of order_, or of cubes_ if it is cut
    std::uint32_t count = 0;
    bool cut = false;
  };

  // Makes the cube number `cube` of bodies order_[first, first + count).
  void make(std::size_t cube, Vector centre, double half, std::size_t first, std::size_t count,
            int depth);
  // Sorts those bodies by the eighth that they are in; returns where each eighth begins.
  std::array<std::size_t, kEighths + 1> sort(Vector centre, std::size_t first, std::size_t count);

  std::vector<Body> bodies_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> sorted_;
  std::vector<Cube> cubes_;
};

}  // namespace rdma::sharedmemory
