// SPDX-License-Identifier: GPL-2.0
// Doorbells as a hostile process rings them: past libweft, with numbers it made up.
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <sys/ioctl.h>
#include <weft-abi.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

#include "cases.h"
#include "failure.h"
#include "owned.h"
#include "transfer.h"

namespace placement {

namespace {

struct Close {
  void operator()(ibv_context* context) const { ibv_close_device(context); }
};
using Context = std::unique_ptr<ibv_context, Close>;

// Rings for a queue pair; `bytes` is how long its number is said to be. Returns 0 or errno.
int ring(const ibv_context* context, weft_qp_method method, std::uint64_t qp_num,
         std::uint16_t bytes = sizeof(std::uint64_t)) {
  ib_uverbs_ioctl_hdr header{};
  ib_uverbs_attr attribute{};
  std::array<std::byte, sizeof(header) + sizeof(attribute)> command{};
  header.length = command.size();
  header.object_id = UVERBS_OBJECT_QP;
  header.method_id = method;
  header.num_attrs = 1;
  header.driver_id = WEFT_DRIVER_ID;
  attribute.attr_id = WEFT_ATTR_DOORBELL;
  attribute.len = bytes;
  attribute.flags = UVERBS_ATTR_F_MANDATORY;
  attribute.data = qp_num;
  std::memcpy(command.data(), &header, sizeof(header));
  std::memcpy(command.data() + sizeof(header), &attribute, sizeof(attribute));
  return ioctl(context->cmd_fd, RDMA_VERBS_IOCTL, command.data()) == 0 ? 0 : errno;
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
  const Context other(ibv_open_device(own->device));
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
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_ERR;
  require_zero(ibv_modify_qp(qp.get(), &attr, IBV_QP_STATE), "ibv_modify_qp");
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
  std::atomic<bool> done = false;
  std::thread ringer([&] {
    while (!done) {
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
  std::string failure;
  const Clock::time_point end_of_time = Clock::now() + kTime;
  try {
    for (unsigned round = 0; round < kRounds; ++round) {
      const Owned<ibv_qp> qp = failed_qp(end);
      number = qp->qp_num;
      for (const unsigned before = found; found == before && strange == 0;) {
        require(Clock::now() < end_of_time, "its own queue pair is not found");
        std::this_thread::yield();
      }
    }
  } catch (const Failure& why) {
    failure = why.what();
  }
  done = true;
  ringer.join();
  require(failure.empty(), failure);
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

}  // namespace placement
