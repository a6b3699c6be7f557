// SPDX-License-Identifier: GPL-2.0
// What the kernel refuses is the caller's error, and what was refused stays usable.
#include <limits.h>

#include "fixture.hpp"

namespace weft_test {
namespace {

TEST_F(ObjectTest, RefusedProtectionDomains) {
  kernel().fail(IB_USER_VERBS_CMD_ALLOC_PD, ENOMEM);
  EXPECT_EQ(refusal(ibv_alloc_pd(context_)), ENOMEM);
  EXPECT_EQ(kernel().num_pds(), 1U);
  kernel().fail(IB_USER_VERBS_CMD_DEALLOC_PD, EBUSY);
  EXPECT_EQ(ibv_dealloc_pd(pd_), EBUSY);
  char buffer[8];
  Made mr(ibv_reg_mr(pd_, buffer, sizeof(buffer), 0));
}

TEST_F(ObjectTest, RefusedQuestion) {
  ibv_device_attr_ex attr = {};
  kernel().fail(IB_USER_VERBS_CMD_QUERY_DEVICE, EIO);
  EXPECT_EQ(ibv_query_device_ex(context_, nullptr, &attr), EIO);
}

// Lengths that libibverbs hands on as they are.
TEST_F(ObjectTest, CompletionQueuesThatCannotBe) {
  for (const int entries : {-1, INT_MIN})
    EXPECT_EQ(refusal(ibv_create_cq(context_, entries, nullptr, nullptr, 0)), EINVAL);
  EXPECT_EQ(refusal(ibv_create_cq(context_, 4, nullptr, nullptr, -1)), EINVAL);
  ibv_cq_init_attr_ex attr = {.cqe = INT_MAX + 1U};
  EXPECT_EQ(refusal(ibv_create_cq_ex(context_, &attr)), EINVAL);
  attr.cqe = 4;
  attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
  for (ibv_pd* const domain : std::initializer_list<ibv_pd*>{nullptr, pd_}) {
    attr.parent_domain = domain;
    EXPECT_EQ(refusal(ibv_create_cq_ex(context_, &attr)), EINVAL) << "no parent domain";
  }
  attr.comp_mask = 0;
  kernel().fail(IB_USER_VERBS_CMD_CREATE_CQ, ENOMEM);
  EXPECT_EQ(refusal(ibv_create_cq_ex(context_, &attr)), ENOMEM);
  EXPECT_EQ(kernel().num_cqs(), 0U);
}

TEST_F(QueuePairTest, RefusedDestroyLeavesQueuesUsable) {
  complete(7, qp_);
  kernel().fail(IB_USER_VERBS_CMD_DESTROY_CQ, EBUSY);
  EXPECT_EQ(ibv_destroy_cq(cq_), EBUSY);
  EXPECT_EQ(poll_all(), Ids{7});
  ibv_srq_init_attr attr = {.attr = {.max_wr = 2, .max_sge = 1, .srq_limit = 0}};
  Made srq(ibv_create_srq(pd_, &attr));
  kernel().fail(IB_USER_VERBS_CMD_DESTROY_SRQ, EBUSY);
  EXPECT_EQ(ibv_destroy_srq(srq), EBUSY);
  ibv_recv_wr wr = recv_wr(1, &sge_);
  EXPECT_EQ(post(srq, &wr), 0);
}

// A reset that the kernel refuses has forgotten no completion.
TEST_F(QueuePairTest, RefusedResetForgetsNothing) {
  ready();
  complete(7, qp_);
  kernel().fail(IB_USER_VERBS_CMD_MODIFY_QP, EBUSY);
  EXPECT_EQ(move(qp_, IBV_QPS_RESET), EBUSY);
  EXPECT_EQ(poll_all(), Ids{7});
}

// Each of a queue pair's two completion queues is rid of what it left.
TEST_F(QueuePairTest, BothQueuesForgetADestroyedOne) {
  Made other(ibv_create_cq(context_, kCqe, nullptr, nullptr, 0));
  ibv_qp_init_attr attr = init_attr(cap_of(1, 1));
  attr.recv_cq = other;
  Made qp(ibv_create_qp(pd_, &attr));
  weft_cqe cqe = {.wr_id = 5, .qp_num = qp->qp_num};
  EXPECT_TRUE(kernel().complete(other->handle, cqe, 0, IBV_WC_SUCCESS, WEFT_OP_RECV));
  complete(6, qp);
  complete(7, qp_);
  qp.end();
  EXPECT_EQ(poll_all(), Ids{7});
  ibv_wc wc = {};
  EXPECT_EQ(ibv_poll_cq(other, 1, &wc), 0);
}

TEST_F(QueuePairTest, ABindThatFindsNoRoom) {
  char buffer[64];
  Made mr(ibv_reg_mr(pd_, buffer, sizeof(buffer), IBV_ACCESS_MW_BIND));
  Made mw(ibv_alloc_mw(pd_, IBV_MW_TYPE_1));
  ready();
  for (uint64_t id = 0; id < kSendWr; id++) {
    auto wr = send_wr(id, &sge_);
    ASSERT_EQ(post(&wr), 0);
  }
  const uint32_t key = mw->rkey;
  ibv_mw_bind bind = {.bind_info = {mr, reinterpret_cast<uintptr_t>(buffer), 16, 0}};
  EXPECT_EQ(ibv_bind_mw(qp_, mw, &bind), ENOMEM);
  EXPECT_EQ(mw->rkey, key);
}

// An index ahead of all that was posted, as for a moment in another thread's reset, frees nothing.
TEST_F(QueuePairTest, AnIndexAheadFreesNothing) {
  ready();
  for (uint64_t id = 0; id < kSendWr; id++) {
    auto wr = send_wr(id, &sge_);
    ASSERT_EQ(post(&wr), 0);
  }
  store(fake().sq.control()->consumer, 1000);
  auto wr = send_wr(9, &sge_);
  EXPECT_EQ(post(&wr), ENOMEM);
}

}  // namespace
}  // namespace weft_test
