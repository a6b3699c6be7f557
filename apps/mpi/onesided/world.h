// SPDX-License-Identifier: GPL-2.0
// The links between all ranks of MPI_COMM_WORLD, over which one-sided calls go.
#ifndef WEFT_APPS_MPI_ONESIDED_WORLD_H
#define WEFT_APPS_MPI_ONESIDED_WORLD_H

#include <memory>
#include <vector>

#include "link.h"

namespace onesided {

class World {
 public:
  // Joins each pair of ranks. All ranks call it, after MPI has begun. A rank listens at the first
  // of its host's IPv4 addresses that an RDMA device has, or at $ONESIDED_ADDRESS; the others learn
  // of it, and of a secret that a caller has to know, through MPI. Throws apps::Failure.
  World();

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(links_.size()); }
  // The link to another rank of MPI_COMM_WORLD; none to this one.
  apps::Link& link(int rank) const { return *links_[static_cast<std::size_t>(rank)]; }

 private:
  int rank_ = 0;
  std::vector<std::unique_ptr<apps::Link>> links_;
};

}  // namespace onesided

#endif  // WEFT_APPS_MPI_ONESIDED_WORLD_H
