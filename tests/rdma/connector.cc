// SPDX-License-Identifier: GPL-2.0
#include "connector.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "failure.h"

namespace placement {

namespace {

// The calling thread is in that namespace as long as this lives. An rdma_cm identifier
// belongs to the namespace it was made in.
class Inside {
 public:
  explicit Inside(const std::string& netns) {
    if (netns.empty()) {
      return;
    }
    home_ = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    const int there = open(("/run/netns/" + netns).c_str(), O_RDONLY | O_CLOEXEC);
    if (home_ < 0 || there < 0 || setns(there, CLONE_NEWNET) != 0) {
      fail_errno("entering network namespace " + netns);
    }
    close(there);
  }
  ~Inside() {
    if (home_ >= 0) {
      setns(home_, CLONE_NEWNET);
      close(home_);
    }
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  int home_ = -1;
};

sockaddr_storage parse(const std::string& address, std::uint16_t port) {
  sockaddr_storage storage{};
  auto* ipv4 = reinterpret_cast<sockaddr_in*>(&storage);
  auto* ipv6 = reinterpret_cast<sockaddr_in6*>(&storage);
  if (inet_pton(AF_INET, address.c_str(), &ipv4->sin_addr) == 1) {
    ipv4->sin_family = AF_INET;
    ipv4->sin_port = htons(port);
  } else if (inet_pton(AF_INET6, address.c_str(), &ipv6->sin6_addr) == 1) {
    ipv6->sin6_family = AF_INET6;
    ipv6->sin6_port = htons(port);
  } else {
    throw Failure("not an address: " + address);
  }
  return storage;
}

rdma_cm_id* create_id(const Host& host, rdma_event_channel* channel) {
  const Inside inside(host.netns);
  rdma_cm_id* id = nullptr;
  if (rdma_create_id(channel, &id, nullptr, RDMA_PS_TCP) != 0) {
    fail_errno("rdma_create_id");
  }
  return id;
}

rdma_event_channel* create_channel() {
  rdma_event_channel* channel = rdma_create_event_channel();
  if (channel == nullptr) {
    fail_errno("rdma_create_event_channel");
  }
  return channel;
}

// As many reads under way as both the device and the lab's expectations allow.
rdma_conn_param parameters(const Endpoint& endpoint,
                           const std::vector<std::uint8_t>& private_data) {
  rdma_conn_param param{};
  param.private_data = private_data.data();
  param.private_data_len = static_cast<std::uint8_t>(private_data.size());
  const auto depth = static_cast<std::uint8_t>(
      std::min({endpoint.device().max_qp_rd_atom, endpoint.device().max_qp_init_rd_atom, 128}));
  param.responder_resources = depth;
  param.initiator_depth = depth;
  param.retry_count = 7;
  return param;
}

void expect_event(rdma_event_channel* channel, rdma_cm_event_type type) {
  const Told told = next_event(channel);
  require(told.type == type, std::string("expected ") + rdma_event_str(type) + ", got " +
                                 rdma_event_str(told.type) + ", status " +
                                 std::to_string(told.status));
}

}  // namespace

Told next_event(rdma_event_channel* channel, rdma_cm_id** request) {
  pollfd waiting{.fd = channel->fd, .events = POLLIN, .revents = 0};
  const auto limit = std::chrono::milliseconds(kPatience).count();
  require(poll(&waiting, 1, static_cast<int>(limit)) == 1,
          "no connection event within " + std::to_string(kPatience.count()) + " s");
  rdma_cm_event* event = nullptr;
  if (rdma_get_cm_event(channel, &event) != 0) {
    fail_errno("rdma_get_cm_event");
  }
  const auto* data = static_cast<const std::uint8_t*>(event->param.conn.private_data);
  Told told{.type = event->event,
            .status = event->status,
            .private_data = {},
            .responder_resources = event->param.conn.responder_resources,
            .initiator_depth = event->param.conn.initiator_depth};
  if (data != nullptr) {
    told.private_data.assign(data, data + event->param.conn.private_data_len);
  }
  if (request != nullptr) {
    *request = event->id;
  }
  rdma_ack_cm_event(event);
  return told;
}

Connector::Connector(Host client, Host server)
    : client_(std::move(client)), server_(std::move(server)), channel_(create_channel()) {
  listener_ = create_id(server_, channel_);
  sockaddr_storage address = parse(server_.address, 0);
  const Inside inside(server_.netns);
  if (rdma_bind_addr(listener_, reinterpret_cast<sockaddr*>(&address)) != 0) {
    fail_errno("rdma_bind_addr " + server_.address);
  }
  if (rdma_listen(listener_, 16) != 0) {
    fail_errno("rdma_listen at " + server_.address);
  }
  port_ = ntohs(rdma_get_src_port(listener_));
}

Connector::~Connector() {
  rdma_destroy_id(listener_);
  rdma_destroy_event_channel(channel_);
}

rdma_cm_id* Connector::resolved(std::uint16_t port, bool shares, sockaddr* from) const {
  rdma_event_channel* channel = create_channel();
  rdma_cm_id* id = create_id(client_, channel);
  sockaddr_storage address = parse(server_.address, port);
  constexpr int kMilliseconds = 5000;
  try {
    int on = 1;
    if (shares &&
        rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, sizeof(on)) != 0) {
      fail_errno("rdma_set_option");
    }
    if (rdma_resolve_addr(id, from, reinterpret_cast<sockaddr*>(&address), kMilliseconds) != 0) {
      fail_errno("rdma_resolve_addr " + server_.address);
    }
    expect_event(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
    if (rdma_resolve_route(id, kMilliseconds) != 0) {
      fail_errno("rdma_resolve_route");
    }
    expect_event(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
  } catch (...) {
    rdma_destroy_id(id);
    rdma_destroy_event_channel(channel);
    throw;
  }
  return id;
}

rdma_cm_id* Connector::accepted(Told* told) const {
  rdma_cm_id* id = nullptr;
  *told = next_event(channel_, &id);
  require(told->type == RDMA_CM_EVENT_CONNECT_REQUEST,
          std::string("the listener got ") + rdma_event_str(told->type));
  if (rdma_migrate_id(id, create_channel()) != 0) {
    fail_errno("rdma_migrate_id");
  }
  return id;
}

void Connector::start(const Endpoint& client, const std::vector<std::uint8_t>& private_data) const {
  const Inside inside(client_.netns);
  rdma_conn_param param = parameters(client, private_data);
  if (rdma_connect(client.id(), &param) != 0) {
    fail_errno("rdma_connect");
  }
}

void Connector::accept(const Endpoint& server,
                       const std::vector<std::uint8_t>& private_data) const {
  const Inside inside(server_.netns);
  rdma_conn_param param = parameters(server, private_data);
  if (rdma_accept(server.id(), &param) != 0) {
    fail_errno("rdma_accept");
  }
}

Pair Connector::connect(const Shape& client_shape, const Shape& server_shape) const {
  Pair pair;
  pair.client = std::make_unique<Endpoint>(resolved(), "client", client_shape);
  start(*pair.client, {});
  Told told{};
  rdma_cm_id* id = accepted(&told);
  pair.server = std::make_unique<Endpoint>(id, "server", server_shape);
  const std::uint64_t receive = pair.server->post_recv({{0, 0}});
  accept(*pair.server, {});
  expect_event(pair.client->id()->channel, RDMA_CM_EVENT_ESTABLISHED);
  expect_event(id->channel, RDMA_CM_EVENT_ESTABLISHED);
  // The initiator speaks first: revision 1 of MPA obliges the responder to wait for it.
  ibv_send_wr hello{};
  hello.opcode = IBV_WR_SEND;
  hello.send_flags = IBV_SEND_SIGNALED;
  const std::uint64_t send = pair.client->post_send(hello);
  pair.server->expect_recv(receive, 0);
  pair.client->expect_send(send, IBV_WC_SEND);
  return pair;
}

}  // namespace placement
