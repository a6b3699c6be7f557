// SPDX-License-Identifier: GPL-2.0
// FFT of n = m * m complex points as an m by m matrix, in six steps: transpose, transform the rows,
// multiply by roots of unity, transpose, transform the rows, transpose. Each host has some rows;
// only transposing moves data, from each host to each.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "kernel.h"

namespace rdma::sharedmemory {

using Complex = std::complex<double>;

// The roots of unity that transforms of `length` points use: exp(-2 pi i k / length) for k below
// half of it.
std::vector<Complex> roots_of_unity(std::size_t length);
// Transforms a row in place. Its length is a power of 2, and `roots` are of that length.
void transform(std::span<Complex> row, std::span<const Complex> roots);

class Fft : public Kernel {
 public:
  // `points` is a power of 4, at least hosts * hosts. Throws Failure (kInput) otherwise.
  Fft(Layout& layout, int hosts, std::size_t points, std::uint64_t seed);

  void fill(World& world) override;
  void run(World& world) override;
  Result gather(World& world) override;

  // Point number `index` of the input.
  static Complex input(std::uint64_t seed, std::size_t index);

 private:
  void transpose(World& world);
  void rows(World& world) const;
  void twiddle(World& world) const;
  // For step number `turn`, what is on its way out. Another host may still read the one before.
  const Array<Complex>& outbox() const { return outboxes_[turn_ % 2]; }

  std::size_t side_;  // m
  std::uint64_t seed_;
  std::size_t turn_ = 0;
  Array<Complex> matrix_;  // this host's rows, one after the other
  std::array<Array<Complex>, 2> outboxes_;
  Array<Complex> inbox_;
  std::vector<Complex> roots_;
  std::vector<Complex> twiddles_;  // as matrix_
};

}  // namespace rdma::sharedmemory
