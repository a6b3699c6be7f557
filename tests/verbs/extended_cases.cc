// SPDX-License-Identifier: GPL-2.0
#include <endian.h>

#include <ctime>

#include "cases.h"
#include "transfer.h"

namespace rdma {

namespace {

constexpr std::uint32_t kLength = 70000;

std::int64_t now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1000000000 + time.tv_nsec;
}

// Starts polling: the next completion is the current one.
void start_poll(const Endpoint& endpoint, ibv_cq_ex* cq) {
  const Deadline deadline(kPatience);
  ibv_poll_cq_attr attr{};
  int error = 0;
  while ((error = ibv_start_poll(cq, &attr)) == ENOENT) {
    require(!deadline.over(), std::string("no completion at the ") + endpoint.name());
  }
  require_zero(error, "ibv_start_poll");
}

ibv_cq_ex* extended(ibv_cq* cq) {
  return reinterpret_cast<ibv_cq_ex*>(cq);  // as it was made
}

void data(const Endpoint& endpoint, std::size_t offset, std::uint32_t length) {
  ibv_wr_set_sge(endpoint.qp_ex(), endpoint.memory().mr()->lkey, endpoint.memory().address(offset),
                 length);
}

void plain_operations(Suite& suite, Endpoint& client, Endpoint& server) {
  suite.run("send", [&] {
    prepare(client, server, kLength);
    const std::uint64_t receive = server.post_recv({{kTarget, kLength}});
    const std::uint64_t send = post_extended(client, [&](ibv_qp_ex* qp) {
      ibv_wr_send(qp);
      data(client, kSource, kLength);
    });
    server.expect_recv(receive, kLength);
    client.expect_send(send, IBV_WC_SEND);
    check_target(server, kLength);
  });
  suite.run("write and read back", [&] {
    prepare(client, server, kLength);
    const std::uint32_t rkey = server.memory().mr()->rkey;
    const std::uint64_t there = server.memory().address(kTarget);
    client.expect_send(post_extended(client,
                                     [&](ibv_qp_ex* qp) {
                                       ibv_wr_rdma_write(qp, rkey, there);
                                       data(client, kSource, kLength);
                                     }),
                       IBV_WC_RDMA_WRITE);
    client.memory().expect({{kTarget, kLength}}, client.memory().gather({{kSource, kLength}}));
    client.expect_send(post_extended(client,
                                     [&](ibv_qp_ex* qp) {
                                       ibv_wr_rdma_read(qp, rkey, there);
                                       data(client, kTarget, kLength);
                                     }),
                       IBV_WC_RDMA_READ);
    check_target(client, kLength);
    check_target(server, kLength);
  });
  suite.run("inline data", [&] {
    const std::uint32_t length = client.cap().max_inline_data;
    prepare(client, server, length);
    const std::uint64_t receive = server.post_recv({{kTarget, length}});
    const std::uint64_t send = post_extended(client, [&](ibv_qp_ex* qp) {
      ibv_wr_send(qp);
      ibv_wr_set_inline_data(qp, client.memory().bytes(kSource), length);
    });
    server.expect_recv(receive, length);
    client.expect_send(send, IBV_WC_SEND);
    check_target(server, length);
  });
  suite.run("an aborted batch sends nothing", [&] {
    ibv_wr_start(client.qp_ex());
    ibv_wr_send(client.qp_ex());
    data(client, kSource, 8);
    ibv_wr_abort(client.qp_ex());
    send_checked(client, server, 100);
  });
}

void beyond_iwarp(Suite& suite, Endpoint& client, Endpoint& server) {
  const std::uint32_t rkey = server.memory().mr()->rkey;
  const std::uint64_t there = server.memory().address(kTarget);
  const auto receive_immediate = [&](std::uint64_t receive, ibv_wc_opcode opcode,
                                     std::uint32_t value) {
    const ibv_wc got = server.next_recv();
    require(got.status == IBV_WC_SUCCESS && got.wr_id == receive && got.opcode == opcode &&
                (got.wc_flags & IBV_WC_WITH_IMM) != 0 && be32toh(got.imm_data) == value,
            "receive completion: " + to_string(got));
  };
  suite.run("send with immediate", [&] {
    prepare(client, server, kLength);
    const std::uint64_t receive = server.post_recv({{kTarget, kLength}});
    const std::uint64_t send = post_extended(client, [&](ibv_qp_ex* qp) {
      ibv_wr_send_imm(qp, htobe32(0x01020304));
      data(client, kSource, kLength);
    });
    receive_immediate(receive, IBV_WC_RECV, 0x01020304);
    client.expect_send(send, IBV_WC_SEND);
    check_target(server, kLength);
  });
  suite.run("write with immediate", [&] {
    prepare(client, server, kLength);
    const std::uint64_t receive = server.post_recv({{0, 0}});
    const std::uint64_t send = post_extended(client, [&](ibv_qp_ex* qp) {
      ibv_wr_rdma_write_imm(qp, rkey, there, htobe32(0x05060708));
      data(client, kSource, kLength);
    });
    receive_immediate(receive, IBV_WC_RECV_RDMA_WITH_IMM, 0x05060708);
    client.expect_send(send, IBV_WC_RDMA_WRITE);
    check_target(server, kLength);
  });
  suite.run("atomics", [&] {
    auto* result = reinterpret_cast<std::uint64_t*>(client.memory().bytes(kTarget));
    auto* word = reinterpret_cast<std::uint64_t*>(there);
    *word = 40;
    client.expect_send(post_extended(client,
                                     [&](ibv_qp_ex* qp) {
                                       ibv_wr_atomic_fetch_add(qp, rkey, there, 2);
                                       data(client, kTarget, 8);
                                     }),
                       IBV_WC_FETCH_ADD);
    require(*result == 40 && *word == 42, "fetch and add: " + std::to_string(*word));
    for (const std::uint64_t compare : {41U, 42U}) {
      client.expect_send(post_extended(client,
                                       [&](ibv_qp_ex* qp) {
                                         ibv_wr_atomic_cmp_swp(qp, rkey, there, compare, 7);
                                         data(client, kTarget, 8);
                                       }),
                         IBV_WC_COMP_SWAP);
      require(*result == 42 && *word == (compare == 42 ? 7 : 42),
              "compare and swap: " + std::to_string(*word));
    }
    client.memory().accept();
    server.memory().accept();
  });
}

void stamped(Suite& suite) {
  Shape shape;
  shape.extended = true;
  shape.stamps = true;
  const Pair pair = suite.connector().connect(shape);
  Endpoint& client = *pair.client;
  Endpoint& server = *pair.server;
  ibv_cq_ex* cq = extended(server.recv_cq());
  std::uint64_t receives[5] = {};
  const std::uint64_t before = static_cast<std::uint64_t>(now(CLOCK_MONOTONIC_RAW));
  for (std::uint64_t& receive : receives) {
    prepare(client, server, 100);
    receive = server.post_recv({{kTarget, 100}});
    client.carry_out(client.work(IBV_WR_SEND, {{kSource, 100}}));
  }
  suite.run("one after the other, with time", [&] {
    std::uint64_t last = before;
    std::size_t taken = 0;
    while (taken < 5) {
      start_poll(server, cq);
      do {
        require(cq->status == IBV_WC_SUCCESS && cq->wr_id == receives[taken],
                "a completion that was not expected");
        require(ibv_wc_read_opcode(cq) == IBV_WC_RECV && ibv_wc_read_byte_len(cq) == 100 &&
                    ibv_wc_read_qp_num(cq) == server.qp()->qp_num,
                "wrong fields");
        const std::uint64_t stamp = ibv_wc_read_completion_ts(cq);
        require(stamp >= last && stamp <= static_cast<std::uint64_t>(now(CLOCK_MONOTONIC_RAW)),
                "timestamp " + std::to_string(stamp) + " after " + std::to_string(last));
        last = stamp;
        const auto wall = static_cast<std::int64_t>(ibv_wc_read_completion_wallclock_ns(cq));
        const std::int64_t age = now(CLOCK_REALTIME) - wall;
        require(age > -1000000000 && age < 60000000000,
                "time of day is off by " + std::to_string(age));
        ++taken;
      } while (taken < 5 && ibv_next_poll(cq) == 0);
      ibv_end_poll(cq);
    }
    check_target(server, 100);
  });
  suite.run("the device's clock", [&] {
    ibv_device_attr_ex attr{};
    require_zero(ibv_query_device_ex(client.context(), nullptr, &attr), "ibv_query_device_ex");
    require(attr.completion_timestamp_mask != 0 && attr.hca_core_clock == 1000000, "no clock");
    ibv_values_ex values{};
    values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
    if (sizeof(values.raw_clock.tv_nsec) < sizeof(std::uint64_t)) {
      require(ibv_query_rt_values_ex(client.context(), &values) == EOPNOTSUPP,
              "a clock of 64 bits in 32");
      return;
    }
    require_zero(ibv_query_rt_values_ex(client.context(), &values), "ibv_query_rt_values_ex");
    require(static_cast<std::uint64_t>(values.raw_clock.tv_nsec) > before, "the clock stands");
  });
}

}  // namespace

void extended_cases(Suite& suite) {
  Shape shape;
  shape.extended = true;
  const auto pair = [&] { return suite.connector().connect(shape); };
  suite.group("ibv_wr_*", [&] {
    const Pair ends = pair();
    plain_operations(suite, *ends.client, *ends.server);
  });
  suite.group("ibv_wr_* beyond iWARP", [&] {
    Shape remote = shape;
    remote.access |= IBV_ACCESS_REMOTE_ATOMIC;
    const Pair ends = suite.connector().connect(shape, remote);
    beyond_iwarp(suite, *ends.client, *ends.server);
  });
  suite.group("ibv_start_poll", [&] { stamped(suite); });
  suite.group("in a thread domain", [&] {
    shape.domain = true;
    shape.shared_receives = true;
    const Pair ends = pair();
    plain_operations(suite, *ends.client, *ends.server);
  });
}

}  // namespace rdma
