// SPDX-License-Identifier: GPL-2.0
// Messages to and fro between the first two ranks.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "options.h"
#include "statistics.h"
#include "world.h"

namespace rdma::mpibench {

// The sizes of the figures in papers: 1 byte to 1 MiB.
std::vector<std::size_t> default_sizes();

// Rounds for a size, unless the options say how many: fewer of large messages.
unsigned rounds_of(const Options& options, std::size_t size);

// The buffers of a round: what is sent from, and received to. Both have the message's size.
struct Buffers {
  std::span<std::byte> out;
  std::span<std::byte> in;
};
using Choose = std::function<Buffers(unsigned round)>;

// Sends a message and waits for the answer, `rounds` times after a warm-up whose every byte is
// checked. In timed rounds the first bytes are checked, and all of the last message. Returns the
// round trips, in microseconds; nothing on rank 1. For the two ranks that measure.
Samples ping_pong(const World& world, unsigned rounds, const Choose& choose);

// How long the first of `window` messages of `size` bytes takes until the last is confirmed,
// divided by `window`: the gap g, in microseconds. The median of `rounds` windows on rank 0, which
// sends.
double gap_of(const World& world, std::size_t size, unsigned rounds);
// How many messages gap_of() keeps on the way.
unsigned window_of(std::size_t size);

}  // namespace rdma::mpibench
