// SPDX-License-Identifier: GPL-2.0
// Where the kernel's answer does not fit into the process's memory.
#include <rdma/ib_user_verbs.h>
#include <sys/mman.h>
#include <unistd.h>
#include <weft-abi.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "cases.h"
#include "failure.h"
#include "transfer.h"

namespace placement {

namespace {

// Two pages, the second of which cannot be written.
class HalfMapped {
 public:
  HalfMapped()
      : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))),
        bytes_(
            mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    require(bytes_ != MAP_FAILED, "mmap failed");
    require(mprotect(end(), page_, PROT_NONE) == 0, "mprotect failed");
  }
  ~HalfMapped() { munmap(bytes_, 2 * page_); }
  HalfMapped(const HalfMapped&) = delete;
  HalfMapped& operator=(const HalfMapped&) = delete;
  // The first byte that takes nothing.
  std::byte* end() const { return static_cast<std::byte*>(bytes_) + page_; }

 private:
  std::size_t page_;
  void* bytes_;
};

// Asks for a queue pair past libibverbs; the answer, of the core and then the module, goes to
// `answer`. Returns 0 or errno.
int create_qp(const Endpoint& end, const std::byte* answer) {
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
  const HalfMapped memory;
  for (unsigned time = 0; time < kTimes; ++time) {
    const int error =
        create_qp(*pair.client, memory.end() - sizeof(ib_uverbs_create_qp_resp) - time % 8);
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

}  // namespace placement
