// SPDX-License-Identifier: GPL-2.0
#include "transfer.h"

namespace placement {

ibv_send_wr request(ibv_wr_opcode opcode, std::vector<ibv_sge>& sges) {
  ibv_send_wr work{};
  work.opcode = opcode;
  work.send_flags = IBV_SEND_SIGNALED;
  work.sg_list = sges.data();
  work.num_sge = static_cast<int>(sges.size());
  return work;
}

void prepare(const Endpoint& from, const Endpoint& to, std::uint32_t length) {
  static std::uint64_t seed = 0x5eed;
  from.memory().fill({{kSource, length}}, ++seed);
  to.memory().expect({{kTarget, length}}, from.memory().gather({{kSource, length}}));
}

void check_target(const Endpoint& to, std::uint32_t length) {
  to.memory().check({{kTarget, length}}, to.name());
}

void send_checked(Endpoint& from, Endpoint& to, std::uint32_t length) {
  prepare(from, to, length);
  const std::uint64_t receive = to.post_recv({{kTarget, length}});
  std::vector<ibv_sge> sges = from.memory().sges({{kSource, length}});
  const std::uint64_t send = from.post_send(request(IBV_WR_SEND, sges));
  to.expect_recv(receive, length);
  from.expect_send(send, IBV_WC_SEND);
  check_target(to, length);
}

}  // namespace placement
