// SPDX-License-Identifier: GPL-2.0
// MPI's functions for one-sided calls, in place of the library's own ones. Loaded before a program
// (LD_PRELOAD), this carries its one-sided calls by RDMA; everything else goes as MPI is told. The
// Makefile gives each the name PMPI_* as well, since a program in Fortran reaches them by those
// alone. What is not carried ends the run with a sentence: half of a window's calls by another way
// would be unordered to the rest.
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
  if (found == nullptr)
    end(name, "no MPI library has this function: load libonesided.so before a program of MPI");
  return reinterpret_cast<Function*>(found);
}

// A function of ours behind its name.
#define NAMED(function) #function, function

// Runs what a call does on a window, if it is one of ours; otherwise what MPI does with the same
// arguments. MPI_Win has to be a type of its own, as in Open MPI.
template <typename Function, typename Arguments, typename Action>
int on(const char* call, Function* ours, const Arguments& arguments, Action action) {
  const auto found = layer().windows.find(std::get<MPI_Win>(arguments));
  if (found == layer().windows.end()) return std::apply(behind(call, ours), arguments);
  return guarded(call, [&] { action(*found->second); });
}

[[noreturn]] void refuse() {
  throw Failure(Cause::kInput,
                "this call is not carried by RDMA: start the program without libonesided.so, or "
                "use fence, lock, flush, put, get and accumulate");
}

int begun(int status) {
  return status != MPI_SUCCESS
             ? status
             : guarded("MPI_Init", [] { layer().world = std::make_unique<World>(); });
}

// `memory` is where the address of a new window's is.
int made(const char* call, int status, void* const* memory, MPI_Aint size, int unit,
         MPI_Comm communicator, MPI_Win* window) {
  if (status != MPI_SUCCESS) return status;
  return guarded(call, [&] {
    const std::span bytes(static_cast<std::byte*>(*memory), static_cast<std::size_t>(size));
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

// A function of MPI's with those parameters, which go on as those arguments; on a window of ours,
// which it names `ours`, it does what the rest says. And one that is not carried.
#define CARRIED(function, parameters, arguments, ...)               \
  int function parameters {                                         \
    return on(NAMED(function), std::tuple arguments,                \
              [&]([[maybe_unused]] Window& ours) { __VA_ARGS__; }); \
  }
#define REFUSED(function, parameters, arguments) CARRIED(function, parameters, arguments, refuse())

int MPI_Init(int* argc, char*** argv) { return begun(behind(NAMED(MPI_Init))(argc, argv)); }

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
  const int status = behind(NAMED(MPI_Win_create))(base, size, unit, info, communicator, window);
  return made("MPI_Win_create", status, &base, size, unit, communicator, window);
}

int MPI_Win_allocate(MPI_Aint size, int unit, MPI_Info info, MPI_Comm communicator, void* base,
                     MPI_Win* window) {
  const int status = behind(NAMED(MPI_Win_allocate))(size, unit, info, communicator, base, window);
  return made("MPI_Win_allocate", status, static_cast<void**>(base), size, unit, communicator,
              window);
}

int MPI_Win_free(MPI_Win* window) {
  const auto found = layer().windows.find(*window);
  if (found != layer().windows.end()) {
    guarded("MPI_Win_free", [&] { found->second->synchronize(); });
    layer().windows.erase(found);
  }
  return behind(NAMED(MPI_Win_free))(window);
}

CARRIED(MPI_Put,
        (const void* from, int count, MPI_Datatype type, int rank, MPI_Aint offset,
         int target_count, MPI_Datatype target_type, MPI_Win window),
        (from, count, type, rank, offset, target_count, target_type, window), {
          const Values values = same(from, count, type, target_count, target_type);
          if (rank != MPI_PROC_NULL) ours.put(values, {rank, offset});
        })

CARRIED(MPI_Get,
        (void* into, int count, MPI_Datatype type, int rank, MPI_Aint offset, int target_count,
         MPI_Datatype target_type, MPI_Win window),
        (into, count, type, rank, offset, target_count, target_type, window), {
          const Values values = same(into, count, type, target_count, target_type);
          if (rank != MPI_PROC_NULL) ours.get(values, {rank, offset});
        })

CARRIED(MPI_Accumulate,
        (const void* from, int count, MPI_Datatype type, int rank, MPI_Aint offset,
         int target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win window),
        (from, count, type, rank, offset, target_count, target_type, op, window), {
          const Values values = same(from, count, type, target_count, target_type);
          if (rank != MPI_PROC_NULL && op != MPI_NO_OP)
            ours.accumulate(values, {nullptr, 0, type}, {rank, offset}, op);
        })

CARRIED(MPI_Get_accumulate,
        (const void* from, int count, MPI_Datatype type, void* before, int before_count,
         MPI_Datatype before_type, int rank, MPI_Aint offset, int target_count,
         MPI_Datatype target_type, MPI_Op op, MPI_Win window),
        (from, count, type, before, before_count, before_type, rank, offset, target_count,
         target_type, op, window),
        {
          const Values there = same(before, before_count, before_type, target_count, target_type);
          const Values values = op == MPI_NO_OP
                                    ? Values{nullptr, 0, target_type}
                                    : same(from, count, type, target_count, target_type);
          if (rank != MPI_PROC_NULL) ours.accumulate(values, there, {rank, offset}, op);
        })

CARRIED(
    MPI_Fetch_and_op,
    (const void* from, void* before, MPI_Datatype type, int rank, MPI_Aint offset, MPI_Op op,
     MPI_Win window),
    (from, before, type, rank, offset, op, window), {
      if (rank != MPI_PROC_NULL)
        ours.accumulate({const_cast<void*>(from), 1, type}, {before, 1, type}, {rank, offset}, op);
    })

CARRIED(MPI_Compare_and_swap,
        (const void* desired, const void* expected, void* before, MPI_Datatype type, int rank,
         MPI_Aint offset, MPI_Win window),
        (desired, expected, before, type, rank, offset, window), {
          if (rank != MPI_PROC_NULL)
            ours.compare_swap(expected, desired, before, type, {rank, offset});
        })

CARRIED(MPI_Win_lock, (int kind, int rank, int assertion, MPI_Win window),
        (kind, rank, assertion, window), {
          if (rank != MPI_PROC_NULL) ours.lock(rank, kind == MPI_LOCK_EXCLUSIVE);
        })
CARRIED(MPI_Win_unlock, (int rank, MPI_Win window), (rank, window), {
  if (rank != MPI_PROC_NULL) ours.unlock(rank);
})
CARRIED(MPI_Win_fence, (int assertion, MPI_Win window), (assertion, window), ours.synchronize())
CARRIED(MPI_Win_lock_all, (int assertion, MPI_Win window), (assertion, window), ours.lock_all())
CARRIED(MPI_Win_unlock_all, (MPI_Win window), (window), ours.unlock_all())
CARRIED(MPI_Win_flush, (int rank, MPI_Win window), (rank, window), ours.flush(rank))
CARRIED(MPI_Win_flush_local, (int rank, MPI_Win window), (rank, window), ours.flush(rank))
CARRIED(MPI_Win_flush_all, (MPI_Win window), (window), ours.flush_all())
CARRIED(MPI_Win_flush_local_all, (MPI_Win window), (window), ours.flush_all())
CARRIED(MPI_Win_sync, (MPI_Win window), (window),
        std::atomic_thread_fence(std::memory_order_seq_cst))

REFUSED(MPI_Win_post, (MPI_Group group, int assertion, MPI_Win window), (group, assertion, window))
REFUSED(MPI_Win_start, (MPI_Group group, int assertion, MPI_Win window), (group, assertion, window))
REFUSED(MPI_Rput,
        (const void* from, int count, MPI_Datatype type, int rank, MPI_Aint offset,
         int target_count, MPI_Datatype target_type, MPI_Win window, MPI_Request* request),
        (from, count, type, rank, offset, target_count, target_type, window, request))
REFUSED(MPI_Rget,
        (void* into, int count, MPI_Datatype type, int rank, MPI_Aint offset, int target_count,
         MPI_Datatype target_type, MPI_Win window, MPI_Request* request),
        (into, count, type, rank, offset, target_count, target_type, window, request))
REFUSED(MPI_Raccumulate,
        (const void* from, int count, MPI_Datatype type, int rank, MPI_Aint offset,
         int target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win window,
         MPI_Request* request),
        (from, count, type, rank, offset, target_count, target_type, op, window, request))
REFUSED(MPI_Rget_accumulate,
        (const void* from, int count, MPI_Datatype type, void* before, int before_count,
         MPI_Datatype before_type, int rank, MPI_Aint offset, int target_count,
         MPI_Datatype target_type, MPI_Op op, MPI_Win window, MPI_Request* request),
        (from, count, type, before, before_count, before_type, rank, offset, target_count,
         target_type, op, window, request))

}  // extern "C"
