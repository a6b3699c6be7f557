// SPDX-License-Identifier: GPL-2.0
// Connects, and does to its queue pair what it is told on its standard input, for the part "ends".
#include <cstdio>
#include <iostream>

#include "parts.h"

namespace rdma::torture {

namespace {

Caller resolved(const Options& options) {
  Caller caller{make_channel(), {}};
  caller.id = make_identifier(caller.channel.get());
  resolve(caller.id.get(), {options.server, static_cast<std::uint16_t>(options.port)},
          std::chrono::seconds(5));
  return caller;
}

}  // namespace

void call(const Options& options) {
  const Caller caller = resolved(options);
  rdma_cm_id* const id = caller.id.get();
  ibv_qp_init_attr init = queue_pair(nullptr, 4, 4);
  must(rdma_create_qp(id, nullptr, &init), "rdma_create_qp");
  rdma_conn_param param = parameters<char>(1, nullptr, 0);
  must(rdma_connect(id, &param), "rdma_connect");
  std::puts("calling");
  std::fflush(stdout);
  for (std::string word; std::getline(std::cin, word);) {
    int error = 0;
    if (word == "drain") {
      ibv_qp_attr attr{};
      attr.qp_state = IBV_QPS_SQD;
      error = ibv_modify_qp(id->qp, &attr, IBV_QP_STATE);
    } else if (word == "again") {
      // Another connection for the same queue pair, which must be refused.
      const Caller second = resolved(options);
      param.qp_num = id->qp->qp_num;
      error = rdma_connect(second.id.get(), &param) == 0 ? 0 : errno;
    } else {
      error = EINVAL;
    }
    std::printf("%s: %s\n", word.c_str(), error == 0 ? "done" : std::strerror(error));
    std::fflush(stdout);
  }
}

}  // namespace rdma::torture
