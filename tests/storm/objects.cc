// SPDX-License-Identifier: GPL-2.0
// Regions, windows, queues and queue pairs that begin and end in several threads of one process, on
// queues that they share.
#include <infiniband/verbs.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <thread>
#include <vector>

#include "counts.h"
#include "parts.h"

namespace storm {

namespace {

struct Shared {
  ibv_context* context;
  ibv_pd* pd;
  ibv_cq* cq;
  ibv_srq* srq;
};

ibv_context* open_device(const std::string& name) {
  int number = 0;
  ibv_device** const devices = ibv_get_device_list(&number);
  ibv_context* context = nullptr;
  for (int at = 0; devices != nullptr && at < number; ++at) {
    if (name == ibv_get_device_name(devices[at])) {
      context = ibv_open_device(devices[at]);
    }
  }
  if (devices != nullptr) {
    ibv_free_device_list(devices);
  }
  return context;
}

void churn_regions(const Shared& all, Chance& chance, std::vector<char>& bytes) {
  constexpr int kAll = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  ibv_mr* const mr = ibv_reg_mr(all.pd, bytes.data(), 1 + chance.below(bytes.size()), kAll);
  ibv_mw* const mw = ibv_alloc_mw(all.pd, chance.one_in(2) ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2);
  if (mr != nullptr) {
    ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, bytes.data(), bytes.size() / 2, 0);
    ibv_dereg_mr(mr);
  }
  if (mw != nullptr) {
    ibv_dealloc_mw(mw);
  }
  count(kObjects);
}

void churn_pairs(const Shared& all, Chance& chance) {
  ibv_qp_init_attr wanted{};
  wanted.send_cq = wanted.recv_cq = all.cq;
  wanted.srq = chance.one_in(2) ? all.srq : nullptr;
  wanted.cap = {8, 8, 1, 1, 0};
  wanted.qp_type = IBV_QPT_RC;
  ibv_qp* const qp = ibv_create_qp(all.pd, &wanted);
  if (qp == nullptr) {
    return;
  }
  ibv_qp_attr to{};
  for (const ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_ERR, IBV_QPS_RESET}) {
    to.qp_state = state;
    if (chance.one_in(2)) {
      ibv_modify_qp(qp, &to, IBV_QP_STATE);
      ibv_recv_wr receive{};
      ibv_recv_wr* bad = nullptr;
      ibv_post_recv(qp, &receive, &bad);
    }
  }
  ibv_destroy_qp(qp);
  count(kObjects);
}

void churn_queues(const Shared& all, Chance& chance) {
  ibv_wc completion{};
  ibv_resize_cq(all.cq, static_cast<int>(64 + chance.below(4096)));
  ibv_req_notify_cq(all.cq, 0);
  ibv_poll_cq(all.cq, 1, &completion);
  ibv_cq* const own =
      ibv_create_cq(all.context, static_cast<int>(1 + chance.below(1000)), nullptr, nullptr, 0);
  if (own != nullptr) {
    ibv_destroy_cq(own);
  }
  ibv_srq_attr limit{0, 0, static_cast<std::uint32_t>(chance.below(4))};
  ibv_modify_srq(all.srq, &limit, IBV_SRQ_LIMIT);
  ibv_recv_wr receive{};
  ibv_recv_wr* bad = nullptr;
  ibv_post_srq_recv(all.srq, &receive, &bad);
  count(kObjects);
}

void churn_in(const Shared& all, std::uint64_t seed, std::size_t turns) {
  Chance chance(seed);
  std::vector<char> bytes(65536);
  for (; turns > 0; --turns) {
    switch (chance.below(3)) {
      case 0:
        churn_regions(all, chance, bytes);
        break;
      case 1:
        churn_pairs(all, chance);
        break;
      default:
        churn_queues(all, chance);
    }
  }
}

void churn_once(const Options& options, Chance& chance) {
  Shared all{open_device(options.device), nullptr, nullptr, nullptr};
  if (all.context == nullptr) {
    usleep(10000);
    return;
  }
  all.pd = ibv_alloc_pd(all.context);
  all.cq = ibv_create_cq(all.context, 128, nullptr, nullptr, 0);
  ibv_srq_init_attr srq{nullptr, {16, 1, 0}};
  all.srq = all.pd != nullptr ? ibv_create_srq(all.pd, &srq) : nullptr;
  if (all.cq != nullptr && all.srq != nullptr) {
    const std::size_t turns = 1 + chance.below(100);
    std::array<std::thread, 3> threads;
    for (std::thread& thread : threads) {
      thread = std::thread(churn_in, std::cref(all), options.seed + chance.below(1 << 30), turns);
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
  }
  if (all.srq != nullptr) {
    ibv_destroy_srq(all.srq);
  }
  if (all.cq != nullptr) {
    ibv_destroy_cq(all.cq);
  }
  if (all.pd != nullptr) {
    ibv_dealloc_pd(all.pd);
  }
  ibv_close_device(all.context);
}

}  // namespace

void churn(const Options& options) {
  live(options, churn_once);
}

}  // namespace storm
