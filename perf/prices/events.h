// SPDX-License-Identifier: GPL-2.0
// What a locked operation, a line of another processor, a system call and a wake-up cost.
#pragma once

#include <string>
#include <vector>

namespace rdma::prices {

// Nanoseconds each.
struct EventPrice {
  std::string what;
  double ns;
};

// message is one of 64 bytes over TCP on loopback, its sender and its receiver on one processor. Of
// two processors: line (one that the other has written) and wake_other. Throws Failure, also
// where there is one processor only.
std::vector<EventPrice> events();

// So many messages there and as many back, between the marks of perf/driver/mark.h.
void messages(int rounds);

}  // namespace rdma::prices
