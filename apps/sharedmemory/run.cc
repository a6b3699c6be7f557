// SPDX-License-Identifier: GPL-2.0
#include "run.h"

#include <algorithm>

#include "barrier.h"
#include "control.h"
#include "device.h"
#include "share.h"

namespace rdma::sharedmemory {
namespace {

// The result of all hosts, on host 0; the others wait for it.
Outcome work(World& world, Kernel& kernel) {
  Outcome outcome;
  kernel.fill(world);
  barrier(world);
  world.times().restart();
  kernel.run(world);
  barrier(world);
  world.times().stop();
  outcome.times = world.times();
  if (world.rank() == 0) {
    outcome.result = kernel.gather(world);
  }
  barrier(world);
  return outcome;
}

Outcome run_alone(const Options& options, const Watch& watch) {
  Layout layout;
  const Control control(layout, 1);
  const auto kernel = options.make(layout, 1);
  const Share share(layout.bytes());
  World world(share, control);
  world.watch = watch;
  return work(world, *kernel);
}

}  // namespace

std::string difference_of(const Result& result, const Result& reference) {
  if (result.bytes.size() != reference.bytes.size()) {
    return std::to_string(result.bytes.size()) + " bytes, not " +
           std::to_string(reference.bytes.size());
  }
  const auto [at, other] = std::ranges::mismatch(result.bytes, reference.bytes);
  if (at == result.bytes.end()) {
    return {};
  }
  return "number " +
         std::to_string(static_cast<std::size_t>(at - result.bytes.begin()) / result.element) +
         " is another one";
}

Outcome run(const Options& options, const Watch& watch) {
  if (options.alone) {
    return run_alone(options, watch);
  }
  Layout layout;
  const int hosts = options.host_count();
  const Control control(layout, hosts);
  const auto kernel = options.make(layout, hosts);
  if (options.transport == Transport::kRdma) {
    check_device(options.hosts[static_cast<std::size_t>(options.rank)]);
  }
  const Share share(layout.bytes());
  Peers peers({options.transport, options.hosts, options.rank, options.task(), options.patience},
              share.bytes());
  World world(share, control, &peers);
  world.watch = watch;
  Outcome outcome = work(world, *kernel);
  peers.leave();
  if (outcome.result && options.verify) {
    outcome.difference = difference_of(*outcome.result, *run_alone(options, {}).result);
  }
  return outcome;
}

}  // namespace rdma::sharedmemory
