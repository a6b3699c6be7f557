// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#ifndef WEFT_WR_HPP
#define WEFT_WR_HPP

#include "qp.hpp"

namespace weft {

// Operations (enum ibv_qp_create_send_ops_flags) that ibv_wr_*() can post.
constexpr uint64_t kSendOps = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
                              IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
                              IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                              IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_LOCAL_INV |
                              IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_SEND_WITH_INV;

// Gives a queue pair the calls of struct ibv_qp_ex.
void set_wr_ops(Qp* qp);

}  // namespace weft

#endif  // WEFT_WR_HPP
