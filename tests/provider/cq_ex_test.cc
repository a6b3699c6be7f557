// SPDX-License-Identifier: GPL-2.0
// Completion queues beyond ibv_poll_cq(): ibv_cq_ex, timestamps, resizing; domains without locks.
#include <rdma/ib_user_ioctl_verbs.h>
#include <unistd.h>

#include <algorithm>

#include "fixture.hpp"

namespace weft_test {
namespace {

constexpr uint64_t kStamps =
    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | uint64_t{IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK};

class CqExTest : public QueuePairTest {
 protected:
  CqExTest() {
    qp_.end();
    cq_.end();
    ibv_cq_init_attr_ex attr = init_attr();
    ex_ = ibv_create_cq_ex(context_, &attr);
    cq_ = Made(ibv_cq_ex_to_cq(ex_));
    qp_ = Made(create_qp());
  }
  ibv_cq_init_attr_ex init_attr() {
    return {.cqe = kCqe,
            .cq_context = this,
            .channel = channel_,
            .wc_flags = IBV_WC_STANDARD_FLAGS | kStamps};
  }
  void add(uint64_t wr_id, uint8_t opcode, uint8_t flags = 0, uint8_t status = 0) const {
    weft_cqe cqe = {.wr_id = wr_id,
                    .timestamp = 1000 + wr_id,
                    .qp_num = qp_->qp_num,
                    .byte_len = static_cast<uint32_t>(wr_id * 2),
                    .ex = 0x5a5a};
    ASSERT_TRUE(kernel().complete(cq_->handle, cqe, flags, status, opcode));
  }
  uint32_t consumer() const { return kernel().cq(cq_->handle).ring.control()->consumer; }

  ibv_cq_ex* ex_ = nullptr;
  ibv_poll_cq_attr poll_ = {};
};

TEST_F(CqExTest, PublicFieldsAreThere) {
  EXPECT_EQ(cq_->context, context_);
  EXPECT_EQ(cq_->cq_context, this);
  EXPECT_EQ(cq_->channel, channel_);
  EXPECT_EQ(cq_->cqe, kCqe);
  EXPECT_EQ(kernel().cq(cq_->handle).flags,
            static_cast<uint32_t>(IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION));
}

// A program may ask for the next event while it polls; another thread waits for the end.
TEST_F(CqExTest, IsArmedWithinAPoll) {
  add(1, WEFT_OP_SEND);
  ASSERT_EQ(ibv_start_poll(ex_, &poll_), 0);
  alarm(20);  // it spun for ever
  EXPECT_EQ(ibv_req_notify_cq(cq_, 0), 0);
  alarm(0);
  ibv_end_poll(ex_);
  EXPECT_EQ(ibv_req_notify_cq(cq_, 0), 0);
  add(2, WEFT_OP_SEND);
  take_event();
  ibv_ack_cq_events(cq_, 1);
}

// A place in the send queue is free again when the entry of its completion is.
TEST_F(CqExTest, ACompletionCountsWhenItIsGivenBack) {
  ready();
  auto wr = send_wr(1, &sge_);
  wr.send_flags = IBV_SEND_SIGNALED;
  const auto send = [&] {
    const int ret = post(&wr);
    if (SendEntry entry; fake().sq.fetch(&entry)) {
      fake().sq.release(entry.blocks);
      add(1, WEFT_OP_WRITE);
    }
    return ret;
  };
  for (uint32_t i = 0; i < kSendWr; i++) ASSERT_EQ(send(), 0) << i;
  EXPECT_EQ(send(), ENOMEM);
  ASSERT_EQ(ibv_start_poll(ex_, &poll_), 0);
  EXPECT_EQ(send(), ENOMEM) << "the first one is ours";
  ASSERT_EQ(ibv_next_poll(ex_), 0);
  EXPECT_EQ(send(), 0);
  EXPECT_EQ(send(), ENOMEM);
  ibv_end_poll(ex_);
  EXPECT_EQ(send(), 0);
  EXPECT_EQ(send(), ENOMEM);
}

TEST_F(CqExTest, EveryFieldIsRead) {
  add(1, WEFT_OP_RECV, WEFT_CQE_WITH_IMM);
  add(2, WEFT_OP_RECV, WEFT_CQE_WITH_INV);
  add(3, WEFT_OP_READ, 0, IBV_WC_REM_ACCESS_ERR);
  ASSERT_EQ(ibv_start_poll(ex_, &poll_), 0);
  EXPECT_EQ(ex_->wr_id, 1U);
  EXPECT_EQ(ex_->status, IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_wc_read_opcode(ex_), IBV_WC_RECV);
  EXPECT_EQ(ibv_wc_read_wc_flags(ex_), static_cast<unsigned>(IBV_WC_WITH_IMM));
  EXPECT_EQ(ibv_wc_read_imm_data(ex_), 0x5a5aU);
  EXPECT_EQ(ibv_wc_read_vendor_err(ex_), 0U);
  EXPECT_EQ(ibv_wc_read_byte_len(ex_), 2U);
  EXPECT_EQ(ibv_wc_read_qp_num(ex_), qp_->qp_num);
  EXPECT_EQ(ibv_wc_read_src_qp(ex_), 0U);
  EXPECT_EQ(ibv_wc_read_slid(ex_), 0U);
  EXPECT_EQ(ibv_wc_read_sl(ex_), 0);
  EXPECT_EQ(ibv_wc_read_dlid_path_bits(ex_), 0);
  EXPECT_EQ(ibv_wc_read_completion_ts(ex_), 1001U);
  const int64_t offset = now(CLOCK_REALTIME) - now(CLOCK_MONOTONIC_RAW);
  EXPECT_NEAR(static_cast<double>(ibv_wc_read_completion_wallclock_ns(ex_)),
              static_cast<double>(offset + 1001), 1e8);
  ASSERT_EQ(ibv_next_poll(ex_), 0);
  EXPECT_EQ(ex_->wr_id, 2U);
  EXPECT_EQ(ibv_wc_read_wc_flags(ex_), static_cast<unsigned>(IBV_WC_WITH_INV));
  EXPECT_EQ(ibv_wc_read_invalidated_rkey(ex_), 0x5a5aU);
  ASSERT_EQ(ibv_next_poll(ex_), 0);
  EXPECT_EQ(ex_->status, IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(ibv_wc_read_opcode(ex_), IBV_WC_RDMA_READ);
  EXPECT_EQ(ibv_wc_read_vendor_err(ex_), 0x5a5aU);
  EXPECT_EQ(ibv_wc_read_wc_flags(ex_), 0U);
  EXPECT_EQ(consumer(), 2U) << "the current one is ours";
  EXPECT_EQ(ibv_next_poll(ex_), ENOENT);
  EXPECT_EQ(consumer(), 2U);
  ibv_end_poll(ex_);
  EXPECT_EQ(consumer(), 3U);
  EXPECT_EQ(ibv_start_poll(ex_, &poll_), ENOENT);
  EXPECT_EQ(ibv_start_poll(ex_, &poll_), ENOENT) << "not left locked";
}

TEST_F(CqExTest, EndBeforeTheLast) {
  for (uint64_t i = 1; i <= 3; i++) add(i, WEFT_OP_SEND);
  ASSERT_EQ(ibv_start_poll(ex_, &poll_), 0);
  ibv_end_poll(ex_);
  EXPECT_EQ(consumer(), 1U);
  // The two ways to poll may be mixed.
  EXPECT_EQ(poll_all(), (Ids{2, 3}));
}

TEST_F(CqExTest, WhatAQueuePairLeftIsSkipped) {
  Made other(create_qp());
  complete(1, other);
  complete(2, qp_);
  complete(3, other);
  other.end();
  ASSERT_EQ(ibv_start_poll(ex_, &poll_), 0);
  EXPECT_EQ(ex_->wr_id, 2U);
  EXPECT_EQ(ibv_next_poll(ex_), ENOENT);
  ibv_end_poll(ex_);
  EXPECT_EQ(consumer(), 3U);
  other = Made(create_qp());
  complete(4, other);
  other.end();
  EXPECT_EQ(ibv_start_poll(ex_, &poll_), ENOENT);
  EXPECT_EQ(consumer(), 4U) << "skipped entries are given back too";
}

// A program that sees a queue pair's completion may destroy the queue pair before it polls on.
TEST_F(CqExTest, AQueuePairEndsWithinAPoll) {
  Made other(create_qp());
  complete(1, other);
  complete(2, qp_);
  complete(3, other);
  ASSERT_EQ(ibv_start_poll(ex_, &poll_), 0);
  alarm(20);  // each waited for ever
  EXPECT_EQ(ibv_resize_cq(cq_, 2 * kCqe), EBUSY);
  other.end();
  alarm(0);
  ASSERT_EQ(ibv_next_poll(ex_), 0);
  EXPECT_EQ(ex_->wr_id, 2U);
  EXPECT_EQ(ibv_next_poll(ex_), ENOENT);
  ibv_end_poll(ex_);
  EXPECT_EQ(consumer(), 3U);
}

// What was current when its queue pair was reset counts nothing when it is given back.
TEST_F(CqExTest, AQueuePairIsResetWithinAPoll) {
  ibv_recv_wr recv = recv_wr(1, &sge_);
  const auto posted = [&] {
    uint32_t receives = 0;
    while (post(&recv) == 0) receives++;
    return receives;
  };
  ready();
  EXPECT_EQ(posted(), kRecvWr);
  complete(1, qp_, WEFT_OP_RECV);
  ASSERT_EQ(ibv_start_poll(ex_, &poll_), 0);
  alarm(20);
  EXPECT_EQ(move(qp_, IBV_QPS_RESET), 0);
  alarm(0);
  ibv_end_poll(ex_);
  ready();
  EXPECT_EQ(posted(), kRecvWr);
}

TEST_F(CqExTest, AnOverrunQueueSaysSo) {
  for (uint64_t i = 0; i < kCqe; i++) add(i, WEFT_OP_SEND);
  EXPECT_FALSE(kernel().complete(cq_->handle, weft_cqe{}, 0, 0, WEFT_OP_SEND));
  ASSERT_EQ(ibv_start_poll(ex_, &poll_), 0);
  for (uint64_t i = 1; i < kCqe; i++) {
    ASSERT_EQ(ibv_next_poll(ex_), 0);
    EXPECT_EQ(ex_->wr_id, i);
  }
  EXPECT_EQ(ibv_next_poll(ex_), ENOENT);
  ibv_end_poll(ex_);
  EXPECT_EQ(ibv_start_poll(ex_, &poll_), EOVERFLOW);
}

TEST_F(CqExTest, WhatCantBeHadIsRefused) {
  for (const uint64_t flag : {uint64_t{IBV_WC_EX_WITH_CVLAN}, uint64_t{IBV_WC_EX_WITH_FLOW_TAG},
                              uint64_t{IBV_WC_EX_WITH_TM_INFO}}) {
    ibv_cq_init_attr_ex attr = init_attr();
    attr.wc_flags |= flag;
    EXPECT_EQ(refusal(ibv_create_cq_ex(context_, &attr)), EOPNOTSUPP) << flag;
  }
  ibv_cq_init_attr_ex attr = init_attr();
  attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
  attr.flags = 1U << 7;
  EXPECT_EQ(refusal(ibv_create_cq_ex(context_, &attr)), EOPNOTSUPP);
  attr = init_attr();
  attr.comp_mask = 1U << 9;
  EXPECT_EQ(refusal(ibv_create_cq_ex(context_, &attr)), EOPNOTSUPP);
  attr = init_attr();
  attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
  attr.parent_domain = pd_;
  EXPECT_EQ(refusal(ibv_create_cq_ex(context_, &attr)), EINVAL) << "not a parent domain";
  poll_.comp_mask = 1;
  EXPECT_EQ(ibv_start_poll(ex_, &poll_), EINVAL);
}

TEST_F(CqExTest, WithoutStampsTheKernelIsNotAskedForThem) {
  ibv_cq_init_attr_ex attr = init_attr();
  attr.wc_flags = IBV_WC_STANDARD_FLAGS;
  attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
  attr.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
  Made plain(ibv_create_cq_ex(context_, &attr));
  EXPECT_EQ(kernel().cq(plain->handle).flags, 0U);
  EXPECT_EQ(plain->read_completion_ts, nullptr);
  weft_cqe cqe = {.wr_id = 9};
  ASSERT_TRUE(kernel().complete(plain->handle, cqe, 0, 0, WEFT_OP_SEND));
  ASSERT_EQ(ibv_start_poll(plain, &poll_), 0);
  EXPECT_EQ(plain->wr_id, 9U);
  ibv_end_poll(plain);
}

// ---- resizing ---------------------------------------------------------------

TEST_F(QueuePairTest, AResizedQueueGoesOn) {
  const size_t mapped = kernel().user_mapped_bytes();
  uint64_t added = 0;
  uint64_t polled = 0;
  const auto poll_some = [&](int count) {
    ibv_wc wc[64];
    const int got = ibv_poll_cq(cq_, count, wc);
    for (int i = 0; i < got; i++) EXPECT_EQ(wc[i].wr_id, polled++);
    return got;
  };
  // Up and down, with the indices all over the ring and entries waiting.
  for (const int size : {64, 4, 32, 16, 8, 128, 16}) {
    for (int i = 0; i < 3; i++) complete(added++, qp_);
    EXPECT_EQ(poll_some(2), 2);
    ASSERT_EQ(ibv_resize_cq(cq_, std::max<int>(size, static_cast<int>(added - polled))), 0);
    EXPECT_GE(cq_->cqe, size);
    while (added - polled < static_cast<uint64_t>(cq_->cqe)) complete(added++, qp_);
    while (poll_some(3) > 0) {
    }
    EXPECT_EQ(polled, added);
  }
  EXPECT_EQ(kernel().user_mapped_bytes(), mapped) << "an old ring is still mapped";
}

TEST_F(QueuePairTest, ModerationIsTheKernels) {
  ibv_modify_cq_attr attr = {.attr_mask = IBV_CQ_ATTR_MODERATE,
                             .moderate = {.cq_count = 16, .cq_period = 500}};
  ASSERT_EQ(ibv_modify_cq(cq_, &attr), 0);
  EXPECT_EQ(kernel().cq(cq_->handle).moderation.cq_count, 16U);
  EXPECT_EQ(kernel().cq(cq_->handle).moderation.cq_period, 500U);
  attr.attr_mask = IBV_CQ_ATTR_RESERVED;
  EXPECT_EQ(ibv_modify_cq(cq_, &attr), EINVAL);
}

TEST_F(QueuePairTest, AnArmedQueueStaysArmedWhenResized) {
  ASSERT_EQ(ibv_req_notify_cq(cq_, 0), 0);
  ASSERT_EQ(ibv_resize_cq(cq_, 64), 0);
  EXPECT_FALSE(event_waits());
  complete(1, qp_);
  take_event();
  ASSERT_EQ(ibv_req_notify_cq(cq_, 0), 0);
  complete(2, qp_);
  take_event();
  ibv_ack_cq_events(cq_, 2);
  EXPECT_EQ(poll_all(), (Ids{1, 2}));
}

TEST_F(QueuePairTest, ARefusedResizeChangesNothing) {
  complete(1, qp_);
  kernel().fail(IB_USER_VERBS_CMD_RESIZE_CQ, ENOMEM);
  EXPECT_EQ(ibv_resize_cq(cq_, 64), ENOMEM);
  EXPECT_EQ(ibv_resize_cq(cq_, 0), EINVAL);
  EXPECT_EQ(cq_->cqe, kCqe);
  EXPECT_EQ(poll_all(), Ids{1});
}

TEST_F(QueuePairTest, AResizedQueueThatCantBeMappedIsDead) {
  complete(1, qp_);
  kernel().spoil_mapping();
  EXPECT_EQ(ibv_resize_cq(cq_, 64), EINVAL);
  ibv_wc wc = {};
  EXPECT_EQ(ibv_poll_cq(cq_, 1, &wc), 1);
  EXPECT_EQ(wc.wr_id, 1U);
  EXPECT_LT(ibv_poll_cq(cq_, 1, &wc), 0) << "and not: empty for ever";
}

// ---- clocks and domains -----------------------------------------------------

TEST_F(ObjectTest, Clocks) {
  ibv_device_attr_ex attr = {};
  ASSERT_EQ(ibv_query_device_ex(context_, nullptr, &attr), 0);
  EXPECT_EQ(attr.completion_timestamp_mask, UINT64_MAX);
  EXPECT_EQ(attr.hca_core_clock, 1000000U);
  EXPECT_EQ(attr.odp_caps.general_caps, 0U);
  ibv_values_ex values = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK};
  const int64_t before = now(CLOCK_MONOTONIC_RAW);
  ASSERT_EQ(ibv_query_rt_values_ex(context_, &values), 0);
  EXPECT_EQ(values.comp_mask, static_cast<uint32_t>(IBV_VALUES_MASK_RAW_CLOCK));
  EXPECT_EQ(values.raw_clock.tv_sec, 0);
  EXPECT_GE(values.raw_clock.tv_nsec, before);
  EXPECT_LE(values.raw_clock.tv_nsec, now(CLOCK_MONOTONIC_RAW));
  values.comp_mask = 1U << 5;
  EXPECT_EQ(ibv_query_rt_values_ex(context_, &values), EINVAL);
}

TEST_F(ObjectTest, ParentDomains) {
  ibv_td_init_attr td_attr = {.comp_mask = 0};
  Made td(ibv_alloc_td(context_, &td_attr));
  ibv_parent_domain_init_attr attr = {.pd = pd_, .td = td};
  Made parent(ibv_alloc_parent_domain(context_, &attr));
  EXPECT_EQ(parent->handle, pd_->handle);
  EXPECT_EQ(parent->context, context_);
  EXPECT_EQ(ibv_dealloc_pd(pd_), EBUSY);
  EXPECT_EQ(ibv_dealloc_td(td), EBUSY);

  attr.pd = parent;
  EXPECT_EQ(refusal(ibv_alloc_parent_domain(context_, &attr)), EINVAL) << "of a parent domain";
  attr.pd = nullptr;
  EXPECT_EQ(refusal(ibv_alloc_parent_domain(context_, &attr)), EINVAL);
  attr.pd = pd_;
  attr.comp_mask = 1U << 6;
  EXPECT_EQ(refusal(ibv_alloc_parent_domain(context_, &attr)), EOPNOTSUPP);
  td_attr.comp_mask = 1;
  EXPECT_EQ(refusal(ibv_alloc_td(context_, &td_attr)), EOPNOTSUPP);

  // Everything can be made in it.
  ibv_cq_init_attr_ex cq_attr = {
      .cqe = 4, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD, .parent_domain = parent};
  Made cq(ibv_create_cq_ex(context_, &cq_attr));
  char buffer[8];
  Made mr(ibv_reg_mr(parent, buffer, sizeof(buffer), 0));
  ibv_srq_init_attr srq_attr = {.attr = {.max_wr = 4, .max_sge = 1, .srq_limit = 0}};
  Made srq(ibv_create_srq(parent, &srq_attr));
  ibv_cq* both = ibv_cq_ex_to_cq(cq);
  ibv_qp_init_attr qp_attr = {
      .send_cq = both, .recv_cq = both, .srq = srq, .cap = {1, 0, 1, 0, 0}, .qp_type = IBV_QPT_RC};
  Made qp(ibv_create_qp(parent, &qp_attr));
  EXPECT_EQ(qp->pd, parent);
  ibv_sge sge = {1, 2, 3};
  ibv_recv_wr recv = recv_wr(1, &sge);
  EXPECT_EQ(post(srq, &recv), 0);

  qp.end();
  srq.end();
  mr.end();
  cq.end();
  parent.end();
  td.end();
  EXPECT_EQ(kernel().num_pds(), 1U) << "the protection domain lives on";
}

}  // namespace
}  // namespace weft_test
