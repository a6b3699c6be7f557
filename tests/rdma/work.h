// SPDX-License-Identifier: GPL-2.0
// Work requests with their pieces.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "failure.h"

namespace rdma {

inline bool is_atomic(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

// The opcode of the completion of a work request.
inline ibv_wc_opcode completed_as(ibv_wr_opcode opcode) {
  switch (opcode) {
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return IBV_WC_RDMA_WRITE;
    case IBV_WR_RDMA_READ:
      return IBV_WC_RDMA_READ;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      return IBV_WC_COMP_SWAP;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return IBV_WC_FETCH_ADD;
    case IBV_WR_BIND_MW:
      return IBV_WC_BIND_MW;
    case IBV_WR_LOCAL_INV:
      return IBV_WC_LOCAL_INV;
    default:
      return IBV_WC_SEND;
  }
}

// A work request that asks for its completion.
class Work : public ibv_send_wr {
 public:
  explicit Work(ibv_wr_opcode kind, std::vector<ibv_sge> of = {})
      : ibv_send_wr{}, pieces(std::move(of)) {
    opcode = kind;
    send_flags = IBV_SEND_SIGNALED;
    sg_list = pieces.data();
    num_sge = static_cast<int>(pieces.size());
  }
  Work(Work&&) = default;
  Work& operator=(Work&&) = default;

  // The peer's memory that it is about.
  void aim(std::uint64_t address, std::uint32_t key) {
    if (is_atomic(opcode)) {
      wr.atomic.remote_addr = address;
      wr.atomic.rkey = key;
    } else {
      wr.rdma = {.remote_addr = address, .rkey = key};
    }
  }

  std::vector<ibv_sge> pieces;
};

// A receive.
class Receive : public ibv_recv_wr {
 public:
  explicit Receive(std::vector<ibv_sge> of = {}, std::uint64_t number = 0)
      : ibv_recv_wr{}, pieces(std::move(of)) {
    wr_id = number;
    sg_list = pieces.data();
    num_sge = static_cast<int>(pieces.size());
  }
  Receive(Receive&&) = default;

  std::vector<ibv_sge> pieces;
};

// Throws Failure unless a call has returned that error.
inline void require_error(int got, int expected, const std::string& what) {
  require(got == expected,
          what + " ended with " + std::strerror(got) + ", not " + std::strerror(expected));
}

// What posting one returned. Throws Failure if that refused it and does not say so by bad_wr.
template <typename Queue, typename Request>
int refused(int (*call)(Queue*, Request*, Request**), Queue* queue, Request& work) {
  Request* bad = nullptr;
  const int error = call(queue, &work, &bad);
  require(error == 0 || bad == &work, "bad_wr does not point at the work request that was refused");
  return error;
}
inline int post(ibv_qp* qp, ibv_send_wr& work) { return refused(ibv_post_send, qp, work); }
inline int post(ibv_qp* qp, ibv_recv_wr& work) { return refused(ibv_post_recv, qp, work); }
inline int post(ibv_srq* srq, ibv_recv_wr& work) { return refused(ibv_post_srq_recv, srq, work); }

// Takes a completion; returns whether there was one. Throws Failure.
inline bool poll(ibv_cq* cq, ibv_wc& completion) {
  const int count = ibv_poll_cq(cq, 1, &completion);
  require(count >= 0, "ibv_poll_cq failed");
  return count == 1;
}

}  // namespace rdma
