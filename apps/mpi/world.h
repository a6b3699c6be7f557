// SPDX-License-Identifier: GPL-2.0
// The ranks of this run.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <thread>
#include <vector>

#include "c_mpi.h"
#include "report.h"
#include "sentence.h"

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

  // Rank 0 writes a result, whose fields are names and values in turn; the others do nothing.
  template <typename... Fields>
  void write(std::string_view experiment, const Fields&... fields) const {
    if (rank_ == 0) {
      Record record;
      add(record, "experiment", experiment, fields...);
      report_.write(record);
    }
  }
  // For all ranks together: throws Failure on each if one of them says no.
  void agree(bool good, const std::string& what) const {
    int mine = good ? 1 : 0;
    int all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    require(all != 0, Cause::kProtocol, what, good ? " (another rank saw it)" : "");
  }

 private:
  static void add(Record& /* record */) {}
  template <typename Value, typename... Fields>
  static void add(Record& record, const char* name, const Value& value, const Fields&... fields) {
    if constexpr (std::is_arithmetic_v<Value>)
      record.add(name, static_cast<double>(value));
    else
      record.add(name, value);
    add(record, fields...);
  }

  int rank_;
  int size_;
  Report& report_;
};

inline void send(std::span<const std::byte> bytes, int to, int tag) {
  MPI_Send(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, to, tag, MPI_COMM_WORLD);
}

inline void receive(std::span<std::byte> bytes, int from, int tag) {
  MPI_Status status;
  MPI_Recv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, from, tag, MPI_COMM_WORLD,
           &status);
  int got = 0;
  MPI_Get_count(&status, MPI_BYTE, &got);
  require(static_cast<std::size_t>(got) == bytes.size(), "a message came with the wrong length");
}

// A message without bytes.
inline void signal(int to) { send({}, to, kControl); }

inline void await(int from) { receive({}, from, kControl); }

// The same as requests, which MPI_Wait() completes.
inline MPI_Request begin_send(std::span<const std::byte> bytes, int to) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, to, kData, MPI_COMM_WORLD,
            &request);
  return request;
}

inline MPI_Request begin_receive(std::span<std::byte> bytes, int from, int tag = kData) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, from, tag, MPI_COMM_WORLD,
            &request);
  return request;
}

inline void wait_all(std::vector<MPI_Request>& requests) {
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

inline double now_us() { return MPI_Wtime() * 1e6; }

// Spends the time, in microseconds, without a call of MPI: by computing, or asleep, which stands
// for computing where both ranks share one processor.
inline void compute(std::string_view how, double microseconds) {
  if (how == "sleep") {
    std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(microseconds));
    return;
  }
  const double end = now_us() + microseconds;
  while (now_us() < end) {
  }
}

}  // namespace rdma::mpibench
