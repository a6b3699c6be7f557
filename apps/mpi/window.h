// SPDX-License-Identifier: GPL-2.0
// Memory of every rank that the others reach by one-sided calls.
#pragma once

#include <cstddef>
#include <span>

#include "c_mpi.h"

namespace rdma::mpibench {

// `Value` is counted in offsets. All ranks make it, and let it go, together.
template <typename Value>
class Window {
 public:
  // Every value is 0 until a rank changes it. Throws nothing: MPI ends the run if there is no
  // memory.
  explicit Window(std::size_t count) : count_(count) {
    MPI_Win_allocate(static_cast<MPI_Aint>(count * sizeof(Value)), sizeof(Value), MPI_INFO_NULL,
                     MPI_COMM_WORLD, static_cast<void*>(&memory_), &window_);
    for (Value& value : values()) value = Value{};
    MPI_Barrier(MPI_COMM_WORLD);
  }
  ~Window() { MPI_Win_free(&window_); }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  std::span<Value> values() { return {memory_, count_}; }
  MPI_Win get() const { return window_; }

 private:
  std::size_t count_;
  Value* memory_ = nullptr;
  MPI_Win window_ = MPI_WIN_NULL;
};

// The right to one-sided calls on all ranks, until it goes.
class Access {
 public:
  explicit Access(MPI_Win window) : window_(window) { MPI_Win_lock_all(0, window); }
  ~Access() { MPI_Win_unlock_all(window_); }
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;

  // Waits until what this rank asked of `rank` is done there.
  void flush(int rank) const { MPI_Win_flush(rank, window_); }

 private:
  MPI_Win window_;
};

}  // namespace rdma::mpibench
