// SPDX-License-Identifier: GPL-2.0
// Connects, and does to its queue pair what it is told on its standard input, for the part "ends".
#include <arpa/inet.h>
#include <netdb.h>
#include <rdma/rdma_cma.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>

#include "connector.h"
#include "failure.h"
#include "parts.h"

namespace torture {

namespace {

using placement::fail_errno;
using placement::require;

void expect(rdma_event_channel* channel, rdma_cm_event_type type) {
  const placement::Told told = placement::next_event(channel);
  require(told.type == type,
          std::string(rdma_event_str(told.type)) + " instead of " + rdma_event_str(type));
}

// An identifier with a device, for that address.
rdma_cm_id* resolved(rdma_event_channel* channel, const Options& options) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(options.port));
  require(inet_pton(AF_INET, options.server.c_str(), &to.sin_addr) == 1,
          "not an IPv4 address: " + options.server);
  rdma_cm_id* id = nullptr;
  constexpr int kLimit = 5000;  // milliseconds
  if (rdma_create_id(channel, &id, nullptr, RDMA_PS_TCP) != 0 ||
      rdma_resolve_addr(id, nullptr, reinterpret_cast<sockaddr*>(&to), kLimit) != 0) {
    fail_errno("resolving " + options.server);
  }
  expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
  if (rdma_resolve_route(id, kLimit) != 0) {
    fail_errno("rdma_resolve_route");
  }
  expect(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
  return id;
}

}  // namespace

void call(const Options& options) {
  rdma_event_channel* channel = rdma_create_event_channel();
  rdma_event_channel* others = rdma_create_event_channel();
  require(channel != nullptr && others != nullptr, "no event channel");
  rdma_cm_id* id = resolved(channel, options);
  ibv_qp_init_attr init{};
  init.cap = {.max_send_wr = 4,
              .max_recv_wr = 4,
              .max_send_sge = 1,
              .max_recv_sge = 1,
              .max_inline_data = 0};
  init.qp_type = IBV_QPT_RC;
  if (rdma_create_qp(id, nullptr, &init) != 0) {
    fail_errno("rdma_create_qp");
  }
  rdma_conn_param param{};
  param.responder_resources = 1;
  param.initiator_depth = 1;
  if (rdma_connect(id, &param) != 0) {
    fail_errno("rdma_connect");
  }
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
      rdma_cm_id* second = resolved(others, options);
      param.qp_num = id->qp->qp_num;
      error = rdma_connect(second, &param) == 0 ? 0 : errno;
      rdma_destroy_id(second);
    } else {
      error = EINVAL;
    }
    std::printf("%s: %s\n", word.c_str(), error == 0 ? "done" : std::strerror(error));
    std::fflush(stdout);
  }
}

}  // namespace torture
