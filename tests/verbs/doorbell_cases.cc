// SPDX-License-Identifier: GPL-2.0
#include <atomic>
#include <thread>

#include "cases.h"
#include "doorbell.h"
#include "transfer.h"

namespace rdma {

namespace {

// Rings for a queue pair; `bytes` is how long its number is said to be. Returns 0 or errno.
int ring(const ibv_context* context, weft_qp_method method, std::uint64_t qp_num,
         std::uint16_t bytes = sizeof(std::uint64_t)) {
  return rdma::ring(context, UVERBS_OBJECT_QP, method, qp_num, bytes);
}

void expect(int error, int expected, const std::string& what) {
  require(error == expected,
          what + " ended with " + std::strerror(error) + ", not " + std::strerror(expected));
}

// Every number that is not the caller's own is refused, and its owner notices nothing.
void foreign_numbers(Suite& suite) {
  Shape shared;
  shared.shared_receives = true;
  const Pair pair = suite.connector().connect({}, shared);
  const ibv_context* own = pair.client->qp()->context;
  const std::uint32_t number = pair.client->qp()->qp_num;
  const Owned<ibv_context> other(ibv_open_device(own->device));
  require(other != nullptr, "the device does not open twice");
  for (const weft_qp_method method : {WEFT_METHOD_SEND_DOORBELL, WEFT_METHOD_RECV_DOORBELL}) {
    expect(ring(own, method, number), 0, "its own queue pair");
    expect(ring(other.get(), method, number), ENOENT, "another context's queue pair");
    expect(ring(own, method, number | 1ULL << 32), ENOENT, "the number plus 2^32");
    for (const std::uint64_t none : {0ULL, 1ULL, 0xffffffULL, 0xffffffffULL, ~0ULL}) {
      expect(ring(own, method, none), ENOENT, "number " + std::to_string(none));
    }
    for (const std::uint16_t bytes : {0, 4, 7, 9, 16, 0xffff}) {
      expect(ring(own, method, number, bytes), EINVAL,
             "a number of " + std::to_string(bytes) + " bytes");
    }
  }
  const ibv_qp* server = pair.server->qp();
  expect(ring(server->context, WEFT_METHOD_RECV_DOORBELL, server->qp_num), EINVAL,
         "for receives that are shared");
  send_checked(*pair.client, *pair.server, 5000);
}

// A queue pair in state ERR, on which each doorbell starts the kernel's worker.
Owned<ibv_qp> failed_qp(const Endpoint& end) {
  Owned<ibv_qp> qp = unconnected_qp(end);
  modify(qp.get(), IBV_QPS_ERR);
  return qp;
}

// A thread rings for a queue pair all the time, before, while and after it is destroyed.
void destroyed_beside(Suite& suite) {
  constexpr unsigned kRounds = 300;
  constexpr std::chrono::seconds kTime{60};
  const Pair pair = suite.connector().connect();
  const Endpoint& end = *pair.client;
  const ibv_context* context = end.qp()->context;
  std::atomic<std::uint32_t> number = 0;
  std::atomic<unsigned> found = 0;
  std::atomic<int> strange = 0;
  std::jthread ringer([&](const std::stop_token& done) {
    while (!done.stop_requested()) {
      for (const weft_qp_method method : {WEFT_METHOD_SEND_DOORBELL, WEFT_METHOD_RECV_DOORBELL}) {
        const int error = ring(context, method, number);
        if (error == 0) {
          ++found;
        } else if (error != ENOENT) {
          strange = error;
        }
      }
    }
  });
  const Deadline deadline(kTime);
  for (unsigned round = 0; round < kRounds; ++round) {
    const Owned<ibv_qp> qp = failed_qp(end);
    number = qp->qp_num;
    for (const unsigned before = found; found == before && strange == 0;) {
      require(!deadline.over(), "its own queue pair is not found");
      std::this_thread::yield();
    }
  }
  ringer.request_stop();
  ringer.join();
  require(strange == 0, std::string("a doorbell ended with ") + std::strerror(strange));
  send_checked(*pair.client, *pair.server, 5000);
}

}  // namespace

void doorbell_cases(Suite& suite) {
  suite.group("doorbells of a process that makes up numbers", [&] {
    suite.run("only its own queue pairs are found", [&] { foreign_numbers(suite); });
    suite.run("a queue pair destroyed beside them", [&] { destroyed_beside(suite); });
  });
}

}  // namespace rdma
