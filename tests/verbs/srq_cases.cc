// SPDX-License-Identifier: GPL-2.0
#include <rdma/rdma_cma.h>

#include "cases.h"
#include "failure.h"
#include "transfer.h"

namespace placement {

void srq_cases(Suite& suite) {
  suite.group("shared receive queues", [&] {
    Shape shape;
    shape.shared_receives = true;
    shape.recv_wr = 64;
    const Pair pair = suite.connector().connect({}, shape);
    Endpoint& client = *pair.client;
    Endpoint& server = *pair.server;
    suite.run("sends of several sizes", [&] {
      for (const std::uint32_t length : {0U, 1U, 100U, 5000U, 300000U}) {
        send_checked(client, server, length);
      }
    });
    suite.run("a send that comes before its receive", [&] {
      ibv_send_wr work{};
      work.opcode = IBV_WR_SEND;
      work.send_flags = IBV_SEND_SIGNALED;
      const std::uint64_t send = client.post_send(work);
      require(!server.await_event(server.recv_cq(), std::chrono::milliseconds(200)) &&
                  !server.poll(server.recv_cq()),
              "a completion without a receive");
      const std::uint64_t receive = server.post_recv({{0, 0}});
      server.expect_recv(receive, 0);
      client.expect_send(send, IBV_WC_SEND);
    });
    suite.run("the limit: armed, queried, reached once", [&] {
      std::uint64_t receives[4] = {};
      for (std::uint64_t& receive : receives) {
        receive = server.post_recv({{0, 0}});
      }
      ibv_srq_attr attr{};
      attr.srq_limit = 3;
      require_zero(ibv_modify_srq(server.srq(), &attr, IBV_SRQ_LIMIT), "ibv_modify_srq");
      attr = {};
      require_zero(ibv_query_srq(server.srq(), &attr), "ibv_query_srq");
      require(attr.srq_limit == 3, "the limit reads " + std::to_string(attr.srq_limit));
      require(attr.max_wr >= 64, "max_wr reads " + std::to_string(attr.max_wr));
      for (const std::uint64_t receive : receives) {
        ibv_send_wr work{};
        work.opcode = IBV_WR_SEND;
        work.send_flags = IBV_SEND_SIGNALED;
        const std::uint64_t send = client.post_send(work);
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
      ibv_recv_wr work{};
      ibv_recv_wr* bad = nullptr;
      int error = 0;
      while (error == 0 && posted <= 4 * attr.max_wr) {
        error = ibv_post_srq_recv(server.srq(), &work, &bad);
        posted += error == 0 ? 1 : 0;
      }
      require(error == ENOMEM && bad == &work, "the post ended with " + std::to_string(error));
      require(posted >= attr.max_wr, std::to_string(posted) + " were taken");
    });
    suite.run("the last receive of a queue pair that fails", [&] {
      require(rdma_disconnect(client.id()) == 0, "rdma_disconnect failed");
      server.expect_error_state();
      const ibv_event_type event = server.next_async_event(server.qp());
      require(event == IBV_EVENT_QP_LAST_WQE_REACHED, ibv_event_type_str(event));
    });
  });
}

}  // namespace placement
