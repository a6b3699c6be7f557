// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#ifndef WEFT_RECV_HPP
#define WEFT_RECV_HPP

#include "provider_abi.h"

namespace weft {

int post_recv(ibv_qp* ibv, ibv_recv_wr* wr, ibv_recv_wr** bad_wr);
int post_srq_recv(ibv_srq* ibv, ibv_recv_wr* wr, ibv_recv_wr** bad_wr);

}  // namespace weft

#endif  // WEFT_RECV_HPP
