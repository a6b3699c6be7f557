// SPDX-License-Identifier: GPL-2.0
// The links between all ranks of MPI_COMM_WORLD, over which one-sided calls go.
#pragma once

#include "link.h"

namespace rdma::onesided {

class World {
 public:
  // Joins each pair of ranks. All ranks call it, after MPI has begun. A rank listens at the first
  // of its host's IPv4 addresses that an RDMA device has, or at $ONESIDED_ADDRESS; the others learn
  // of it, and of a secret that a caller has to know, through MPI. Throws Failure.
  World();

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(links_.size()); }
  // The link to another rank of MPI_COMM_WORLD; none to this one.
  Link& link(int rank) const { return *links_[static_cast<std::size_t>(rank)]; }

 private:
  int rank_ = 0;
  std::vector<std::unique_ptr<Link>> links_;
};

}  // namespace rdma::onesided
