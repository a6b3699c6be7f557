// SPDX-License-Identifier: GPL-2.0
#include "cases.h"

namespace rdma {
namespace {

// Leaves the server's channel with the event of a completion that is gone, as next() does when the
// completion comes just after arming.
void leave_event(Endpoint& client, Endpoint& server) {
  const std::uint64_t receive = server.post_recv({{0, 0}});
  require_zero(ibv_req_notify_cq(server.recv_cq(), 0), "ibv_req_notify_cq");
  client.carry_out(Work(IBV_WR_SEND));
  server.wait_with(Wait::kPoll);
  server.expect_recv(receive, 0);
  server.wait_with(Wait::kEvent);
}

void foreign_queue_cases(Suite& suite) {
  constexpr std::uint32_t kLength = 5000;
  const Pair home = suite.connector().connect();
  const Shape shape{.recv_wr = 64, .shared_receives = true, .shared_pd = home.server->pd()};
  suite.run("its receives may name what is in its own", [&] {
    const Pair pair = suite.connector().connect({}, shape);
    prepare(*pair.client, *home.server, kLength);
    Receive receive(home.server->memory().sges({{kTarget, kLength}}), Endpoint::new_wr_id());
    require_zero(post(pair.server->srq(), receive), "ibv_post_srq_recv");
    const std::uint64_t send =
        pair.client->post_send(pair.client->work(IBV_WR_SEND, {{kSource, kLength}}));
    pair.server->expect_recv(receive.wr_id, kLength);
    pair.client->expect_send(send, IBV_WC_SEND);
    check_target(*home.server, kLength);
  });
  suite.run("and not what is in the queue pair's", [&] {
    const Pair pair = suite.connector().connect({}, shape);
    const std::uint64_t receive = pair.server->post_recv({{kTarget, kLength}});
    pair.client->post_send(pair.client->work(IBV_WR_SEND, {{kSource, kLength}}));
    const ibv_wc completion = pair.server->next_recv();
    require(completion.wr_id == receive && completion.status == IBV_WC_LOC_PROT_ERR,
            to_string(completion));
    pair.server->expect_error_state();
    pair.server->memory().check({}, "server");
  });
}

}  // namespace

void srq_cases(Suite& suite) {
  suite.group("a shared receive queue of another protection domain",
              [&] { foreign_queue_cases(suite); });
  suite.group("shared receive queues", [&] {
    const Pair pair = suite.connector().connect({}, {.recv_wr = 64, .shared_receives = true});
    Endpoint& client = *pair.client;
    Endpoint& server = *pair.server;
    suite.run("sends of several sizes", [&] {
      for (const std::uint32_t length : {0U, 1U, 100U, 5000U, 300000U})
        send_checked(client, server, length);
    });
    suite.run("a send that comes before its receive", [&] {
      leave_event(client, server);
      const std::uint64_t send = client.post_send(Work(IBV_WR_SEND));
      server.expect_none(server.recv_cq(), std::chrono::milliseconds(200));
      const std::uint64_t receive = server.post_recv({{0, 0}});
      server.expect_recv(receive, 0);
      client.expect_send(send, IBV_WC_SEND);
    });
    suite.run("the limit: armed, queried, reached once", [&] {
      std::uint64_t receives[4] = {};
      for (std::uint64_t& receive : receives) receive = server.post_recv({{0, 0}});
      ibv_srq_attr attr{.srq_limit = 3};
      require_zero(ibv_modify_srq(server.srq(), &attr, IBV_SRQ_LIMIT), "ibv_modify_srq");
      attr = {};
      require_zero(ibv_query_srq(server.srq(), &attr), "ibv_query_srq");
      require(attr.srq_limit == 3, "the limit reads " + std::to_string(attr.srq_limit));
      require(attr.max_wr >= 64, "max_wr reads " + std::to_string(attr.max_wr));
      for (const std::uint64_t receive : receives) {
        const std::uint64_t send = client.post_send(Work(IBV_WR_SEND));
        server.expect_recv(receive, 0);
        client.expect_send(send, IBV_WC_SEND);
      }
      const ibv_event_type event = server.next_async_event(server.srq());
      require(event == IBV_EVENT_SRQ_LIMIT_REACHED, ibv_event_type_str(event));
      require_zero(ibv_query_srq(server.srq(), &attr), "ibv_query_srq");
      require(attr.srq_limit == 0, "the limit is still armed");
    });
    suite.run("receives beyond its size are refused", [&] {
      ibv_srq_attr attr{};
      require_zero(ibv_query_srq(server.srq(), &attr), "ibv_query_srq");
      std::uint32_t posted = 0;
      Receive work;
      int error = 0;
      while (error == 0 && posted <= 4 * attr.max_wr) {
        error = post(server.srq(), work);
        posted += error == 0 ? 1 : 0;
      }
      require_error(error, ENOMEM, "the post");
      require(posted >= attr.max_wr, std::to_string(posted) + " were taken");
    });
    suite.run("the last receive of a queue pair that fails", [&] {
      must(rdma_disconnect(client.id()), "rdma_disconnect");
      server.expect_error_state();
      const ibv_event_type event = server.next_async_event(server.qp());
      require(event == IBV_EVENT_QP_LAST_WQE_REACHED, ibv_event_type_str(event));
    });
  });
}

}  // namespace rdma
