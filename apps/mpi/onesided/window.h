// SPDX-License-Identifier: GPL-2.0
// A window of MPI whose calls go by RDMA.
#pragma once

#include <numeric>

#include "../c_mpi.h"
#include "sentence.h"
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
inline std::size_t size_of(MPI_Datatype type) {
  int integers = 0;
  int addresses = 0;
  int types = 0;
  int combiner = 0;
  PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  MPI_Aint begin = 0;
  MPI_Aint extent = 0;
  int size = 0;
  PMPI_Type_get_extent(type, &begin, &extent);
  PMPI_Type_size(type, &size);
  require(combiner == MPI_COMBINER_NAMED && begin == 0 && extent == size,
          "a one-sided call has a derived datatype, or one with gaps: use one of the language's, "
          "as MPI_BYTE, or start the program without libonesided.so",
          Cause::kInput);
  return static_cast<std::size_t>(size);
}

inline std::span<std::byte> bytes_of(const Values& values) {
  require(values.count >= 0, "a one-sided call has a count below 0", Cause::kInput);
  return {static_cast<std::byte*>(values.memory),
          static_cast<std::size_t>(values.count) * size_of(values.type)};
}

// into = from op into, value by value.
inline void combine(const Values& from, std::span<std::byte> into, MPI_Op op) {
  if (op == MPI_REPLACE) {
    std::ranges::copy(bytes_of(from), into.begin());
  } else if (op != MPI_NO_OP) {
    // It returns a failure where the program has errors returned.
    const int status = PMPI_Reduce_local(from.memory, into.data(), from.count, from.type, op);
    require(status == MPI_SUCCESS, "the operation is none for this type of value", Cause::kInput);
  }
}

// Where they are in a window: the rank of the window's communicator, and an offset in its units.
struct Place {
  int rank;
  MPI_Aint offset;
};

class Window {
 public:
  // All ranks of `communicator` make it together. `unit` is what the others count offsets in, in
  // bytes. Throws Failure, as all functions do.
  Window(World& world, MPI_Comm communicator, std::span<std::byte> memory, int unit)
      : words_(std::make_unique<Words>()) {
    PMPI_Comm_dup(communicator, &communicator_);
    int size = 0;
    int self = 0;
    PMPI_Comm_size(communicator_, &size);
    PMPI_Comm_rank(communicator_, &self);

    // Which ranks of MPI_COMM_WORLD, whose links there are, these are.
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Group all = MPI_GROUP_NULL;
    PMPI_Comm_group(communicator_, &group);
    PMPI_Comm_group(MPI_COMM_WORLD, &all);
    std::vector<int> ranks(static_cast<std::size_t>(size));
    std::vector<int> of_world(ranks.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    PMPI_Group_translate_ranks(group, size, ranks.data(), all, of_world.data());
    PMPI_Group_free(&group);
    PMPI_Group_free(&all);

    std::vector<Description> own(ranks.size());
    const auto expose = [&](int rank, std::span<std::byte> bytes) {
      constexpr Rights kAll = kRemoteRead | kRemoteWrite | kRemoteAtomic;
      regions_.push_back(world.link(rank).expose(bytes, kAll));
      return regions_.back()->remote().to_bytes();
    };
    for (const int rank : ranks) {
      const auto at = static_cast<std::size_t>(rank);
      own[at].unit = static_cast<std::uint64_t>(unit);
      require(of_world[at] != MPI_UNDEFINED, "a window has ranks that are not of MPI_COMM_WORLD",
              Cause::kInput);
      if (rank != self) {
        own[at].words = expose(of_world[at], std::as_writable_bytes(std::span(*words_)));
        own[at].memory = memory.empty() ? RemoteRegion{}.to_bytes() : expose(of_world[at], memory);
      }
    }
    std::vector<Description> theirs(own.size());
    PMPI_Alltoall(own.data(), sizeof(Description), MPI_BYTE, theirs.data(), sizeof(Description),
                  MPI_BYTE, communicator_);
    for (const int rank : ranks) {
      const auto at = static_cast<std::size_t>(rank);
      const Description& their = theirs[at];
      peers_.push_back({.target = rank == self ? own_target(memory, *words_)
                                               : link_target(world.link(of_world[at]),
                                                             RemoteRegion::from_bytes(their.memory),
                                                             RemoteRegion::from_bytes(their.words)),
                        .unit = their.unit});
    }
    PMPI_Barrier(communicator_);
  }
  // Let go by all ranks together, after synchronize().
  ~Window() { PMPI_Comm_free(&communicator_); }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  // `from` and `into` are whole until the next flush.
  void put(const Values& from, const Place& place) {
    target(place.rank).put(bytes_of(from), byte_of(place));
  }
  void get(const Values& into, const Place& place) {
    target(place.rank).get(bytes_of(into), byte_of(place));
  }
  // Combines `from` with what is there, for each value in one step. What was there before goes to
  // `before`, if its memory is not NULL. Complete when it returns.
  void accumulate(const Values& from, const Values& before, const Place& place, MPI_Op op) {
    Target& at = target(place.rank);
    const std::uint64_t byte = byte_of(place);
    std::vector<std::byte> there(op == MPI_NO_OP ? bytes_of(before).size() : bytes_of(from).size());
    at.flush();
    at.begin_accumulating();
    at.get(there, byte);
    at.flush();
    if (before.memory != nullptr) std::ranges::copy(there, bytes_of(before).begin());
    if (op != MPI_NO_OP) {
      combine(from, there, op);
      at.put(there, byte);
      at.flush();
    }
    at.end_accumulating();
  }
  void compare_swap(const void* expected, const void* desired, void* before, MPI_Datatype type,
                    const Place& place) {
    Target& at = target(place.rank);
    const std::uint64_t byte = byte_of(place);
    const std::size_t size = size_of(type);
    const std::span<std::byte> there(static_cast<std::byte*>(before), size);
    at.flush();
    at.begin_accumulating();
    at.get(there, byte);
    at.flush();
    if (std::memcmp(there.data(), expected, size) == 0) {
      at.put({static_cast<const std::byte*>(desired), size}, byte);
      at.flush();
    }
    at.end_accumulating();
  }

  void flush(int rank) { target(rank).flush(); }
  void flush_all() {
    for (const Peer& peer : peers_) peer.target->flush();
  }
  // MPI_Win_fence(): what all ranks asked for is done.
  void synchronize() {
    flush_all();
    PMPI_Barrier(communicator_);
  }
  // MPI_Win_lock() and its end.
  void lock(int rank, bool alone) {
    Peer& at = peer(rank);
    require(at.held == Held::kNone, Cause::kInput, "rank ", rank,
            " of a window is locked by this rank already");
    at.target->lock(alone);
    at.held = alone ? Held::kAlone : Held::kShared;
  }
  void unlock(int rank) {
    Peer& at = peer(rank);
    require(at.held != Held::kNone, Cause::kInput, "rank ", rank,
            " of a window is not locked by this rank");
    at.target->flush();
    at.target->unlock(at.held == Held::kAlone);
    at.held = Held::kNone;
  }
  void lock_all() {
    for (int rank = 0; rank < size(); rank++) lock(rank, false);
  }
  void unlock_all() {
    for (int rank = 0; rank < size(); rank++) unlock(rank);
  }

 private:
  // What a rank tells each other of its part.
  struct Description {
    std::array<std::byte, RemoteRegion::kBytes> memory{};
    std::array<std::byte, RemoteRegion::kBytes> words{};
    std::uint64_t unit = 1;
  };

  enum class Held { kNone, kShared, kAlone };
  struct Peer {
    std::unique_ptr<Target> target;
    std::uint64_t unit = 1;
    Held held = Held::kNone;
  };
  int size() const { return static_cast<int>(peers_.size()); }
  Peer& peer(int rank) {
    require(rank >= 0 && static_cast<std::size_t>(rank) < peers_.size(), Cause::kInput,
            "a one-sided call names rank ", rank, " of a window of ", peers_.size(), " ranks");
    return peers_[static_cast<std::size_t>(rank)];
  }
  Target& target(int rank) { return *peer(rank).target; }
  // The byte that a place begins at.
  std::uint64_t byte_of(const Place& place) {
    std::uint64_t byte = 0;
    require(place.offset >= 0 && !__builtin_mul_overflow(static_cast<std::uint64_t>(place.offset),
                                                         peer(place.rank).unit, &byte),
            "a one-sided call has an offset outside of its window", Cause::kInput);
    return byte;
  }

  MPI_Comm communicator_ = MPI_COMM_NULL;
  std::unique_ptr<Words> words_;
  std::vector<std::unique_ptr<Region>> regions_;  // of memory and words, for each link
  std::vector<Peer> peers_;
};

}  // namespace rdma::onesided
