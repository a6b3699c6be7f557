// SPDX-License-Identifier: GPL-2.0
// Sixteen threads that share everything post, poll, ask, change, make, end and fork, while signals
// come; a thread of the fake kernel serves the rings. Under the thread sanitizer (make tsan), too,
// where a race between two of libweft's users is an error even if all goes well.
#include <poll.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>

#include "fixture.hpp"

namespace weft_test {
namespace {

constexpr uint32_t kPosters = 5;
constexpr uint32_t kSrqPosters = 4;
constexpr uint32_t kPollers = 3;
constexpr uint32_t kEach = 3000;  // work requests of a poster
constexpr uint32_t kTotal = (kPosters + kSrqPosters) * kEach;
constexpr uint32_t kDepth = 32;
constexpr int kCqe = 256;
constexpr int kForks = 10;

std::atomic<unsigned> alarms;

class ThreadsTest : public ObjectTest {
 protected:
  void SetUp() override {
    ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS};
    ASSERT_EQ(ibv_modify_qp(qp_, &attr, IBV_QP_STATE), 0);
  }

  ibv_cq_ex* create_cq() {
    ibv_cq_init_attr_ex attr = {
        .cqe = kCqe, .channel = channel_, .wc_flags = IBV_WC_STANDARD_FLAGS};
    return ibv_create_cq_ex(context_, &attr);
  }
  ibv_srq* create_srq() {
    ibv_srq_init_attr attr = {.attr = {.max_wr = kDepth, .max_sge = 1, .srq_limit = 0}};
    return ibv_create_srq(pd_, &attr);
  }
  ibv_qp* create_qp() {
    ibv_qp_init_attr_ex attr = {.send_cq = cq_,
                                .recv_cq = cq_,
                                .srq = srq_,
                                .cap = {kDepth, 0, 4, 0, 64},
                                .qp_type = IBV_QPT_RC,
                                .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
                                .pd = pd_,
                                .send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE};
    return ibv_create_qp_ex(context_, &attr);
  }

  // Posters number their work requests from `first` on.
  void post_sends(uint64_t first) {
    char text[16] = {};
    ibv_sge sges[4] = {};
    for (uint32_t i = 0; i < kEach; i++) {
      ibv_send_wr wr = {};
      wr.wr_id = first + i;
      wr.opcode = IBV_WR_SEND;
      wr.sg_list = sges;
      wr.num_sge = static_cast<int>(i % 5);
      if (i % 7 == 0) {
        sges[0] = {reinterpret_cast<uintptr_t>(text), sizeof(text), 0};
        wr.num_sge = 1;
        wr.send_flags = IBV_SEND_INLINE;
      }
      repeat([&] { return post(qp_, &wr); });
    }
  }
  void build_sends(uint64_t first) {
    ibv_qp_ex* ex = ibv_qp_to_qp_ex(qp_);
    for (uint32_t i = 0; i < kEach; i++) {
      repeat([&] {
        ibv_wr_start(ex);
        ex->wr_id = first + i;
        ex->wr_flags = 0;
        ibv_wr_rdma_write(ex, 1, 2);
        ibv_wr_set_sge(ex, 1, 2, 3);
        if (i % 16 == 0) {
          ibv_wr_abort(ex);
          ibv_wr_start(ex);
          ex->wr_id = first + i;
          ibv_wr_send(ex);
        }
        return ibv_wr_complete(ex);
      });
    }
  }
  void post_receives(uint64_t first) {
    ibv_sge sge = {1, 2, 3};
    for (uint32_t i = 0; i < kEach; i++) {
      ibv_recv_wr wr = recv_wr(first + i, &sge);
      repeat([&] { return post(srq_, &wr); });
    }
  }
  // A full queue is the only reason to try again.
  template <typename Post>
  void repeat(Post post) {
    int ret = post();
    while (ret == ENOMEM && !failed_) {
      std::this_thread::yield();
      ret = post();
    }
    fail_if(ret != 0);
  }
  void fail_if(bool wrong) {
    if (wrong) failed_ = true;
  }

  void saw(uint64_t wr_id) {
    fail_if(wr_id >= kTotal || seen_[wr_id].fetch_add(1, std::memory_order_relaxed) != 0);
    polled_.fetch_add(1, std::memory_order_relaxed);
  }
  bool done() const { return failed_ || polled_.load(std::memory_order_relaxed) >= kTotal; }
  bool poll_some() {
    ibv_wc wc[8];
    const int count = ibv_poll_cq(cq_, 8, wc);
    for (int i = 0; i < count; i++) saw(wc[i].wr_id);
    fail_if(count < 0);
    return count > 0;
  }
  bool poll_extended() {
    ibv_poll_cq_attr attr = {};
    if (ibv_start_poll(cq_ex_, &attr) != 0) return false;
    do {
      saw(cq_ex_->wr_id);
    } while (ibv_next_poll(cq_ex_) == 0);
    ibv_end_poll(cq_ex_);
    return true;
  }
  void poll_by_events() {
    while (!done()) {
      fail_if(ibv_req_notify_cq(cq_, 0) != 0);
      while (poll_some()) {
      }
      pollfd waiting = {.fd = channel_->fd, .events = POLLIN, .revents = 0};
      if (::poll(&waiting, 1, 50) == 1) {
        ibv_cq* cq = nullptr;
        void* cq_context = nullptr;
        fail_if(ibv_get_cq_event(channel_, &cq, &cq_context) != 0 || cq != cq_);
        ibv_ack_cq_events(cq_, 1);
      }
    }
  }

  // The kernel: awake until it finds nothing, then asleep until a doorbell.
  void serve() {
    FakeQp& queue_pair = kernel().qp(qp_->handle);
    FakeSrq& srq = kernel().srq(srq_->handle);
    unsigned rung = 0;
    bool awake = false;
    {
      const std::lock_guard guard(kernel().lock());
      awake = !queue_pair.sq.go_idle();
    }
    while (!done()) {
      {
        const std::lock_guard guard(kernel().lock());
        if (queue_pair.send_doorbells != rung) {
          rung = queue_pair.send_doorbells;
          queue_pair.sq.wake();
          awake = true;
        }
        SendEntry sent;
        RecvEntry received;
        for (int turn = 0; turn < 8 && has_room(); turn++) {
          if (awake) {
            if (queue_pair.sq.fetch(&sent)) {
              queue_pair.sq.release(sent.blocks);
              complete(sent.head.wr_id, WEFT_OP_SEND);
            } else {
              awake = !queue_pair.sq.go_idle();
            }
          }
          if (has_room() && srq.ring.fetch(&received)) {
            srq.ring.release();
            complete(received.wr_id, WEFT_OP_RECV);
          }
        }
      }
      std::this_thread::yield();
    }
  }
  bool has_room() const { return kernel().cq(cq_->handle).ring.unpolled() < kCqe / 2; }
  void complete(uint64_t wr_id, uint8_t opcode) {
    weft_cqe cqe = {.wr_id = wr_id, .qp_num = qp_->qp_num};
    fail_if(!kernel().complete(cq_->handle, cqe, 0, IBV_WC_SUCCESS, opcode));
  }

  // The steps that owners take meanwhile.
  void ask_and_change() {
    while (!done()) {
      ibv_qp_attr attr = {};
      ibv_qp_init_attr init = {};
      ibv_srq_attr srq_attr = {};
      fail_if(ibv_query_qp(qp_, &attr, IBV_QP_STATE | IBV_QP_CAP, &init) != 0 ||
              attr.qp_state != IBV_QPS_RTS || ibv_query_srq(srq_, &srq_attr) != 0);
      attr.qp_access_flags = IBV_ACCESS_REMOTE_READ;
      fail_if(ibv_modify_qp(qp_, &attr, IBV_QP_ACCESS_FLAGS) != 0);
      std::this_thread::yield();
    }
  }
  void neighbour_and_resize() {
    for (int turn = 0; !done(); turn++) {
      ibv_qp* neighbour = create_qp();
      fail_if(neighbour == nullptr || ibv_destroy_qp(neighbour) != 0 ||
              ibv_resize_cq(cq_, kCqe << (turn % 2)) != 0);
      usleep(2000);
    }
  }
  void fork_children() {
    for (int turn = 0; turn < kForks && !done(); turn++) {
      const pid_t child = fork();
      if (child == 0) _exit(0);
      int status = -1;
      pid_t ended = -1;
      do {
        ended = waitpid(child, &status, 0);
      } while (ended < 0 && errno == EINTR);
      fail_if(ended != child || status != 0);
      usleep(3000);
    }
  }

  Made<ibv_comp_channel> channel_{ibv_create_comp_channel(context_)};
  Made<ibv_cq_ex> cq_ex_{create_cq()};
  ibv_cq* cq_ = ibv_cq_ex_to_cq(cq_ex_);
  Made<ibv_srq> srq_{create_srq()};
  Made<ibv_qp> qp_{create_qp()};
  std::array<std::atomic<uint8_t>, kTotal> seen_ = {};
  std::atomic<uint32_t> polled_ = 0;
  std::atomic<bool> failed_ = false;
};

TEST_F(ThreadsTest, EverythingIsPolledOnce) {
  struct sigaction action = {};
  struct sigaction before = {};
  action.sa_handler = [](int) { alarms++; };
  ASSERT_EQ(sigaction(SIGALRM, &action, &before), 0);  // no SA_RESTART: calls are interrupted
  const itimerval often = {.it_interval = {.tv_sec = 0, .tv_usec = 5000},
                           .it_value = {.tv_sec = 0, .tv_usec = 5000}};
  const itimerval never = {};

  std::vector<std::thread> threads;
  uint64_t first = 0;
  threads.emplace_back([this] { serve(); });
  ASSERT_EQ(setitimer(ITIMER_REAL, &often, nullptr), 0);
  for (uint32_t i = 0; i < kPosters; i++, first += kEach)
    threads.emplace_back([this, i, first] { i % 2 == 0 ? post_sends(first) : build_sends(first); });
  for (uint32_t i = 0; i < kSrqPosters; i++, first += kEach)
    threads.emplace_back([this, first] { post_receives(first); });
  for (uint32_t i = 0; i < kPollers; i++) {
    threads.emplace_back([this, i] {
      while (!done()) {
        if (!(i == 0 ? poll_extended() : poll_some())) std::this_thread::yield();
      }
    });
  }
  threads.emplace_back([this] { poll_by_events(); });
  threads.emplace_back([this] { ask_and_change(); });
  threads.emplace_back([this] { neighbour_and_resize(); });
  threads.emplace_back([this] { fork_children(); });
  ASSERT_EQ(threads.size(), 17U) << "sixteen and the kernel";
  for (auto& thread : threads) thread.join();
  setitimer(ITIMER_REAL, &never, nullptr);
  sigaction(SIGALRM, &before, nullptr);

  EXPECT_FALSE(failed_);
  EXPECT_EQ(polled_, kTotal);
  for (uint32_t i = 0; i < kTotal; i++) ASSERT_EQ(seen_[i], 1) << "work request " << i;
  EXPECT_GT(alarms, 0U);
}

}  // namespace
}  // namespace weft_test
