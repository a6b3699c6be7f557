// SPDX-License-Identifier: GPL-2.0
// Shared receive queues, and asynchronous events.
#include "fixture.hpp"

namespace weft_test {
namespace {

class SrqTest : public QueuePairTest {
 protected:
  static constexpr uint32_t kMaxWr = 6;
  static constexpr uint32_t kEntries = 8;  // rounded up
  static constexpr uint32_t kMaxSge = 3;

  ibv_srq* create_srq() {
    ibv_srq_init_attr attr = {.srq_context = this,
                              .attr = {.max_wr = kMaxWr, .max_sge = kMaxSge, .srq_limit = 2}};
    ibv_srq* srq = ibv_create_srq(pd_, &attr);
    if (srq != nullptr) {
      EXPECT_EQ(attr.attr.max_wr, kEntries) << "what was granted";
    }
    return srq;
  }
  FakeSrq& fake_srq() const { return kernel().srq(srq_->handle); }

  Made<ibv_srq> srq_{create_srq()};
};

TEST_F(SrqTest, Receives) {
  ibv_sge sges[kMaxSge + 1] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
  std::vector<ibv_recv_wr> wrs;
  for (size_t i = 0; i <= kEntries; i++)
    wrs.push_back(recv_wr(100 + i, sges, static_cast<int>(i % (kMaxSge + 1))));
  chain(wrs);
  EXPECT_EQ(post(srq_, wrs.data(), &wrs[kEntries]), ENOMEM);
  EXPECT_EQ(fake_srq().doorbells, 0U) << "posting receives does not enter the kernel";
  RecvEntry entry;
  for (uint64_t i = 0; i < kEntries; i++) {
    ASSERT_TRUE(fake_srq().ring.fetch(&entry));
    EXPECT_EQ(entry.wr_id, 100 + i);
    ASSERT_EQ(entry.sges.size(), i % (kMaxSge + 1));
    if (entry.sges.size() == kMaxSge) {
      EXPECT_EQ(entry.sges[2].lkey, 9U);
    }
  }
  EXPECT_EQ(post(srq_, &wrs[kEntries]), ENOMEM) << "not given back yet";
  fake_srq().ring.release();
  // Unless the kernel asks, as it does when a message waits for a receive.
  fake_srq().ring.control()->need_doorbell = 1;
  EXPECT_EQ(post(srq_, &wrs[kEntries]), 0);
  EXPECT_EQ(fake_srq().doorbells, 1U);

  wrs[0].num_sge = kMaxSge + 1;
  wrs[0].next = nullptr;
  EXPECT_EQ(post(srq_, wrs.data()), EINVAL);
  EXPECT_EQ(fake_srq().doorbells, 1U);
}

TEST_F(SrqTest, ARefusedDoorbellIsReportedAndStays) {
  ibv_recv_wr wr = recv_wr(1, &sge_);
  fake_srq().ring.control()->need_doorbell = 1;
  kernel().refuse_doorbell(EIO);
  EXPECT_EQ(post(srq_, &wr), EIO);
  EXPECT_EQ(post(srq_, &wr), EIO);
}

// Another thread tried to destroy the queue, in vain since queue pairs use it.
TEST_F(SrqTest, ABusyDoorbellIsRungAgain) {
  ibv_recv_wr wr = recv_wr(1, &sge_);
  fake_srq().ring.control()->need_doorbell = 1;
  for (const unsigned times : {1U, 2U, 300U}) {
    const unsigned before = fake_srq().doorbells;
    kernel().refuse_doorbell(EBUSY, times);
    EXPECT_EQ(post(srq_, &wr), 0) << "busy " << times << " times";
    EXPECT_EQ(fake_srq().doorbells, before + 1);
  }
  // A queue that stays busy is reported, and tried again with the next post.
  kernel().refuse_doorbell(EBUSY, 1000000);
  EXPECT_EQ(post(srq_, &wr), EBUSY);
  kernel().refuse_doorbell(0, 0);
  EXPECT_EQ(post(srq_, &wr), 0);
}

TEST_F(SrqTest, ModifyAndQuery) {
  ibv_srq_attr attr = {};
  ASSERT_EQ(ibv_query_srq(srq_, &attr), 0);
  EXPECT_EQ(attr.max_wr, kEntries);
  EXPECT_EQ(attr.max_sge, kMaxSge);
  EXPECT_EQ(attr.srq_limit, 2U);
  attr.srq_limit = 5;
  ASSERT_EQ(ibv_modify_srq(srq_, &attr, IBV_SRQ_LIMIT), 0);
  ASSERT_EQ(ibv_query_srq(srq_, &attr), 0);
  EXPECT_EQ(attr.srq_limit, 5U);
  EXPECT_EQ(ibv_modify_srq(srq_, &attr, IBV_SRQ_MAX_WR), EOPNOTSUPP) << "the kernel's word";
}

TEST_F(SrqTest, CreationUnwinds) {
  const size_t mapped = kernel().user_mapped_bytes();
  kernel().fail(IB_USER_VERBS_CMD_CREATE_SRQ, ENOMEM);
  EXPECT_EQ(refusal(create_srq()), ENOMEM);
  kernel().spoil_mapping();
  EXPECT_EQ(refusal(create_srq()), EINVAL);
  EXPECT_EQ(kernel().num_srqs(), 1U);
  EXPECT_EQ(kernel().user_mapped_bytes(), mapped);
}

TEST_F(SrqTest, AQueuePairWithOneHasNoReceiveQueue) {
  ibv_qp_init_attr attr = init_attr(cap_of(1, 0, 1, 0), srq_);
  Made qp(ibv_create_qp(pd_, &attr));
  EXPECT_EQ(qp->srq, srq_);
  ASSERT_EQ(move(qp, IBV_QPS_RTS), 0);
  ibv_recv_wr recv = recv_wr(1, &sge_);
  EXPECT_EQ(post(qp, &recv), EINVAL);
  ibv_send_wr send = send_wr(1, &sge_);
  EXPECT_EQ(post(qp, &send), 0);
  // Its reset leaves the shared queue alone.
  EXPECT_EQ(post(srq_, &recv), 0);
  ASSERT_EQ(move(qp, IBV_QPS_RESET), 0);
  RecvEntry entry;
  EXPECT_TRUE(fake_srq().ring.fetch(&entry));
  complete(5, qp, WEFT_OP_RECV);
  qp.end();
  EXPECT_TRUE(poll_all().empty());
}

TEST_F(SrqTest, EventsFindTheirObjects) {
  kernel().raise(IBV_EVENT_SRQ_LIMIT_REACHED, fake_srq().user_handle);
  kernel().raise(IBV_EVENT_QP_LAST_WQE_REACHED, fake().user_handle);
  kernel().raise(IBV_EVENT_PORT_ERR, 1);
  const auto next = [&](ibv_event_type type) {
    ibv_async_event event = {};
    EXPECT_EQ(ibv_get_async_event(context_, &event), 0);
    EXPECT_EQ(event.event_type, type);
    ibv_ack_async_event(&event);
    return event.element;
  };
  const ibv_srq* srq = next(IBV_EVENT_SRQ_LIMIT_REACHED).srq;
  ASSERT_EQ(srq, srq_);
  EXPECT_EQ(srq->srq_context, this);
  EXPECT_EQ(next(IBV_EVENT_QP_LAST_WQE_REACHED).qp, qp_);
  EXPECT_EQ(next(IBV_EVENT_PORT_ERR).port_num, 1);
  // Destroying waits for the acknowledgements, as the fixture's end shows.
}

}  // namespace
}  // namespace weft_test
