// SPDX-License-Identifier: GPL-2.0
// Cases that siw cannot be the peer of.
#include "cases.h"
#include "chain.h"

namespace rdma {

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
