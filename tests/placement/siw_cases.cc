// SPDX-License-Identifier: GPL-2.0
#include <cerrno>
#include <string>
#include <utility>

#include "cases.h"
#include "chain.h"
#include "failure.h"

namespace placement {

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
        std::vector<ibv_sge> sges = own.memory().sges({{0, 8}});
        ibv_send_wr work{};
        work.opcode = opcode;
        work.send_flags = IBV_SEND_SIGNALED;
        work.sg_list = sges.data();
        work.num_sge = 1;
        if (opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
          work.wr.rdma.remote_addr = other.memory().address(0);
          work.wr.rdma.rkey = other.memory().mr()->rkey;
        } else if (opcode != IBV_WR_SEND_WITH_IMM) {
          work.wr.atomic.remote_addr = other.memory().address(0);
          work.wr.atomic.rkey = other.memory().mr()->rkey;
        }
        ibv_send_wr* bad = nullptr;
        const int error = ibv_post_send(own.qp(), &work, &bad);
        require(
            error == EOPNOTSUPP && bad == &work,
            std::string("ibv_post_send returned ") + std::to_string(error) + ", not EOPNOTSUPP");
        Chain::run(*pair.client, *pair.server,
                   {.opcode = IBV_WR_SEND, .local = {{1, 3000}}, .remote = {{3, 3000}}});
      });
    }
  });
}

}  // namespace placement
