// SPDX-License-Identifier: GPL-2.0
// Ends of connections by rdma_cm's simple calls (rdma_create_ep), which make their queues.
#pragma once

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include <memory>

#include "failure.h"

namespace rdma {

struct DestroySimple {
  void operator()(rdma_cm_id* id) const { rdma_destroy_ep(id); }
};
using Simple = std::unique_ptr<rdma_cm_id, DestroySimple>;

// An end at that address, or what listens there (flags: RAI_PASSIVE). Throws Failure.
inline Simple make_simple(const std::string& address, const std::string& port, int flags,
                          ibv_qp_init_attr wanted) {
  rdma_addrinfo hints{};
  hints.ai_flags = flags;
  hints.ai_port_space = RDMA_PS_TCP;
  rdma_addrinfo* found = nullptr;
  must(rdma_getaddrinfo(address.c_str(), port.c_str(), &hints, &found), "rdma_getaddrinfo");
  const std::unique_ptr<rdma_addrinfo, void (*)(rdma_addrinfo*)> owner(found, rdma_freeaddrinfo);
  rdma_cm_id* id = nullptr;
  must(rdma_create_ep(&id, found, nullptr, &wanted), "rdma_create_ep");
  return Simple(id);
}

// The next request for a connection.
inline Simple next_request(const Simple& listener) {
  rdma_cm_id* id = nullptr;
  must(rdma_get_request(listener.get(), &id), "rdma_get_request");
  return Simple(id);
}

}  // namespace rdma
