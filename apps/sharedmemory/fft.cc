// SPDX-License-Identifier: GPL-2.0
// FFT of n = m * m complex points as an m by m matrix, in six steps: transpose, transform the rows,
// multiply by roots of unity, transpose, transform the rows, transpose. Each host has some rows;
// only transposing moves data, from each host to each.
#include <bit>
#include <numbers>

#include "options.h"

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

// A power of 4, with a row for each host at least.
std::size_t side_of(std::size_t points, int hosts) {
  const int bits = std::countr_zero(points);
  refuse_if(!std::has_single_bit(points) || bits % 2 != 0, Cause::kInput,
            "fft: --size is a number of points that is a power of 4, not ", points);
  const std::size_t side = std::size_t{1} << (bits / 2);
  refuse_if(side < static_cast<std::size_t>(hosts), Cause::kInput, "fft: --size ", points,
            " has less than a row for each host");
  return side;
}

class Fft : public Kernel {
 public:
  Fft(Layout& layout, int hosts, const Options& options)
      : side_(side_of(options.size, hosts)), seed_(options.seed), roots_(side_ / 2) {
    for (std::size_t i = 0; i < roots_.size(); ++i) roots_[i] = root(i, side_);
    const std::size_t most = Part::most(side_, hosts) * side_;
    matrix_ = layout.map<Complex>(most);
    outboxes_ = {layout.map<Complex>(most), layout.map<Complex>(most)};
    inbox_ = layout.map<Complex>(most);
  }

  void fill(World& world) override {
    const Part part = world.part(side_);
    const auto mine = world.of(matrix_);
    twiddles_.resize(part.size() * side_);
    for (std::size_t i = 0; i < twiddles_.size(); ++i) {
      mine[i] = fft_input(seed_, part.first * side_ + i);
      twiddles_[i] = root((part.first + i / side_) * (i % side_), side_ * side_);
    }
  }

  void run(World& world) override {
    constexpr std::size_t kSteps = 3;
    transpose(world);
    transform_rows(world);
    const auto matrix = world.of(matrix_);
    for (std::size_t i = 0; i < twiddles_.size(); ++i) matrix[i] = product(matrix[i], twiddles_[i]);
    world.progress("transposition", 1, kSteps);
    transpose(world);
    transform_rows(world);
    world.progress("transposition", 2, kSteps);
    transpose(world);
    world.progress("transposition", kSteps, kSteps);
  }

  Result gather(World& world) override {
    Result result = Result::with_room<Complex>(side_ * side_);
    for (int host = 0; host < world.hosts(); ++host) {
      const Part part = world.part(side_, host);
      const auto rows = inbox_.at(0, part.size() * side_);
      world.fetch(host, matrix_.at(0, rows.count), rows);
      result.put(part.first * side_, world.of(rows));
    }
    result.element = sizeof(double);
    return result;
  }

 private:
  // The rows here that are columns of each host there lie together in the outbox, host by host.
  // Another host may still read the outbox of the step before.
  void transpose(World& world) {
    const Part part = world.part(side_);
    const auto matrix = world.of(matrix_);
    const auto& outbox = outboxes_[turn_++ % 2];
    const auto out = world.of(outbox);
    std::size_t next = 0;
    for (std::size_t column = 0; column < side_; ++column)
      for (std::size_t row = 0; row < part.size(); ++row)
        out[next++] = matrix[row * side_ + column];
    world.barrier();
    for (int step = 0; step < world.hosts(); ++step) {
      const int host = world.host_after(step);
      const Part theirs = world.part(side_, host);
      // The elements for the hosts before this one come first there.
      const std::size_t count = part.size() * theirs.size();
      world.read(host, outbox.at(part.first * theirs.size(), count),
                 inbox_.at(theirs.first * part.size(), count));
    }
    world.fence();
    const auto in = world.of(inbox_);
    next = 0;
    for (int host = 0; host < world.hosts(); ++host) {
      const Part theirs = world.part(side_, host);
      for (std::size_t row = 0; row < part.size(); ++row)
        for (std::size_t column = theirs.first; column < theirs.last; ++column)
          matrix[row * side_ + column] = in[next++];
    }
  }

  void transform_rows(World& world) const {
    for (std::size_t row = 0; row < world.part(side_).size(); ++row)
      transform(world.of(matrix_.at(row * side_, side_)));
  }

  void transform(std::span<Complex> row) const {
    for (std::size_t i = 1, j = 0; i < side_; ++i) {  // j is i with its bits reversed
      std::size_t bit = side_ >> 1;
      for (; (j & bit) != 0; bit >>= 1) j ^= bit;
      j ^= bit;
      if (i < j) std::swap(row[i], row[j]);
    }
    for (std::size_t half = 1; half < side_; half *= 2) {
      const std::size_t stride = side_ / (2 * half);
      for (std::size_t first = 0; first < side_; first += 2 * half) {
        for (std::size_t i = 0; i < half; ++i) {
          const Complex odd = product(row[first + half + i], roots_[i * stride]);
          const Complex even = row[first + i];
          row[first + i] = even + odd;
          row[first + half + i] = even - odd;
        }
      }
    }
  }

  std::size_t side_;  // m
  std::uint64_t seed_;
  std::size_t turn_ = 0;   // transpositions so far
  Array<Complex> matrix_;  // this host's rows, one after the other
  std::array<Array<Complex>, 2> outboxes_;
  Array<Complex> inbox_;
  std::vector<Complex> roots_;     // exp(-2 pi i k / m) for k below half of m
  std::vector<Complex> twiddles_;  // as matrix_
};

}  // namespace

Complex fft_input(std::uint64_t seed, std::size_t index) {
  return {random_unit(seed, 2 * index) - 0.5, random_unit(seed, 2 * index + 1) - 0.5};
}

std::unique_ptr<Kernel> make_fft(Layout& layout, int hosts, const Options& options) {
  return std::make_unique<Fft>(layout, hosts, options);
}

}  // namespace rdma::sharedmemory
