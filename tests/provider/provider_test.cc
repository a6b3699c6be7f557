// SPDX-License-Identifier: GPL-2.0
// libweft under the real libibverbs, over a fake kernel. run.sh sets RDMAV_DRIVERS to the plugin.
#include <algorithm>
#include <atomic>
#include <thread>
#include <numeric>

#include "fixture.hpp"

namespace weft_test {
namespace {

// ---- finding and opening ----------------------------------------------------

class DeviceTest : public testing::Test {
 protected:
  ~DeviceTest() override { plug_in("weft0", WEFT_DRIVER_ID, WEFT_ABI_VERSION); }

  // A device that libibverbs has not seen yet, in place of the one there was.
  static void plug_in(const std::string& name, uint32_t driver_id, uint32_t abi_version) {
    kernel().name = name;
    kernel().driver_id = driver_id;
    kernel().abi_version = abi_version;
    kernel().index++;
  }

  static std::vector<std::string> listed() {
    int count = 0;
    ibv_device** list = ibv_get_device_list(&count);
    std::vector<std::string> names;
    names.reserve(static_cast<size_t>(count));
    for (int i = 0; i < count; i++) names.emplace_back(ibv_get_device_name(list[i]));
    ibv_free_device_list(list);
    return names;
  }
};

TEST_F(DeviceTest, IsListedWhateverItsName) {
  for (const char* name : {"weft0", "siw0", "blue"}) {
    plug_in(name, WEFT_DRIVER_ID, WEFT_ABI_VERSION);
    EXPECT_EQ(listed(), std::vector<std::string>{name});
  }
}

TEST_F(DeviceTest, OtherDriversDevicesAreLeftAlone) {
  for (const uint32_t id : {0U, WEFT_DRIVER_ID - 1U, WEFT_DRIVER_ID + 1U, 0xffffffffU}) {
    plug_in("weft0", id, WEFT_ABI_VERSION);
    EXPECT_TRUE(listed().empty()) << "driver id " << id;
  }
}

TEST_F(DeviceTest, OtherKernelAbiIsRefusedInOneLine) {
  for (const uint32_t abi : {0U, WEFT_ABI_VERSION - 1U, WEFT_ABI_VERSION + 1U, 4711U}) {
    plug_in("weft3", WEFT_DRIVER_ID, abi);
    testing::internal::CaptureStderr();
    ibv_context* context = open_device();
    const int error = errno;
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(context, nullptr);
    EXPECT_EQ(error, EPROTONOSUPPORT);
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
    EXPECT_NE(said.find(kernel().name), std::string::npos) << said;
    EXPECT_NE(said.find("ABI " + std::to_string(abi)), std::string::npos) << said;
    EXPECT_NE(said.find("ABI " + std::to_string(WEFT_ABI_VERSION)), std::string::npos) << said;
    const char* remedy = abi < WEFT_ABI_VERSION ? "modprobe -r weft" : "restart this program";
    EXPECT_NE(said.find(remedy), std::string::npos) << said;
    EXPECT_NE(said.find("make && sudo make install"), std::string::npos) << said;
  }
}

TEST_F(DeviceTest, RefusedContextIsTheCallersError) {
  kernel().fail(IB_USER_VERBS_CMD_GET_CONTEXT, ENOMEM);
  EXPECT_EQ(refusal(open_device()), ENOMEM);
}

// ---- objects ----------------------------------------------------------------

TEST_F(ObjectTest, QueryDeviceAndPort) {
  ibv_device_attr attr = {};
  ASSERT_EQ(ibv_query_device(context_, &attr), 0);
  EXPECT_STREQ(attr.fw_ver, "1.2.3");
  EXPECT_EQ(attr.max_qp, 4711);
  ibv_device_attr_ex attr_ex = {};
  ASSERT_EQ(ibv_query_device_ex(context_, nullptr, &attr_ex), 0);
  EXPECT_STREQ(attr_ex.orig_attr.fw_ver, "1.2.3");
  ibv_port_attr port = {};
  ASSERT_EQ(ibv_query_port(context_, 1, &port), 0);
  EXPECT_EQ(port.state, IBV_PORT_ACTIVE);
  kernel().fail(IB_USER_VERBS_CMD_QUERY_PORT, EIO);
  EXPECT_EQ(ibv_query_port(context_, 1, &port), EIO);
}

TEST_F(ObjectTest, MemoryRegions) {
  char buffer[100];
  Made mr(ibv_reg_mr(pd_, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE));
  EXPECT_EQ(mr->lkey, 0x1100U);
  EXPECT_EQ(mr->rkey, 0x2200U);
  EXPECT_EQ(kernel().last_mr_iova, reinterpret_cast<uintptr_t>(buffer));

  Made other(ibv_reg_mr_iova(pd_, buffer, sizeof(buffer), 0x12345000, IBV_ACCESS_LOCAL_WRITE));
  EXPECT_EQ(kernel().last_mr_start, reinterpret_cast<uintptr_t>(buffer));
  EXPECT_EQ(kernel().last_mr_iova, 0x12345000U);

  kernel().fail(IB_USER_VERBS_CMD_REG_MR, ENOMEM);
  EXPECT_EQ(refusal(ibv_reg_mr(pd_, buffer, sizeof(buffer), 0)), ENOMEM);
}

TEST_F(ObjectTest, WhatIsNotThereFailsClearly) {
  ibv_ah_attr attr = {};
  EXPECT_EQ(refusal(ibv_create_ah(pd_, &attr)), EOPNOTSUPP);
  ibv_xrcd_init_attr xrcd = {};
  EXPECT_EQ(refusal(ibv_open_xrcd(context_, &xrcd)), EOPNOTSUPP);
}

TEST_F(ObjectTest, CqCreationUnwinds) {
  kernel().fail(IB_USER_VERBS_CMD_CREATE_CQ, ENOMEM);
  EXPECT_EQ(refusal(ibv_create_cq(context_, 4, nullptr, nullptr, 0)), ENOMEM);
  kernel().spoil_mapping();
  EXPECT_EQ(refusal(ibv_create_cq(context_, 4, nullptr, nullptr, 0)), EINVAL) << "of mmap()";
  EXPECT_EQ(kernel().num_cqs(), 0U);
}

// ---- queue pairs ------------------------------------------------------------

TEST_F(QueuePairTest, QueryTellsWhatTheKernelSays) {
  fake().set_state(IBV_QPS_RTS);  // as iw_cm does, behind libibverbs' back
  ibv_qp_attr attr = {};
  ibv_qp_init_attr init = {};
  ASSERT_EQ(ibv_query_qp(qp_, &attr, IBV_QP_STATE | IBV_QP_CAP, &init), 0);
  EXPECT_EQ(attr.qp_state, IBV_QPS_RTS);
  EXPECT_EQ(attr.cap.max_send_sge, kSendSge);
  EXPECT_EQ(init.cap.max_inline_data, kInline);
}

TEST_F(QueuePairTest, CreationUnwinds) {
  const size_t mapped = kernel().user_mapped_bytes();
  kernel().fail(IB_USER_VERBS_CMD_CREATE_QP, ENOMEM);
  EXPECT_EQ(refusal(create_qp()), ENOMEM);
  for (const int good : {0, 1}) {  // the send ring, the receive ring
    kernel().spoil_mapping(good);
    EXPECT_EQ(refusal(create_qp()), EINVAL);
    EXPECT_EQ(kernel().num_qps(), 1U);
    EXPECT_EQ(kernel().user_mapped_bytes(), mapped);
  }
}

TEST_F(QueuePairTest, RefusedDestroyLeavesItUsable) {
  ready();
  kernel().fail(IB_USER_VERBS_CMD_DESTROY_QP, EBUSY);
  EXPECT_EQ(ibv_destroy_qp(qp_), EBUSY);
  auto wr = send_wr(1, &sge_);
  EXPECT_EQ(post(&wr), 0);
}

TEST_F(QueuePairTest, StatesThatTakeNoSend) {
  for (const auto state : {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR}) {
    fake().set_state(state);
    auto wr = send_wr(1, &sge_);
    EXPECT_EQ(post(&wr), EINVAL) << "state " << state;
  }
  EXPECT_TRUE(fake().sq.empty());
  for (const auto state : {IBV_QPS_RTS, IBV_QPS_SQE, IBV_QPS_ERR}) {
    fake().set_state(state);
    auto wr = send_wr(1, &sge_);
    EXPECT_EQ(post(&wr), 0) << "state " << state;
  }
}

TEST_F(QueuePairTest, StatesThatTakeNoReceive) {
  ibv_recv_wr wr = recv_wr(1, &sge_);
  EXPECT_EQ(post(&wr), EINVAL) << "in RESET";
  for (const auto state : {IBV_QPS_INIT, IBV_QPS_RTS, IBV_QPS_ERR}) {
    fake().set_state(state);
    EXPECT_EQ(post(&wr), 0) << "state " << state;
  }
}

TEST_F(QueuePairTest, EveryOperationArrives) {
  ready();
  ibv_sge sges[kSendSge] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
  ibv_send_wr wr = {.wr_id = 10,
                    .sg_list = sges,
                    .num_sge = 3,
                    .opcode = IBV_WR_SEND,
                    .send_flags = IBV_SEND_SIGNALED | IBV_SEND_SOLICITED};
  SendEntry entry = posted(&wr);
  EXPECT_EQ(entry.fields(), Head(10, WEFT_OP_SEND, WEFT_WR_SIGNALED | WEFT_WR_SOLICITED, 0, 0, 0));
  EXPECT_EQ(entry.sges, (Sges{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}));

  wr.opcode = IBV_WR_SEND_WITH_INV;
  wr.invalidate_rkey = 0xfeed;
  wr.num_sge = 0;
  wr.send_flags = 0;
  entry = posted(&wr);
  EXPECT_EQ(entry.fields(), Head(10, WEFT_OP_SEND_INV, 0, 0xfeed, 0, 0));
  EXPECT_TRUE(entry.sges.empty());

  for (const auto& [verb, op] :
       {std::pair{IBV_WR_RDMA_WRITE, WEFT_OP_WRITE}, std::pair{IBV_WR_RDMA_READ, WEFT_OP_READ}}) {
    wr.opcode = verb;
    wr.num_sge = 1;
    wr.send_flags = IBV_SEND_FENCE;
    wr.wr.rdma.remote_addr = 0x123456789abc;
    wr.wr.rdma.rkey = 0xcafe;
    entry = posted(&wr);
    EXPECT_EQ(entry.fields(), Head(10, op, WEFT_WR_FENCE, 0, 0x123456789abc, 0xcafe));
  }
}

TEST_F(QueuePairTest, SigAllSignalsAll) {
  Made qp(create_qp(true));
  ASSERT_EQ(move(qp, IBV_QPS_RTS), 0);
  auto wr = send_wr(1, &sge_);
  ASSERT_EQ(post(qp, &wr), 0);
  SendEntry entry;
  ASSERT_TRUE(kernel().qp(qp->handle).sq.fetch(&entry));
  EXPECT_EQ(entry.head.flags, WEFT_WR_SIGNALED);
}

TEST_F(QueuePairTest, UnknownOperationsAreInvalid) {
  ready();
  for (const auto opcode : {IBV_WR_TSO, IBV_WR_DRIVER1, IBV_WR_ATOMIC_WRITE}) {
    auto wr = send_wr(1, &sge_);
    wr.opcode = opcode;
    EXPECT_EQ(post(&wr), EINVAL) << "opcode " << opcode;
  }
  EXPECT_TRUE(fake().sq.empty());
}

TEST_F(QueuePairTest, TooManySgesAreInvalid) {
  ready();
  std::vector<ibv_sge> sges(kSendSge + 1, sge_);
  auto wr = send_wr(1, sges.data());
  for (const int count : {static_cast<int>(kSendSge) + 1, -1, INT32_MIN}) {
    wr.num_sge = count;
    EXPECT_EQ(post(&wr), EINVAL) << count;
  }
  ibv_recv_wr recv = {.wr_id = 1, .next = nullptr, .sg_list = sges.data(), .num_sge = kRecvSge + 1};
  EXPECT_EQ(post(&recv), EINVAL);
  recv.num_sge = -1;
  EXPECT_EQ(post(&recv), EINVAL);
  EXPECT_TRUE(fake().sq.empty());
}

TEST_F(QueuePairTest, InlinePayload) {
  ready();
  char text[kInline + 1];
  std::iota(std::begin(text), std::end(text), char{0});
  // More pieces than SGEs are allowed: inline they count as one.
  ibv_sge pieces[5];
  for (uint32_t i = 0; i < 5; i++)
    pieces[i] = {reinterpret_cast<uintptr_t>(&text[size_t{20} * i]), 20, 0};
  auto wr = send_wr(1, pieces);
  wr.num_sge = 5;
  wr.send_flags = IBV_SEND_INLINE;
  ASSERT_EQ(post(&wr), 0);
  const SendEntry entry = fetched();
  EXPECT_EQ(entry.blocks, kMaxBlocks);
  ASSERT_EQ(entry.payload.size(), kInline);
  EXPECT_EQ(memcmp(entry.payload.data(), text, kInline), 0);

  pieces[4].length = 21;
  EXPECT_EQ(post(&wr), EINVAL) << "one byte too long";
  // Lengths whose 32-bit sum is small.
  pieces[0].length = 60;
  pieces[1].length = UINT32_MAX - 50;
  wr.num_sge = 2;
  EXPECT_EQ(post(&wr), EINVAL);
  pieces[0].length = 8;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_RDMA_READ;
  EXPECT_EQ(post(&wr), EINVAL) << "a read has no payload";
  EXPECT_TRUE(fake().sq.empty());
}

TEST_F(QueuePairTest, AChainCostsOneDoorbell) {
  ready();
  ASSERT_TRUE(fake().sq.go_idle());
  auto third = send_wr(3, &sge_);
  auto second = send_wr(2, &sge_, &third);
  auto first = send_wr(1, &sge_, &second);
  ASSERT_EQ(post(&first), 0);
  EXPECT_EQ(fake().send_doorbells, 1U);
  fake().sq.wake();
  ASSERT_EQ(post(&third), 0);
  EXPECT_EQ(fake().send_doorbells, 1U) << "the kernel was awake";
  for (const uint64_t id : {1, 2, 3, 3}) EXPECT_EQ(fetched().head.wr_id, id);
}

// The ring has room for more than the queue promises; its use would overflow completion queues.
TEST_F(QueuePairTest, FullQueueTakesWhatItPromises) {
  ready();
  ASSERT_TRUE(fake().sq.go_idle());
  std::vector<ibv_send_wr> wrs;
  for (size_t i = 0; i <= kSendWr; i++) {
    wrs.push_back(send_wr(i, &sge_));
    wrs[i].send_flags = IBV_SEND_SIGNALED;
  }
  chain(wrs);
  EXPECT_EQ(post(wrs.data(), &wrs[kSendWr]), ENOMEM);
  EXPECT_EQ(fake().send_doorbells, 1U) << "what was posted is under way";
  EXPECT_EQ(post(&wrs[kSendWr]), ENOMEM);
  EXPECT_EQ(fake().send_doorbells, 1U);
  fake().sq.wake();
  for (uint64_t i = 0; i < kSendWr; i++) EXPECT_EQ(fetched().head.wr_id, i);
  EXPECT_TRUE(fake().sq.empty());
  fake().sq.release(1);
  complete(0, qp_);
  EXPECT_EQ(post(&wrs[kSendWr]), ENOMEM) << "the completion is not polled";
  EXPECT_EQ(poll_all(), Ids{0});
  EXPECT_EQ(post(&wrs[kSendWr]), 0);
  EXPECT_EQ(fetched().head.wr_id, uint64_t{kSendWr});
  EXPECT_EQ(post(&wrs[kSendWr]), ENOMEM) << "one was given back, and one was posted";
}

// A program that posts until a queue is full, and polls then, never loses a completion.
TEST_F(QueuePairTest, PostingUntilFullOverflowsNoCompletionQueue) {
  ready();
  RecvEntry received;
  for (int pass = 0; pass < 3; pass++) {
    auto send = send_wr(1, &sge_);
    send.send_flags = IBV_SEND_SIGNALED;
    uint32_t sends = 0;
    for (; sends < 100 && post(&send) == 0; sends++) {
      done();
      complete(1, qp_, WEFT_OP_WRITE);
    }
    EXPECT_EQ(sends, kSendWr);
    ibv_recv_wr recv = recv_wr(2, &sge_);
    uint32_t receives = 0;
    for (; receives < 100 && post(&recv) == 0; receives++) {
      ASSERT_TRUE(fake().rq.fetch(&received));
      fake().rq.release();
      complete(2, qp_, WEFT_OP_RECV);
    }
    EXPECT_EQ(receives, kRecvWr);
    EXPECT_EQ(poll_all().size(), kSendWr + kRecvWr);
  }
}

TEST_F(QueuePairTest, AQueueThatPromisesNothingTakesNothing) {
  ibv_qp_init_attr attr = init_attr(cap_of(0, 0));
  Made qp(ibv_create_qp(pd_, &attr));
  ASSERT_EQ(move(qp, IBV_QPS_RTS), 0);
  ibv_send_wr send = send_wr(1, &sge_);
  EXPECT_EQ(post(qp, &send), ENOMEM);
  ibv_recv_wr recv = recv_wr(1, &sge_);
  EXPECT_EQ(post(qp, &recv), ENOMEM);
}

// However the work requests are made, each is one of those promised.
TEST_F(QueuePairTest, APromiseCountsWorkRequestsNotBlocks) {
  ready();
  char text[kInline] = {};
  ibv_sge whole = {reinterpret_cast<uintptr_t>(text), kInline, 0};
  for (int pass = 0; pass < 20; pass++) {
    for (uint32_t i = 0; i < kSendWr; i++) {
      auto wr = send_wr(i, i % 2 == 0 ? &whole : &sge_);
      wr.send_flags = IBV_SEND_SIGNALED | (i % 2 == 0 ? unsigned{IBV_SEND_INLINE} : 0U);
      ASSERT_EQ(post(&wr), 0) << "pass " << pass << ", work request " << i;
    }
    auto wr = send_wr(99, &sge_);
    ASSERT_EQ(post(&wr), ENOMEM) << "pass " << pass;
    for (uint32_t i = 0; i < kSendWr; i++) {
      done();
      complete(i, qp_);
    }
    ASSERT_EQ(poll_all().size(), kSendWr);
  }
}

TEST_F(QueuePairTest, ABadRequestInAChainStopsThere) {
  ready();
  ASSERT_TRUE(fake().sq.go_idle());
  auto third = send_wr(3, &sge_);
  auto second = send_wr(2, &sge_, &third);
  second.opcode = IBV_WR_TSO;
  auto first = send_wr(1, &sge_, &second);
  EXPECT_EQ(post(&first, &second), EINVAL);
  EXPECT_EQ(fake().send_doorbells, 1U);
  EXPECT_EQ(fetched().head.wr_id, 1U);
  EXPECT_TRUE(fake().sq.empty());
}

TEST_F(QueuePairTest, ARefusedDoorbellIsReportedAndStays) {
  ready();
  ASSERT_TRUE(fake().sq.go_idle());
  auto second = send_wr(2, &sge_);
  auto first = send_wr(1, &sge_, &second);
  kernel().refuse_doorbell(EIO);
  EXPECT_EQ(post(&first), EIO);
  // The device is gone: later posts say so and do not pile up in the ring.
  EXPECT_EQ(post(&second), EIO);
  EXPECT_EQ(fake().send_doorbells, 0U);
  // Until a reset, which empties the ring.
  ASSERT_EQ(move(qp_, IBV_QPS_RESET), 0);
  ready();
  EXPECT_EQ(post(&second), 0);
  EXPECT_EQ(fake().send_doorbells, 1U);
}

// Nothing in the call can be interrupted: whatever the kernel says, it means it.
TEST_F(QueuePairTest, ARefusedDoorbellIsNotRungAgain) {
  ready();
  ASSERT_TRUE(fake().sq.go_idle());
  auto wr = send_wr(1, &sge_);
  kernel().refuse_doorbell(ENOENT);
  EXPECT_EQ(post(&wr), ENOENT);
  EXPECT_EQ(fake().send_doorbells, 0U);
  EXPECT_EQ(post(&wr), ENOENT);
}

TEST_F(QueuePairTest, Receives) {
  fake().set_state(IBV_QPS_INIT);
  ibv_sge sges[2] = {{1, 2, 3}, {4, 5, 6}};
  std::vector<ibv_recv_wr> wrs;
  for (size_t i = 0; i <= kRecvWr; i++) wrs.push_back(recv_wr(i, sges, static_cast<int>(i % 3)));
  chain(wrs);
  EXPECT_EQ(post(wrs.data(), &wrs[kRecvWr]), ENOMEM);
  EXPECT_EQ(fake().recv_doorbells, 0U) << "posting receives does not enter the kernel";
  RecvEntry entry;
  for (uint64_t i = 0; i < kRecvWr; i++) {
    ASSERT_TRUE(fake().rq.fetch(&entry));
    EXPECT_EQ(entry.wr_id, i);
    ASSERT_EQ(entry.sges.size(), i % 3);
    if (i % 3 == 2) {
      EXPECT_EQ(entry.sges[1].addr, 4U);
    }
  }
  fake().rq.release();
  EXPECT_EQ(post(&wrs[kRecvWr]), ENOMEM) << "no completion is polled";
  complete(0, qp_, WEFT_OP_RECV);
  EXPECT_EQ(poll_all(), Ids{0});
  // Unless the kernel asks, as it does to flush a queue in error.
  fake().rq.control()->need_doorbell = 1;
  EXPECT_EQ(post(&wrs[kRecvWr]), 0);
  EXPECT_EQ(fake().recv_doorbells, 1U);
}

TEST_F(QueuePairTest, ResetEmptiesTheQueuesAndTheirCompletions) {
  ready();
  Made other(create_qp());
  auto wr = send_wr(1, &sge_);
  ibv_recv_wr recv = recv_wr(2, &sge_);
  ASSERT_EQ(post(&wr), 0);
  ASSERT_EQ(post(&recv), 0);
  complete(10, qp_);
  complete(11, other);
  complete(12, qp_);
  ASSERT_EQ(move(qp_, IBV_QPS_RESET), 0);
  EXPECT_EQ(poll_all(), Ids{11});
  ready();
  EXPECT_TRUE(fake().sq.empty());
  wr.wr_id = 20;
  ASSERT_EQ(post(&wr), 0);
  EXPECT_EQ(fetched().head.wr_id, 20U);
  RecvEntry received;
  EXPECT_FALSE(fake().rq.fetch(&received));
}

TEST_F(QueuePairTest, DestroyTakesItsCompletionsAlong) {
  Made other(create_qp());
  complete(1, other);
  complete(2, qp_);
  complete(3, other);
  other.end();
  complete(4, qp_);
  EXPECT_EQ(poll_all(), (Ids{2, 4}));
}

// ---- completions ------------------------------------------------------------

TEST_F(QueuePairTest, CompletionsAreTranslated) {
  struct Case {
    uint8_t opcode, flags, status;
    ibv_wc_opcode wc_opcode;
  };
  const Case cases[] = {
      {WEFT_OP_SEND, 0, IBV_WC_SUCCESS, IBV_WC_SEND},
      {WEFT_OP_SEND_INV, 0, IBV_WC_SUCCESS, IBV_WC_SEND},
      {WEFT_OP_WRITE, 0, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE},
      {WEFT_OP_READ, 0, IBV_WC_SUCCESS, IBV_WC_RDMA_READ},
      {WEFT_OP_SEND_IMM, 0, IBV_WC_SUCCESS, IBV_WC_SEND},
      {WEFT_OP_WRITE_IMM, 0, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE},
      {WEFT_OP_CMP_SWP, 0, IBV_WC_SUCCESS, IBV_WC_COMP_SWAP},
      {WEFT_OP_FETCH_ADD, 0, IBV_WC_SUCCESS, IBV_WC_FETCH_ADD},
      {WEFT_OP_LOCAL_INV, 0, IBV_WC_SUCCESS, IBV_WC_LOCAL_INV},
      {WEFT_OP_BIND_MW, 0, IBV_WC_SUCCESS, IBV_WC_BIND_MW},
      {WEFT_OP_RECV, WEFT_CQE_WITH_IMM, IBV_WC_SUCCESS, IBV_WC_RECV},
      {WEFT_OP_RECV_WRITE_IMM, WEFT_CQE_WITH_IMM, IBV_WC_SUCCESS, IBV_WC_RECV_RDMA_WITH_IMM},
      {WEFT_OP_RECV, 0, IBV_WC_SUCCESS, IBV_WC_RECV},
      {WEFT_OP_RECV, WEFT_CQE_WITH_INV, IBV_WC_SUCCESS, IBV_WC_RECV},
      {WEFT_OP_WRITE, 0, IBV_WC_REM_ACCESS_ERR, IBV_WC_RDMA_WRITE},
      {WEFT_OP_RECV, 0, IBV_WC_WR_FLUSH_ERR, IBV_WC_RECV},
  };
  uint64_t id = 100;
  for (const Case& one : cases) {
    weft_cqe cqe = {.wr_id = ++id, .qp_num = qp_->qp_num, .byte_len = 4096, .ex = 0x5a5a};
    ASSERT_TRUE(kernel().complete(cq_->handle, cqe, one.flags, one.status, one.opcode));
    ibv_wc wc;
    memset(&wc, 0xee, sizeof(wc));
    ASSERT_EQ(ibv_poll_cq(cq_, 1, &wc), 1);
    EXPECT_EQ(wc.wr_id, id);
    EXPECT_EQ(wc.status, one.status);
    EXPECT_EQ(wc.opcode, one.wc_opcode);
    EXPECT_EQ(wc.qp_num, qp_->qp_num);
    EXPECT_EQ(wc.byte_len, 4096U);
    EXPECT_EQ(wc.vendor_err, one.status == IBV_WC_SUCCESS ? 0U : 0x5a5aU);
    if (one.flags & WEFT_CQE_WITH_IMM) {
      EXPECT_EQ(wc.wc_flags, static_cast<unsigned>(IBV_WC_WITH_IMM));
      EXPECT_EQ(wc.imm_data, 0x5a5aU);
    } else if (one.flags & WEFT_CQE_WITH_INV) {
      EXPECT_EQ(wc.wc_flags, static_cast<unsigned>(IBV_WC_WITH_INV));
      EXPECT_EQ(wc.invalidated_rkey, 0x5a5aU);
    } else {
      EXPECT_EQ(wc.wc_flags, 0U);
    }
  }
  EXPECT_TRUE(poll_all().empty());
}

TEST_F(QueuePairTest, AnOverrunQueueSaysSoForEver) {
  for (uint64_t i = 0; i < kCqe; i++) complete(i, qp_);
  EXPECT_FALSE(kernel().complete(cq_->handle, weft_cqe{}, 0, 0, WEFT_OP_SEND));
  ibv_wc wc[kCqe];
  EXPECT_EQ(ibv_poll_cq(cq_, kCqe, wc), kCqe) << "work that is done is told";
  EXPECT_LT(ibv_poll_cq(cq_, kCqe, wc), 0);
  EXPECT_LT(ibv_poll_cq(cq_, 1, wc), 0);
}

TEST_F(QueuePairTest, Events) {
  complete(1, qp_);
  EXPECT_FALSE(event_waits()) << "never armed";
  EXPECT_EQ(poll_all(), Ids{1});

  ASSERT_EQ(ibv_req_notify_cq(cq_, 0), 0);
  complete(2, qp_);
  complete(3, qp_);
  take_event();
  EXPECT_FALSE(event_waits()) << "one event an arm";

  ASSERT_EQ(ibv_req_notify_cq(cq_, 1), 0);
  complete(4, qp_);
  EXPECT_FALSE(event_waits()) << "not solicited";
  complete(5, qp_, WEFT_OP_RECV, true);
  take_event();

  ASSERT_EQ(ibv_req_notify_cq(cq_, 0), 0);
  ASSERT_EQ(ibv_req_notify_cq(cq_, 1), 0);
  complete(6, qp_);
  take_event();  // the wider wish stands
  ibv_ack_cq_events(cq_, 3);
  EXPECT_EQ(poll_all(), (Ids{2, 3, 4, 5, 6}));
}

// The error of a work request of operation 0, which a program wrote into its ring by hand.
TEST_F(QueuePairTest, AnErrorOfNoOperationIsPolled) {
  weft_cqe cqe = {.wr_id = 77, .qp_num = qp_->qp_num, .ex = WEFT_VE_OPCODE};
  ASSERT_TRUE(kernel().complete(cq_->handle, cqe, 0, IBV_WC_LOC_QP_OP_ERR, 0));
  ibv_wc wc = {};
  ASSERT_EQ(ibv_poll_cq(cq_, 1, &wc), 1);
  EXPECT_EQ(wc.wr_id, 77U);
  EXPECT_EQ(wc.status, IBV_WC_LOC_QP_OP_ERR);
  EXPECT_EQ(wc.vendor_err, static_cast<uint32_t>(WEFT_VE_OPCODE));
}

// The kernel may take long to move a large queue. Who polls meanwhile leaves the processor alone.
TEST_F(QueuePairTest, WhoWaitsForAResizeSleeps) {
  constexpr int64_t kSlow = 400;  // ms
  std::atomic<bool> done = false;
  int64_t longest = 0;  // ns, of one poll
  int64_t worked = 0;   // ns of the processor in it
  std::atomic<bool> polling = false;
  std::thread poller([&] {
    while (!done) {
      ibv_wc wc = {};
      const int64_t began = now(CLOCK_MONOTONIC);
      const int64_t before = now(CLOCK_THREAD_CPUTIME_ID);
      EXPECT_EQ(ibv_poll_cq(cq_, 1, &wc), 0);
      const int64_t took = now(CLOCK_MONOTONIC) - began;
      if (took > longest) {
        longest = took;
        worked = now(CLOCK_THREAD_CPUTIME_ID) - before;
      }
      polling = true;
    }
  });
  while (!polling) std::this_thread::yield();
  kernel().delay(IB_USER_VERBS_CMD_RESIZE_CQ, kSlow);
  EXPECT_EQ(ibv_resize_cq(cq_, kCqe * 2), 0);
  done = true;
  poller.join();
  EXPECT_GT(longest, kSlow * 1000000 / 2) << "the poll did not meet the resize";
  EXPECT_LT(worked, longest / 4) << "it spun for " << worked << " ns of " << longest;
}

}  // namespace
}  // namespace weft_test
