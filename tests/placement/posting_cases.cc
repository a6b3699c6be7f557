// SPDX-License-Identifier: GPL-2.0
// Posts that ibv_post_send and ibv_post_recv must refuse at once; the last to a peer that is siw.
#include "cases.h"

namespace rdma {
namespace {

// A queue of 16 may have room for more when its work requests are short, but not for this many.
constexpr unsigned kMost = 1024;

// A small message must still get through.
void require_usable(Pair& pair) {
  Chain::run(*pair.client, *pair.server, {IBV_WR_SEND, {{5, 99}}, {{7, 99}}});
}

// Posts until the queue is full, which has promised to take so many.
template <typename Request>
unsigned fill(const Endpoint& end, Request& work, unsigned promised, const char* queue) {
  unsigned taken = 0;
  int error = 0;
  while (taken < kMost && (error = post(end.qp(), work)) == 0) ++taken;
  require_error(error, ENOMEM, std::string("posting to a full ") + queue + " queue");
  require(taken >= promised, "the queue took " + std::to_string(taken) + " work requests of " +
                                 std::to_string(promised) + " promised");
  return taken;
}

void full_queues(Suite& suite) {
  suite.run("a full send queue refuses with ENOMEM and takes more when it is drained", [&] {
    const Pair pair = suite.connector().connect(Shape{.send_wr = 16, .cq_entries = kMost});
    Endpoint& client = *pair.client;
    // Long reads keep the queue occupied.
    Work work = client.work(IBV_WR_RDMA_READ, {{1, 1U << 18}}, *pair.server, 3);
    const unsigned taken = fill(client, work, client.cap().max_send_wr, "send");
    for (unsigned at = 0; at < taken; ++at) {
      const ibv_wc completion = client.next_send();
      require(completion.status == IBV_WC_SUCCESS, to_string(completion));
    }
    client.memory().accept();
    require_zero(post(client.qp(), work), "posting to the drained queue");
    const ibv_wc completion = client.next_send();
    require(completion.status == IBV_WC_SUCCESS, to_string(completion));
  });
  suite.run("a full receive queue refuses with ENOMEM", [&] {
    const Pair pair = suite.connector().connect(Shape{.recv_wr = 16, .cq_entries = kMost});
    Receive work(pair.client->memory().sges({{0, 10}}));
    fill(*pair.client, work, pair.client->cap().max_recv_wr, "receive");
  });
}

void bad_requests(Suite& suite) {
  using Spoil = std::function<void(Pair&, ibv_send_wr&)>;
  const auto refused = [&](const std::string& what, const Spoil& spoil) {
    suite.run(what, [&] {
      Pair& pair = suite.pair();
      const std::vector<ibv_sge> sges(256, pair.client->memory().sges({{0, 1}})[0]);
      std::vector<ibv_send_wr> chain(3);
      const std::uint64_t receive = pair.server->post_recv({{0, 0}});
      for (std::size_t at = 0; at < chain.size(); ++at) {
        chain[at].wr_id = Endpoint::new_wr_id();
        chain[at].opcode = IBV_WR_SEND;
        chain[at].send_flags = IBV_SEND_SIGNALED;
        chain[at].next = at + 1 < chain.size() ? &chain[at + 1] : nullptr;
      }
      chain[1].sg_list = const_cast<ibv_sge*>(sges.data());
      spoil(pair, chain[1]);
      // The one before the bad one is carried out, the one behind it is not.
      ibv_send_wr* bad = nullptr;
      require_error(ibv_post_send(pair.client->qp(), chain.data(), &bad), EINVAL, "ibv_post_send");
      require(bad == &chain[1], "bad_wr does not point at the second work request");
      pair.client->expect_send(chain[0].wr_id, IBV_WC_SEND);
      pair.server->expect_recv(receive, 0);
      require_usable(pair);
    });
  };
  refused("more SGEs than the queue pair has", [](Pair& pair, ibv_send_wr& work) {
    work.num_sge = static_cast<int>(pair.client->cap().max_send_sge) + 1;
  });
  refused("a negative number of SGEs", [](Pair&, ibv_send_wr& work) { work.num_sge = -1; });
  refused("an opcode that does not exist",
          [](Pair&, ibv_send_wr& work) { work.opcode = static_cast<ibv_wr_opcode>(99); });
  suite.run("inline payload longer than the queue pair has", [&] {
    Pair& pair = suite.pair();
    Work work = pair.client->work(IBV_WR_SEND, {{0, pair.client->cap().max_inline_data + 1}});
    work.send_flags |= IBV_SEND_INLINE;
    const int error = post(pair.client->qp(), work);
    require(error == EINVAL || error == ENOMEM, "ibv_post_send returned " + std::to_string(error));
    require_usable(pair);
  });
  suite.run("a receive of more SGEs than the queue pair has", [&] {
    Pair& pair = suite.pair();
    Receive work(
        std::vector(pair.server->cap().max_recv_sge + 1, pair.server->memory().sges({{0, 1}})[0]));
    require_error(post(pair.server->qp(), work), EINVAL, "ibv_post_recv");
    require_usable(pair);
  });
}

void wrong_states(Suite& suite) {
  suite.run("a send on a queue pair that is not connected", [&] {
    const Endpoint client(suite.connector().resolved(), "client", Shape{});
    Work work(IBV_WR_SEND);
    require_error(post(client.qp(), work), EINVAL, "ibv_post_send in INIT");
  });
  suite.run("a queue pair in RESET", [&] {
    const Endpoint client(suite.connector().resolved(), "client", Shape{});
    ibv_qp_init_attr init = queue_pair(client.send_cq(), 4, 4);
    Owned<ibv_qp> qp = own(ibv_create_qp(client.pd(), &init), "ibv_create_qp");
    modify(qp.get(), IBV_QPS_RESET);
    Work send(IBV_WR_SEND);
    Receive receive;
    require_error(post(qp.get(), send), EINVAL, "ibv_post_send in RESET");
    require_error(post(qp.get(), receive), EINVAL, "ibv_post_recv in RESET");
    require_zero(ibv_destroy_qp(qp.release()), "ibv_destroy_qp");
  });
  suite.run("a send after the connection has ended", [&] {
    const Pair pair = suite.connector().connect();
    must(rdma_disconnect(pair.client->id()), "rdma_disconnect");
    pair.client->expect_error_state();
    // It is taken, and completes as flushed: a program need not know in time that all is over.
    pair.client->post_send(Work(IBV_WR_SEND));
    pair.client->expect_flushed(pair.client->send_cq(), 1);
  });
}

}  // namespace

void posting_cases(Suite& suite) {
  suite.group("full queues", [&] { full_queues(suite); });
  suite.group("work requests refused when posted", [&] { bad_requests(suite); });
  suite.group("posting in the wrong state", [&] { wrong_states(suite); });
}

// siw says back whatever bits of the handshake it does not know. It must not be taken for an
// end with which immediate data and atomics were agreed.
void siw_cases(Suite& suite) {
  suite.group("what siw lacks is refused when posted", [&] {
    for (const auto& [opcode, name] : {std::pair{IBV_WR_SEND_WITH_IMM, "send with immediate"},
                                       {IBV_WR_RDMA_WRITE_WITH_IMM, "write with immediate"},
                                       {IBV_WR_ATOMIC_CMP_AND_SWP, "compare and swap"},
                                       {IBV_WR_ATOMIC_FETCH_AND_ADD, "fetch and add"}}) {
      suite.run(name, [&, opcode = opcode] {
        const Pair& pair = suite.pair();
        const Endpoint& own = pair.client->is_siw() ? *pair.server : *pair.client;
        const Endpoint& other = pair.client->is_siw() ? *pair.client : *pair.server;
        Work work = own.work(opcode, {{0, 8}}, other, 0);
        require_error(post(own.qp(), work), EOPNOTSUPP, "ibv_post_send");
        Chain::run(*pair.client, *pair.server, {IBV_WR_SEND, {{1, 3000}}, {{3, 3000}}});
      });
    }
  });
}

}  // namespace rdma
