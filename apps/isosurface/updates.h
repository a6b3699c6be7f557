// SPDX-License-Identifier: GPL-2.0
// A viewer that moves a window through a volume on another host: what it has not got yet it asks
// for, and measures how long each update takes.
#pragma once

#include "filters.h"

namespace rdma::isosurface {

// Answers a viewer's questions with the blocks, of `edge` points, that the points asked for lie in:
// whole blocks, so that large ones bring more than was asked for. Returns when the viewer is done.
// Throws Failure.
void answer(const Volume& volume, std::int32_t edge, Outlet& out);

// Answers viewers, each in a thread, up to 16 at once, until the process is stopped. What is wrong
// with a viewer is said on standard error, and is no matter to the others. Throws Failure if it
// can't listen.
[[noreturn]] void serve(const Volume& volume, std::int32_t edge, const Wiring& wiring,
                        const Address& address);

// What the viewer asks for when its window has moved.
enum class Update {
  kPartial,   // what is new in the window
  kComplete,  // all of the window
};

struct Moves {
  std::int32_t window = 64;  // points along each edge
  std::int32_t step = 4;     // points along x, back and forth
  std::int32_t count = 100;
  Update update = Update::kPartial;
  bool draw = false;  // the surface as well, after each
  float value = 0;
  View view{};
};

struct Measured {
  std::vector<std::chrono::nanoseconds> responses;  // of each move, until it is there, and drawn
  std::chrono::nanoseconds elapsed{};               // of all of them
  std::uint64_t chunks = 0;
  std::uint64_t bytes = 0;  // of payload
};

// The time in milliseconds within which so large a share of the moves had their response, by the
// nearest rank. The share is above 0 and at most 1.
double response_ms(const Measured& measured, double share);

// A window's part of a volume, as a volume of its own.
Volume window_of(const Volume& whole, const Box& window);

class Viewer {
 public:
  // Gets the first window, at the grid's beginning. Throws Failure.
  Viewer(Inlet& in, const Moves& moves);

  // Moves so often. Throws Failure.
  Measured move();
  // What the window shows now.
  Volume seen() const;
  const Box& window() const { return window_.box; }

 private:
  // Asks for points of the window, and puts what comes into it.
  void fetch(const Box& points, Measured& measured);

  Inlet& in_;
  Moves moves_;
  Grid grid_;
  Brick window_;
  std::int32_t step_;  // along x
};

}  // namespace rdma::isosurface
