// SPDX-License-Identifier: GPL-2.0
#include <cerrno>
#include <functional>
#include <string>
#include <vector>

#include "cases.h"
#include "chain.h"
#include "failure.h"

namespace placement {

namespace {

void require_error(int got, int expected, const std::string& what) {
  require(got == expected, what + " returned " + std::to_string(got) + " (" +
                               std::strerror(got < 0 ? -got : got) + "), expected " +
                               std::to_string(expected) + " (" + std::strerror(expected) + ")");
}

// A queue of 16 may have room for more when its work requests are short, but not for this many.
constexpr unsigned kMost = 1024;

// A small message must still get through.
void require_usable(Pair& pair) {
  Chain::run(*pair.client, *pair.server,
             {.opcode = IBV_WR_SEND, .local = {{5, 99}}, .remote = {{7, 99}}});
}

void full_queues(Suite& suite) {
  suite.run("a full send queue refuses with ENOMEM and takes more when it is drained", [&] {
    const Pair pair = suite.connector().connect(Shape{.send_wr = 16, .cq_entries = kMost});
    Endpoint& client = *pair.client;
    // Long reads keep the queue occupied.
    std::vector<ibv_sge> sges = client.memory().sges({{1, 1U << 18}});
    ibv_send_wr work{};
    work.opcode = IBV_WR_RDMA_READ;
    work.send_flags = IBV_SEND_SIGNALED;
    work.sg_list = sges.data();
    work.num_sge = 1;
    work.wr.rdma.remote_addr = pair.server->memory().address(3);
    work.wr.rdma.rkey = pair.server->memory().mr()->rkey;
    unsigned taken = 0;
    int error = 0;
    ibv_send_wr* bad = nullptr;
    while (taken < kMost && (error = ibv_post_send(client.qp(), &work, &bad)) == 0) {
      ++taken;
    }
    require_error(error, ENOMEM, "posting to a full send queue");
    require(bad == &work, "bad_wr does not point at the work request that failed");
    require(taken >= client.cap().max_send_wr,
            "the queue took " + std::to_string(taken) + " work requests of " +
                std::to_string(client.cap().max_send_wr) + " promised");
    for (unsigned at = 0; at < taken; ++at) {
      const ibv_wc completion = client.next_send();
      require(completion.status == IBV_WC_SUCCESS, to_string(completion));
    }
    client.memory().accept();
    require_zero(ibv_post_send(client.qp(), &work, &bad), "posting to the drained queue");
    const ibv_wc completion = client.next_send();
    require(completion.status == IBV_WC_SUCCESS, to_string(completion));
  });
  suite.run("a full receive queue refuses with ENOMEM", [&] {
    const Pair pair = suite.connector().connect(Shape{.recv_wr = 16, .cq_entries = kMost});
    std::vector<ibv_sge> sges = pair.client->memory().sges({{0, 10}});
    ibv_recv_wr work{};
    work.sg_list = sges.data();
    work.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    unsigned taken = 0;
    int error = 0;
    while (taken < kMost && (error = ibv_post_recv(pair.client->qp(), &work, &bad)) == 0) {
      ++taken;
    }
    require_error(error, ENOMEM, "posting to a full receive queue");
    require(bad == &work, "bad_wr does not point at the work request that failed");
    require(taken >= pair.client->cap().max_recv_wr,
            "the queue took " + std::to_string(taken) + " of " +
                std::to_string(pair.client->cap().max_recv_wr) + " promised");
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
    std::vector<ibv_sge> sges =
        pair.client->memory().sges({{0, pair.client->cap().max_inline_data + 1}});
    ibv_send_wr work{};
    work.opcode = IBV_WR_SEND;
    work.send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED;
    work.sg_list = sges.data();
    work.num_sge = 1;
    ibv_send_wr* bad = nullptr;
    const int error = ibv_post_send(pair.client->qp(), &work, &bad);
    require(error == EINVAL || error == ENOMEM, "ibv_post_send returned " + std::to_string(error));
    require(bad == &work, "bad_wr does not point at the work request");
    require_usable(pair);
  });
  suite.run("a receive of more SGEs than the queue pair has", [&] {
    Pair& pair = suite.pair();
    std::vector<ibv_sge> sges(256, pair.server->memory().sges({{0, 1}})[0]);
    ibv_recv_wr work{};
    work.sg_list = sges.data();
    work.num_sge = static_cast<int>(pair.server->cap().max_recv_sge) + 1;
    ibv_recv_wr* bad = nullptr;
    require_error(ibv_post_recv(pair.server->qp(), &work, &bad), EINVAL, "ibv_post_recv");
    require(bad == &work, "bad_wr does not point at the receive");
    require_usable(pair);
  });
}

void wrong_states(Suite& suite) {
  suite.run("a send on a queue pair that is not connected", [&] {
    const Endpoint client(suite.connector().resolved(), "client", Shape{});
    ibv_send_wr work{};
    work.opcode = IBV_WR_SEND;
    ibv_send_wr* bad = nullptr;
    require_error(ibv_post_send(client.qp(), &work, &bad), EINVAL, "ibv_post_send in INIT");
    require(bad == &work, "bad_wr does not point at the work request");
  });
  suite.run("a queue pair in RESET", [&] {
    const Endpoint client(suite.connector().resolved(), "client", Shape{});
    ibv_qp_init_attr init{};
    init.send_cq = client.send_cq();
    init.recv_cq = client.recv_cq();
    init.cap = {.max_send_wr = 4,
                .max_recv_wr = 4,
                .max_send_sge = 1,
                .max_recv_sge = 1,
                .max_inline_data = 0};
    init.qp_type = IBV_QPT_RC;
    ibv_qp* qp = ibv_create_qp(client.pd(), &init);
    require(qp != nullptr, "ibv_create_qp failed");
    ibv_qp_attr reset{};
    reset.qp_state = IBV_QPS_RESET;
    require_zero(ibv_modify_qp(qp, &reset, IBV_QP_STATE), "ibv_modify_qp to RESET");
    ibv_send_wr send{};
    ibv_send_wr* bad_send = nullptr;
    send.opcode = IBV_WR_SEND;
    ibv_recv_wr receive{};
    ibv_recv_wr* bad_receive = nullptr;
    const int sent = ibv_post_send(qp, &send, &bad_send);
    const int received = ibv_post_recv(qp, &receive, &bad_receive);
    require_zero(ibv_destroy_qp(qp), "ibv_destroy_qp");
    require_error(sent, EINVAL, "ibv_post_send in RESET");
    require_error(received, EINVAL, "ibv_post_recv in RESET");
  });
  suite.run("a send after the connection has ended", [&] {
    const Pair pair = suite.connector().connect();
    require(rdma_disconnect(pair.client->id()) == 0, "rdma_disconnect failed");
    pair.client->expect_error_state();
    ibv_send_wr work{};
    work.opcode = IBV_WR_SEND;
    work.send_flags = IBV_SEND_SIGNALED;
    ibv_send_wr* bad = nullptr;
    // It is taken, and completes as flushed: a program need not know in time that all is over.
    require_zero(ibv_post_send(pair.client->qp(), &work, &bad), "ibv_post_send in ERR");
    pair.client->expect_flushed(pair.client->send_cq(), 1);
  });
}

}  // namespace

void posting_cases(Suite& suite) {
  suite.group("full queues", [&] { full_queues(suite); });
  suite.group("work requests refused when posted", [&] { bad_requests(suite); });
  suite.group("posting in the wrong state", [&] { wrong_states(suite); });
}

}  // namespace placement
