// SPDX-License-Identifier: GPL-2.0
// Connections as rdma_cm makes them: a channel, identifiers on it, and the news of each.
#pragma once

#include <optional>
#include <vector>

#include "address.h"
#include "deadline.h"
#include "objects.h"

namespace rdma {

// The news of a connection, acknowledged.
struct Event {
  rdma_cm_event_type type;
  int status;
  rdma_cm_id* id;  // of a request: a new one, which the caller owns
  std::vector<std::uint8_t> private_data;

  // The private data as that structure. Throws Failure (kProtocol) if it is shorter.
  template <typename Data>
  Data as() const {
    Data data{};
    if (private_data.size() < sizeof(data))
      throw Failure(Cause::kProtocol, "the peer said too little when it connected");
    std::memcpy(&data, private_data.data(), sizeof(data));
    return data;
  }
  // "expected RDMA_CM_EVENT_ESTABLISHED, got RDMA_CM_EVENT_REJECTED, status 8"
  Failure instead_of(rdma_cm_event_type wanted) const;
};

// All throw Failure.
Channel make_channel();
Identifier make_identifier(rdma_event_channel* channel);
// The next event of the channel; none if there is none by the deadline.
std::optional<Event> next_event(rdma_event_channel* channel, const Deadline& deadline);
// The next event, which must be this one.
Event expect_event(rdma_event_channel* channel, rdma_cm_event_type type, Limit limit = kForever);
// Gives an identifier a device and a route to the address.
void resolve(rdma_cm_id* id, const Address& address, Limit limit, sockaddr* from = nullptr);
// Listens at an address of this host; returns the port that it has got.
std::uint16_t listen_at(rdma_cm_id* id, const Address& address, int backlog);

// Returns true if a completion event of that queue arrives within the time, and acknowledges it.
bool await_event(ibv_cq* cq, Limit limit);

// For rdma_connect() and rdma_accept(): reads each way; private data, which must live until then.
template <typename Data>
rdma_conn_param parameters(std::uint8_t reads, const Data* data,
                           std::size_t length = sizeof(Data)) {
  rdma_conn_param param{};
  param.private_data = data;
  param.private_data_len = static_cast<std::uint8_t>(length);
  param.responder_resources = param.initiator_depth = reads;
  param.retry_count = param.rnr_retry_count = 7;
  return param;
}

}  // namespace rdma
