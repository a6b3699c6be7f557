// SPDX-License-Identifier: GPL-2.0
#include <endian.h>

#include <ctime>

#include "cases.h"

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
  while ((error = ibv_start_poll(cq, &attr)) == ENOENT)
    require(!deadline.over(), std::string("no completion at the ") + endpoint.name());
  require_zero(error, "ibv_start_poll");
}

ibv_cq_ex* extended(ibv_cq* cq) {
  return reinterpret_cast<ibv_cq_ex*>(cq);  // as it was made
}

void data(const Endpoint& endpoint, std::size_t offset, std::uint32_t length) {
  ibv_wr_set_sge(endpoint.qp_ex(), endpoint.memory().mr()->lkey, endpoint.memory().address(offset),
                 length);
}

using Build = std::function<void(ibv_qp_ex*)>;

// Posts what `build` describes, and waits for its completion.
void carry_out(Endpoint& client, ibv_wc_opcode opcode, const Build& build) {
  client.expect_send(post_extended(client, build), opcode);
}

// The same for a send of so many bytes, which must arrive.
void send_by(Endpoint& client, Endpoint& server, std::uint32_t length, const Build& build) {
  send_checked(client, server, length, [&] { return post_extended(client, build); });
}

void plain_operations(Suite& suite, Endpoint& client, Endpoint& server) {
  suite.run("send", [&] {
    send_by(client, server, kLength, [&](ibv_qp_ex* qp) {
      ibv_wr_send(qp);
      data(client, kSource, kLength);
    });
  });
  suite.run("write and read back", [&] {
    prepare(client, server, kLength);
    const std::uint32_t rkey = server.memory().mr()->rkey;
    const std::uint64_t there = server.memory().address(kTarget);
    carry_out(client, IBV_WC_RDMA_WRITE, [&](ibv_qp_ex* qp) {
      ibv_wr_rdma_write(qp, rkey, there);
      data(client, kSource, kLength);
    });
    client.memory().expect({{kTarget, kLength}}, client.memory().gather({{kSource, kLength}}));
    carry_out(client, IBV_WC_RDMA_READ, [&](ibv_qp_ex* qp) {
      ibv_wr_rdma_read(qp, rkey, there);
      data(client, kTarget, kLength);
    });
    check_target(client, kLength);
    check_target(server, kLength);
  });
  suite.run("inline data", [&] {
    const std::uint32_t length = client.cap().max_inline_data;
    send_by(client, server, length, [&](ibv_qp_ex* qp) {
      ibv_wr_send(qp);
      ibv_wr_set_inline_data(qp, client.memory().bytes(kSource), length);
    });
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
  const auto immediate = [&](const Layout& into, ibv_wc_opcode received, std::uint32_t value,
                             ibv_wc_opcode sent, const Build& build) {
    prepare(client, server, kLength);
    const std::uint64_t receive = server.post_recv(into);
    const std::uint64_t send = post_extended(client, [&](ibv_qp_ex* qp) {
      build(qp);
      data(client, kSource, kLength);
    });
    const ibv_wc got = server.next_recv();
    require(got.status == IBV_WC_SUCCESS && got.wr_id == receive && got.opcode == received &&
                (got.wc_flags & IBV_WC_WITH_IMM) != 0 && be32toh(got.imm_data) == value,
            "receive completion: " + to_string(got));
    client.expect_send(send, sent);
    check_target(server, kLength);
  };
  suite.run("send with immediate", [&] {
    immediate({{kTarget, kLength}}, IBV_WC_RECV, 0x01020304, IBV_WC_SEND,
              [](ibv_qp_ex* qp) { ibv_wr_send_imm(qp, htobe32(0x01020304)); });
  });
  suite.run("write with immediate", [&] {
    immediate({{0, 0}}, IBV_WC_RECV_RDMA_WITH_IMM, 0x05060708, IBV_WC_RDMA_WRITE,
              [&](ibv_qp_ex* qp) { ibv_wr_rdma_write_imm(qp, rkey, there, htobe32(0x05060708)); });
  });
  suite.run("atomics", [&] {
    auto* result = reinterpret_cast<std::uint64_t*>(client.memory().bytes(kTarget));
    auto* word = reinterpret_cast<std::uint64_t*>(there);
    *word = 40;
    carry_out(client, IBV_WC_FETCH_ADD, [&](ibv_qp_ex* qp) {
      ibv_wr_atomic_fetch_add(qp, rkey, there, 2);
      data(client, kTarget, 8);
    });
    require(*result == 40 && *word == 42, "fetch and add: " + std::to_string(*word));
    for (const std::uint64_t compare : {41U, 42U}) {
      carry_out(client, IBV_WC_COMP_SWAP, [&](ibv_qp_ex* qp) {
        ibv_wr_atomic_cmp_swp(qp, rkey, there, compare, 7);
        data(client, kTarget, 8);
      });
      require(*result == 42 && *word == (compare == 42 ? 7 : 42),
              "compare and swap: " + std::to_string(*word));
    }
    client.memory().accept();
    server.memory().accept();
  });
}

void stamped(Suite& suite) {
  const Pair pair = suite.connector().connect({.extended = true, .stamps = true});
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
    ibv_values_ex values{.comp_mask = IBV_VALUES_MASK_RAW_CLOCK};
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
  const auto plain = [&](const Shape& shape) {
    const Pair ends = suite.connector().connect(shape);
    plain_operations(suite, *ends.client, *ends.server);
  };
  suite.group("ibv_wr_*", [&] { plain({.extended = true}); });
  suite.group("ibv_wr_* beyond iWARP", [&] {
    Shape remote{.extended = true};
    remote.access |= IBV_ACCESS_REMOTE_ATOMIC;
    const Pair ends = suite.connector().connect({.extended = true}, remote);
    beyond_iwarp(suite, *ends.client, *ends.server);
  });
  suite.group("ibv_start_poll", [&] { stamped(suite); });
  suite.group("in a thread domain",
              [&] { plain({.shared_receives = true, .extended = true, .domain = true}); });
}

}  // namespace rdma
