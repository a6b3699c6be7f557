// SPDX-License-Identifier: GPL-2.0
// The operations beyond SEND, WRITE and READ by ibv_post_send(), and memory windows.
#include "fixture.hpp"

namespace weft_test {
namespace {

class OperationTest : public QueuePairTest {
 protected:
  OperationTest() {
    ready();
    fake().set_peer(WEFT_PEER_EXTENDED);
  }
  // A bind of a window of type 2 to that range.
  static ibv_send_wr bind_wr(ibv_mw* window, const ibv_mw_bind_info& info) {
    ibv_send_wr wr = {.wr_id = 12, .opcode = IBV_WR_BIND_MW};
    wr.bind_mw = {.mw = window, .rkey = ibv_inc_rkey(window->rkey), .bind_info = info};
    return wr;
  }
};

TEST_F(OperationTest, ImmediateData) {
  auto wr = send_wr(7, &sge_);
  wr.imm_data = htobe32(0x01020304);
  wr.opcode = IBV_WR_SEND_WITH_IMM;
  SendEntry entry = posted(&wr);
  EXPECT_EQ(entry.head.opcode, WEFT_OP_SEND_IMM);
  EXPECT_EQ(entry.head.ex, htobe32(0x01020304));
  EXPECT_EQ(entry.sges.size(), 1U);

  wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  wr.num_sge = 0;
  entry = posted(&wr);
  EXPECT_EQ(entry.fields(), Head(7, WEFT_OP_WRITE_IMM, 0, htobe32(0x01020304), 0xabc007, 77));
  EXPECT_TRUE(entry.sges.empty());

  char byte = 'x';
  ibv_sge piece = {reinterpret_cast<uintptr_t>(&byte), 1, 0};
  wr.sg_list = &piece;
  wr.num_sge = 1;
  wr.send_flags = IBV_SEND_INLINE;
  entry = posted(&wr);
  EXPECT_EQ(entry.payload, std::vector<uint8_t>{'x'});
}

TEST_F(OperationTest, Atomics) {
  sge_.length = 8;
  auto wr = send_wr(7, &sge_);
  wr.send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE;
  wr.wr.atomic = {
      .remote_addr = 0x123456789a8, .compare_add = ~uint64_t{1}, .swap = 0x55aa, .rkey = 0xcafe};
  for (const auto& [verb, op] : {std::pair{IBV_WR_ATOMIC_CMP_AND_SWP, WEFT_OP_CMP_SWP},
                                 std::pair{IBV_WR_ATOMIC_FETCH_AND_ADD, WEFT_OP_FETCH_ADD}}) {
    wr.opcode = verb;
    const SendEntry entry = posted(&wr);
    EXPECT_EQ(entry.fields(),
              Head(7, op, WEFT_WR_SIGNALED | WEFT_WR_FENCE, 0, 0x123456789a8, 0xcafe));
    EXPECT_EQ(entry.blocks, 1U);
    EXPECT_EQ(entry.head.atomic.operands.compare_add, ~uint64_t{1});
    EXPECT_EQ(entry.head.atomic.operands.swap, 0x55aaU);
    EXPECT_EQ(entry.sges, (Sges{{sge_.addr, 8, sge_.lkey}}));
  }
  ibv_sge two[2] = {sge_, sge_};
  wr.sg_list = two;
  for (const int count : {0, 2, -1}) {
    wr.num_sge = count;
    EXPECT_EQ(post(&wr), EINVAL) << count << " SGEs";
  }
  wr.num_sge = 1;
  wr.send_flags = IBV_SEND_INLINE;
  EXPECT_EQ(post(&wr), EINVAL) << "an atomic has no payload";
}

TEST_F(OperationTest, ExtensionsNeedThePeer) {
  fake().set_peer(0);
  ASSERT_TRUE(fake().sq.go_idle());
  for (const auto opcode : {IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_SEND_WITH_IMM,
                            IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD}) {
    auto wr = send_wr(1, &sge_);
    wr.opcode = opcode;
    EXPECT_EQ(post(&wr), EOPNOTSUPP) << "opcode " << opcode;
  }
  EXPECT_TRUE(fake().sq.empty());
  EXPECT_EQ(fake().send_doorbells, 0U);

  // The requests before it in the chain are posted.
  auto second = send_wr(2, &sge_);
  second.opcode = IBV_WR_SEND_WITH_IMM;
  auto first = send_wr(1, &sge_, &second);
  EXPECT_EQ(post(&first, &second), EOPNOTSUPP);
  EXPECT_EQ(fetched().head.wr_id, 1U);
  EXPECT_TRUE(fake().sq.empty());

  // Where all is flushed, these are too.
  fake().set_state(IBV_QPS_ERR);
  EXPECT_EQ(post(&second), 0);
}

TEST_F(OperationTest, LocalInvalidate) {
  ibv_send_wr wr = {.wr_id = 3,
                    .opcode = IBV_WR_LOCAL_INV,
                    .send_flags = IBV_SEND_SIGNALED,
                    .invalidate_rkey = 0x77001};
  const SendEntry entry = posted(&wr);
  EXPECT_EQ(entry.fields(), Head(3, WEFT_OP_LOCAL_INV, WEFT_WR_SIGNALED, 0x77001, 0, 0));
  EXPECT_EQ(entry.head.num_sge, 0);
  EXPECT_EQ(entry.blocks, 1U);
}

TEST_F(OperationTest, MemoryWindows) {
  char buffer[64];
  Made mr(ibv_reg_mr(pd_, buffer, sizeof(buffer), IBV_ACCESS_MW_BIND));
  Made one(ibv_alloc_mw(pd_, IBV_MW_TYPE_1));
  Made two(ibv_alloc_mw(pd_, IBV_MW_TYPE_2));
  EXPECT_EQ(one->rkey, 0x3300U + IBV_MW_TYPE_1);
  EXPECT_EQ(two->type, IBV_MW_TYPE_2);
  EXPECT_EQ(two->pd, pd_);

  // Type 1: the library makes the key.
  ibv_mw_bind bind = {
      .wr_id = 11,
      .send_flags = IBV_SEND_SIGNALED,
      .bind_info = {mr, reinterpret_cast<uintptr_t>(buffer) + 8, 16, IBV_ACCESS_REMOTE_READ}};
  const uint32_t old_key = one->rkey;
  ASSERT_EQ(ibv_bind_mw(qp_, one, &bind), 0);
  EXPECT_EQ(one->rkey, ibv_inc_rkey(old_key));
  SendEntry entry = fetched();
  EXPECT_EQ(entry.head.wr_id, 11U);
  EXPECT_EQ(entry.head.opcode, WEFT_OP_BIND_MW);
  EXPECT_EQ(entry.head.flags, WEFT_WR_SIGNALED);
  EXPECT_EQ(entry.head.ex, old_key);
  EXPECT_EQ(entry.head.rkey, one->rkey);
  EXPECT_EQ(entry.head.bind.addr, reinterpret_cast<uintptr_t>(buffer) + 8);
  EXPECT_EQ(entry.head.bind.length, 16U);
  EXPECT_EQ(entry.head.bind.lkey, mr->lkey);
  EXPECT_EQ(entry.head.bind.access, static_cast<uint32_t>(IBV_ACCESS_REMOTE_READ));
  EXPECT_EQ(entry.head.bind.reserved, 0U);

  // Unbound: no region, no length.
  bind.bind_info = {};
  ASSERT_EQ(ibv_bind_mw(qp_, one, &bind), 0);
  entry = fetched();
  EXPECT_EQ(entry.head.bind.length, 0U);
  EXPECT_EQ(entry.head.bind.lkey, 0U);

  // A refused bind leaves the key alone.
  fake().set_state(IBV_QPS_INIT);
  const uint32_t kept = one->rkey;
  EXPECT_EQ(ibv_bind_mw(qp_, one, &bind), EINVAL);
  EXPECT_EQ(one->rkey, kept);
  fake().set_state(IBV_QPS_RTS);

  // Type 2: the user makes the key.
  ibv_send_wr wr =
      bind_wr(two, {mr, reinterpret_cast<uintptr_t>(buffer), 64, IBV_ACCESS_REMOTE_WRITE});
  ASSERT_EQ(post(&wr), 0);
  entry = fetched();
  EXPECT_EQ(entry.head.ex, two->rkey);
  EXPECT_EQ(entry.head.rkey, wr.bind_mw.rkey);
  EXPECT_EQ(entry.head.bind.length, 64U);

  one.end();
  two.end();
  mr.end();
  kernel().fail(IB_USER_VERBS_CMD_ALLOC_MW, ENOMEM);
  EXPECT_EQ(refusal(ibv_alloc_mw(pd_, IBV_MW_TYPE_1)), ENOMEM);
}

// Requests that would cost the connection in the kernel are refused at once.
TEST_F(OperationTest, BindsThatCannotBe) {
  char buffer[64];
  Made mr(ibv_reg_mr(pd_, buffer, sizeof(buffer), IBV_ACCESS_MW_BIND));
  Made one(ibv_alloc_mw(pd_, IBV_MW_TYPE_1));
  Made two(ibv_alloc_mw(pd_, IBV_MW_TYPE_2));
  ibv_mw_bind bind = {.bind_info = {mr, reinterpret_cast<uintptr_t>(buffer), 16, 0}};
  const uint32_t key = one->rkey;
  ibv_send_wr wr = bind_wr(two, bind.bind_info);

  for (const unsigned flags : {unsigned{IBV_ACCESS_ZERO_BASED}, unsigned{IBV_ACCESS_ON_DEMAND},
                               unsigned{IBV_ACCESS_MW_BIND}, unsigned{IBV_ACCESS_HUGETLB}}) {
    bind.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_READ | flags;
    EXPECT_EQ(ibv_bind_mw(qp_, one, &bind), EINVAL) << "flags " << flags;
    EXPECT_EQ(one->rkey, key);
    wr.bind_mw.bind_info.mw_access_flags = bind.bind_info.mw_access_flags;
    EXPECT_EQ(post(&wr), flags == IBV_ACCESS_ZERO_BASED ? 0 : EINVAL) << "flags " << flags;
  }
  constexpr uint32_t kRead = IBV_ACCESS_REMOTE_READ;
  EXPECT_EQ(fetched().head.bind.access, kRead | IBV_ACCESS_ZERO_BASED);
  EXPECT_TRUE(fake().sq.empty());

  // Hints are ignored, as a provider must where it doesn't know them.
  bind.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_RELAXED_ORDERING;
  ASSERT_EQ(ibv_bind_mw(qp_, one, &bind), 0);
  EXPECT_EQ(fetched().head.bind.access, kRead);
  wr.bind_mw.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_RELAXED_ORDERING;
  ASSERT_EQ(post(&wr), 0);
  EXPECT_EQ(fetched().head.bind.access, kRead);

  // ibv_post_send(3) and ibv_wr_post(3): windows of type 2 alone.
  wr.bind_mw.mw = one;
  EXPECT_EQ(post(&wr), EINVAL);
  EXPECT_TRUE(fake().sq.empty());
}

TEST_F(ObjectTest, RegionsRegisteredAnew) {
  char buffer[100];
  char other[200];
  Made mr(ibv_reg_mr(pd_, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE));
  EXPECT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, other, sizeof(other), 0), 0);
  EXPECT_EQ(kernel().last_mr_flags, static_cast<uint32_t>(IBV_REREG_MR_CHANGE_TRANSLATION));
  EXPECT_EQ(kernel().last_mr_start, reinterpret_cast<uintptr_t>(other));
  EXPECT_EQ(kernel().last_mr_iova, reinterpret_cast<uintptr_t>(other));
  EXPECT_EQ(mr->addr, other);
  EXPECT_EQ(mr->length, sizeof(other));
  EXPECT_EQ(mr->lkey, 0x1101U);
  EXPECT_EQ(mr->rkey, 0x2201U);
  kernel().fail(IB_USER_VERBS_CMD_REREG_MR, ENOMEM);
  EXPECT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, 0),
            IBV_REREG_MR_ERR_CMD);
  EXPECT_EQ(mr->addr, other);
}

TEST_F(ObjectTest, RegionsOfADmaBuf) {
  Made mr(ibv_reg_dmabuf_mr(pd_, 0x1000, 0x2000, 0x7000, 42, IBV_ACCESS_LOCAL_WRITE));
  EXPECT_EQ(mr->lkey, 0x1102U);
  EXPECT_EQ(mr->rkey, 0x2202U);
  EXPECT_EQ(mr->length, 0x2000U);
  EXPECT_EQ(kernel().last_mr_offset, 0x1000U);
  EXPECT_EQ(kernel().last_mr_iova, 0x7000U);
  EXPECT_EQ(kernel().last_mr_fd, 42);
  mr.end();
  EXPECT_EQ(refusal(ibv_reg_dmabuf_mr(pd_, 0, 0x1000, 0, -1, 0)), EBADF);
}

}  // namespace
}  // namespace weft_test
