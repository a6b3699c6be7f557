// SPDX-License-Identifier: GPL-2.0
// The ranks of this run.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "c_mpi.h"
#include "report.h"

namespace rdma::mpibench {

// Tags of messages: what is measured, what keeps ranks together, and what only fills queues.
enum Tag : int { kData = 1, kControl = 2, kFiller = 3 };

class World {
 public:
  // `report` is rank 0's.
  World(int rank, int size, Report& report) : rank_(rank), size_(size), report_(report) {}

  int rank() const { return rank_; }
  int size() const { return size_; }
  // The first two ranks measure; the others wait in the next barrier.
  bool measures() const { return rank_ < 2; }
  int partner() const { return 1 - rank_; }
  void barrier() const { MPI_Barrier(MPI_COMM_WORLD); }

  // Rank 0 writes it; the others do nothing.
  void write(const Record& record) const {
    if (rank_ == 0) {
      report_.write(record);
    }
  }
  // For all ranks together: throws Failure on each if one of them says no.
  void agree(bool good, const std::string& what) const;

 private:
  int rank_;
  int size_;
  Report& report_;
};

void send(std::span<const std::byte> bytes, int to, int tag);
void receive(std::span<std::byte> bytes, int from, int tag);
// A message without bytes.
void signal(int to);
void await(int from);

inline double now_us() {
  return MPI_Wtime() * 1e6;
}

}  // namespace rdma::mpibench
