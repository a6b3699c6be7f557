// SPDX-License-Identifier: GPL-2.0
// What a program does with the device, in pieces that each can fail somewhere.
#pragma once

#include "parts.h"

namespace rdma::torture {

using Body = std::function<void()>;

struct Scenario {
  const char* name;
  // Does what comes before, and returns the piece itself, which throws when a call fails. It
  // runs once, in a process of its own: what a failed call leaves, the process's end clears.
  std::function<Body(const Options& options)> prepare;
  // Clears what a process's end does not, once nothing is to fail any more; or empty.
  std::function<void()> after;
};

const std::vector<Scenario>& scenarios();

}  // namespace rdma::torture
