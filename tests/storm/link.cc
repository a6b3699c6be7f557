// SPDX-License-Identifier: GPL-2.0
#include "link.h"

#include <poll.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "counts.h"

namespace storm {

bool next_news(rdma_event_channel* channel, std::chrono::milliseconds limit, News& news) {
  pollfd ready{channel->fd, POLLIN, 0};
  rdma_cm_event* event = nullptr;
  if (poll(&ready, 1, static_cast<int>(limit.count())) <= 0 ||
      rdma_get_cm_event(channel, &event) != 0) {
    return false;
  }
  const auto* data = static_cast<const char*>(event->param.conn.private_data);
  news.type = event->event;
  news.id = event->id;
  news.private_data.clear();
  if (data != nullptr) {
    news.private_data.assign(data, data + event->param.conn.private_data_len);
  }
  rdma_ack_cm_event(event);
  return true;
}

bool Link::open(Chance& chance) {
  pd_ = ibv_alloc_pd(id_->verbs);
  if (pd_ == nullptr) {
    return false;
  }
  cq_ = ibv_create_cq(id_->verbs, static_cast<int>(16 + chance.below(64)), nullptr, nullptr, 0);
  mr_ = ibv_reg_mr(pd_, bytes_.data(), kSize,
                   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                       IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND);
  if (cq_ == nullptr || mr_ == nullptr) {
    return false;
  }
  if (chance.one_in(4)) {
    mw_ = ibv_alloc_mw(pd_, IBV_MW_TYPE_1);
  }
  own_ = {reinterpret_cast<std::uintptr_t>(bytes_.data()), mr_->rkey, kSize};
  ibv_qp_init_attr attributes{};
  attributes.send_cq = attributes.recv_cq = cq_;
  attributes.cap = {16, 8, 2, 2, 64};
  attributes.qp_type = IBV_QPT_RC;
  if (rdma_create_qp(id_, pd_, &attributes) != 0) {
    return false;
  }
  for (std::size_t left = chance.below(9); left > 0; --left) {
    ibv_sge part{own_.address, kSize, mr_->lkey};
    ibv_recv_wr receive{};
    ibv_recv_wr* bad = nullptr;
    receive.sg_list = &part;
    receive.num_sge = 1;
    ibv_post_recv(id_->qp, &receive, &bad);
  }
  return true;
}

rdma_conn_param Link::parameters(Chance& chance) {
  rdma_conn_param with{};
  with.private_data = &own_;
  with.private_data_len = sizeof(own_);
  with.responder_resources = static_cast<std::uint8_t>(chance.below(17));
  with.initiator_depth = static_cast<std::uint8_t>(chance.below(17));
  with.retry_count = 7;
  with.rnr_retry_count = 7;
  return with;
}

bool Link::connect(Chance& chance) {
  rdma_conn_param with = parameters(chance);
  return rdma_connect(id_, &with) == 0;
}

bool Link::accept(Chance& chance) {
  rdma_conn_param with = parameters(chance);
  return rdma_accept(id_, &with) == 0;
}

void Link::found(const void* private_data, std::size_t length) {
  if (length >= sizeof(other_)) {
    std::memcpy(&other_, private_data, sizeof(other_));
  }
}

void Link::send(Chance& chance) {
  static constexpr ibv_wr_opcode kKinds[] = {IBV_WR_SEND, IBV_WR_SEND_WITH_INV, IBV_WR_RDMA_WRITE,
                                             IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD};
  const bool small = chance.one_in(2);
  ibv_sge part{own_.address, static_cast<std::uint32_t>(chance.below(small ? 64 : kSize)),
               mr_->lkey};
  ibv_send_wr work{};
  ibv_send_wr* bad = nullptr;
  work.sg_list = &part;
  work.num_sge = 1;
  work.opcode = kKinds[chance.below(other_.size != 0 ? 5 : 1)];
  work.send_flags = chance.one_in(2) ? IBV_SEND_SIGNALED : 0;
  if (work.opcode == IBV_WR_SEND_WITH_INV) {
    work.invalidate_rkey = other_.key;
    if (!chance.one_in(16)) {
      work.opcode = IBV_WR_SEND;
    }
  } else if (work.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
    part.length = 8;
    work.wr.atomic = {other_.address, 1, 0, other_.key};
  } else {
    work.wr.rdma = {other_.address, other_.key};
  }
  if (small && work.opcode == IBV_WR_SEND) {
    work.send_flags |= IBV_SEND_INLINE;
  }
  ibv_post_send(id_->qp, &work, &bad);
}

void Link::poll() {
  ibv_wc completions[8];
  for (int found = ibv_poll_cq(cq_, 8, completions); found > 0;
       found = ibv_poll_cq(cq_, 8, completions)) {
    const auto good = std::count_if(completions, completions + found,
                                    [](const ibv_wc& wc) { return wc.status == IBV_WC_SUCCESS; });
    count(kMessages, static_cast<std::uint64_t>(good));
    count(kFailures, static_cast<std::uint64_t>(found - good));
  }
}

void Link::work(Chance& chance) {
  for (std::size_t left = 1 + chance.below(12); left > 0; --left) {
    send(chance);
    if (mw_ != nullptr && chance.one_in(3)) {
      ibv_mw_bind bind{};
      bind.send_flags = IBV_SEND_SIGNALED;
      bind.bind_info = {mr_, own_.address, kSize, IBV_ACCESS_REMOTE_WRITE};
      ibv_bind_mw(id_->qp, mw_, &bind);
    }
    if (chance.one_in(8)) {
      ibv_resize_cq(cq_, static_cast<int>(16 + chance.below(200)));
    }
    if (chance.one_in(16)) {
      ibv_rereg_mr(mr_, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
                   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
    }
  }
  poll();
}

void Link::end(Chance& chance) {
  ibv_qp* const pair = id_->qp;
  if (pair == nullptr) {
    release();
    return;
  }
  switch (chance.below(6)) {
    case 0:
      rdma_disconnect(id_);
      chance.nap();
      break;
    case 1: {
      // One thread disconnects while another destroys.
      id_->qp = nullptr;
      const auto late = std::chrono::microseconds(chance.below(40));
      std::thread other([this, late] {
        std::this_thread::sleep_for(late);
        rdma_disconnect(id_);
      });
      ibv_destroy_qp(pair);
      other.join();
      count(kTogether);
      break;
    }
    case 2: {
      ibv_qp_attr attributes{};
      attributes.qp_state = IBV_QPS_ERR;
      ibv_modify_qp(pair, &attributes, IBV_QP_STATE);
      poll();
      break;
    }
    case 3:
      // Its memory goes first.
      if (mr_ != nullptr && ibv_dereg_mr(mr_) == 0) {
        mr_ = nullptr;
      }
      break;
    case 4:
      rdma_disconnect(id_);
      poll();
      break;
    default:
      break;
  }
  release();
}

void Link::release() {
  if (id_ == nullptr) {
    return;
  }
  if (id_->qp != nullptr) {
    rdma_destroy_qp(id_);
  }
  rdma_destroy_id(id_);
  id_ = nullptr;
  if (mw_ != nullptr) {
    ibv_dealloc_mw(mw_);
  }
  if (mr_ != nullptr) {
    ibv_dereg_mr(mr_);
  }
  if (cq_ != nullptr) {
    ibv_destroy_cq(cq_);
  }
  if (pd_ != nullptr) {
    ibv_dealloc_pd(pd_);
  }
}

}  // namespace storm
