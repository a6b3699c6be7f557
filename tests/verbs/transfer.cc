// SPDX-License-Identifier: GPL-2.0
#include "transfer.h"

namespace rdma {

void prepare(const Endpoint& from, const Endpoint& to, std::uint32_t length) {
  static std::uint64_t seed = 0x5eed;
  from.memory().fill({{kSource, length}}, ++seed);
  to.memory().expect({{kTarget, length}}, from.memory().gather({{kSource, length}}));
}

void check_target(const Endpoint& to, std::uint32_t length) {
  to.memory().check({{kTarget, length}}, to.name());
}

void send_checked(Endpoint& from, Endpoint& to, std::uint32_t length,
                  const std::function<std::uint64_t()>& post) {
  prepare(from, to, length);
  const std::uint64_t receive = to.post_recv({{kTarget, length}});
  const std::uint64_t send =
      post ? post() : from.post_send(from.work(IBV_WR_SEND, {{kSource, length}}));
  to.expect_recv(receive, length);
  from.expect_send(send, IBV_WC_SEND);
  check_target(to, length);
}

void expect_refused(Endpoint& client, Endpoint& server) {
  client.expect_error_state();
  server.expect_error_state();
  check_all(client, server);
}

Owned<ibv_qp> unconnected_qp(const Endpoint& end) {
  ibv_qp_init_attr init = queue_pair(end.send_cq(), 4, 4);
  init.recv_cq = end.recv_cq();
  return own(ibv_create_qp(end.pd(), &init), "ibv_create_qp");
}

Owned<ibv_mw> window_of(const Endpoint& end, ibv_mw_type type) {
  ibv_mw* window = ibv_alloc_mw(end.pd(), type);
  if (window == nullptr && errno == EOPNOTSUPP) throw Lacking("the device has no memory windows");
  return own(window, "ibv_alloc_mw");
}

std::uint64_t post_extended(const Endpoint& end, const std::function<void(ibv_qp_ex*)>& build) {
  ibv_qp_ex* qp = end.qp_ex();
  ibv_wr_start(qp);
  qp->wr_id = Endpoint::new_wr_id();
  qp->wr_flags = IBV_SEND_SIGNALED;
  build(qp);
  const std::uint64_t wr_id = qp->wr_id;
  const int error = ibv_wr_complete(qp);
  if (error == EOPNOTSUPP) throw Lacking("this connection has no immediate data and atomics");
  require_zero(error, "ibv_wr_complete");
  return wr_id;
}

std::uint64_t start_bind(Endpoint& end, ibv_mw* window, const ibv_mw_bind_info& info) {
  if (window->type == IBV_MW_TYPE_1) {
    ibv_mw_bind bind{
        .wr_id = Endpoint::new_wr_id(), .send_flags = IBV_SEND_SIGNALED, .bind_info = info};
    require_zero(ibv_bind_mw(end.qp(), window, &bind), "ibv_bind_mw");
    return bind.wr_id;
  }
  Work work(IBV_WR_BIND_MW);
  work.bind_mw = {.mw = window, .rkey = ibv_inc_rkey(window->rkey), .bind_info = info};
  const std::uint64_t wr_id =
      end.qp_ex() == nullptr ? end.post_send(work) : post_extended(end, [&](ibv_qp_ex* qp) {
        ibv_wr_bind_mw(qp, window, work.bind_mw.rkey, &info);
      });
  window->rkey = work.bind_mw.rkey;
  return wr_id;
}

void bind(Endpoint& end, ibv_mw* window, const ibv_mw_bind_info& info) {
  end.expect_send(start_bind(end, window, info), IBV_WC_BIND_MW);
}

}  // namespace rdma
