// SPDX-License-Identifier: GPL-2.0
// MPI's functions for one-sided calls, in place of the library's own ones. Loaded before a program
// (LD_PRELOAD), this carries its one-sided calls by RDMA; everything else goes as MPI is told. Each
// is there as PMPI_* as well, since a program in Fortran reaches them by those names alone. What is
// not carried ends the run with a sentence: half of a window's calls by another way would be
// unordered to the rest.
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <tuple>

#include "../c_mpi.h"
#include "failure.h"
#include "window.h"
#include "world.h"

namespace rdma::onesided {
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

// The MPI library's own function, of the type of ours and with its name, as "MPI_Put".
template <typename Function>
Function* behind(const char* name, Function* /* ours */) {
  void* found = dlsym(RTLD_NEXT, ("P" + std::string(name)).c_str());
  if (found == nullptr) {
    end(name, "no MPI library has this function: load libonesided.so before a program of MPI");
  }
  return reinterpret_cast<Function*>(found);
}

// A function of ours behind its name.
#define NAMED(function) #function, function

// Runs what a call does on a window, if it is one of ours; otherwise what MPI does with the same
// arguments. MPI_Win has to be a type of its own, as in Open MPI.
template <typename Function, typename Arguments, typename Action>
int on(const char* call, Function* ours, const Arguments& arguments, Action action) {
  const auto found = layer().windows.find(std::get<MPI_Win>(arguments));
  if (found == layer().windows.end()) {
    return std::apply(behind(call, ours), arguments);
  }
  return guarded(call, [&] { action(*found->second); });
}

template <typename Function, typename Arguments>
int refuse(const char* call, Function* ours, const Arguments& arguments) {
  return on(call, ours, arguments, [](Window&) {
    throw Failure(Cause::kInput,
                  "this call is not carried by RDMA: start the program without "
                  "libonesided.so, or use fence, lock, flush, put, get and accumulate");
  });
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
  require(count * size == target_count * target_size,
          "the two ends of a one-sided call differ in length", Cause::kInput);
  return {const_cast<void*>(memory), count, type};
}

}  // namespace
}  // namespace rdma::onesided

// The names, and those of the parameters' types, are MPI's.
extern "C" {

namespace onesided = rdma::onesided;
using onesided::Values, onesided::Window, onesided::begun, onesided::behind, onesided::guarded,
    onesided::layer, onesided::made, onesided::on, onesided::refuse, onesided::same;

int MPI_Init(int* argc, char*** argv) {
  return begun(behind(NAMED(MPI_Init))(argc, argv));
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  // A link is for one thread at a time.
  const int most = required < MPI_THREAD_SERIALIZED ? required : MPI_THREAD_SERIALIZED;
  return begun(behind(NAMED(MPI_Init_thread))(argc, argv, most, provided));
}

int MPI_Finalize() {
  PMPI_Barrier(MPI_COMM_WORLD);  // nobody needs this rank's links any more
  layer().windows.clear();
  layer().world.reset();
  return behind(NAMED(MPI_Finalize))();
}

int MPI_Win_create(void* base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm communicator,
                   MPI_Win* window) {
  return made("MPI_Win_create",
              behind(NAMED(MPI_Win_create))(base, size, unit, info, communicator, window), base,
              size, unit, communicator, window);
}

int MPI_Win_allocate(MPI_Aint size, int unit, MPI_Info info, MPI_Comm communicator, void* base,
                     MPI_Win* window) {
  const int status = behind(NAMED(MPI_Win_allocate))(size, unit, info, communicator, base, window);
  return made("MPI_Win_allocate", status,
              status == MPI_SUCCESS ? *static_cast<void**>(base) : nullptr, size, unit,
              communicator, window);
}

int MPI_Win_free(MPI_Win* window) {
  const auto found = layer().windows.find(*window);
  if (found != layer().windows.end()) {
    guarded("MPI_Win_free", [&] { found->second->synchronize(); });
    layer().windows.erase(found);
  }
  return behind(NAMED(MPI_Win_free))(window);
}

int MPI_Put(const void* from, int count, MPI_Datatype type, int rank, MPI_Aint offset,
            int target_count, MPI_Datatype target_type, MPI_Win window) {
  return on(NAMED(MPI_Put),
            std::tuple(from, count, type, rank, offset, target_count, target_type, window),
            [&](Window& ours) {
              const Values values = same(from, count, type, target_count, target_type);
              if (rank != MPI_PROC_NULL) {
                ours.put(values, {rank, offset});
              }
            });
}

int MPI_Get(void* into, int count, MPI_Datatype type, int rank, MPI_Aint offset, int target_count,
            MPI_Datatype target_type, MPI_Win window) {
  return on(NAMED(MPI_Get),
            std::tuple(into, count, type, rank, offset, target_count, target_type, window),
            [&](Window& ours) {
              const Values values = same(into, count, type, target_count, target_type);
              if (rank != MPI_PROC_NULL) {
                ours.get(values, {rank, offset});
              }
            });
}

int MPI_Accumulate(const void* from, int count, MPI_Datatype type, int rank, MPI_Aint offset,
                   int target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win window) {
  return on(NAMED(MPI_Accumulate),
            std::tuple(from, count, type, rank, offset, target_count, target_type, op, window),
            [&](Window& ours) {
              const Values values = same(from, count, type, target_count, target_type);
              if (rank != MPI_PROC_NULL && op != MPI_NO_OP) {
                ours.accumulate(values, {nullptr, 0, type}, {rank, offset}, op);
              }
            });
}

int MPI_Get_accumulate(const void* from, int count, MPI_Datatype type, void* before,
                       int before_count, MPI_Datatype before_type, int rank, MPI_Aint offset,
                       int target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win window) {
  return on(
      NAMED(MPI_Get_accumulate),
      std::tuple(from, count, type, before, before_count, before_type, rank, offset, target_count,
                 target_type, op, window),
      [&](Window& ours) {
        const Values there = same(before, before_count, before_type, target_count, target_type);
        const Values values = op == MPI_NO_OP ? Values{nullptr, 0, target_type}
                                              : same(from, count, type, target_count, target_type);
        if (rank != MPI_PROC_NULL) {
          ours.accumulate(values, there, {rank, offset}, op);
        }
      });
}

int MPI_Fetch_and_op(const void* from, void* before, MPI_Datatype type, int rank, MPI_Aint offset,
                     MPI_Op op, MPI_Win window) {
  return on(NAMED(MPI_Fetch_and_op), std::tuple(from, before, type, rank, offset, op, window),
            [&](Window& ours) {
              if (rank != MPI_PROC_NULL) {
                ours.accumulate({const_cast<void*>(from), 1, type}, {before, 1, type},
                                {rank, offset}, op);
              }
            });
}

int MPI_Compare_and_swap(const void* desired, const void* expected, void* before, MPI_Datatype type,
                         int rank, MPI_Aint offset, MPI_Win window) {
  return on(NAMED(MPI_Compare_and_swap),
            std::tuple(desired, expected, before, type, rank, offset, window), [&](Window& ours) {
              if (rank != MPI_PROC_NULL) {
                ours.compare_swap(expected, desired, before, type, {rank, offset});
              }
            });
}

int MPI_Win_fence(int assertion, MPI_Win window) {
  return on(NAMED(MPI_Win_fence), std::tuple(assertion, window),
            [](Window& ours) { ours.synchronize(); });
}

int MPI_Win_lock(int kind, int rank, int assertion, MPI_Win window) {
  return on(NAMED(MPI_Win_lock), std::tuple(kind, rank, assertion, window), [&](Window& ours) {
    if (rank != MPI_PROC_NULL) {
      ours.lock(rank, kind == MPI_LOCK_EXCLUSIVE);
    }
  });
}

int MPI_Win_unlock(int rank, MPI_Win window) {
  return on(NAMED(MPI_Win_unlock), std::tuple(rank, window), [&](Window& ours) {
    if (rank != MPI_PROC_NULL) {
      ours.unlock(rank);
    }
  });
}

int MPI_Win_lock_all(int assertion, MPI_Win window) {
  return on(NAMED(MPI_Win_lock_all), std::tuple(assertion, window),
            [](Window& ours) { ours.lock_all(); });
}

int MPI_Win_unlock_all(MPI_Win window) {
  return on(NAMED(MPI_Win_unlock_all), std::tuple(window), [](Window& ours) { ours.unlock_all(); });
}

int MPI_Win_flush(int rank, MPI_Win window) {
  return on(NAMED(MPI_Win_flush), std::tuple(rank, window),
            [&](Window& ours) { ours.flush(rank); });
}

int MPI_Win_flush_local(int rank, MPI_Win window) {
  return on(NAMED(MPI_Win_flush_local), std::tuple(rank, window),
            [&](Window& ours) { ours.flush(rank); });
}

int MPI_Win_flush_all(MPI_Win window) {
  return on(NAMED(MPI_Win_flush_all), std::tuple(window), [](Window& ours) { ours.flush_all(); });
}

int MPI_Win_flush_local_all(MPI_Win window) {
  return on(NAMED(MPI_Win_flush_local_all), std::tuple(window),
            [](Window& ours) { ours.flush_all(); });
}

int MPI_Win_sync(MPI_Win window) {
  return on(NAMED(MPI_Win_sync), std::tuple(window),
            [](Window&) { std::atomic_thread_fence(std::memory_order_seq_cst); });
}

// What is not carried.

int MPI_Win_post(MPI_Group group, int assertion, MPI_Win window) {
  return refuse(NAMED(MPI_Win_post), std::tuple(group, assertion, window));
}

int MPI_Win_start(MPI_Group group, int assertion, MPI_Win window) {
  return refuse(NAMED(MPI_Win_start), std::tuple(group, assertion, window));
}

int MPI_Rput(const void* from, int count, MPI_Datatype type, int rank, MPI_Aint offset,
             int target_count, MPI_Datatype target_type, MPI_Win window, MPI_Request* request) {
  return refuse(NAMED(MPI_Rput), std::tuple(from, count, type, rank, offset, target_count,
                                            target_type, window, request));
}

int MPI_Rget(void* into, int count, MPI_Datatype type, int rank, MPI_Aint offset, int target_count,
             MPI_Datatype target_type, MPI_Win window, MPI_Request* request) {
  return refuse(NAMED(MPI_Rget), std::tuple(into, count, type, rank, offset, target_count,
                                            target_type, window, request));
}

int MPI_Raccumulate(const void* from, int count, MPI_Datatype type, int rank, MPI_Aint offset,
                    int target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win window,
                    MPI_Request* request) {
  return refuse(NAMED(MPI_Raccumulate), std::tuple(from, count, type, rank, offset, target_count,
                                                   target_type, op, window, request));
}

int MPI_Rget_accumulate(const void* from, int count, MPI_Datatype type, void* before,
                        int before_count, MPI_Datatype before_type, int rank, MPI_Aint offset,
                        int target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win window,
                        MPI_Request* request) {
  return refuse(NAMED(MPI_Rget_accumulate),
                std::tuple(from, count, type, before, before_count, before_type, rank, offset,
                           target_count, target_type, op, window, request));
}

// What Fortran calls.

[[gnu::alias("MPI_Init")]] decltype(MPI_Init) PMPI_Init;
[[gnu::alias("MPI_Init_thread")]] decltype(MPI_Init_thread) PMPI_Init_thread;
[[gnu::alias("MPI_Finalize")]] decltype(MPI_Finalize) PMPI_Finalize;
[[gnu::alias("MPI_Win_create")]] decltype(MPI_Win_create) PMPI_Win_create;
[[gnu::alias("MPI_Win_allocate")]] decltype(MPI_Win_allocate) PMPI_Win_allocate;
[[gnu::alias("MPI_Win_free")]] decltype(MPI_Win_free) PMPI_Win_free;
[[gnu::alias("MPI_Put")]] decltype(MPI_Put) PMPI_Put;
[[gnu::alias("MPI_Get")]] decltype(MPI_Get) PMPI_Get;
[[gnu::alias("MPI_Accumulate")]] decltype(MPI_Accumulate) PMPI_Accumulate;
[[gnu::alias("MPI_Get_accumulate")]] decltype(MPI_Get_accumulate) PMPI_Get_accumulate;
[[gnu::alias("MPI_Fetch_and_op")]] decltype(MPI_Fetch_and_op) PMPI_Fetch_and_op;
[[gnu::alias("MPI_Compare_and_swap")]] decltype(MPI_Compare_and_swap) PMPI_Compare_and_swap;
[[gnu::alias("MPI_Win_fence")]] decltype(MPI_Win_fence) PMPI_Win_fence;
[[gnu::alias("MPI_Win_lock")]] decltype(MPI_Win_lock) PMPI_Win_lock;
[[gnu::alias("MPI_Win_unlock")]] decltype(MPI_Win_unlock) PMPI_Win_unlock;
[[gnu::alias("MPI_Win_lock_all")]] decltype(MPI_Win_lock_all) PMPI_Win_lock_all;
[[gnu::alias("MPI_Win_unlock_all")]] decltype(MPI_Win_unlock_all) PMPI_Win_unlock_all;
[[gnu::alias("MPI_Win_flush")]] decltype(MPI_Win_flush) PMPI_Win_flush;
[[gnu::alias("MPI_Win_flush_local")]] decltype(MPI_Win_flush_local) PMPI_Win_flush_local;
[[gnu::alias("MPI_Win_flush_all")]] decltype(MPI_Win_flush_all) PMPI_Win_flush_all;
[[gnu::alias(
    "MPI_Win_flush_local_all")]] decltype(MPI_Win_flush_local_all) PMPI_Win_flush_local_all;
[[gnu::alias("MPI_Win_sync")]] decltype(MPI_Win_sync) PMPI_Win_sync;
[[gnu::alias("MPI_Win_post")]] decltype(MPI_Win_post) PMPI_Win_post;
[[gnu::alias("MPI_Win_start")]] decltype(MPI_Win_start) PMPI_Win_start;
[[gnu::alias("MPI_Rput")]] decltype(MPI_Rput) PMPI_Rput;
[[gnu::alias("MPI_Rget")]] decltype(MPI_Rget) PMPI_Rget;
[[gnu::alias("MPI_Raccumulate")]] decltype(MPI_Raccumulate) PMPI_Raccumulate;
[[gnu::alias("MPI_Rget_accumulate")]] decltype(MPI_Rget_accumulate) PMPI_Rget_accumulate;

}  // extern "C"
