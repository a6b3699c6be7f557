// SPDX-License-Identifier: GPL-2.0
// calls: the exam of libonesided.so. Without an argument it makes every one-sided call that the
// library carries, between ranks 0 and 1, and compares what is in memory afterwards; with one it
// makes a call that the library has to refuse. It is a program of MPI like any other: without the
// library the first must pass as well.
#include <array>
#include <exception>
#include <functional>
#include <iostream>
#include <map>
#include <vector>

#include "failure.h"
#include "window.h"

namespace rdma::mpibench {
namespace {

constexpr int kValues = 64;
using Longs = Window<long>;

struct Pair {
  int rank = 0;
  int partner = 0;
};

// Calls of rank 0, and then what rank 1 has, after a fence.
void transfers(const Pair& pair, Longs& window) {
  const std::array<long, 4> sent{1, 2, 3, 4};
  std::array<long, 4> got{};
  MPI_Win_fence(0, window.get());
  if (pair.rank == 0) {
    MPI_Put(sent.data(), 4, MPI_LONG, 1, 8, 4, MPI_LONG, window.get());
    MPI_Put(sent.data(), 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, window.get());
  }
  MPI_Win_fence(0, window.get());
  if (pair.rank == 0) MPI_Get(got.data(), 4, MPI_LONG, 1, 8, 4, MPI_LONG, window.get());
  MPI_Win_fence(MPI_MODE_NOSUCCEED, window.get());
  require(pair.rank != 0 || got == sent, "MPI_Get does not get what MPI_Put put");
  require(pair.rank != 1 || (window.values()[7] == 0 && window.values()[8] == 1 &&
                             window.values()[11] == 4 && window.values()[12] == 0),
          "MPI_Put changed other memory than it was told");
}

// Each operation tells what was there before, and leaves what it should.
void accumulates(const Pair& pair, Longs& window) {
  const long five = 5;
  const long nothing = 0;
  long before = -1;
  const MPI_Win win = window.get();
  const auto fetched = [&](long expected) {
    MPI_Win_flush(1, win);
    require(before == expected, "an accumulating call does not return what was there before");
  };
  MPI_Win_lock_all(0, win);
  if (pair.rank == 0) {
    MPI_Accumulate(&five, 1, MPI_LONG, 1, 20, 1, MPI_LONG, MPI_SUM, win);
    MPI_Accumulate(&five, 1, MPI_LONG, 1, 20, 1, MPI_LONG, MPI_PROD, win);
    MPI_Get_accumulate(&five, 1, MPI_LONG, &before, 1, MPI_LONG, 1, 20, 1, MPI_LONG, MPI_MAX, win);
    fetched(25);
    MPI_Get_accumulate(&nothing, 1, MPI_LONG, &before, 1, MPI_LONG, 1, 20, 1, MPI_LONG, MPI_NO_OP,
                       win);
    fetched(25);
    MPI_Fetch_and_op(&five, &before, MPI_LONG, 1, 20, MPI_REPLACE, win);
    fetched(25);
    MPI_Compare_and_swap(&nothing, &nothing, &before, MPI_LONG, 1, 20, win);  // it is 5: no swap
    fetched(5);
    MPI_Compare_and_swap(&nothing, &five, &before, MPI_LONG, 1, 20, win);
    fetched(5);
    MPI_Fetch_and_op(&five, &before, MPI_LONG, 1, 20, MPI_SUM, win);
    fetched(0);
  }
  MPI_Win_unlock_all(win);
}

// Both ranks change a value of rank 1's in two steps, which an exclusive lock makes one.
void excludes(Longs& window) {
  constexpr long kRounds = 50;
  const MPI_Win win = window.get();
  for (long round = 0; round < kRounds; round++) {
    long value = 0;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
    MPI_Get(&value, 1, MPI_LONG, 1, 30, 1, MPI_LONG, win);
    MPI_Win_flush(1, win);
    value++;
    MPI_Put(&value, 1, MPI_LONG, 1, 30, 1, MPI_LONG, win);
    MPI_Win_unlock(1, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
  long value = 0;
  MPI_Get(&value, 1, MPI_LONG, 1, 30, 1, MPI_LONG, win);
  MPI_Win_flush_all(win);
  require(value == 2 * kRounds, "an exclusive lock let both ranks in");
  MPI_Win_unlock(1, win);
}

// Two windows at once: what goes to one is not in the other.
void separates(const Pair& pair, Longs& window) {
  Longs other(kValues);
  const long value = 7 + pair.rank;
  MPI_Win_fence(0, window.get());
  MPI_Win_fence(0, other.get());
  MPI_Put(&value, 1, MPI_LONG, pair.partner, 40, 1, MPI_LONG, other.get());
  MPI_Win_fence(MPI_MODE_NOSUCCEED, other.get());
  MPI_Win_fence(MPI_MODE_NOSUCCEED, window.get());
  require(other.values()[40] == 7 + pair.partner && window.values()[40] == 0,
          "two windows are not apart");
}

// A type of four values with gaps, as no two ends of bytes in a row are.
MPI_Datatype gaps() {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_vector(4, 1, 2, MPI_LONG, &type);
  MPI_Type_commit(&type);
  return type;
}

using Wrong = std::function<void(MPI_Win)>;

// What rank 0 does that must end the run, by name.
std::map<std::string, Wrong> refusals() {
  static std::array<long, 8> memory{};
  long* const at = memory.data();
  return {
      {"origin", [=](MPI_Win win) { MPI_Put(at, 1, gaps(), 1, 0, 4, MPI_LONG, win); }},
      {"target", [=](MPI_Win win) { MPI_Put(at, 4, MPI_LONG, 1, 0, 1, gaps(), win); }},
      {"length", [=](MPI_Win win) { MPI_Get(at, 4, MPI_LONG, 1, 0, 3, MPI_LONG, win); }},
      {"past", [=](MPI_Win win) { MPI_Put(at, 4, MPI_LONG, 1, kValues - 3, 4, MPI_LONG, win); }},
      {"before", [=](MPI_Win win) { MPI_Get(at, 1, MPI_LONG, 1, -1, 1, MPI_LONG, win); }},
      {"far",
       [=](MPI_Win win) { MPI_Put(at, 1, MPI_LONG, 1, MPI_Aint{1} << 61, 1, MPI_LONG, win); }},
      {"request",
       [=](MPI_Win win) {
         MPI_Request request = MPI_REQUEST_NULL;
         MPI_Rput(at, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win, &request);
       }},
      {"post",
       [=](MPI_Win win) {
         MPI_Group group = MPI_GROUP_NULL;
         MPI_Comm_group(MPI_COMM_WORLD, &group);
         MPI_Win_post(group, 0, win);
       }},
      {"operation",
       [=](MPI_Win win) {
         MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
         MPI_Accumulate(at, 1, MPI_DOUBLE, 1, 0, 1, MPI_DOUBLE, MPI_BAND, win);
       }},
  };
}

void run(const std::vector<std::string>& arguments) {
  Pair pair;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &pair.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  require(size == 2, "it takes two ranks: mpirun -np 2");
  pair.partner = 1 - pair.rank;
  Longs window(kValues);
  if (arguments.empty()) {
    transfers(pair, window);
    accumulates(pair, window);
    excludes(window);
    separates(pair, window);
    if (pair.rank == 0) std::cout << "calls: all of them did what MPI says\n";
    return;
  }
  const std::map<std::string, Wrong> known = refusals();
  const auto found = known.find(arguments[0]);
  require(found != known.end(), "there is no such case; they are in apps/mpi/calls_main.cc");
  MPI_Win_fence(0, window.get());
  if (pair.rank == 0) found->second(window.get());
  MPI_Win_fence(0, window.get());
}

}  // namespace
}  // namespace rdma::mpibench

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  try {
    rdma::mpibench::run({argv + 1, argv + argc});
  } catch (const std::exception& failure) {
    std::cerr << "calls: " << failure.what() << std::endl;
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}
