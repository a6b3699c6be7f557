// SPDX-License-Identifier: GPL-2.0
// Posts that race with what the kernel does for the same queue pair on its own.
#include <atomic>
#include <thread>

#include "cases.h"
#include "transfer.h"

namespace rdma {

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
  std::atomic<bool> refused = false;
  std::jthread reader([&](const std::stop_token& done) {
    const Work read = client.work(IBV_WR_RDMA_READ, {{kTarget, 1}}, server, kSource);
    try {
      for (unsigned at = 0; at < kReads; ++at) {
        client.post_send(read);
      }
      while (!done.stop_requested()) {
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
  const Work send = server.work(IBV_WR_SEND, {{kSource, 1}});
  for (unsigned at = 0; at < kReceives; ++at) {
    client.post_recv({{kTarget + 8, 1}});
  }
  const Deadline deadline(kTime);
  for (unsigned pause = 0; !deadline.over() && !refused; pause = (pause + 1) % 64) {
    server.carry_out(send);
    while (client.poll(client.recv_cq())) {
      client.post_recv({{kTarget + 8, 1}});
    }
    for (unsigned turn = 0; turn < pause; ++turn) {
      static_cast<void>(server.poll(server.recv_cq()));
    }
  }
  reader.request_stop();
  reader.join();
  require(!refused, "a read failed");
}

}  // namespace

void race_cases(Suite& suite) {
  suite.group("races", [&] {
    suite.run("sends between answers to reads", [&] { sends_between_answers(suite); });
  });
}

}  // namespace rdma
