// SPDX-License-Identifier: GPL-2.0
#include "experiment.h"

#include <array>

namespace rdma::mpibench {

std::span<const Experiment> experiments() {
  static constexpr auto kAll = std::to_array<Experiment>({
      {"latency", latency, "half a round trip of a message, by its size"},
      {"bandwidth", bandwidth, "bytes a second: one way, both ways in turn, both ways at once"},
      {"logp", logp, "LogP parameters by size: os, or, g, L"},
      {"buffers", buffers, "latency when 0 to 100 % of the messages use a buffer again"},
      {"unexpected", unexpected, "latency behind messages that nobody has asked for yet"},
      {"posted", posted, "latency behind receives that wait for other messages"},
      {"overlap", overlapping, "how much of a transfer is hidden behind computing"},
      {"progress", progress, "what a partner waits for while this rank computes"},
      {"allreduce", allreduce, "a sum over all ranks, by its size"},
      {"onesided", onesided, "put, get, accumulate, fetch-and-add and their completion"},
      {"halo", halo, "a 2-D Jacobi iteration on all ranks, checked against one"},
      {"farm", farm, "tasks dealt out to all ranks, checked against one"},
  });
  return kAll;
}

}  // namespace rdma::mpibench
