// SPDX-License-Identifier: GPL-2.0
// A process that goes past libibverbs: doorbells with numbers that it made up, and memory that the
// kernel's answer does not fit into.
#include <rdma/ib_user_verbs.h>

#include <atomic>
#include <thread>

#include "cases.h"
#include "doorbell.h"

namespace rdma {
namespace {

// Rings for a queue pair; `bytes` is how long its number is said to be. Returns 0 or errno.
int ring(const ibv_context* context, weft_qp_method method, std::uint64_t qp_num,
         std::uint16_t bytes = sizeof(std::uint64_t)) {
  return rdma::ring(context->cmd_fd, UVERBS_OBJECT_QP, method, qp_num, bytes);
}

// Every number that is not the caller's own is refused, and its owner notices nothing.
void foreign_numbers(Suite& suite) {
  const Pair pair = suite.connector().connect({}, {.shared_receives = true});
  const ibv_context* own = pair.client->qp()->context;
  const std::uint32_t number = pair.client->qp()->qp_num;
  const Owned<ibv_context> other(ibv_open_device(own->device));
  require(other != nullptr, "the device does not open twice");
  for (const weft_qp_method method : {WEFT_METHOD_SEND_DOORBELL, WEFT_METHOD_RECV_DOORBELL}) {
    require_error(ring(own, method, number), 0, "its own queue pair");
    require_error(ring(other.get(), method, number), ENOENT, "another context's queue pair");
    require_error(ring(own, method, number | 1ULL << 32), ENOENT, "the number plus 2^32");
    for (const std::uint64_t none : {0ULL, 1ULL, 0xffffffULL, 0xffffffffULL, ~0ULL})
      require_error(ring(own, method, none), ENOENT, "number " + std::to_string(none));
    for (const std::uint16_t bytes : {0, 4, 7, 9, 16, 0xffff}) {
      require_error(ring(own, method, number, bytes), EINVAL,
                    "a number of " + std::to_string(bytes) + " bytes");
    }
  }
  const ibv_qp* server = pair.server->qp();
  require_error(ring(server->context, WEFT_METHOD_RECV_DOORBELL, server->qp_num), EINVAL,
                "for receives that are shared");
  send_checked(*pair.client, *pair.server, 5000);
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
        if (error == 0)
          ++found;
        else if (error != ENOENT)
          strange = error;
      }
    }
  });
  const Deadline deadline(kTime);
  for (unsigned round = 0; round < kRounds; ++round) {
    const Owned<ibv_qp> qp = unconnected_qp(end);
    modify(qp.get(), IBV_QPS_ERR);  // each doorbell starts the kernel's worker
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

// Asks for a queue pair past libibverbs; the whole answer goes to `answer`. Returns 0 or errno.
int create_qp(const Endpoint& end, const std::uint8_t* answer) {
  struct {
    ib_uverbs_cmd_hdr header;
    ib_uverbs_create_qp ask;
  } command{};
  command.header = {
      .command = IB_USER_VERBS_CMD_CREATE_QP,
      .in_words = sizeof(command) / 4,
      .out_words = (sizeof(ib_uverbs_create_qp_resp) + sizeof(weft_create_qp_resp)) / 4};
  ib_uverbs_create_qp& ask = command.ask;
  ask.response = reinterpret_cast<std::uintptr_t>(answer);
  ask.pd_handle = end.pd()->handle;
  ask.send_cq_handle = end.send_cq()->handle;
  ask.recv_cq_handle = end.recv_cq()->handle;
  ask.max_send_wr = ask.max_recv_wr = 4;
  ask.max_send_sge = ask.max_recv_sge = 1;
  ask.qp_type = IBV_QPT_RC;
  const ssize_t taken = write(end.qp()->context->cmd_fd, &command, sizeof(command));
  return taken == static_cast<ssize_t>(sizeof(command)) ? 0 : errno;
}

// A step that is not undone shows on the debug kernel.
void refused_and_undone(Suite& suite) {
  constexpr unsigned kTimes = 200;
  const Pair pair = suite.connector().connect();
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const Pages memory(2 * page);
  std::uint8_t* const end = memory.bytes() + page;
  must(mprotect(end, page, PROT_NONE), "mprotect");
  for (unsigned time = 0; time < kTimes; ++time) {
    require_error(create_qp(*pair.client, end - sizeof(ib_uverbs_create_qp_resp) - time % 8),
                  EFAULT, "ibv_create_qp");
  }
  send_checked(*pair.client, *pair.server, 5000);
}

}  // namespace

void hostile_cases(Suite& suite) {
  suite.group("doorbells of a process that makes up numbers", [&] {
    suite.run("only its own queue pairs are found", [&] { foreign_numbers(suite); });
    suite.run("a queue pair destroyed beside them", [&] { destroyed_beside(suite); });
  });
  suite.group("answers to memory that is not there", [&] {
    suite.run("a queue pair is not created", [&] { refused_and_undone(suite); });
  });
}

}  // namespace rdma
