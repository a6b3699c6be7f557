// SPDX-License-Identifier: GPL-2.0
// What ibv_query_device says can be had, and one more is refused.
#include <cstdlib>

#include "cases.h"

namespace rdma {
namespace {

// The device has no attribute for it; weft(7) names it.
constexpr std::uint32_t kMaxInline = 288;
// Large enough that a few of them fill what TCP buffers.
constexpr std::uint32_t kLarge = 512U << 10;

// 0, or why there is no object.
template <typename Object>
int outcome(const Owned<Object>& object) {
  return object == nullptr ? errno : 0;
}

// `make` makes an object of the given size, and returns 0 or an errno value.
void at_the_limit(const std::string& what, std::uint32_t limit,
                  const std::function<int(std::uint32_t)>& make) {
  require(limit > 1, what + " is " + std::to_string(limit));
  for (const std::uint32_t value : {1U, limit - 1, limit})
    require_zero(make(value), what + " " + std::to_string(value));
  for (const std::uint32_t value : {limit + 1, std::numeric_limits<std::uint32_t>::max()})
    require_error(make(value), EINVAL, what + " " + std::to_string(value));
}

// A queue pair that is connected to nothing, with these capacities or more.
int make_qp(const Endpoint& end, const ibv_qp_cap& cap) {
  ibv_qp_init_attr init = queue_pair(end.send_cq(), 0, 0);
  init.cap = cap;
  const Owned<ibv_qp> qp(ibv_create_qp(end.pd(), &init));
  if (qp != nullptr) {
    require(init.cap.max_send_wr >= cap.max_send_wr && init.cap.max_recv_wr >= cap.max_recv_wr &&
                init.cap.max_send_sge >= cap.max_send_sge &&
                init.cap.max_recv_sge >= cap.max_recv_sge &&
                init.cap.max_inline_data >= cap.max_inline_data,
            "less was granted than asked for");
  }
  return outcome(qp);
}

int make_cq(const Endpoint& end, std::uint32_t entries) {
  const Owned<ibv_cq> cq(
      ibv_create_cq(end.context(), static_cast<int>(entries), nullptr, nullptr, 0));
  const int error = outcome(cq);
  require(cq == nullptr || static_cast<std::uint32_t>(cq->cqe) >= entries,
          "less was granted than asked for");
  return error;
}

int make_srq(const Endpoint& end, std::uint32_t receives, std::uint32_t sges) {
  ibv_srq_init_attr init{.attr = {.max_wr = receives, .max_sge = sges}};
  const Owned<ibv_srq> srq(ibv_create_srq(end.pd(), &init));
  if (srq == nullptr) return errno;
  ibv_srq_attr granted{};
  require_zero(ibv_query_srq(srq.get(), &granted), "ibv_query_srq");
  require(granted.max_wr >= receives && granted.max_sge >= sges, "less was granted than asked for");
  return 0;
}

std::uint32_t limit_of(int attribute) { return static_cast<std::uint32_t>(attribute); }

void capacity_cases(Suite& suite) {
  const Endpoint& end = *suite.pair().client;
  const ibv_device_attr& device = end.device();
  // One of them has its limit, and the others one or none.
  const auto capacity = [&](const std::string& what, std::uint32_t ibv_qp_cap::*which,
                            std::uint32_t limit) {
    at_the_limit(what, limit, [&](std::uint32_t value) {
      ibv_qp_cap cap = queue_pair(nullptr, 1, 1).cap;
      cap.*which = value;
      return make_qp(end, cap);
    });
  };
  suite.run("max_qp_wr of sends",
            [&] { capacity("max_send_wr", &ibv_qp_cap::max_send_wr, limit_of(device.max_qp_wr)); });
  suite.run("max_qp_wr of receives",
            [&] { capacity("max_recv_wr", &ibv_qp_cap::max_recv_wr, limit_of(device.max_qp_wr)); });
  suite.run("max_sge", [&] {
    capacity("max_send_sge", &ibv_qp_cap::max_send_sge, limit_of(device.max_sge));
    capacity("max_recv_sge", &ibv_qp_cap::max_recv_sge, limit_of(device.max_sge));
  });
  suite.run("inline data",
            [&] { capacity("max_inline_data", &ibv_qp_cap::max_inline_data, kMaxInline); });
  suite.run("all that a queue pair can have at once", [&] {
    const std::uint32_t requests = limit_of(device.max_qp_wr);
    const std::uint32_t sges = limit_of(device.max_sge);
    require_zero(make_qp(end, {requests, requests, sges, sges, kMaxInline}), "ibv_create_qp");
  });
  suite.run("max_cqe", [&] {
    at_the_limit("cqe", limit_of(device.max_cqe),
                 [&](std::uint32_t value) { return make_cq(end, value); });
    require(make_cq(end, 0) == EINVAL, "a completion queue without an entry");
  });
  suite.run("max_cqe by resizing", [&] {
    const Owned<ibv_cq> cq =
        own(ibv_create_cq(end.context(), 1, nullptr, nullptr, 0), "ibv_create_cq");
    at_the_limit("cqe", limit_of(device.max_cqe), [&](std::uint32_t value) {
      return ibv_resize_cq(cq.get(), static_cast<int>(value));
    });
  });
  suite.run("max_srq_wr", [&] {
    at_the_limit("max_wr", limit_of(device.max_srq_wr),
                 [&](std::uint32_t value) { return make_srq(end, value, 1); });
    require(make_srq(end, 0, 1) == EINVAL, "a shared receive queue without a receive");
  });
  suite.run("max_srq_sge", [&] {
    at_the_limit("max_sge", limit_of(device.max_srq_sge),
                 [&](std::uint32_t value) { return make_srq(end, 1, value); });
  });
  suite.run("max_mr_size", [&] {
    if (device.max_mr_size + 1 > SIZE_MAX) Suite::skip("no process of 32 bits has so much memory");
    const Owned<ibv_mr> mr(
        ibv_reg_mr(end.pd(), end.memory().bytes(), device.max_mr_size + 1, IBV_ACCESS_LOCAL_WRITE));
    require(mr == nullptr, "a region past max_mr_size was had");
    require(errno == EINVAL || errno == ENOMEM, std::strerror(errno));
  });
}

// `count` extents of different lengths, with gaps between them.
Layout scattered(std::size_t begin, std::uint32_t count) {
  Layout layout;
  for (std::uint32_t i = 0; i < count; i++)
    layout.push_back({begin + i * std::size_t{3000}, 100 + i * 37U});
  return layout;
}

Work inline_send(const Endpoint& end, std::uint32_t bytes) {
  Work work = end.work(IBV_WR_SEND, {{kSource, bytes}});
  work.send_flags |= IBV_SEND_INLINE;
  return work;
}

void expect_not_taken(const Endpoint& end, Work work) {
  require_error(post(end.qp(), work), EINVAL, "the post");
}

void list_cases(Suite& suite) {
  const Pair& pair = suite.pair();
  Endpoint& client = *pair.client;
  Endpoint& server = *pair.server;
  const std::uint32_t most = client.cap().max_send_sge;
  require(most == limit_of(client.device().max_sge), "max_send_sge is not max_sge");
  suite.run("a send and a receive of max_sge", [&] {
    const Layout from = scattered(kSource, most);
    const Layout to = scattered(kTarget, most);
    client.memory().fill(from, suite.random(1U << 30));
    server.memory().expect(to, client.memory().gather(from));
    const std::uint64_t receive = server.post_recv(to);
    const std::uint64_t send = client.post_send(client.work(IBV_WR_SEND, from));
    server.expect_recv(receive, size_of(from));
    client.expect_send(send, IBV_WC_SEND);
    server.memory().check(to, "server");
  });
  suite.run("a read of max_sge_rd", [&] {
    const std::uint32_t reads = limit_of(client.device().max_sge_rd);
    const Layout to = scattered(kTarget, reads);
    const auto length = static_cast<std::uint32_t>(size_of(to));
    server.memory().fill({{kSource, length}}, suite.random(1U << 30));
    client.memory().expect(to, server.memory().gather({{kSource, length}}));
    client.carry_out(client.work(IBV_WR_RDMA_READ, to, server, kSource));
    client.memory().check(to, "client");
  });
  suite.run("one more is refused", [&] {
    const Layout much = scattered(kSource, most + 1);
    for (const ibv_wr_opcode opcode : {IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ})
      expect_not_taken(client, client.work(opcode, much));
    Receive receive(client.memory().sges(much));
    require_error(post(client.qp(), receive), EINVAL, "the receive");
  });
  suite.run("inline data: all of it, and one byte more", [&] {
    const std::uint32_t bytes = client.cap().max_inline_data;
    send_checked(client, server, bytes,
                 [&] { return client.post_send(inline_send(client, bytes)); });
    expect_not_taken(client, inline_send(client, bytes + 1));
  });
  suite.run("the connection has survived it", [&] { send_checked(client, server, 5000); });
}

// Posts until the queue is full; returns how many it took, and requires that it said so.
std::uint32_t fill(const std::function<int()>& post, std::uint32_t bound) {
  std::uint32_t taken = 0;
  int error = 0;
  while ((error = post()) == 0) {
    taken++;
    require(taken <= bound, std::to_string(taken) + " were taken, and no end");
  }
  require_error(error, ENOMEM, "the last post");
  return taken;
}

void queue_cases(Suite& suite) {
  const ibv_device_attr device = suite.pair().client->device();
  const std::uint32_t most = limit_of(device.max_qp_wr);
  // Requests that went out give their places back, so that more than that are taken.
  const Shape shape{
      .send_wr = most, .recv_wr = most, .cq_entries = 4 * most, .sge = 1, .inline_bytes = 0};
  const Pair pair = suite.connector().connect(shape);
  Endpoint& client = *pair.client;
  Endpoint& server = *pair.server;
  suite.run("receives: as many as max_qp_wr are taken", [&] {
    Receive work;
    const std::uint32_t taken = fill([&] { return post(client.qp(), work); }, 2 * shape.recv_wr);
    require(taken >= shape.recv_wr, std::to_string(taken) + " were taken");
  });
  suite.run("sends: as many as max_qp_wr are taken, and each completes", [&] {
    // The server has no receive, so that what TCP does not buffer stays in the queue.
    Work work = client.work(IBV_WR_SEND, {{kSource, kLarge}});
    const std::uint32_t taken = fill([&] { return post(client.qp(), work); }, 3 * shape.send_wr);
    require(taken >= shape.send_wr, std::to_string(taken) + " were taken");
    must(rdma_disconnect(server.id()), "rdma_disconnect");
    for (std::uint32_t i = 0; i < taken; i++) {
      const ibv_wc completion = client.next_send();
      require(completion.status == IBV_WC_SUCCESS || completion.status == IBV_WC_WR_FLUSH_ERR,
              to_string(completion));
    }
    client.expect_flushed(client.recv_cq(), shape.recv_wr);
  });
  suite.run("a shared receive queue takes max_srq_wr", [&] {
    ibv_srq_init_attr init{.attr = {.max_wr = limit_of(device.max_srq_wr), .max_sge = 1}};
    const Owned<ibv_srq> srq = own(ibv_create_srq(client.pd(), &init), "ibv_create_srq");
    Receive work;
    const std::uint32_t taken = fill([&] { return post(srq.get(), work); }, 2 * init.attr.max_wr);
    require(taken >= limit_of(device.max_srq_wr), std::to_string(taken) + " were taken");
  });
}

// Makes objects until no more can be had, which must be at the limit; and one again when one of
// them is gone. The connection has `others` of them.
template <typename Object>
void exhaust(std::uint32_t limit, std::uint32_t others, const std::function<Object*()>& make) {
  std::vector<Owned<Object>> objects;
  objects.reserve(limit);
  for (;;) {
    Owned<Object> object(make());
    if (object == nullptr) break;
    objects.push_back(std::move(object));
    require(objects.size() + others <= limit, "more can be had than the device says");
  }
  const int error = errno;
  require(error == ENOMEM && objects.size() + others == limit,
          std::to_string(objects.size()) + " could be had, then: " + std::strerror(error));
  objects.pop_back();
  objects.emplace_back(make());
  require(objects.back() != nullptr, "none could be had after one was given back");
}

// A group of such cases. It is skipped on a kernel that takes minutes for 65536 objects.
void number_cases(Suite& suite, const std::string& name, void (*cases)(Suite&, const Endpoint&)) {
  suite.group(name, [&] {
    const char* const less = std::getenv("WEFT_LESS");
    if (less != nullptr && std::atoi(less) > 1)
      Suite::skip("this kernel is too slow for 65536 objects of each kind");
    const Pair pair = suite.connector().connect();
    cases(suite, *pair.client);
  });
}

// Objects that have no memory mapped.
void object_number_cases(Suite& suite, const Endpoint& end) {
  suite.run("max_pd", [&] {
    // librdmacm has one, too.
    exhaust<ibv_pd>(limit_of(end.device().max_pd), 2, [&] { return ibv_alloc_pd(end.context()); });
  });
  // A million regions take an emulated processor minutes: KUnit's region_number is about max_mr.
  suite.run("max_mw", [&] {
    exhaust<ibv_mw>(limit_of(end.device().max_mw), 0,
                    [&] { return ibv_alloc_mw(end.pd(), IBV_MW_TYPE_2); });
  });
}

ibv_srq* smallest_srq(const Endpoint& end) {
  ibv_srq_init_attr shared{.attr = {.max_wr = 1, .max_sge = 1, .srq_limit = 0}};
  return ibv_create_srq(end.pd(), &shared);
}

// Completion queues and shared receive queues, each of which is mapped.
void queue_number_cases(Suite& suite, const Endpoint& end) {
  suite.run("max_cq", [&] {
    exhaust<ibv_cq>(limit_of(end.device().max_cq), 2,
                    [&] { return ibv_create_cq(end.context(), 1, nullptr, nullptr, 0); });
  });
  suite.run("max_srq", [&] {
    exhaust<ibv_srq>(limit_of(end.device().max_srq), 0, [&] { return smallest_srq(end); });
  });
}

void queue_pair_number_cases(Suite& suite, const Endpoint& end) {
  suite.run("max_qp", [&] {
    // Without a receive queue of its own, each takes half the memory.
    const Owned<ibv_srq> srq = own(smallest_srq(end), "ibv_create_srq");
    exhaust<ibv_qp>(limit_of(end.device().max_qp), 1, [&] {
      ibv_qp_init_attr init = queue_pair(end.send_cq(), 1, 0);
      init.srq = srq.get();
      init.cap.max_recv_sge = 0;
      return ibv_create_qp(end.pd(), &init);
    });
  });
}

}  // namespace

void limit_cases(Suite& suite) {
  suite.group("limits: capacities", [&] { capacity_cases(suite); });
  suite.group("limits: lists", [&] { list_cases(suite); });
  suite.group("limits: queues filled", [&] { queue_cases(suite); });
  number_cases(suite, "limits: numbers of objects", object_number_cases);
  number_cases(suite, "limits: number of queue pairs", queue_pair_number_cases);
  number_cases(suite, "limits: numbers of other queues", queue_number_cases);
}

}  // namespace rdma
