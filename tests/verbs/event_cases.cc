// SPDX-License-Identifier: GPL-2.0
// Asynchronous events: of queue pairs and completion queues that can't go on, and of the port.
#include <net/if.h>
#include <sys/ioctl.h>

#include "cases.h"
#include "netns.h"

namespace rdma {
namespace {

void expect_event(ibv_event_type event, ibv_event_type wanted) {
  require(event == wanted, std::string("the event is: ") + ibv_event_type_str(event));
}

void refused_access(Suite& suite) {
  const Pair pair = suite.connector().connect();
  Work work = pair.client->work(IBV_WR_RDMA_READ, {{kTarget, 8}}, *pair.server, kSource);
  work.wr.rdma.rkey ^= 1;
  pair.client->post_send(work);
  expect_event(pair.server->next_async_event(pair.server->qp()), IBV_EVENT_QP_ACCESS_ERR);
}

void refused_message(Suite& suite) {
  const Pair pair = suite.connector().connect();
  pair.server->post_recv({{kTarget, 8}});
  pair.client->post_send(pair.client->work(IBV_WR_SEND, {{kSource, 9}}));
  expect_event(pair.server->next_async_event(pair.server->qp()), IBV_EVENT_QP_REQ_ERR);
}

// So many messages of a byte, each of which has its receive.
void send(const Pair& pair, int messages) {
  for (int at = 0; at < messages; ++at) pair.server->post_recv({{kTarget, 1}});
  for (int at = 0; at < messages; ++at)
    pair.client->post_send(pair.client->work(IBV_WR_SEND, {{kSource, 1}}));
}

// More completions than the queue holds: what fitted can be polled, then comes the error.
void overrun(Suite& suite) {
  const Pair pair = suite.connector().connect({}, {.cq_entries = 8});
  Endpoint& server = *pair.server;
  const int held = server.recv_cq()->cqe;
  require(held < 64, "a queue of 8 holds " + std::to_string(held));
  send(pair, held + 1);
  expect_event(server.next_async_event(server.recv_cq()), IBV_EVENT_CQ_ERR);
  expect_event(server.next_async_event(server.qp()), IBV_EVENT_QP_FATAL);
  server.expect_error_state();
  ibv_wc done{};
  for (int at = 0; at < held; ++at) {
    require(ibv_poll_cq(server.recv_cq(), 1, &done) == 1 && done.status == IBV_WC_SUCCESS,
            "completion " + std::to_string(at) + " of those that fitted is not there");
  }
  require(ibv_poll_cq(server.recv_cq(), 1, &done) < 0, "polling on is no error");
}

// A completion queue that holds its events back until there are enough completions, or time is up.
void moderated(Suite& suite) {
  using std::chrono::milliseconds;
  constexpr int kEnough = 4;
  constexpr milliseconds kNever(200);
  constexpr milliseconds kSurely(20000);
  const Pair pair = suite.connector().connect();
  Endpoint& server = *pair.server;
  ibv_cq* queue = server.recv_cq();
  const auto moderate = [queue](std::uint16_t count, std::uint16_t period) {
    ibv_modify_cq_attr attr{.attr_mask = IBV_CQ_ATTR_MODERATE,
                            .moderate = {.cq_count = count, .cq_period = period}};
    require_zero(ibv_modify_cq(queue, &attr), "ibv_modify_cq");
  };
  const auto take = [&](int messages) {
    for (int at = 0; at < messages; ++at)
      require(server.poll(queue).has_value(), "completion " + std::to_string(at) + " is not there");
    require(!server.poll(queue).has_value(), "there is one too many");
  };
  ibv_device_attr_ex device{};
  require_zero(ibv_query_device_ex(server.context(), nullptr, &device), "ibv_query_device_ex");
  require(device.cq_mod_caps.max_cq_count >= kEnough && device.cq_mod_caps.max_cq_period > 0,
          "the device says that it can't");

  moderate(kEnough, 0);
  require_zero(ibv_req_notify_cq(queue, 0), "ibv_req_notify_cq");
  send(pair, kEnough - 1);
  require(!server.await_event(queue, kNever), "an event for fewer than enough");
  send(pair, 1);
  require(server.await_event(queue, kSurely), "no event for enough");
  take(kEnough);

  moderate(1000, 10000);
  require_zero(ibv_req_notify_cq(queue, 0), "ibv_req_notify_cq");
  send(pair, 1);
  require(server.await_event(queue, kSurely), "no event when time is up");
  take(1);

  // Failures do not wait.
  moderate(1000, 0);
  require_zero(ibv_req_notify_cq(queue, 0), "ibv_req_notify_cq");
  server.post_recv({{kTarget, 1}});
  modify(server.qp(), IBV_QPS_ERR);
  require(server.await_event(queue, kSurely), "no event for a failure");
}

// Takes the client's interface down, or up again.
void set_link(const std::string& netns, bool up) {
  const Inside inside(netns);
  const Descriptor control(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq interface {};
  std::memcpy(static_cast<char*>(interface.ifr_name), "eth0", sizeof("eth0"));
  must(ioctl(control.number(), SIOCGIFFLAGS, &interface), "the flags of eth0 of " + netns);
  interface.ifr_flags =
      static_cast<short>(up ? interface.ifr_flags | IFF_UP : interface.ifr_flags & ~IFF_UP);
  must(ioctl(control.number(), SIOCSIFFLAGS, &interface), "setting eth0 of " + netns);
}

void port(Suite& suite, const std::string& netns) {
  const Pair pair = suite.connector().connect();
  const auto state = [](const Endpoint& end) {
    ibv_port_attr attr{};
    require_zero(ibv_query_port(end.context(), 1, &attr), "ibv_query_port");
    return attr.state;
  };
  set_link(netns, false);
  try {
    // The other end of the cable sees it as well.
    expect_event(pair.client->next_port_event(), IBV_EVENT_PORT_ERR);
    expect_event(pair.server->next_port_event(), IBV_EVENT_PORT_ERR);
    require(state(*pair.client) == IBV_PORT_DOWN, "the port is not down");
  } catch (...) {
    set_link(netns, true);
    throw;
  }
  set_link(netns, true);
  while (pair.client->next_port_event() != IBV_EVENT_PORT_ACTIVE) {
  }
  while (pair.server->next_port_event() != IBV_EVENT_PORT_ACTIVE) {
  }
  require(state(*pair.client) == IBV_PORT_ACTIVE, "the port is not active");
  // TCP has outlived it, and so has the connection.
  send_checked(*pair.client, *pair.server, 5000);
}

}  // namespace

void event_cases(Suite& suite, const std::string& client_netns) {
  suite.group("events", [&] {
    suite.run("an access that is refused", [&] { refused_access(suite); });
    suite.run("a message longer than its receive", [&] { refused_message(suite); });
    suite.run("a completion queue that overflows", [&] { overrun(suite); });
    suite.run("a moderated completion queue", [&] { moderated(suite); });
    suite.run("the port goes down and comes up", [&] { port(suite, client_netns); });
  });
}

}  // namespace rdma
