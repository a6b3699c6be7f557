// SPDX-License-Identifier: GPL-2.0
// Posting through struct ibv_qp_ex.
#include <numeric>

#include "fixture.hpp"

namespace weft_test {
namespace {

constexpr uint64_t kAllOps = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
                             IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
                             IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                             IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_LOCAL_INV |
                             IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_SEND_WITH_INV;

class WrTest : public QueuePairTest {
 protected:
  static constexpr uint32_t kBatch = 10;

  void SetUp() override {
    EXPECT_EQ(ibv_qp_to_qp_ex(qp_), nullptr) << "not asked for";
    ibv_qp_init_attr_ex attr = init_attr();
    qp_ = Made(ibv_create_qp_ex(context_, &attr));
    EXPECT_EQ(attr.cap.max_inline_data, kInline);
    ex_ = ibv_qp_to_qp_ex(qp_);
    ASSERT_NE(ex_, nullptr);
    ready();
    fake().set_peer(WEFT_PEER_EXTENDED);
  }

  ibv_qp_init_attr_ex init_attr() {
    return {.qp_context = this,
            .send_cq = cq_,
            .recv_cq = cq_,
            .cap = cap_of(kBatch, kRecvWr, kSendSge, kRecvSge, kInline),
            .qp_type = IBV_QPT_RC,
            .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
            .pd = pd_,
            .send_ops_flags = kAllOps};
  }

  void begin(uint64_t wr_id, unsigned int flags = 0) const {
    ex_->wr_id = wr_id;
    ex_->wr_flags = flags;
  }
  // A send of one SGE that nobody looks at.
  void build_send(uint64_t wr_id) const {
    begin(wr_id);
    ibv_wr_send(ex_);
    ibv_wr_set_sge(ex_, 1, 2, 3);
  }

  ibv_qp_ex* ex_ = nullptr;
};

TEST_F(WrTest, PublicFieldsAreThere) {
  EXPECT_EQ(qp_->context, context_);
  EXPECT_EQ(qp_->pd, pd_);
  EXPECT_EQ(qp_->qp_context, this);
  EXPECT_EQ(qp_->send_cq, cq_);
  EXPECT_EQ(qp_->qp_type, IBV_QPT_RC);
  EXPECT_EQ(qp_->qp_num, fake().qp_num);
  // The old way to post works as well.
  auto wr = send_wr(1, &sge_);
  EXPECT_EQ(post(&wr), 0);
  EXPECT_EQ(done().head.wr_id, 1U);
}

TEST_F(WrTest, WhatCantBeHadIsRefused) {
  ibv_qp_init_attr_ex attr = init_attr();
  attr.send_ops_flags |= IBV_QP_EX_WITH_TSO;
  EXPECT_EQ(refusal(ibv_create_qp_ex(context_, &attr)), EOPNOTSUPP);
  attr = init_attr();
  attr.comp_mask |= IBV_QP_INIT_ATTR_MAX_TSO_HEADER;
  EXPECT_EQ(refusal(ibv_create_qp_ex(context_, &attr)), EOPNOTSUPP);
  attr = init_attr();
  attr.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
  attr.create_flags = IBV_QP_CREATE_SCATTER_FCS;
  EXPECT_EQ(refusal(ibv_create_qp_ex(context_, &attr)), EOPNOTSUPP);
  attr = init_attr();
  attr.comp_mask &= ~static_cast<uint32_t>(IBV_QP_INIT_ATTR_PD);
  EXPECT_EQ(refusal(ibv_create_qp_ex(context_, &attr)), EINVAL);
}

TEST_F(WrTest, EveryOperationArrives) {
  const ibv_sge sges[2] = {{1, 2, 3}, {4, 5, 6}};
  ASSERT_TRUE(fake().sq.go_idle());
  ibv_wr_start(ex_);
  begin(1, IBV_SEND_SIGNALED | IBV_SEND_SOLICITED);
  ibv_wr_send(ex_);
  ibv_wr_set_sge_list(ex_, 2, sges);
  begin(2);
  ibv_wr_send_imm(ex_, 0x1111);
  ibv_wr_set_sge(ex_, 3, 1, 2);
  begin(3);
  ibv_wr_send_inv(ex_, 0x2222);
  ibv_wr_set_sge_list(ex_, 0, nullptr);
  begin(4, IBV_SEND_FENCE);
  ibv_wr_rdma_write(ex_, 0xcafe, 0x123456789abc);
  ibv_wr_set_sge(ex_, 6, 4, 5);
  begin(5);
  ibv_wr_rdma_write_imm(ex_, 0xcafe, 0x123456789abd, 0x3333);
  ibv_wr_set_sge(ex_, 6, 4, 5);
  begin(6);
  ibv_wr_rdma_read(ex_, 0xcaff, 0x123456789abe);
  ibv_wr_set_sge(ex_, 6, 4, 5);
  begin(7);
  ibv_wr_atomic_cmp_swp(ex_, 0xcafe, 0x1008, 10, 20);
  ibv_wr_set_sge(ex_, 6, 4, 8);
  begin(8);
  ibv_wr_atomic_fetch_add(ex_, 0xcafe, 0x1010, 30);
  ibv_wr_set_sge(ex_, 6, 4, 8);
  begin(9);
  ibv_wr_local_inv(ex_, 0x4444);
  EXPECT_TRUE(fake().sq.empty()) << "nothing is posted before the end";
  EXPECT_EQ(fake().send_doorbells, 0U);
  ASSERT_EQ(ibv_wr_complete(ex_), 0);
  EXPECT_EQ(fake().send_doorbells, 1U);

  const Head expected[] = {
      {1, WEFT_OP_SEND, WEFT_WR_SIGNALED | WEFT_WR_SOLICITED, 0, 0, 0},
      {2, WEFT_OP_SEND_IMM, 0, 0x1111, 0, 0},
      {3, WEFT_OP_SEND_INV, 0, 0x2222, 0, 0},
      {4, WEFT_OP_WRITE, WEFT_WR_FENCE, 0, 0x123456789abc, 0xcafe},
      {5, WEFT_OP_WRITE_IMM, 0, 0x3333, 0x123456789abd, 0xcafe},
      {6, WEFT_OP_READ, 0, 0, 0x123456789abe, 0xcaff},
      {7, WEFT_OP_CMP_SWP, 0, 0, 0x1008, 0xcafe},
      {8, WEFT_OP_FETCH_ADD, 0, 0, 0x1010, 0xcafe},
      {9, WEFT_OP_LOCAL_INV, 0, 0x4444, 0, 0},
  };
  std::vector<SendEntry> got;
  for (const Head& one : expected) EXPECT_EQ(got.emplace_back(done()).fields(), one);
  EXPECT_EQ(got[0].sges, (Sges{{1, 2, 3}, {4, 5, 6}}));
  EXPECT_EQ(got[1].sges, (Sges{{1, 2, 3}}));
  EXPECT_TRUE(got[2].sges.empty());
  EXPECT_EQ(got[6].head.atomic.operands.compare_add, 10U);
  EXPECT_EQ(got[6].head.atomic.operands.swap, 20U);
  EXPECT_EQ(got[6].sges, (Sges{{4, 8, 6}}));
  EXPECT_EQ(got[7].head.atomic.operands.compare_add, 30U);
  EXPECT_TRUE(fake().sq.empty());
}

TEST_F(WrTest, BindMemoryWindow) {
  char buffer[64];
  Made mr(ibv_reg_mr(pd_, buffer, sizeof(buffer), IBV_ACCESS_MW_BIND));
  Made mw(ibv_alloc_mw(pd_, IBV_MW_TYPE_2));
  const ibv_mw_bind_info info = {mr, 0x100, 0x20, IBV_ACCESS_REMOTE_WRITE};
  ibv_wr_start(ex_);
  begin(1, IBV_SEND_SIGNALED);
  ibv_wr_bind_mw(ex_, mw, ibv_inc_rkey(mw->rkey), &info);
  ASSERT_EQ(ibv_wr_complete(ex_), 0);
  const SendEntry entry = done();
  EXPECT_EQ(entry.head.opcode, WEFT_OP_BIND_MW);
  EXPECT_EQ(entry.head.ex, mw->rkey);
  EXPECT_EQ(entry.head.rkey, ibv_inc_rkey(mw->rkey));
  EXPECT_EQ(entry.head.bind.addr, 0x100U);
  EXPECT_EQ(entry.head.bind.length, 0x20U);
  EXPECT_EQ(entry.head.bind.lkey, mr->lkey);
}

TEST_F(WrTest, InlineData) {
  char text[kInline + 1];
  std::iota(std::begin(text), std::end(text), char{0});
  const ibv_data_buf pieces[3] = {{.addr = text, .length = 30},
                                  {.addr = text + 30, .length = 0},
                                  {.addr = text + 30, .length = 70}};
  ibv_wr_start(ex_);
  begin(1);
  ibv_wr_send(ex_);
  ibv_wr_set_inline_data(ex_, text, 5);
  begin(2);
  ibv_wr_rdma_write(ex_, 1, 2);
  ibv_wr_set_inline_data_list(ex_, 3, pieces);
  ASSERT_EQ(ibv_wr_complete(ex_), 0);
  EXPECT_EQ(done().payload, std::vector<uint8_t>(text, text + 5));
  EXPECT_EQ(done().payload, std::vector<uint8_t>(text, text + kInline));
}

// An error shows at the end of the batch, of which nothing is posted then.
TEST_F(WrTest, AMistakeTakesAllBack) {
  char text[kInline + 1] = {};
  const std::vector<ibv_sge> many(kSendSge + 1, sge_);
  const ibv_data_buf huge[2] = {{.addr = text, .length = 8},
                                {.addr = text, .length = SIZE_MAX - 4}};
  ASSERT_TRUE(fake().sq.go_idle());
  for (int which = 0; which < 10; which++) {
    ibv_wr_start(ex_);
    build_send(1);
    begin(2);
    int expected = EINVAL;
    switch (which) {
      case 0:
        ibv_wr_send(ex_);
        ibv_wr_set_sge_list(ex_, many.size(), many.data());
        break;
      case 1:
        ibv_wr_send(ex_);
        ibv_wr_set_inline_data(ex_, text, sizeof(text));
        break;
      case 2:
        ibv_wr_send(ex_);
        ibv_wr_set_inline_data_list(ex_, 2, huge);
        break;
      case 3:
        ibv_wr_rdma_read(ex_, 1, 2);
        ibv_wr_set_inline_data(ex_, text, 1);
        break;
      case 4:
        ibv_wr_atomic_fetch_add(ex_, 1, 8, 1);
        ibv_wr_set_sge_list(ex_, 2, many.data());
        break;
      case 5:
        ibv_wr_atomic_fetch_add(ex_, 1, 8, 1);  // and no place for the result
        break;
      case 6:
        ibv_wr_local_inv(ex_, 1);
        ibv_wr_set_sge(ex_, 1, 2, 3);  // data for nothing
        break;
      case 7:
        ibv_wr_local_inv(ex_, 1);
        ibv_wr_set_inline_data_list(ex_, 1, huge);  // the same, and inline
        break;
      case 8:
        fake().set_peer(0);
        ibv_wr_send_imm(ex_, 1);
        ibv_wr_set_sge(ex_, 1, 2, 3);
        expected = EOPNOTSUPP;
        break;
      default:
        for (uint32_t i = 0; i < kBatch; i++) {
          ibv_wr_send(ex_);
          ibv_wr_set_sge(ex_, 1, 2, 3);
        }
        expected = ENOMEM;
        break;
    }
    begin(3);
    ibv_wr_rdma_write(ex_, 1, 2);
    ibv_wr_set_sge(ex_, 1, 2, 3);
    EXPECT_EQ(ibv_wr_complete(ex_), expected) << "mistake " << which;
    EXPECT_TRUE(fake().sq.empty());
    EXPECT_EQ(fake().send_doorbells, 0U);
    fake().set_peer(WEFT_PEER_EXTENDED);
  }
  // And the next batch is as good as ever.
  ibv_wr_start(ex_);
  build_send(4);
  ASSERT_EQ(ibv_wr_complete(ex_), 0);
  EXPECT_EQ(done().head.wr_id, 4U);
  EXPECT_TRUE(fake().sq.empty());
}

TEST_F(WrTest, StatesThatTakeNoSend) {
  fake().set_state(IBV_QPS_INIT);
  ibv_wr_start(ex_);
  build_send(1);
  EXPECT_EQ(ibv_wr_complete(ex_), EINVAL);
  EXPECT_TRUE(fake().sq.empty());
}

TEST_F(WrTest, Abort) {
  ibv_wr_start(ex_);
  build_send(1);
  begin(2);
  ibv_wr_send(ex_);
  ibv_wr_abort(ex_);
  ibv_wr_start(ex_);
  ASSERT_EQ(ibv_wr_complete(ex_), 0) << "an empty batch";
  EXPECT_TRUE(fake().sq.empty());
  auto wr = send_wr(3, &sge_);
  ASSERT_EQ(post(&wr), 0) << "the queue is not locked";
  EXPECT_EQ(done().head.wr_id, 3U);
}

TEST_F(WrTest, ARefusedDoorbellIsReported) {
  ASSERT_TRUE(fake().sq.go_idle());
  kernel().refuse_doorbell(EIO);
  ibv_wr_start(ex_);
  build_send(1);
  EXPECT_EQ(ibv_wr_complete(ex_), EIO);
}

}  // namespace
}  // namespace weft_test
