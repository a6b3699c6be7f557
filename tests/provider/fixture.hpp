// SPDX-License-Identifier: GPL-2.0
// For tests of libweft under the real libibverbs: the fake kernel's device, a queue pair on it.
#pragma once

#include <errno.h>
#include <gtest/gtest.h>
#include <sys/select.h>
#include <time.h>

#include <stdexcept>
#include <utility>

#include "fake_kernel.hpp"

namespace weft_test {

inline FakeKernel& kernel() { return FakeKernel::get(); }

// Nanoseconds.
inline int64_t now(clockid_t clock) {
  timespec time = {};
  clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1000000000 + time.tv_nsec;
}

// The one device of the fake kernel, opened; nullptr if libibverbs lists none.
inline ibv_context* open_device() {
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  ibv_context* context = nullptr;
  if (list != nullptr && count == 1) {
    errno = 0;
    context = ibv_open_device(list[0]);
  }
  const int error = errno;
  if (list != nullptr) ibv_free_device_list(list);
  errno = error;
  return context;
}

// 0, or why a call has made nothing.
template <typename Object>
int refusal(const Object* made) {
  return made == nullptr ? errno : 0;
}

struct End {
  int operator()(ibv_context* context) const { return ibv_close_device(context); }
  int operator()(ibv_pd* pd) const { return ibv_dealloc_pd(pd); }
  int operator()(ibv_td* td) const { return ibv_dealloc_td(td); }
  int operator()(ibv_mr* mr) const { return ibv_dereg_mr(mr); }
  int operator()(ibv_mw* mw) const { return ibv_dealloc_mw(mw); }
  int operator()(ibv_comp_channel* channel) const { return ibv_destroy_comp_channel(channel); }
  int operator()(ibv_cq* cq) const { return ibv_destroy_cq(cq); }
  int operator()(ibv_cq_ex* cq) const { return ibv_destroy_cq(ibv_cq_ex_to_cq(cq)); }
  int operator()(ibv_srq* srq) const { return ibv_destroy_srq(srq); }
  int operator()(ibv_qp* qp) const { return ibv_destroy_qp(qp); }
};

// An object of a test, which must be made, and must end when the test does or says so.
template <typename Object>
class Made {
 public:
  explicit Made(Object* object) : object_(object) {
    if (object == nullptr) throw std::runtime_error(std::string("not made: ") + strerror(errno));
  }
  Made(Made&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Made& operator=(Made&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Made() { end(); }
  void end() {
    if (Object* const object = std::exchange(object_, nullptr)) {
      EXPECT_EQ(End()(object), 0);
    }
  }
  operator Object*() const { return object_; }  // NOLINT(google-explicit-constructor)
  Object* operator->() const { return object_; }

 private:
  Object* object_;
};

inline ibv_recv_wr recv_wr(uint64_t wr_id, ibv_sge* sge, int num_sge = 1) {
  return {.wr_id = wr_id, .next = nullptr, .sg_list = sge, .num_sge = num_sge};
}

// Looks for what is left in the kernel when all members of a test are gone.
class Leftovers : public testing::Test {
 protected:
  ~Leftovers() override {
    EXPECT_EQ(kernel().num_pds(), 0U);
    EXPECT_EQ(kernel().num_mrs(), 0U);
    EXPECT_EQ(kernel().num_cqs(), 0U);
    EXPECT_EQ(kernel().num_qps(), 0U);
    EXPECT_EQ(kernel().num_srqs(), 0U);
    EXPECT_EQ(kernel().num_mws(), 0U);
    EXPECT_EQ(kernel().user_mapped_bytes(), 0U) << "a ring is still mapped";
  }
};

class ObjectTest : public Leftovers {
 protected:
  // Returns what posting does; an error must name the request refused: `bad`, or the first.
  static int post(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr* bad = nullptr) {
    return post_by(ibv_post_send, qp, wr, bad);
  }
  static int post(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr* bad = nullptr) {
    return post_by(ibv_post_recv, qp, wr, bad);
  }
  static int post(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr* bad = nullptr) {
    return post_by(ibv_post_srq_recv, srq, wr, bad);
  }

  Made<ibv_context> context_{open_device()};
  Made<ibv_pd> pd_{ibv_alloc_pd(context_)};

 private:
  template <typename Queue, typename Request>
  static int post_by(int (*call)(Queue*, Request*, Request**), Queue* queue, Request* wr,
                     Request* bad) {
    Request* told = nullptr;
    const int error = call(queue, wr, &told);
    EXPECT_TRUE(error == 0 || told == (bad == nullptr ? wr : bad)) << "another one is named";
    return error;
  }
};

class QueuePairTest : public ObjectTest {
 protected:
  static constexpr uint32_t kSendWr = 4;
  static constexpr uint32_t kRecvWr = 3;  // of a ring of 4
  static constexpr uint32_t kSendSge = 3;
  static constexpr uint32_t kRecvSge = 2;
  static constexpr uint32_t kInline = 100;
  static constexpr uint32_t kMaxBlocks = 3;  // of 100 bytes inline
  static constexpr int kCqe = 16;

  QueuePairTest() { EXPECT_EQ(cq_->cqe, kCqe); }

  // Capacities: work requests, SGEs, each of sends and of receives, and bytes inline.
  static constexpr ibv_qp_cap cap_of(uint32_t send_wr, uint32_t recv_wr, uint32_t send_sge = 1,
                                     uint32_t recv_sge = 1, uint32_t inline_data = 0) {
    return {send_wr, recv_wr, send_sge, recv_sge, inline_data};
  }
  ibv_qp_init_attr init_attr(const ibv_qp_cap& cap, ibv_srq* srq = nullptr) const {
    return {.send_cq = cq_, .recv_cq = cq_, .srq = srq, .cap = cap, .qp_type = IBV_QPT_RC};
  }
  ibv_qp* create_qp(bool sq_sig_all = false) {
    ibv_qp_init_attr attr = init_attr(cap_of(kSendWr, kRecvWr, kSendSge, kRecvSge, kInline));
    attr.sq_sig_all = sq_sig_all;
    ibv_qp* qp = ibv_create_qp(pd_, &attr);
    if (qp != nullptr) {
      EXPECT_EQ(attr.cap.max_send_wr, kSendWr);
      EXPECT_EQ(attr.cap.max_recv_wr, kRecvWr);
      EXPECT_EQ(attr.cap.max_inline_data, kInline);
    }
    return qp;
  }

  FakeQp& fake() const { return kernel().qp(qp_->handle); }

  static int move(ibv_qp* qp, ibv_qp_state state) {
    ibv_qp_attr attr = {.qp_state = state};
    return ibv_modify_qp(qp, &attr, IBV_QP_STATE);
  }
  void ready() const { ASSERT_EQ(move(qp_, IBV_QPS_RTS), 0); }

  // A write of one SGE; links to `next`.
  static ibv_send_wr send_wr(uint64_t wr_id, ibv_sge* sge, ibv_send_wr* next = nullptr) {
    ibv_send_wr wr = {
        .wr_id = wr_id, .next = next, .sg_list = sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE};
    wr.wr.rdma.remote_addr = 0xabc000 + wr_id;
    wr.wr.rdma.rkey = 77;
    return wr;
  }
  // Links each work request to the one behind it.
  template <typename Request>
  static void chain(std::vector<Request>& wrs) {
    for (size_t i = 1; i < wrs.size(); i++) wrs[i - 1].next = &wrs[i];
  }
  using ObjectTest::post;
  template <typename Request>
  int post(Request* wr, Request* bad = nullptr) {
    return post(qp_, wr, bad);
  }

  // The next send request, which the kernel fetches, and is done with.
  SendEntry fetched() const {
    SendEntry entry = {};
    EXPECT_TRUE(fake().sq.fetch(&entry));
    return entry;
  }
  SendEntry done() const {
    SendEntry entry = fetched();
    fake().sq.release(entry.blocks);
    return entry;
  }
  // Posts it, with success, and has the kernel carry it out.
  SendEntry posted(ibv_send_wr* wr) {
    EXPECT_EQ(post(wr), 0);
    return done();
  }

  void complete(uint64_t wr_id, const ibv_qp* qp, uint8_t opcode = WEFT_OP_SEND,
                bool solicited = false) const {
    weft_cqe cqe = {.wr_id = wr_id, .qp_num = qp->qp_num};
    EXPECT_TRUE(kernel().complete(cq_->handle, cqe, 0, IBV_WC_SUCCESS, opcode, solicited));
  }
  std::vector<uint64_t> poll_all() const {
    std::vector<uint64_t> ids;
    ibv_wc wc[3];
    int count = 0;
    while ((count = ibv_poll_cq(cq_, 3, wc)) > 0) {
      for (int i = 0; i < count; i++) ids.push_back(wc[i].wr_id);
    }
    EXPECT_EQ(count, 0);
    return ids;
  }
  bool event_waits() const {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(channel_->fd, &set);
    timeval now = {};
    return select(channel_->fd + 1, &set, nullptr, nullptr, &now) == 1;
  }
  void take_event() const {
    ASSERT_TRUE(event_waits());
    ibv_cq* cq = nullptr;
    void* cq_context = nullptr;
    ASSERT_EQ(ibv_get_cq_event(channel_, &cq, &cq_context), 0);
    EXPECT_EQ(cq, cq_);
    EXPECT_EQ(cq_context, this);
  }

  using Ids = std::vector<uint64_t>;

  Made<ibv_comp_channel> channel_{ibv_create_comp_channel(context_)};
  Made<ibv_cq> cq_{ibv_create_cq(context_, kCqe, this, channel_, 0)};
  Made<ibv_qp> qp_{create_qp()};
  ibv_sge sge_ = {0x1000, 10, 5};
};

}  // namespace weft_test
