// SPDX-License-Identifier: GPL-2.0
// What one program's connections cost another: a bystander that connects, disconnects and
// destroys queue pairs, one after the other, and the neighbours whose load it is measured beside.
#include <cstring>
#include <deque>
#include <iostream>
#include <memory>
#include <sstream>
#include <thread>
#include <vector>

#include "cm.h"
#include "descriptor.h"
#include "experiment.h"
#include "memory.h"
#include "result.h"
#include "samples.h"

namespace perf {

namespace {

constexpr unsigned kRounds = 200;
// The neighbours are disturbed when one part in this many of the rounds is over.
constexpr unsigned kLead = 10;

struct Ibv {
  void operator()(ibv_pd* pd) const { ibv_dealloc_pd(pd); }
  void operator()(ibv_mr* mr) const { ibv_dereg_mr(mr); }
  void operator()(ibv_cq* cq) const { ibv_destroy_cq(cq); }
  void operator()(ibv_comp_channel* channel) const { ibv_destroy_comp_channel(channel); }
};
template <typename Object>
using Owned = std::unique_ptr<Object, Ibv>;

template <typename Object>
Owned<Object> own(Object* object, const char* call) {
  if (object == nullptr) {
    fail_errno(call);
  }
  return Owned<Object>(object);
}

void give_queue_pair(rdma_cm_id* id, ibv_pd* pd, ibv_cq* cq) {
  ibv_qp_init_attr init{};
  init.send_cq = cq;
  init.recv_cq = cq;
  init.qp_type = IBV_QPT_RC;
  init.cap = {.max_send_wr = 4,
              .max_recv_wr = 4,
              .max_send_sge = 1,
              .max_recv_sge = 1,
              .max_inline_data = 0};
  if (rdma_create_qp(id, pd, &init) != 0) {
    fail_errno("rdma_create_qp");
  }
}

// How long a call takes, with what it waits for.
template <typename Step>
void timed(Samples& samples, Step step) {
  const Clock::time_point begin = Clock::now();
  step();
  samples.add(Clock::now() - begin);
}

void must(int result, const char* call) {
  if (result != 0) {
    fail_errno(call);
  }
}

// A listening identifier; the port is the kernel's choice.
Identifier listen_at(const Channel& channel, const std::string& address) {
  Identifier id = make_identifier(channel);
  sockaddr_in name = ipv4(address, 0);
  must(rdma_bind_addr(id.get(), reinterpret_cast<sockaddr*>(&name)), "rdma_bind_addr");
  must(rdma_listen(id.get(), 16), "rdma_listen");
  return id;
}

std::string port_of(const Identifier& id) {
  return "port " + std::to_string(ntohs(rdma_get_src_port(id.get())));
}

// A queue pair of the crowd: its own completions, since a thread of its own waits for them.
struct Member {
  Owned<ibv_comp_channel> events;
  Owned<ibv_cq> cq;
  Identifier id;
  std::uint64_t address = 0;
  std::uint32_t rkey = 0;
};

struct Place {
  std::uint64_t address;
  std::uint32_t rkey;
};

// Waits for the answer to a connect, which says where the server's memory is.
Place established(const Channel& channel) {
  rdma_cm_event* event = nullptr;
  must(rdma_get_cm_event(channel.get(), &event), "rdma_get_cm_event");
  const std::unique_ptr<rdma_cm_event, int (*)(rdma_cm_event*)> owner(event, rdma_ack_cm_event);
  Place place{};
  require(event->event == RDMA_CM_EVENT_ESTABLISHED &&
              event->param.conn.private_data_len >= sizeof(place),
          std::string("expected a connection, got ") + rdma_event_str(event->event));
  std::memcpy(&place, event->param.conn.private_data, sizeof(place));
  return place;
}

// Writes a message, waits until it is done, and so on until the queue pair fails.
void keep_writing(const Member& member, const Memory& memory, const ibv_mr& mr) {
  for (;;) {
    ibv_sge sge{.addr = reinterpret_cast<std::uintptr_t>(memory.bytes()),
                .length = static_cast<std::uint32_t>(memory.size()),
                .lkey = mr.lkey};
    ibv_send_wr work{};
    work.sg_list = &sge;
    work.num_sge = 1;
    work.opcode = IBV_WR_RDMA_WRITE;
    work.send_flags = IBV_SEND_SIGNALED;
    work.wr.rdma.remote_addr = member.address;
    work.wr.rdma.rkey = member.rkey;
    ibv_send_wr* bad = nullptr;
    require_zero(ibv_req_notify_cq(member.cq.get(), 0), "ibv_req_notify_cq");
    if (ibv_post_send(member.id->qp, &work, &bad) != 0) {
      return;
    }
    ibv_wc done{};
    while (ibv_poll_cq(member.cq.get(), 1, &done) == 0) {
      ibv_cq* cq = nullptr;
      void* context = nullptr;
      must(ibv_get_cq_event(member.events.get(), &cq, &context), "ibv_get_cq_event");
      ibv_ack_cq_events(cq, 1);
      require_zero(ibv_req_notify_cq(cq, 0), "ibv_req_notify_cq");
    }
    if (done.status != IBV_WC_SUCCESS) {
      return;
    }
  }
}

// Waits for an event of a connection. A request for the next connection may come before the
// event of the last, so requests are put aside.
rdma_cm_id* await_event(const Channel& channel, rdma_cm_event_type type,
                        std::deque<Identifier>& requests) {
  for (;;) {
    rdma_cm_event* event = nullptr;
    must(rdma_get_cm_event(channel.get(), &event), "rdma_get_cm_event");
    const rdma_cm_event_type got = event->event;
    rdma_cm_id* id = event->id;
    rdma_ack_cm_event(event);
    if (got == type) {
      return id;
    }
    require(got == RDMA_CM_EVENT_CONNECT_REQUEST,
            std::string("expected ") + rdma_event_str(type) + ", got " + rdma_event_str(got));
    requests.emplace_back(id);
  }
}

}  // namespace

// The bystander's partner: takes each connection until the client ends it.
void neighbours_server(const Server& server) {
  const Channel channel = make_channel();
  const Identifier listening = listen_at(channel, server.address);
  server.control.send(port_of(listening));
  Owned<ibv_pd> pd;
  Owned<ibv_cq> cq;
  Samples accept(server.settings.count);
  std::deque<Identifier> requests;
  for (unsigned i = 0; i < server.settings.count; i++) {
    if (requests.empty()) {
      requests.emplace_back(await_event(channel, RDMA_CM_EVENT_CONNECT_REQUEST, requests));
    }
    const Identifier id = std::move(requests.front());
    requests.pop_front();
    if (pd == nullptr) {
      pd = own(ibv_alloc_pd(id->verbs), "ibv_alloc_pd");
      cq = own(ibv_create_cq(id->verbs, 8, nullptr, nullptr, 0), "ibv_create_cq");
    }
    give_queue_pair(id.get(), pd.get(), cq.get());
    rdma_conn_param param{};
    timed(accept, [&] {
      must(rdma_accept(id.get(), &param), "rdma_accept");
      await_event(channel, RDMA_CM_EVENT_ESTABLISHED, requests);
    });
    await_event(channel, RDMA_CM_EVENT_DISCONNECTED, requests);
  }
  server.control.send("accept " + std::to_string(accept.median()) + " " +
                      std::to_string(accept.quantile(0.99)));
}

void neighbours_client(Settings settings, Control& control, const std::string& address) {
  settings.count = settings.count > 0 ? settings.count : kRounds;
  control.send("case " + settings.line());
  const auto port = static_cast<std::uint16_t>(std::stoul(control.expect("port")));
  const Channel channel = make_channel();
  Owned<ibv_pd> pd;
  Owned<ibv_cq> cq;
  Samples connect(settings.count);
  Samples disconnect(settings.count);
  Samples destroy(settings.count);
  for (unsigned i = 0; i < settings.count; i++) {
    // Tells the script to disturb the neighbours now.
    if (i == settings.count / kLead) {
      std::cout << "begun" << std::endl;
    }
    const Identifier id = resolve(channel, address, port);
    if (pd == nullptr) {
      pd = own(ibv_alloc_pd(id->verbs), "ibv_alloc_pd");
      cq = own(ibv_create_cq(id->verbs, 8, nullptr, nullptr, 0), "ibv_create_cq");
    }
    give_queue_pair(id.get(), pd.get(), cq.get());
    rdma_conn_param param{};
    timed(connect, [&] {
      must(rdma_connect(id.get(), &param), "rdma_connect");
      expect_event(channel, RDMA_CM_EVENT_ESTABLISHED);
    });
    timed(disconnect, [&] {
      must(rdma_disconnect(id.get()), "rdma_disconnect");
      expect_event(channel, RDMA_CM_EVENT_DISCONNECTED);
    });
    timed(destroy, [&] { rdma_destroy_qp(id.get()); });
  }
  Result result(settings);
  double accept_p50 = 0;
  double accept_p99 = 0;
  std::istringstream(control.expect("accept")) >> accept_p50 >> accept_p99;
  result.add("connect_p50_us", connect.median()).add("connect_p99_us", connect.quantile(0.99));
  result.add("accept_p50_us", accept_p50).add("accept_p99_us", accept_p99);
  result.add("disconnect_p50_us", disconnect.median())
      .add("disconnect_p99_us", disconnect.quantile(0.99));
  result.add("destroy_p50_us", destroy.median()).add("destroy_p99_us", destroy.quantile(0.99));
  result.print();
}

void crowd_server(const Server& server) {
  const std::unique_ptr<Listener> listener = make_listener(server.settings, server.address);
  server.control.send("port " + std::to_string(listener->port()));
  const std::unique_ptr<Transport> transport = listener->accept(server.settings);
  server.control.send("ready");
  server.control.expect("end");
}

// Ends when its queue pairs fail, or by a signal.
void crowd_client(Settings settings, Control& control, const std::string& address) {
  settings.depth = 1;
  control.send("case " + settings.line());
  const auto port = static_cast<std::uint16_t>(std::stoul(control.expect("port")));
  const Memory memory(settings.size);
  const Channel channel = make_channel();
  Owned<ibv_pd> pd;
  Owned<ibv_mr> mr;
  std::vector<Member> members(settings.connections);
  for (Member& member : members) {
    member.id = resolve(channel, address, port);
    ibv_context* device = member.id->verbs;
    if (pd == nullptr) {
      pd = own(ibv_alloc_pd(device), "ibv_alloc_pd");
      mr = own(ibv_reg_mr(pd.get(), memory.bytes(), memory.size(), 0), "ibv_reg_mr");
    }
    member.events = own(ibv_create_comp_channel(device), "ibv_create_comp_channel");
    member.cq = own(ibv_create_cq(device, 8, nullptr, member.events.get(), 0), "ibv_create_cq");
    give_queue_pair(member.id.get(), pd.get(), member.cq.get());
    // Nobody reads or writes here, but the server expects the address of some memory.
    const Place nowhere{};
    rdma_conn_param param{};
    param.private_data = &nowhere;
    param.private_data_len = sizeof(nowhere);
    must(rdma_connect(member.id.get(), &param), "rdma_connect");
    const Place place = established(channel);
    // Messages arrive in the second half of the server's memory.
    member.address = place.address + settings.size;
    member.rkey = place.rkey;
  }
  control.expect("ready");
  std::vector<std::jthread> threads;
  threads.reserve(members.size());
  for (const Member& member : members) {
    threads.emplace_back([&] { keep_writing(member, memory, *mr); });
  }
  std::cout << "ready" << std::endl;
}

void flood_server(const Server& server) {
  const Channel channel = make_channel();
  const Identifier listening = listen_at(channel, server.address);
  server.control.send(port_of(listening));
  server.control.expect("end");
}

// Opens `count` TCP connections a second and says nothing on them, until a signal ends it.
// NOLINTNEXTLINE(performance-unnecessary-value-param): all experiments are called in one way.
void flood_client(Settings settings, Control& control, const std::string& address) {
  constexpr unsigned kOpen = 512;
  constexpr unsigned kRate = 1000;
  const auto gap =
      std::chrono::microseconds(1000000 / (settings.count > 0 ? settings.count : kRate));
  control.send("case " + settings.line());
  const sockaddr_in name =
      ipv4(address, static_cast<std::uint16_t>(std::stoul(control.expect("port"))));
  std::vector<Descriptor> open(kOpen);
  std::cout << "ready" << std::endl;
  Clock::time_point next = Clock::now();
  for (unsigned i = 0;; i++) {
    Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const linger reset{.l_onoff = 1, .l_linger = 0};
    setsockopt(socket.number(), SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    const int ret =
        ::connect(socket.number(), reinterpret_cast<const sockaddr*>(&name), sizeof(name));
    if (ret != 0 && errno != EINPROGRESS) {
      fail_errno("connect");
    }
    open[i % kOpen] = std::move(socket);
    next += gap;
    std::this_thread::sleep_until(next);
  }
}

}  // namespace perf
