// SPDX-License-Identifier: GPL-2.0
// The programs of the part "ends": one that listens and does not answer, and one that connects.
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

void hold(const Options& options) {
  const Connector connector = connector_of(options);
  std::vector<Caller> unanswered;
  std::cout << "port " << connector.port() << std::endl;
  for (;;) {
    try {
      unanswered.push_back(connector.accepted());
    } catch (const Failure&) {
      continue;  // nobody has come for a while
    }
    std::cout << "request" << std::endl;
    if (options.breaks) rdma_reject(unanswered.back().id.get(), "no", 2);
  }
}

void call(const Options& options) {
  const Caller caller = resolved(options);
  rdma_cm_id* const id = caller.id.get();
  ibv_qp_init_attr init = queue_pair(nullptr, 4, 4);
  must(rdma_create_qp(id, nullptr, &init), "rdma_create_qp");
  rdma_conn_param param = parameters<char>(1, nullptr, 0);
  must(rdma_connect(id, &param), "rdma_connect");
  std::cout << "calling" << std::endl;
  for (std::string word; std::getline(std::cin, word);) {
    int error = EINVAL;
    if (word == "drain") {
      ibv_qp_attr attr{.qp_state = IBV_QPS_SQD};
      error = ibv_modify_qp(id->qp, &attr, IBV_QP_STATE);
    } else if (word == "again") {
      // Another connection for the same queue pair, which must be refused.
      const Caller second = resolved(options);
      param.qp_num = id->qp->qp_num;
      error = rdma_connect(second.id.get(), &param) == 0 ? 0 : errno;
    }
    std::cout << word << ": " << (error == 0 ? "done" : std::strerror(error)) << std::endl;
  }
}

}  // namespace rdma::torture
