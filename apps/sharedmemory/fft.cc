// SPDX-License-Identifier: GPL-2.0
#include "fft.h"

#include <bit>
#include <numbers>
#include <utility>

#include "barrier.h"
#include "failure.h"
#include "random.h"

namespace rdma::sharedmemory {
namespace {

Complex root(std::size_t power, std::size_t length) {
  return std::polar(
      1.0, -2 * std::numbers::pi * static_cast<double>(power) / static_cast<double>(length));
}

// std::complex multiplies with a look at infinities, which takes several times as long.
Complex product(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

std::size_t side_of(std::size_t points, int hosts) {
  const int bits = std::countr_zero(points);
  if (!std::has_single_bit(points) || bits % 2 != 0) {
    throw Failure(Cause::kInput, "fft: --size is a number of points that is a power of 4, not " +
                                     std::to_string(points));
  }
  const std::size_t side = std::size_t{1} << (bits / 2);
  if (side < static_cast<std::size_t>(hosts)) {
    throw Failure(Cause::kInput,
                  "fft: --size " + std::to_string(points) + " has less than a row for each host");
  }
  return side;
}

}  // namespace

std::vector<Complex> roots_of_unity(std::size_t length) {
  std::vector<Complex> roots(length / 2);
  for (std::size_t i = 0; i < roots.size(); ++i) {
    roots[i] = root(i, length);
  }
  return roots;
}

void transform(std::span<Complex> row, std::span<const Complex> roots) {
  const std::size_t length = row.size();
  for (std::size_t i = 1, j = 0; i < length; ++i) {  // j is i with its bits reversed
    std::size_t bit = length >> 1;
    for (; (j & bit) != 0; bit >>= 1) {
      j ^= bit;
    }
    j ^= bit;
    if (i < j) {
      std::swap(row[i], row[j]);
    }
  }
  for (std::size_t half = 1; half < length; half *= 2) {
    const std::size_t stride = length / (2 * half);
    for (std::size_t first = 0; first < length; first += 2 * half) {
      for (std::size_t i = 0; i < half; ++i) {
        const Complex odd = product(row[first + half + i], roots[i * stride]);
        const Complex even = row[first + i];
        row[first + i] = even + odd;
        row[first + half + i] = even - odd;
      }
    }
  }
}

Fft::Fft(Layout& layout, int hosts, std::size_t points, std::uint64_t seed)
    : side_(side_of(points, hosts)), seed_(seed), roots_(roots_of_unity(side_)) {
  const std::size_t most = Part::most(side_, hosts) * side_;
  matrix_ = layout.map<Complex>(most);
  outboxes_ = {layout.map<Complex>(most), layout.map<Complex>(most)};
  inbox_ = layout.map<Complex>(most);
}

Complex Fft::input(std::uint64_t seed, std::size_t index) {
  return {random_unit(seed, 2 * index) - 0.5, random_unit(seed, 2 * index + 1) - 0.5};
}

void Fft::fill(World& world) {
  const Part part = Part::of(side_, world.hosts(), world.rank());
  const auto mine = world.of(matrix_);
  twiddles_.resize(part.size() * side_);
  for (std::size_t i = 0; i < twiddles_.size(); ++i) {
    mine[i] = input(seed_, part.first * side_ + i);
    twiddles_[i] = root((part.first + i / side_) * (i % side_), side_ * side_);
  }
}

// The rows here that are columns of each host there lie together in the outbox, host by host.
void Fft::transpose(World& world) {
  const int hosts = world.hosts();
  const Part part = Part::of(side_, hosts, world.rank());
  const auto matrix = world.of(matrix_);
  const auto out = world.of(outbox());
  std::size_t next = 0;
  for (int host = 0; host < hosts; ++host) {
    const Part theirs = Part::of(side_, hosts, host);
    for (std::size_t column = theirs.first; column < theirs.last; ++column) {
      for (std::size_t row = 0; row < part.size(); ++row) {
        out[next++] = matrix[row * side_ + column];
      }
    }
  }
  barrier(world);
  // Each begins with another host, so that not all read from the same.
  for (int step = 0; step < hosts; ++step) {
    const int host = (world.rank() + step) % hosts;
    const Part theirs = Part::of(side_, hosts, host);
    // What is for the hosts before this one comes first there.
    world.read(host, outbox().at(part.first * theirs.size(), part.size() * theirs.size()),
               inbox_.at(theirs.first * part.size(), theirs.size() * part.size()));
  }
  world.fence();
  const auto in = world.of(inbox_);
  next = 0;
  for (int host = 0; host < hosts; ++host) {
    const Part theirs = Part::of(side_, hosts, host);
    for (std::size_t row = 0; row < part.size(); ++row) {
      for (std::size_t column = theirs.first; column < theirs.last; ++column) {
        matrix[row * side_ + column] = in[next++];
      }
    }
  }
  ++turn_;
}

void Fft::rows(World& world) const {
  const Part part = Part::of(side_, world.hosts(), world.rank());
  for (std::size_t row = 0; row < part.size(); ++row) {
    transform(world.of(matrix_.at(row * side_, side_)), roots_);
  }
}

void Fft::twiddle(World& world) const {
  const auto matrix = world.of(matrix_);
  for (std::size_t i = 0; i < twiddles_.size(); ++i) {
    matrix[i] = product(matrix[i], twiddles_[i]);
  }
}

void Fft::run(World& world) {
  constexpr std::size_t kSteps = 3;
  transpose(world);
  rows(world);
  twiddle(world);
  world.progress("transposition", 1, kSteps);
  transpose(world);
  rows(world);
  world.progress("transposition", 2, kSteps);
  transpose(world);
  world.progress("transposition", kSteps, kSteps);
}

Result Fft::gather(World& world) {
  Result result = Result::with_room<Complex>(side_ * side_);
  for (int host = 0; host < world.hosts(); ++host) {
    const Part part = Part::of(side_, world.hosts(), host);
    collect(world, host, matrix_, 0, part.size() * side_, inbox_, result, part.first * side_);
  }
  result.element = sizeof(double);
  return result;
}

}  // namespace rdma::sharedmemory
