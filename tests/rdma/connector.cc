// SPDX-License-Identifier: GPL-2.0
#include "connector.h"

#include "netns.h"

namespace rdma {
namespace {

// As many reads under way as both the device and the lab's expectations allow.
rdma_conn_param parameters_of(const Endpoint& end, const std::vector<std::uint8_t>& data) {
  return parameters(static_cast<std::uint8_t>(std::min(
                        {end.device().max_qp_rd_atom, end.device().max_qp_init_rd_atom, 128})),
                    data.data(), data.size());
}

}  // namespace

Connector::Connector(Host client, Host server)
    : client_(std::move(client)), server_(std::move(server)) {
  const Inside inside(server_.netns);
  listener_ = make_identifier(channel_.get());
  port_ = listen_at(listener_.get(), {server_.address, 0}, 16);
}

Caller Connector::resolved(std::uint16_t port, bool shares, sockaddr* from) const {
  Caller caller{make_channel(), {}};
  {
    const Inside inside(client_.netns);
    caller.id = make_identifier(caller.channel.get());
  }
  int on = 1;
  if (shares) {
    must(
        rdma_set_option(caller.id.get(), RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, sizeof(on)),
        "rdma_set_option");
  }
  resolve(caller.id.get(), {server_.address, port}, std::chrono::seconds(5), from);
  return caller;
}

Caller Connector::accepted(Event* request) const {
  Event event = expect_event(channel_.get(), RDMA_CM_EVENT_CONNECT_REQUEST, kPatience);
  Caller caller{make_channel(), Identifier(event.id)};
  must(rdma_migrate_id(event.id, caller.channel.get()), "rdma_migrate_id");
  if (request != nullptr) *request = std::move(event);
  return caller;
}

void Connector::start(const Endpoint& client, const std::vector<std::uint8_t>& private_data) const {
  const Inside inside(client_.netns);
  rdma_conn_param param = parameters_of(client, private_data);
  must(rdma_connect(client.id(), &param), "rdma_connect");
}

void Connector::accept(const Endpoint& server,
                       const std::vector<std::uint8_t>& private_data) const {
  const Inside inside(server_.netns);
  rdma_conn_param param = parameters_of(server, private_data);
  must(rdma_accept(server.id(), &param), "rdma_accept");
}

Pair Connector::connect(const Shape& client_shape, const Shape& server_shape) const {
  Pair pair;
  pair.client = std::make_unique<Endpoint>(resolved(), "client", client_shape);
  start(*pair.client, {});
  pair.server = std::make_unique<Endpoint>(accepted(), "server", server_shape);
  const std::uint64_t receive = pair.server->post_recv({{0, 0}});
  accept(*pair.server, {});
  pair.client->expect(RDMA_CM_EVENT_ESTABLISHED);
  pair.server->expect(RDMA_CM_EVENT_ESTABLISHED);
  // The initiator speaks first: revision 1 of MPA obliges the responder to wait for it.
  const std::uint64_t send = pair.client->post_send(Work(IBV_WR_SEND));
  pair.server->expect_recv(receive, 0);
  pair.client->expect_send(send, IBV_WC_SEND);
  return pair;
}

}  // namespace rdma
