// SPDX-License-Identifier: GPL-2.0
// What one program's connections cost another: a bystander that connects, disconnects and
// destroys queue pairs, one after the other, and the neighbours whose load it is measured beside.
#include <deque>
#include <iostream>
#include <sstream>
#include <thread>

#include "event.h"
#include "experiment.h"
#include "work.h"

namespace rdma::perf {

namespace {

// The neighbours are disturbed when one part in this many of the rounds is over.
constexpr unsigned kLead = 10;
constexpr Limit kResolving = std::chrono::seconds(10);

void give_queue_pair(rdma_cm_id* id, ibv_pd* pd, ibv_cq* cq) {
  ibv_qp_init_attr init = queue_pair(cq, 4, 4);
  must(rdma_create_qp(id, pd, &init), "rdma_create_qp");
}

// What the queue pairs of a bystander, or of its partner, have in common.
struct Common {
  Owned<ibv_pd> pd;
  Owned<ibv_cq> cq;

  void give_queue_pair(rdma_cm_id* id) {
    if (pd == nullptr) {
      pd = own(ibv_alloc_pd(id->verbs), "ibv_alloc_pd");
      cq = own(ibv_create_cq(id->verbs, 8, nullptr, nullptr, 0), "ibv_create_cq");
    }
    perf::give_queue_pair(id, pd.get(), cq.get());
  }
};

// A queue pair of the crowd: its own completions, since a thread of its own waits for them.
struct Member {
  Owned<ibv_comp_channel> events;
  Owned<ibv_cq> cq;
  Identifier id;
  Remote place{};  // of the server's memory
};

// Writes a message, waits until it is done, and so on until the queue pair fails.
void keep_writing(const Member& member, const Memory& memory, const ibv_mr& mr) {
  Work work(IBV_WR_RDMA_WRITE, {{.addr = reinterpret_cast<std::uintptr_t>(memory.bytes()),
                                 .length = static_cast<std::uint32_t>(memory.size()),
                                 .lkey = mr.lkey}});
  work.aim(member.place.address, member.place.rkey);
  for (;;) {
    require_zero(ibv_req_notify_cq(member.cq.get(), 0), "ibv_req_notify_cq");
    if (post(member.id->qp, work) != 0) return;
    ibv_wc done{};
    while (ibv_poll_cq(member.cq.get(), 1, &done) == 0) {
      await_event(member.cq.get(), kForever);
      require_zero(ibv_req_notify_cq(member.cq.get(), 0), "ibv_req_notify_cq");
    }
    if (done.status != IBV_WC_SUCCESS) return;
  }
}

// Waits for an event of a connection. A request for the next connection may come before the
// event of the last, so requests are put aside.
rdma_cm_id* await_event(const Channel& channel, rdma_cm_event_type type,
                        std::deque<Identifier>& requests) {
  for (;;) {
    const Event event = *next_event(channel.get(), Deadline(kForever));
    if (event.type == type) return event.id;
    if (event.type != RDMA_CM_EVENT_CONNECT_REQUEST) throw event.instead_of(type);
    requests.emplace_back(event.id);
  }
}

}  // namespace

// The bystander's partner: takes each connection until the client ends it.
void neighbours_server(const Server& server) {
  const Channel channel = make_channel();
  const Identifier listening = make_identifier(channel.get());
  server.tell_port(listen_at(listening.get(), {server.address, 0}, 16));
  Common common;
  Samples accept(server.settings.count);
  std::deque<Identifier> requests;
  for (unsigned i = 0; i < server.settings.count; i++) {
    if (requests.empty())
      requests.emplace_back(await_event(channel, RDMA_CM_EVENT_CONNECT_REQUEST, requests));
    const Identifier id = std::move(requests.front());
    requests.pop_front();
    common.give_queue_pair(id.get());
    rdma_conn_param param{};
    accept.time([&] {
      must(rdma_accept(id.get(), &param), "rdma_accept");
      await_event(channel, RDMA_CM_EVENT_ESTABLISHED, requests);
    });
    await_event(channel, RDMA_CM_EVENT_DISCONNECTED, requests);
  }
  server.control.send("accept " + std::to_string(accept.median()) + " " +
                      std::to_string(accept.quantile(0.99)));
}

void neighbours_client(Client& client) {
  Settings& settings = client.settings;
  const std::uint16_t port = client.begin();
  const Channel channel = make_channel();
  Common common;
  Samples connect(settings.count);
  Samples disconnect(settings.count);
  Samples destroy(settings.count);
  for (unsigned i = 0; i < settings.count; i++) {
    // Tells the script to disturb the neighbours now.
    if (i == settings.count / kLead) std::cout << "begun" << std::endl;
    const Identifier id = make_identifier(channel.get());
    resolve(id.get(), {client.address, port}, kResolving);
    common.give_queue_pair(id.get());
    rdma_conn_param param{};
    connect.time([&] {
      must(rdma_connect(id.get(), &param), "rdma_connect");
      expect_event(channel.get(), RDMA_CM_EVENT_ESTABLISHED);
    });
    disconnect.time([&] {
      must(rdma_disconnect(id.get()), "rdma_disconnect");
      expect_event(channel.get(), RDMA_CM_EVENT_DISCONNECTED);
    });
    destroy.time([&] { rdma_destroy_qp(id.get()); });
  }
  Record result = result_of(settings);
  double accept_p50 = 0;
  double accept_p99 = 0;
  std::istringstream(client.control.expect("accept")) >> accept_p50 >> accept_p99;
  result.add("connect_p50_us", connect.median()).add("connect_p99_us", connect.quantile(0.99));
  result.add("accept_p50_us", accept_p50).add("accept_p99_us", accept_p99);
  result.add("disconnect_p50_us", disconnect.median())
      .add("disconnect_p99_us", disconnect.quantile(0.99));
  result.add("destroy_p50_us", destroy.median()).add("destroy_p99_us", destroy.quantile(0.99));
  result.print();
}

void crowd_server(const Server& server) {
  const std::unique_ptr<Listener> listener = make_listener(server.settings, server.address);
  server.tell_port(listener->port());
  const std::unique_ptr<Transport> transport = listener->accept(server.settings);
  server.control.send("ready");
  server.control.expect("end");
}

// Ends when its queue pairs fail, or by a signal.
void crowd_client(Client& client) {
  Settings& settings = client.settings;
  settings.depth = 1;
  const std::uint16_t port = client.begin();
  const Memory memory(settings.size);
  const Channel channel = make_channel();
  Owned<ibv_pd> pd;
  Owned<ibv_mr> mr;
  std::vector<Member> members(settings.connections);
  for (Member& member : members) {
    member.id = make_identifier(channel.get());
    resolve(member.id.get(), {client.address, port}, kResolving);
    ibv_context* device = member.id->verbs;
    if (pd == nullptr) {
      pd = own(ibv_alloc_pd(device), "ibv_alloc_pd");
      mr = own(ibv_reg_mr(pd.get(), memory.bytes(), memory.size(), 0), "ibv_reg_mr");
    }
    member.events = own(ibv_create_comp_channel(device), "ibv_create_comp_channel");
    member.cq = own(ibv_create_cq(device, 8, nullptr, member.events.get(), 0), "ibv_create_cq");
    give_queue_pair(member.id.get(), pd.get(), member.cq.get());
    // Nobody reads or writes here, but the server expects the address of some memory.
    const Remote nowhere{};
    rdma_conn_param param = parameters(0, &nowhere);
    must(rdma_connect(member.id.get(), &param), "rdma_connect");
    member.place = expect_event(channel.get(), RDMA_CM_EVENT_ESTABLISHED).as<Remote>();
    // Messages arrive in the second half of the server's memory.
    member.place.address += settings.size;
  }
  client.control.expect("ready");
  std::vector<std::jthread> threads;
  threads.reserve(members.size());
  for (const Member& member : members)
    threads.emplace_back([&] { keep_writing(member, memory, *mr); });
  std::cout << "ready" << std::endl;
}

void flood_server(const Server& server) {
  const Channel channel = make_channel();
  const Identifier listening = make_identifier(channel.get());
  server.tell_port(listen_at(listening.get(), {server.address, 0}, 16));
  server.control.expect("end");
}

// Opens `count` TCP connections a second and says nothing on them, until a signal ends it.
void flood_client(Client& client) {
  constexpr unsigned kOpen = 512;
  const auto gap = std::chrono::microseconds(1000000 / client.settings.count);
  const SocketAddress name = Address{client.address, client.begin()}.resolve();
  std::vector<Descriptor> open(kOpen);
  std::cout << "ready" << std::endl;
  Clock::time_point next = Clock::now();
  for (unsigned i = 0;; i++) {
    Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const linger reset{.l_onoff = 1, .l_linger = 0};
    setsockopt(socket.number(), SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    const int ret = ::connect(socket.number(), name.get(), name.length);
    if (ret != 0 && errno != EINPROGRESS) fail_errno("connect");
    open[i % kOpen] = std::move(socket);
    next += gap;
    std::this_thread::sleep_until(next);
  }
}

}  // namespace rdma::perf
