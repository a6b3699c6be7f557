// SPDX-License-Identifier: GPL-2.0
// Posts that race with what the kernel does for the same queue pair on its own.
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "cases.h"
#include "failure.h"
#include "transfer.h"

namespace placement {

namespace {

// A thread reads from the server all the time. The server's queue pair answers, while its program
// sends single messages at any moment.
void sends_between_answers(Suite& suite) {
  constexpr std::chrono::seconds kTime{6};
  constexpr unsigned kReads = 4;
  constexpr unsigned kReceives = 64;
  const Pair pair = suite.connector().connect();
  Endpoint& client = *pair.client;
  Endpoint& server = *pair.server;
  server.wait_with(Wait::kPoll);
  std::atomic<bool> done = false;
  std::atomic<bool> refused = false;
  std::thread reader([&] {
    std::vector<ibv_sge> there = client.memory().sges({{kTarget, 1}});
    ibv_send_wr read = request(IBV_WR_RDMA_READ, there);
    read.wr.rdma.remote_addr = server.memory().address(kSource);
    read.wr.rdma.rkey = server.memory().mr()->rkey;
    try {
      for (unsigned at = 0; at < kReads; ++at) {
        client.post_send(read);
      }
      while (!done) {
        const auto completion = client.poll(client.send_cq());
        if (completion) {
          require(completion->status == IBV_WC_SUCCESS, to_string(*completion));
          client.post_send(read);
        }
      }
    } catch (const Failure&) {
      refused = true;
    }
  });
  try {
    std::vector<ibv_sge> here = server.memory().sges({{kSource, 1}});
    const ibv_send_wr send = request(IBV_WR_SEND, here);
    for (unsigned at = 0; at < kReceives; ++at) {
      client.post_recv({{kTarget + 8, 1}});
    }
    const Clock::time_point end = Clock::now() + kTime;
    for (unsigned pause = 0; Clock::now() < end && !refused; pause = (pause + 1) % 64) {
      server.expect_send(server.post_send(send), IBV_WC_SEND);
      while (client.poll(client.recv_cq())) {
        client.post_recv({{kTarget + 8, 1}});
      }
      for (unsigned turn = 0; turn < pause; ++turn) {
        static_cast<void>(server.poll(server.recv_cq()));
      }
    }
  } catch (...) {
    done = true;
    reader.join();
    throw;
  }
  done = true;
  reader.join();
  require(!refused, "a read failed");
}

}  // namespace

void race_cases(Suite& suite) {
  suite.group("races", [&] {
    suite.run("sends between answers to reads", [&] { sends_between_answers(suite); });
  });
}

}  // namespace placement
