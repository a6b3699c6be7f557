// SPDX-License-Identifier: GPL-2.0
// Where the kernel's answer does not fit into the process's memory.
#include <rdma/ib_user_verbs.h>
#include <weft-abi.h>

#include <array>

#include "cases.h"
#include "transfer.h"

namespace rdma {

namespace {

// Asks for a queue pair past libibverbs; the answer, of the core and then the module, goes to
// `answer`. Returns 0 or errno.
int create_qp(const Endpoint& end, const std::uint8_t* answer) {
  ib_uverbs_cmd_hdr header{};
  ib_uverbs_create_qp ask{};
  std::array<std::byte, sizeof(header) + sizeof(ask)> command{};
  header.command = IB_USER_VERBS_CMD_CREATE_QP;
  header.in_words = command.size() / 4;
  header.out_words = (sizeof(ib_uverbs_create_qp_resp) + sizeof(weft_create_qp_resp)) / 4;
  ask.response = reinterpret_cast<std::uintptr_t>(answer);
  ask.pd_handle = end.pd()->handle;
  ask.send_cq_handle = end.send_cq()->handle;
  ask.recv_cq_handle = end.recv_cq()->handle;
  ask.max_send_wr = 4;
  ask.max_recv_wr = 4;
  ask.max_send_sge = 1;
  ask.max_recv_sge = 1;
  ask.qp_type = IBV_QPT_RC;
  std::memcpy(command.data(), &header, sizeof(header));
  std::memcpy(command.data() + sizeof(header), &ask, sizeof(ask));
  const ssize_t taken = write(end.qp()->context->cmd_fd, command.data(), command.size());
  return taken == static_cast<ssize_t>(command.size()) ? 0 : errno;
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
    const int error = create_qp(*pair.client, end - sizeof(ib_uverbs_create_qp_resp) - time % 8);
    require(error == EFAULT, std::string("it ended with ") + std::strerror(error));
  }
  send_checked(*pair.client, *pair.server, 5000);
}

}  // namespace

void answer_cases(Suite& suite) {
  suite.group("answers to memory that is not there", [&] {
    suite.run("a queue pair is not created", [&] { refused_and_undone(suite); });
  });
}

}  // namespace rdma
