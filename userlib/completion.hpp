// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
//
// A completion's words in the terms of verbs, for both ways to poll.
#ifndef WEFT_COMPLETION_HPP
#define WEFT_COMPLETION_HPP

#include <infiniband/verbs.h>

#include "weft-abi.h"

namespace weft {

inline ibv_wc_status wc_status(uint32_t word) {
  return static_cast<ibv_wc_status>(WEFT_CQE_STATUS(word));
}

inline ibv_wc_opcode wc_opcode(uint32_t word) {
  switch (WEFT_CQE_OPCODE(word)) {
    case WEFT_OP_RECV:
      return IBV_WC_RECV;
    case WEFT_OP_RECV_WRITE_IMM:
      return IBV_WC_RECV_RDMA_WITH_IMM;
    case WEFT_OP_WRITE:
    case WEFT_OP_WRITE_IMM:
      return IBV_WC_RDMA_WRITE;
    case WEFT_OP_READ:
      return IBV_WC_RDMA_READ;
    case WEFT_OP_CMP_SWP:
      return IBV_WC_COMP_SWAP;
    case WEFT_OP_FETCH_ADD:
      return IBV_WC_FETCH_ADD;
    case WEFT_OP_LOCAL_INV:
      return IBV_WC_LOCAL_INV;
    case WEFT_OP_BIND_MW:
      return IBV_WC_BIND_MW;
    default:  // WEFT_OP_SEND, SEND_INV, SEND_IMM
      return IBV_WC_SEND;
  }
}

inline unsigned int wc_flags(uint32_t word) {
  unsigned int flags = 0;
  if (WEFT_CQE_STATUS(word) == IBV_WC_SUCCESS) {
    if ((WEFT_CQE_FLAGS(word) & WEFT_CQE_WITH_IMM) != 0)
      flags |= IBV_WC_WITH_IMM;
    if ((WEFT_CQE_FLAGS(word) & WEFT_CQE_WITH_INV) != 0)
      flags |= IBV_WC_WITH_INV;
  }
  return flags;
}

// `ex` is the vendor error of a failed completion and of no other.
inline uint32_t wc_vendor_err(const weft_cqe& cqe, uint32_t word) {
  return WEFT_CQE_STATUS(word) == IBV_WC_SUCCESS ? 0 : cqe.ex;
}

}  // namespace weft

#endif  // WEFT_COMPLETION_HPP
