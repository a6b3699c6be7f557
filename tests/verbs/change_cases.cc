// SPDX-License-Identifier: GPL-2.0
#include <atomic>
#include <deque>
#include <thread>

#include "cases.h"

namespace rdma {
namespace {

// Sends flow, both ends poll, and another thread resizes both queues all the time.
void resize_under_traffic(Endpoint& client, Endpoint& server) {
  constexpr std::size_t kSends = 1000;
  constexpr std::size_t kWindow = 16;
  constexpr int kResized = 12;
  const std::uint32_t length = 64;
  prepare(client, server, length);
  std::atomic<int> error = ibv_resize_cq(server.recv_cq(), 256);
  if (error == EOPNOTSUPP || error == ENOSYS)
    throw Lacking("the device does not resize completion queues");
  require_zero(error, "ibv_resize_cq");
  require(server.recv_cq()->cqe >= 256, "cqe reads " + std::to_string(server.recv_cq()->cqe));
  std::atomic<int> resized = 0;
  std::jthread changer([&](const std::stop_token& done) {
    const int sizes[] = {64, 1024, 32, 200, 4096, 100};
    for (unsigned at = 0; !done.stop_requested(); ++at) {
      ibv_cq* const queue = at % 2 == 0 ? server.recv_cq() : client.send_cq();
      error = ibv_resize_cq(queue, sizes[at % std::size(sizes)]);
      if (error != 0) return;
      ++resized;
      // Leaves the queue's lock to the polling threads for most of the time.
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  });
  std::deque<std::pair<std::uint64_t, std::uint64_t>> under_way;  // receive and send
  const Work send = client.work(IBV_WR_SEND, {{kSource, length}});
  const Deadline deadline(kPatience);
  std::size_t taken = 0;
  // Sends until there were enough sends and enough resizes.
  for (bool enough = false; !enough || !under_way.empty();) {
    enough = taken >= kSends && (resized >= kResized || deadline.over());
    if (!enough && under_way.size() < kWindow) {
      const std::uint64_t receive = server.post_recv({{kTarget, length}});
      under_way.emplace_back(receive, client.post_send(send));
      continue;
    }
    server.expect_recv(under_way.front().first, length);
    client.expect_send(under_way.front().second, IBV_WC_SEND);
    under_way.pop_front();
    ++taken;
  }
  changer.request_stop();
  changer.join();
  require_zero(error, "ibv_resize_cq under traffic");
  require(resized >= kResized, "resized only " + std::to_string(resized) + " times");
  check_target(server, length);
}

void registered_anew(Endpoint& client, Endpoint& server) {
  std::vector<std::uint8_t> first(10000, 1);
  std::vector<std::uint8_t> second(20000, 2);
  Owned<ibv_mr> mr = own(ibv_reg_mr(server.pd(), first.data(), first.size(),
                                    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
                         "ibv_reg_mr");
  const int error =
      ibv_rereg_mr(mr.get(), IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_ACCESS, nullptr,
                   second.data(), second.size(),
                   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
  if (error != 0) {
    if (errno == EOPNOTSUPP) throw Lacking("the device does not register regions anew");
    fail_errno("ibv_rereg_mr");
  }
  client.memory().fill({{kSource, 15000}}, 77);
  Work work = client.work(IBV_WR_RDMA_WRITE, {{kSource, 15000}});
  work.aim(reinterpret_cast<std::uintptr_t>(second.data()) + 5000, mr->rkey);
  client.carry_out(work);
  send_checked(client, server, 1);  // the write has been placed
  require_zero(ibv_dereg_mr(mr.release()), "ibv_dereg_mr");
  const std::vector<std::uint8_t> sent = client.memory().gather({{kSource, 15000}});
  require(std::equal(sent.begin() + 1, sent.end(), second.begin() + 5001),
          "the new memory does not hold what was written");
  require(std::count(second.begin(), second.begin() + 5000, 2) == 5000 &&
              std::count(first.begin(), first.end(), 1) == 10000,
          "memory that was not written to has changed");
}

}  // namespace

void change_cases(Suite& suite) {
  suite.group("completion queues resized", [&] {
    const Pair pair = suite.connector().connect({.send_wr = 32, .recv_wr = 32});
    for (const Wait wait : {Wait::kPoll, Wait::kEvent}) {
      suite.run(wait == Wait::kPoll ? "polled" : "by events", [&] {
        pair.client->wait_with(wait);
        pair.server->wait_with(wait);
        resize_under_traffic(*pair.client, *pair.server);
      });
    }
    suite.run("limits", [&] {
      ibv_cq* cq = pair.client->send_cq();
      require(ibv_resize_cq(cq, pair.client->device().max_cqe + 1) == EINVAL, "beyond max_cqe");
      require(ibv_resize_cq(cq, 0) == EINVAL, "to nothing");
    });
  });
  suite.group("regions registered anew", [&] {
    const Pair pair = suite.connector().connect();
    suite.run("in other memory, with other rights",
              [&] { registered_anew(*pair.client, *pair.server); });
  });
}

}  // namespace rdma
