// SPDX-License-Identifier: GPL-2.0
// Regions, windows, queues and queue pairs that begin and end in several threads of one process, on
// queues that they share.
#include <unistd.h>

#include <array>
#include <thread>

#include "parts.h"
#include "work.h"
#include "objects.h"

namespace rdma::storm {
namespace {

struct Shared {
  Owned<ibv_context> context;
  Owned<ibv_pd> pd;
  Owned<ibv_cq> cq;
  Owned<ibv_srq> srq;
};

void churn_regions(const Shared& all, Chance& chance, std::vector<char>& bytes) {
  constexpr int kAll = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  Owned<ibv_mr> mr(ibv_reg_mr(all.pd.get(), bytes.data(), 1 + chance.below(bytes.size()), kAll));
  const Owned<ibv_mw> mw(
      ibv_alloc_mw(all.pd.get(), chance.one_in(2) ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2));
  if (mr != nullptr)
    ibv_rereg_mr(mr.get(), IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, bytes.data(), bytes.size() / 2,
                 0);
  count(kObjects);
}

void churn_pairs(const Shared& all, Chance& chance) {
  ibv_qp_init_attr wanted = queue_pair(all.cq.get(), 8, 8);
  wanted.srq = chance.one_in(2) ? all.srq.get() : nullptr;
  const Owned<ibv_qp> qp(ibv_create_qp(all.pd.get(), &wanted));
  if (qp == nullptr) return;
  ibv_qp_attr to{};
  for (const ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_ERR, IBV_QPS_RESET}) {
    to.qp_state = state;
    if (chance.one_in(2)) {
      ibv_modify_qp(qp.get(), &to, IBV_QP_STATE);
      Receive receive;
      post(qp.get(), receive);
    }
  }
  count(kObjects);
}

void churn_queues(const Shared& all, Chance& chance) {
  ibv_wc completion{};
  ibv_resize_cq(all.cq.get(), static_cast<int>(64 + chance.below(4096)));
  ibv_req_notify_cq(all.cq.get(), 0);
  ibv_poll_cq(all.cq.get(), 1, &completion);
  const Owned<ibv_cq> another(ibv_create_cq(
      all.context.get(), static_cast<int>(1 + chance.below(1000)), nullptr, nullptr, 0));
  ibv_srq_attr limit{0, 0, static_cast<std::uint32_t>(chance.below(4))};
  ibv_modify_srq(all.srq.get(), &limit, IBV_SRQ_LIMIT);
  Receive receive;
  post(all.srq.get(), receive);
  count(kObjects);
}

void churn_in(const Shared& all, std::uint64_t seed, std::size_t turns) {
  Chance chance(seed);
  std::vector<char> bytes(65536);
  for (; turns > 0; --turns) {
    const std::size_t which = chance.below(3);
    if (which == 0)
      churn_regions(all, chance, bytes);
    else
      (which == 1 ? churn_pairs : churn_queues)(all, chance);
  }
}

void churn_once(const Options& options, Chance& chance) {
  Shared all;
  try {
    all.context = open_device(options.device);
  } catch (const Failure&) {
    usleep(10000);
    return;
  }
  all.pd.reset(ibv_alloc_pd(all.context.get()));
  all.cq.reset(ibv_create_cq(all.context.get(), 128, nullptr, nullptr, 0));
  ibv_srq_init_attr srq{nullptr, {16, 1, 0}};
  all.srq.reset(all.pd != nullptr ? ibv_create_srq(all.pd.get(), &srq) : nullptr);
  if (all.cq != nullptr && all.srq != nullptr) {
    const std::size_t turns = 1 + chance.below(100);
    std::array<std::jthread, 3> threads;
    for (std::jthread& thread : threads)
      thread = std::jthread(churn_in, std::cref(all), options.seed + chance.below(1 << 30), turns);
  }
}

}  // namespace

void churn(const Options& options) { live(options, churn_once); }

}  // namespace rdma::storm
