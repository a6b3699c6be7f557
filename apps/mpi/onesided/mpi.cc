// SPDX-License-Identifier: GPL-2.0
// MPI's functions for one-sided calls, in place of the library's own ones, which stay to be reached
// as PMPI_*. Loaded before a program (LD_PRELOAD), this carries its one-sided calls by RDMA;
// everything else goes as MPI is told. What is not carried ends the run with a sentence: half of a
// window's calls by another way would be unordered to the rest.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <memory>
#include <string>

#include "../c_mpi.h"
#include "failure.h"
#include "window.h"
#include "world.h"

namespace onesided {

namespace {

// Between MPI_Init() and MPI_Finalize(), as MPI itself is one for the process.
struct Layer {
  std::unique_ptr<World> world;
  std::map<MPI_Win, std::unique_ptr<Window>> windows;
};

Layer& layer() {
  static Layer only;
  return only;
}

[[noreturn]] void end(const char* call, const std::string& why) {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::fprintf(stderr, "onesided: rank %d: %s: %s\n", rank, call, why.c_str());
  std::fflush(stderr);
  PMPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

// Runs what a call does. A failure ends the run, as MPI's do by default.
template <typename Action>
int guarded(const char* call, Action action) {
  try {
    action();
  } catch (const std::exception& failure) {
    end(call, failure.what());
  }
  return MPI_SUCCESS;
}

// The same on a window, if it is one of ours; otherwise what MPI does.
template <typename Action, typename Otherwise>
int on(const char* call, MPI_Win window, Action action, Otherwise otherwise) {
  const auto found = layer().windows.find(window);
  if (found == layer().windows.end()) {
    return otherwise();
  }
  return guarded(call, [&] { action(*found->second); });
}

template <typename Otherwise>
int refuse(const char* call, MPI_Win window, Otherwise otherwise) {
  return on(
      call, window,
      [](Window&) {
        throw apps::Failure(apps::Cause::kInput,
                            "this call is not carried by RDMA: start the program without "
                            "libonesided.so, or use fence, lock, flush, put, get and accumulate");
      },
      otherwise);
}

int begun(int status) {
  return status != MPI_SUCCESS
             ? status
             : guarded("MPI_Init", [] { layer().world = std::make_unique<World>(); });
}

int made(const char* call, int status, void* memory, MPI_Aint size, int unit, MPI_Comm communicator,
         MPI_Win* window) {
  if (status != MPI_SUCCESS) {
    return status;
  }
  return guarded(call, [&] {
    const std::span<std::byte> bytes(static_cast<std::byte*>(memory),
                                     static_cast<std::size_t>(size));
    layer().windows[*window] = std::make_unique<Window>(*layer().world, communicator, bytes, unit);
  });
}

// One count and one type for both ends: types of the language alone are the same in both.
Values same(const void* memory, int count, MPI_Datatype type, int target_count,
            MPI_Datatype target_type) {
  const auto size = static_cast<long long>(size_of(type));
  const auto target_size = static_cast<long long>(size_of(target_type));
  if (count * size != target_count * target_size) {
    throw apps::Failure(apps::Cause::kInput, "the two ends of a one-sided call differ in length");
  }
  return {const_cast<void*>(memory), count, type};
}

}  // namespace

}  // namespace onesided

// The names, and those of the parameters' types, are MPI's.
extern "C" {

using onesided::Values;
using onesided::Window;

int MPI_Init(int* argc, char*** argv) {
  return onesided::begun(PMPI_Init(argc, argv));
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  // A link is for one thread at a time.
  const int most = required < MPI_THREAD_SERIALIZED ? required : MPI_THREAD_SERIALIZED;
  return onesided::begun(PMPI_Init_thread(argc, argv, most, provided));
}

int MPI_Finalize() {
  PMPI_Barrier(MPI_COMM_WORLD);  // nobody needs this rank's links any more
  onesided::layer().windows.clear();
  onesided::layer().world.reset();
  return PMPI_Finalize();
}

int MPI_Win_create(void* base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm communicator,
                   MPI_Win* window) {
  return onesided::made("MPI_Win_create",
                        PMPI_Win_create(base, size, unit, info, communicator, window), base, size,
                        unit, communicator, window);
}

int MPI_Win_allocate(MPI_Aint size, int unit, MPI_Info info, MPI_Comm communicator, void* base,
                     MPI_Win* window) {
  const int status = PMPI_Win_allocate(size, unit, info, communicator, base, window);
  return onesided::made("MPI_Win_allocate", status,
                        status == MPI_SUCCESS ? *static_cast<void**>(base) : nullptr, size, unit,
                        communicator, window);
}

int MPI_Win_free(MPI_Win* window) {
  const auto found = onesided::layer().windows.find(*window);
  if (found != onesided::layer().windows.end()) {
    onesided::guarded("MPI_Win_free", [&] { found->second->synchronize(); });
    onesided::layer().windows.erase(found);
  }
  return PMPI_Win_free(window);
}

int MPI_Put(const void* from, int count, MPI_Datatype type, int rank, MPI_Aint offset,
            int target_count, MPI_Datatype target_type, MPI_Win window) {
  return onesided::on(
      "MPI_Put", window,
      [&](Window& ours) {
        const Values values = onesided::same(from, count, type, target_count, target_type);
        if (rank != MPI_PROC_NULL) {
          ours.put(values, {rank, offset});
        }
      },
      [&] { return PMPI_Put(from, count, type, rank, offset, target_count, target_type, window); });
}

int MPI_Get(void* into, int count, MPI_Datatype type, int rank, MPI_Aint offset, int target_count,
            MPI_Datatype target_type, MPI_Win window) {
  return onesided::on(
      "MPI_Get", window,
      [&](Window& ours) {
        const Values values = onesided::same(into, count, type, target_count, target_type);
        if (rank != MPI_PROC_NULL) {
          ours.get(values, {rank, offset});
        }
      },
      [&] { return PMPI_Get(into, count, type, rank, offset, target_count, target_type, window); });
}

int MPI_Accumulate(const void* from, int count, MPI_Datatype type, int rank, MPI_Aint offset,
                   int target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win window) {
  return onesided::on(
      "MPI_Accumulate", window,
      [&](Window& ours) {
        const Values values = onesided::same(from, count, type, target_count, target_type);
        if (rank != MPI_PROC_NULL && op != MPI_NO_OP) {
          ours.accumulate(values, {nullptr, 0, type}, {rank, offset}, op);
        }
      },
      [&] {
        return PMPI_Accumulate(from, count, type, rank, offset, target_count, target_type, op,
                               window);
      });
}

int MPI_Get_accumulate(const void* from, int count, MPI_Datatype type, void* before,
                       int before_count, MPI_Datatype before_type, int rank, MPI_Aint offset,
                       int target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win window) {
  return onesided::on(
      "MPI_Get_accumulate", window,
      [&](Window& ours) {
        const Values there =
            onesided::same(before, before_count, before_type, target_count, target_type);
        const Values values = op == MPI_NO_OP
                                  ? Values{nullptr, 0, target_type}
                                  : onesided::same(from, count, type, target_count, target_type);
        if (rank != MPI_PROC_NULL) {
          ours.accumulate(values, there, {rank, offset}, op);
        }
      },
      [&] {
        return PMPI_Get_accumulate(from, count, type, before, before_count, before_type, rank,
                                   offset, target_count, target_type, op, window);
      });
}

int MPI_Fetch_and_op(const void* from, void* before, MPI_Datatype type, int rank, MPI_Aint offset,
                     MPI_Op op, MPI_Win window) {
  return onesided::on(
      "MPI_Fetch_and_op", window,
      [&](Window& ours) {
        if (rank != MPI_PROC_NULL) {
          ours.accumulate({const_cast<void*>(from), 1, type}, {before, 1, type}, {rank, offset},
                          op);
        }
      },
      [&] { return PMPI_Fetch_and_op(from, before, type, rank, offset, op, window); });
}

int MPI_Compare_and_swap(const void* desired, const void* expected, void* before, MPI_Datatype type,
                         int rank, MPI_Aint offset, MPI_Win window) {
  return onesided::on(
      "MPI_Compare_and_swap", window,
      [&](Window& ours) {
        if (rank != MPI_PROC_NULL) {
          ours.compare_swap(expected, desired, before, type, {rank, offset});
        }
      },
      [&] { return PMPI_Compare_and_swap(desired, expected, before, type, rank, offset, window); });
}

int MPI_Win_fence(int assertion, MPI_Win window) {
  return onesided::on(
      "MPI_Win_fence", window, [](Window& ours) { ours.synchronize(); },
      [&] { return PMPI_Win_fence(assertion, window); });
}

int MPI_Win_lock(int kind, int rank, int assertion, MPI_Win window) {
  return onesided::on(
      "MPI_Win_lock", window,
      [&](Window& ours) {
        if (rank != MPI_PROC_NULL) {
          ours.lock(rank, kind == MPI_LOCK_EXCLUSIVE);
        }
      },
      [&] { return PMPI_Win_lock(kind, rank, assertion, window); });
}

int MPI_Win_unlock(int rank, MPI_Win window) {
  return onesided::on(
      "MPI_Win_unlock", window,
      [&](Window& ours) {
        if (rank != MPI_PROC_NULL) {
          ours.unlock(rank);
        }
      },
      [&] { return PMPI_Win_unlock(rank, window); });
}

int MPI_Win_lock_all(int assertion, MPI_Win window) {
  return onesided::on(
      "MPI_Win_lock_all", window, [](Window& ours) { ours.lock_all(); },
      [&] { return PMPI_Win_lock_all(assertion, window); });
}

int MPI_Win_unlock_all(MPI_Win window) {
  return onesided::on(
      "MPI_Win_unlock_all", window, [](Window& ours) { ours.unlock_all(); },
      [&] { return PMPI_Win_unlock_all(window); });
}

int MPI_Win_flush(int rank, MPI_Win window) {
  return onesided::on(
      "MPI_Win_flush", window, [&](Window& ours) { ours.flush(rank); },
      [&] { return PMPI_Win_flush(rank, window); });
}

int MPI_Win_flush_local(int rank, MPI_Win window) {
  return onesided::on(
      "MPI_Win_flush_local", window, [&](Window& ours) { ours.flush(rank); },
      [&] { return PMPI_Win_flush_local(rank, window); });
}

int MPI_Win_flush_all(MPI_Win window) {
  return onesided::on(
      "MPI_Win_flush_all", window, [](Window& ours) { ours.flush_all(); },
      [&] { return PMPI_Win_flush_all(window); });
}

int MPI_Win_flush_local_all(MPI_Win window) {
  return onesided::on(
      "MPI_Win_flush_local_all", window, [](Window& ours) { ours.flush_all(); },
      [&] { return PMPI_Win_flush_local_all(window); });
}

int MPI_Win_sync(MPI_Win window) {
  return onesided::on(
      "MPI_Win_sync", window, [](Window&) { std::atomic_thread_fence(std::memory_order_seq_cst); },
      [&] { return PMPI_Win_sync(window); });
}

// What is not carried.

int MPI_Win_post(MPI_Group group, int assertion, MPI_Win window) {
  return onesided::refuse("MPI_Win_post", window,
                          [&] { return PMPI_Win_post(group, assertion, window); });
}

int MPI_Win_start(MPI_Group group, int assertion, MPI_Win window) {
  return onesided::refuse("MPI_Win_start", window,
                          [&] { return PMPI_Win_start(group, assertion, window); });
}

int MPI_Rput(const void* from, int count, MPI_Datatype type, int rank, MPI_Aint offset,
             int target_count, MPI_Datatype target_type, MPI_Win window, MPI_Request* request) {
  return onesided::refuse("MPI_Rput", window, [&] {
    return PMPI_Rput(from, count, type, rank, offset, target_count, target_type, window, request);
  });
}

int MPI_Rget(void* into, int count, MPI_Datatype type, int rank, MPI_Aint offset, int target_count,
             MPI_Datatype target_type, MPI_Win window, MPI_Request* request) {
  return onesided::refuse("MPI_Rget", window, [&] {
    return PMPI_Rget(into, count, type, rank, offset, target_count, target_type, window, request);
  });
}

int MPI_Raccumulate(const void* from, int count, MPI_Datatype type, int rank, MPI_Aint offset,
                    int target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win window,
                    MPI_Request* request) {
  return onesided::refuse("MPI_Raccumulate", window, [&] {
    return PMPI_Raccumulate(from, count, type, rank, offset, target_count, target_type, op, window,
                            request);
  });
}

int MPI_Rget_accumulate(const void* from, int count, MPI_Datatype type, void* before,
                        int before_count, MPI_Datatype before_type, int rank, MPI_Aint offset,
                        int target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win window,
                        MPI_Request* request) {
  return onesided::refuse("MPI_Rget_accumulate", window, [&] {
    return PMPI_Rget_accumulate(from, count, type, before, before_count, before_type, rank, offset,
                                target_count, target_type, op, window, request);
  });
}

}  // extern "C"
