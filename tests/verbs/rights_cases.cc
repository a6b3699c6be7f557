// SPDX-License-Identifier: GPL-2.0
// What a queue pair lets its peer do at all (qp_access_flags), whatever a key allows.
#include "cases.h"

namespace rdma {
namespace {

constexpr unsigned kRead = IBV_ACCESS_REMOTE_READ;
constexpr unsigned kWrite = IBV_ACCESS_REMOTE_WRITE;
constexpr unsigned kAtomic = IBV_ACCESS_REMOTE_ATOMIC;
constexpr std::uint32_t kLength = 8;

const char* name_of(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_RDMA_READ    ? "a read"
         : opcode == IBV_WR_RDMA_WRITE ? "a write"
                                       : "an atomic operation";
}

unsigned query_rights(const Endpoint& end) {
  return query(end.qp(), IBV_QP_ACCESS_FLAGS).qp_access_flags;
}

// As rdma_cm makes them; the server's memory grants all.
Pair pair_of_rdma_cm(Suite& suite) {
  const auto all = static_cast<int>(IBV_ACCESS_LOCAL_WRITE | kRead | kWrite | kAtomic);
  Pair pair = suite.connector().connect({}, {.access = all});
  for (const Endpoint* end : {pair.client.get(), pair.server.get()}) {
    const unsigned told = query_rights(*end);
    require(told == (kRead | kWrite | kAtomic), "ibv_query_qp says " + std::to_string(told));
  }
  return pair;
}

// The server's queue pair grants these rights from here on.
Pair pair_with(Suite& suite, unsigned rights) {
  Pair pair = pair_of_rdma_cm(suite);
  ibv_qp_attr attr{.qp_access_flags = rights};
  require_zero(ibv_modify_qp(pair.server->qp(), &attr, IBV_QP_ACCESS_FLAGS), "ibv_modify_qp");
  const unsigned told = query_rights(*pair.server);
  require(told == rights, "ibv_query_qp says " + std::to_string(told));
  return pair;
}

ibv_wc reach(const Pair& pair, ibv_wr_opcode opcode) {
  Endpoint& client = *pair.client;
  const bool write = opcode == IBV_WR_RDMA_WRITE;
  if (write) client.memory().fill({{kSource, kLength}}, 4711);
  Work work = client.work(opcode, {{write ? kSource : kTarget, kLength}}, *pair.server, kTarget);
  if (is_atomic(opcode)) work.wr.atomic.compare_add = 1;
  client.post_send(work);
  return client.next_send();
}

void allowed(Suite& suite, ibv_wr_opcode opcode, const std::string& where,
             const std::function<Pair()>& make) {
  suite.run(std::string(name_of(opcode)) + " is carried out " + where, [&] {
    const Pair pair = make();
    for (int turn = 0; turn < 2; ++turn) {
      const ibv_wc done = reach(pair, opcode);
      require(done.status == IBV_WC_SUCCESS, to_string(done));
    }
    // A write is complete when it was sent: that it was taken shows in what follows it.
    send_checked(*pair.client, *pair.server, kLength);
  });
}

void refused(Suite& suite, ibv_wr_opcode opcode, unsigned rights, const std::string& where) {
  suite.run(std::string(name_of(opcode)) + " is refused " + where, [&] {
    const Pair pair = pair_with(suite, rights);
    const ibv_wc done = reach(pair, opcode);
    if (opcode != IBV_WR_RDMA_WRITE) require(done.status == IBV_WC_REM_ACCESS_ERR, to_string(done));
    expect_refused(*pair.client, *pair.server);
  });
}

// A queue pair that was just made, before rdma_cm has touched it.
void just_made(Suite& suite) {
  const Pair pair = suite.connector().connect();
  Owned<ibv_qp> qp = unconnected_qp(*pair.server);
  const ibv_qp_attr attr = query(qp.get(), IBV_QP_STATE | IBV_QP_ACCESS_FLAGS);
  require_zero(ibv_destroy_qp(qp.release()), "ibv_destroy_qp");
  require(attr.qp_state == IBV_QPS_INIT, "its state is " + std::to_string(attr.qp_state));
  require(attr.qp_access_flags == (kRead | kWrite | kAtomic),
          "its rights are " + std::to_string(attr.qp_access_flags));
}

}  // namespace

void rights_cases(Suite& suite) {
  suite.group("rights of the queue pair", [&] {
    suite.run("a new one is in INIT and grants all", [&] { just_made(suite); });
    for (const auto& [opcode, right, kind] : {std::tuple{IBV_WR_RDMA_READ, kRead, "reads"},
                                              {IBV_WR_RDMA_WRITE, kWrite, "writes"},
                                              {IBV_WR_ATOMIC_FETCH_AND_ADD, kAtomic, "atomics"}}) {
      const std::string of = std::string("the right to ") + kind;
      allowed(suite, opcode, "with " + of + " alone",
              [&suite, right = right] { return pair_with(suite, right); });
      allowed(suite, opcode, "with what rdma_cm sets", [&] { return pair_of_rdma_cm(suite); });
      refused(suite, opcode, 0, "once all rights are taken away");
      refused(suite, opcode, (kRead | kWrite | kAtomic) & ~right, "without " + of);
      refused(suite, opcode, IBV_ACCESS_LOCAL_WRITE, "without any right");
    }
    refused(suite, IBV_WR_ATOMIC_FETCH_AND_ADD, kRead, "with the right to reads alone");
    refused(suite, IBV_WR_ATOMIC_FETCH_AND_ADD, kWrite, "with the right to writes alone");
  });
}

}  // namespace rdma
