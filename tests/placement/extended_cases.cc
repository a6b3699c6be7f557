// SPDX-License-Identifier: GPL-2.0
// Immediate data and atomics.
#include <arpa/inet.h>

#include <atomic>
#include <thread>

#include "cases.h"

namespace rdma {
namespace {

constexpr std::size_t kWord = 65536;  // an aligned place in the server's arena
constexpr std::size_t kResult = 131072;
constexpr std::uint32_t kImmediate = 0x12c0ffee;
constexpr int kAtomicAccess = Shape{}.access | IBV_ACCESS_REMOTE_ATOMIC;

// A word that the other end, or another thread, changes.
std::atomic_ref<std::uint64_t> word_at(const Memory& memory, std::size_t offset) {
  return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(memory.bytes(offset)));
}

// One work request with immediate data, from the client; the server has one receive.
void carry(Pair& pair, ibv_wr_opcode opcode, std::uint32_t length, bool is_inline = false) {
  Endpoint& client = *pair.client;
  Endpoint& server = *pair.server;
  const bool is_send = opcode == IBV_WR_SEND_WITH_IMM;
  const Layout from = {{3, length}};
  const Layout to = {{77, length}};
  client.memory().fill(from, length + 1U);
  server.memory().expect(to, client.memory().gather(from));

  Work work = client.work(opcode, length == 0 ? Layout{} : from, server, 77);
  work.send_flags |= is_inline ? unsigned{IBV_SEND_INLINE} : 0U;
  work.imm_data = htonl(kImmediate + length);

  // A WRITE takes a receive and puts nothing in it.
  const std::uint64_t receive = server.post_recv(is_send ? to : Layout{{1U << 20, 64}});
  const std::uint64_t sent = client.post_send(work);
  client.expect_send(sent, is_send ? IBV_WC_SEND : IBV_WC_RDMA_WRITE);
  const ibv_wc got = server.next_recv();
  require(got.status == IBV_WC_SUCCESS && got.wr_id == receive &&
              got.opcode == (is_send ? IBV_WC_RECV : IBV_WC_RECV_RDMA_WITH_IMM) &&
              got.byte_len == length && (got.wc_flags & IBV_WC_WITH_IMM) != 0 &&
              ntohl(got.imm_data) == kImmediate + length,
          "receive completion: " + to_string(got) + ", flags " + std::to_string(got.wc_flags) +
              ", immediate " + std::to_string(ntohl(got.imm_data)));
  check_all(client, server);
}

void immediate(Suite& suite, ibv_wr_opcode opcode) {
  for (const std::uint32_t length :
       {0U, 1U, 8U, 63U, 288U, 1400U, 1430U, 1448U, 4096U, 65536U, 1000003U})
    suite.run(std::to_string(length) + " bytes", [&] { carry(suite.pair(), opcode, length); });
  for (const std::uint32_t length : {0U, 1U, 31U, 64U, 256U})
    suite.run(std::to_string(length) + " bytes inline",
              [&] { carry(suite.pair(), opcode, length, true); });
  suite.run("between messages without", [&] {
    for (int turn = 0; turn < 20; ++turn) {
      Pair& pair = suite.pair();
      carry(pair, opcode, 100);
      Chain::run(*pair.client, *pair.server, {IBV_WR_SEND, {{5, 99}}, {{7, 99}}});
      Chain::run(*pair.client, *pair.server, {IBV_WR_RDMA_WRITE, {{5, 3000}}, {{7, 3000}}});
    }
  });
  suite.run("a solicited one wakes who waits for such", [&] {
    Pair pair = suite.connector().connect();
    require_zero(ibv_req_notify_cq(pair.server->recv_cq(), 1), "ibv_req_notify_cq");
    for (const bool solicited : {false, true}) {
      pair.server->post_recv({{0, 64}});
      Work work = pair.client->work(opcode, {}, *pair.server, 0);
      work.send_flags |= solicited ? unsigned{IBV_SEND_SOLICITED} : 0U;
      pair.client->post_send(work);
      require(pair.client->next_send().status == IBV_WC_SUCCESS, "it was not sent");
      const bool woken = pair.server->await_event(
          pair.server->recv_cq(), std::chrono::milliseconds(solicited ? 8000 : 300));
      require(woken == solicited, woken ? "woken without need" : "not woken");
    }
  });
}

// An atomic on the server's word, whose value before comes to kResult.
Work atomic_work(const Pair& pair, ibv_wr_opcode opcode, std::uint64_t compare_add,
                 std::uint64_t swap) {
  Work work = pair.client->work(opcode, {{kResult, 8}}, *pair.server, kWord);
  work.wr.atomic.compare_add = compare_add;
  work.wr.atomic.swap = swap;
  return work;
}

// Posts it, waits for it and returns the value found.
std::uint64_t perform(const Pair& pair, const Work& work) {
  Endpoint& client = *pair.client;
  const std::uint64_t id = client.post_send(work);
  const ibv_wc done = client.next_send();
  require(done.status == IBV_WC_SUCCESS && done.wr_id == id && done.byte_len == 8 &&
              done.opcode == completed_as(work.opcode),
          "completion of an atomic: " + to_string(done));
  return word_at(client.memory(), kResult).load();
}

void require_value(std::uint64_t got, std::uint64_t expected, const char* what) {
  require(got == expected, std::string(what) + ": " + std::to_string(got) + ", expected " +
                               std::to_string(expected));
}

Pair atomic_pair(Suite& suite) { return suite.connector().connect(Shape{.access = kAtomicAccess}); }

void single_atomics(Suite& suite) {
  suite.run("fetch-and-add", [&] {
    const Pair pair = atomic_pair(suite);
    const auto word = word_at(pair.server->memory(), kWord);
    word = ~std::uint64_t{0} - 1;
    const Work add = atomic_work(pair, IBV_WR_ATOMIC_FETCH_AND_ADD, 3, 99);
    require_value(perform(pair, add), ~std::uint64_t{0} - 1, "found first");
    require_value(perform(pair, add), 1, "found after it wrapped");
    require_value(word, 4, "left");
    word = 0x0123456789abcdefU;
    require_value(perform(pair, atomic_work(pair, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 0)),
                  0x0123456789abcdefU, "bytes in the host's order");
  });
  suite.run("compare-and-swap", [&] {
    const Pair pair = atomic_pair(suite);
    const auto word = word_at(pair.server->memory(), kWord);
    word = 5;
    require_value(perform(pair, atomic_work(pair, IBV_WR_ATOMIC_CMP_AND_SWP, 6, 7)), 5, "found");
    require_value(word, 5, "left by one that does not match");
    require_value(perform(pair, atomic_work(pair, IBV_WR_ATOMIC_CMP_AND_SWP, 5, ~0ULL)), 5,
                  "found");
    require_value(word, ~std::uint64_t{0}, "left by one that matches");
  });
  suite.run("reads, atomics and sends mixed, more than may be under way", [&] {
    const Pair pair = atomic_pair(suite);
    Endpoint& client = *pair.client;
    const auto word = word_at(pair.server->memory(), kWord);
    word = 0;
    constexpr unsigned kTurns = 60;
    // The last read has a sink of its own: segments may be placed in any order (RFC 5041, 5.3), and
    // over several paths those of an earlier read come later now and then.
    constexpr std::size_t kLast = kResult + 8192;
    for (unsigned at = 0; at < kTurns; ++at) {
      client.post_send(atomic_work(pair, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 0));
      client.post_send(client.work(
          IBV_WR_RDMA_READ, {{at + 1 < kTurns ? kResult + 64 : kLast, 5000}}, *pair.server, kWord));
    }
    for (unsigned at = 0; at < 2 * kTurns; ++at) {
      const ibv_wc done = client.next_send();
      require(done.status == IBV_WC_SUCCESS &&
                  done.opcode == (at % 2 == 0 ? IBV_WC_FETCH_ADD : IBV_WC_RDMA_READ),
              "completion " + std::to_string(at) + ": " + to_string(done));
    }
    require_value(word, kTurns, "left");
    require_value(word_at(client.memory(), kResult), kTurns - 1, "found last");
    // A read is answered after the atomics before it were done.
    require_value(word_at(client.memory(), kLast), kTurns, "read last");
  });
}

// Two queue pairs and a thread of the host add to one word; no two find the same value.
void contended(Suite& suite) {
  suite.run("two queue pairs and the host's processor", [&] {
    const Pair first = atomic_pair(suite);
    const Pair second = atomic_pair(suite);
    constexpr std::uint64_t kTurns = 400;
    std::atomic_ref<std::uint64_t> word = word_at(first.server->memory(), kWord);
    word = 0;
    // The same bytes, in the second queue pair's protection domain.
    const Owned<ibv_mr> other = own(ibv_reg_mr(second.server->pd(), first.server->memory().bytes(),
                                               first.server->memory().size(), kAtomicAccess),
                                    "ibv_reg_mr");
    std::atomic<std::uint64_t> by_host = 0;
    std::jthread host([&](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        word.fetch_add(1U << 20U);
        by_host.fetch_add(1);
      }
    });
    std::atomic<unsigned> failed = 0;
    std::string why[2];
    const auto add = [&](unsigned which) {
      try {
        const Pair& pair = which == 0 ? first : second;
        Work work = atomic_work(first, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 0);
        work.pieces[0] = pair.client->memory().sges({{kResult, 8}})[0];
        work.wr.atomic.rkey = which == 0 ? first.server->memory().mr()->rkey : other->rkey;
        std::uint64_t last = 0;
        for (std::uint64_t turn = 0; turn < kTurns; ++turn) {
          const std::uint64_t found = perform(pair, work);
          require(turn == 0 || found > last, "a later one found an earlier value");
          last = found;
        }
      } catch (const Failure& failure) {
        why[which] = failure.what();
        ++failed;
      }
    };
    {
      std::jthread one(add, 0U);
      std::jthread two(add, 1U);
    }
    host.request_stop();
    host.join();
    require(failed == 0, why[0] + why[1]);
    require(by_host != 0, "the host's thread did not run");
    require_value(word, (by_host << 20U) + 2 * kTurns, "the sum");
  });
}

// Requests that the server must refuse: the client's completion says so, and both ends fail.
void refused(Suite& suite) {
  const auto refuse = [&](const std::string& what, ibv_wc_status status, int access,
                          const std::function<void(Pair&, Work&)>& spoil) {
    suite.run(what, [&] {
      Pair pair = suite.connector().connect(Shape{}, Shape{.access = access});
      const auto word = word_at(pair.server->memory(), kWord);
      const std::uint64_t before = word;
      Work work = atomic_work(pair, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 0);
      spoil(pair, work);
      pair.client->post_send(work);
      const ibv_wc done = pair.client->next_send();
      require(done.status == status, to_string(done));
      pair.client->expect_error_state();
      pair.server->expect_error_state();
      require_value(word, before, "left");
    });
  };
  refuse("no right to atomics", IBV_WC_REM_ACCESS_ERR, Shape{}.access, [](Pair&, Work&) {});
  refuse("wrong key", IBV_WC_REM_ACCESS_ERR, kAtomicAccess,
         [](Pair&, Work& work) { work.wr.atomic.rkey ^= 1; });
  refuse("beyond the region", IBV_WC_REM_ACCESS_ERR, kAtomicAccess, [](Pair& pair, Work& work) {
    work.wr.atomic.remote_addr =
        pair.server->memory().address(0) + (pair.server->memory().size() + 7) / 8 * 8;
  });
  refuse("no right to write the result", IBV_WC_LOC_PROT_ERR, kAtomicAccess,
         [](Pair&, Work& work) { work.sg_list->lkey ^= 1; });
}

}  // namespace

void extended_cases(Suite& suite) {
  suite.group("send with immediate", [&] { immediate(suite, IBV_WR_SEND_WITH_IMM); });
  suite.group("write with immediate", [&] { immediate(suite, IBV_WR_RDMA_WRITE_WITH_IMM); });
  suite.group("atomics", [&] { single_atomics(suite); });
  suite.group("contended atomics", [&] { contended(suite); });
  suite.group("atomics refused", [&] { refused(suite); });
}

}  // namespace rdma
