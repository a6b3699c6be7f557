// SPDX-License-Identifier: GPL-2.0
// A window of MPI whose calls go by RDMA.
#pragma once

#include <memory>
#include <vector>

#include "../c_mpi.h"
#include "target.h"
#include "world.h"

namespace rdma::onesided {

// Values in the memory of the program.
struct Values {
  void* memory;
  int count;
  MPI_Datatype type;
};

// Bytes of one value of a type. Throws Failure unless the type is one of the language's:
// those alone lie in memory as they are counted.
std::size_t size_of(MPI_Datatype type);

// Where they are in a window: the rank of the window's communicator, and an offset in its units.
struct Place {
  int rank;
  MPI_Aint offset;
};

class Window {
 public:
  // All ranks of `communicator` make it together. `unit` is what the others count offsets in, in
  // bytes. Throws Failure, as all functions do.
  Window(World& world, MPI_Comm communicator, std::span<std::byte> memory, int unit);
  // Let go by all ranks together, after synchronize().
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  // `from` and `into` are whole until the next flush.
  void put(const Values& from, const Place& place);
  void get(const Values& into, const Place& place);
  // Combines `from` with what is there, for each value in one step. What was there before goes to
  // `before`, if its memory is not NULL. Complete when it returns.
  void accumulate(const Values& from, const Values& before, const Place& place, MPI_Op op);
  void compare_swap(const void* expected, const void* desired, void* before, MPI_Datatype type,
                    const Place& place);

  void flush(int rank) { target(rank).flush(); }
  void flush_all();
  // MPI_Win_fence(): what all ranks asked for is done.
  void synchronize();
  // MPI_Win_lock() and its end.
  void lock(int rank, bool alone);
  void unlock(int rank);
  void lock_all();
  void unlock_all();

 private:
  enum class Held { kNone, kShared, kAlone };
  struct Peer {
    std::unique_ptr<Target> target;
    std::uint64_t unit = 1;
    Held held = Held::kNone;
  };
  Peer& peer(int rank);
  Target& target(int rank) { return *peer(rank).target; }
  // The byte that a place begins at.
  std::uint64_t byte_of(const Place& place);

  MPI_Comm communicator_ = MPI_COMM_NULL;
  std::unique_ptr<Words> words_;
  std::vector<std::unique_ptr<Region>> regions_;  // of memory and words, for each link
  std::vector<Peer> peers_;
};

}  // namespace rdma::onesided
