// SPDX-License-Identifier: GPL-2.0
// A line on standard error, once a second, when something takes longer than two.
#pragma once

#include <chrono>
#include <cstddef>
#include <iostream>
#include <string>
#include <utility>

namespace rdma::isosurface {

class Progress {
 public:
  Progress(std::string what, std::size_t all) : what_(std::move(what)), all_(all) {}

  void step() {
    ++done_;
    const auto now = std::chrono::steady_clock::now();
    if (now < next_)
      return;
    next_ = now + std::chrono::seconds(1);
    std::cerr << "isosurface: " + what_ + ' ' + std::to_string(done_) + " of " +
                     std::to_string(all_) + '\n';
  }
  std::size_t done() const { return done_; }

 private:
  std::string what_;
  std::size_t all_;
  std::size_t done_ = 0;
  std::chrono::steady_clock::time_point next_ =
      std::chrono::steady_clock::now() + std::chrono::seconds(2);
};

}  // namespace rdma::isosurface
