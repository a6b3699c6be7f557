// SPDX-License-Identifier: GPL-2.0
// The three filters between a volume and its picture. Each may run on a host of its own, or all run
// here, with the same result.
#pragma once

#include <functional>
#include <iostream>

#include "canvas.h"
#include "stream.h"

namespace rdma::isosurface {

// How a filter reaches its neighbours.
struct Wiring {
  Transport transport = Transport::kRdma;
  Limit patience = std::chrono::seconds(60);  // with a neighbour that is silent
  Ring ring;                                  // where the filter takes chunks
};

// Connects to a stream's end that listens, or will within ten seconds. Throws Failure.
std::unique_ptr<Link> connect_to(const Wiring& wiring, const Address& address);
// Waits for one peer. Throws Failure.
std::unique_ptr<Link> accept_at(const Wiring& wiring, const Address& address);
// Runs a filter; if it fails, its neighbours are told why.
void run(std::initializer_list<StreamEnd*> ends, const std::function<void()>& filter);

// Each returns when the last filter has done its work, and throws Failure.
//
// Sends the volume, in blocks of `edge` cells.
void read_filter(const Volume& volume, std::int32_t edge, Outlet& out);
// Turns blocks into triangles, where the samples have that value.
void extract_filter(float value, Inlet& in, Outlet& out);
// Draws triangles and has `save` keep the picture; keeps the triangles in `mesh`, if there is one.
void render_filter(const View& view, Inlet& in, Mesh* mesh,
                   const std::function<void(const Grid&, const Picture&)>& save);

// The most triangles that are kept for a file.
inline constexpr std::size_t kMostKept = std::size_t{1} << 25;
// Appends a part of the surface to the mesh. Throws Failure (kInput) if that makes more.
void keep(const Mesh& part, Mesh& mesh, std::size_t most = kMostKept);

// All three in this process.
Picture render(const Volume& volume, float value, std::int32_t edge, const View& view, Mesh* mesh);

// A line on standard error, once a second, when something takes longer than two.
class Progress {
 public:
  Progress(std::string what, std::size_t all) : what_(std::move(what)), all_(all) {}

  void step() {
    ++done_;
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return;
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
