// SPDX-License-Identifier: GPL-2.0
#include "world.h"

#include "require.h"

namespace rdma::mpibench {

void World::agree(bool good, const std::string& what) const {
  int mine = good ? 1 : 0;
  int all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (all == 0) {
    throw Failure(Cause::kProtocol, what + (good ? " (another rank saw it)" : ""));
  }
}

void send(std::span<const std::byte> bytes, int to, int tag) {
  MPI_Send(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, to, tag, MPI_COMM_WORLD);
}

void receive(std::span<std::byte> bytes, int from, int tag) {
  MPI_Status status;
  MPI_Recv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, from, tag, MPI_COMM_WORLD,
           &status);
  int got = 0;
  MPI_Get_count(&status, MPI_BYTE, &got);
  require(static_cast<std::size_t>(got) == bytes.size(), "a message came with the wrong length");
}

void signal(int to) {
  send({}, to, kControl);
}

void await(int from) {
  receive({}, from, kControl);
}

}  // namespace rdma::mpibench
