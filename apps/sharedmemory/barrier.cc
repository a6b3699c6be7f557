// SPDX-License-Identifier: GPL-2.0
#include "barrier.h"

namespace rdma::sharedmemory {

// Who comes adds one to a word of host 0. The one that makes it a multiple of the number of hosts
// is the last, and notifies the others, so that nobody asks again and again.
void barrier(World& world) {
  world.fence();
  const Times::Doing waiting(world.times(), Activity::kWaiting);
  const int hosts = world.hosts();
  if (hosts == 1) {
    return;
  }
  const auto before = world.fetch_add(0, world.control().arrived.all(), 1);
  if ((before + 1) % static_cast<std::uint64_t>(hosts) != 0) {
    world.await_release();
    return;
  }
  for (int host = 0; host < hosts; ++host) {
    if (host != world.rank()) {
      world.release(host);
    }
  }
}

}  // namespace rdma::sharedmemory
