// SPDX-License-Identifier: GPL-2.0
// Asks a device for what it does not have (sizes past its limits are in tests/verbs). Each answer
// must be the one the verbs man pages promise: a NULL pointer, or an error number, and errno
// EINVAL, ENOMEM or the like; and the device must go on working.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "objects.h"
#include "pages.h"

namespace rdma {
namespace {

unsigned passed = 0;
unsigned failed = 0;

void report(const std::string& name, bool holds, const std::string& why) {
  ++(holds ? passed : failed);
  std::printf(holds ? "ok %u - %s\n" : "not ok %u - %s: %s\n", passed + failed, name.c_str(),
              why.c_str());
}

using Completions = Owned<ibv_cq>;
using Pair = Owned<ibv_qp>;
using Region = Owned<ibv_mr>;

// A creation that must have failed, with one of these errors.
template <typename Object>
void refused(const std::string& name, std::initializer_list<int> errors, Object* object) {
  const int error = std::exchange(errno, 0);
  const Owned<Object> made(object);
  const bool expected = std::ranges::find(errors, error) != errors.end();
  report(name + " is refused", made == nullptr && expected,
         made != nullptr ? "it was granted" : "errno is " + std::string(std::strerror(error)));
}

template <typename Object>
Owned<Object> granted(const std::string& name, Object* made) {
  report(name + " is granted", made != nullptr, std::strerror(std::exchange(errno, 0)));
  return Owned<Object>(made);
}

class Limits {
 public:
  explicit Limits(const std::string& device) : context_(open_device(device)) {}

  void completion_queues() const {
    refused("a CQ of -1 entries", {EINVAL, ENOMEM},
            ibv_create_cq(context_.get(), -1, nullptr, nullptr, 0));
    refused("a CQ on a vector that is not there", {EINVAL},
            ibv_create_cq(context_.get(), 16, nullptr, nullptr, context_->num_comp_vectors));
  }

  void queue_pairs() const {
    for (const auto& [type, name] : {std::pair{IBV_QPT_UD, "UD"}, {IBV_QPT_UC, "UC"}}) {
      ibv_qp_init_attr init = modest();
      init.qp_type = type;
      refused(std::string("a QP of type ") + name, {EINVAL, EOPNOTSUPP, ENOSYS},
              ibv_create_qp(domain_.get(), &init));
    }
    ibv_qp_init_attr init = modest();
    const Pair plain(ibv_create_qp(domain_.get(), &init));
    report("a modest QP", plain != nullptr, std::strerror(errno));
    if (plain == nullptr) return;
    ibv_qp_attr attr{.qp_state = static_cast<ibv_qp_state>(77)};
    const int error = ibv_modify_qp(plain.get(), &attr, IBV_QP_STATE);
    report("a QP state that does not exist is refused", error == EINVAL,
           "ibv_modify_qp returned " + std::to_string(error));
    attr.qp_state = IBV_QPS_RTS;
    const int skipped = ibv_modify_qp(plain.get(), &attr, IBV_QP_STATE);
    report("RTS without a connection is refused", skipped != 0, "it was granted");
  }

  void many() const {
    // A thousand of each, made and unmade, so that none is lost.
    bool all = true;
    for (int round = 0; round < 4 && all; ++round) {
      std::vector<Completions> queues;
      std::vector<Pair> pairs;
      for (int at = 0; at < 250 && all; ++at) {
        queues.emplace_back(ibv_create_cq(context_.get(), 4, nullptr, nullptr, 0));
        ibv_qp_init_attr init = modest();
        pairs.emplace_back(ibv_create_qp(domain_.get(), &init));
        all = queues.back() != nullptr && pairs.back() != nullptr;
      }
    }
    report("1000 QPs and CQs, 250 at a time", all, std::strerror(errno));
  }

  void regions() const {
    constexpr std::size_t kSize = 1U << 20;
    const Pages pages(kSize);
    const Pages rest(kSize, MAP_PRIVATE | MAP_ANONYMOUS, -1, PROT_READ);
    std::uint8_t* const memory = pages.bytes();
    const auto make = [&](void* address, std::size_t size, int access) {
      return ibv_reg_mr(domain_.get(), address, size, access);
    };
    refused("remote write without local write", {EINVAL},
            make(memory, kSize, IBV_ACCESS_REMOTE_WRITE));
    refused("memory that is not mapped", {EFAULT, EINVAL, ENOMEM},
            make(reinterpret_cast<void*>(0x10000), 4096, IBV_ACCESS_LOCAL_WRITE));
    refused("a range half of which is not mapped", {EFAULT, EINVAL, ENOMEM},
            make(memory, kSize << 12, IBV_ACCESS_LOCAL_WRITE));
    refused("a range that wraps around", {EFAULT, EINVAL, ENOMEM},
            make(memory, ~std::size_t{0}, IBV_ACCESS_LOCAL_WRITE));
    refused("local write to memory that is read-only", {EFAULT, EINVAL, EPERM},
            make(rest.bytes(), kSize, IBV_ACCESS_LOCAL_WRITE));
    const Region whole = granted("a megabyte", make(memory, kSize, IBV_ACCESS_LOCAL_WRITE));
    const Region odd = granted("odd bytes of it", make(memory + 1, 3, IBV_ACCESS_LOCAL_WRITE));
    report("  and their keys differ",
           whole != nullptr && odd != nullptr && whole->lkey != odd->lkey, "they do not");
  }

 private:
  ibv_qp_init_attr modest() const {
    ibv_qp_init_attr init = queue_pair(completions_.get(), 4, 4);
    init.cap.max_send_sge = init.cap.max_recv_sge = 2;
    return init;
  }

  Owned<ibv_context> context_;
  Owned<ibv_pd> domain_ = own(ibv_alloc_pd(context_.get()), "ibv_alloc_pd");
  Completions completions_ =
      own(ibv_create_cq(context_.get(), 16, nullptr, nullptr, 0), "ibv_create_cq");
};

// Registers that many bytes; for a caller whose RLIMIT_MEMLOCK they exceed.
int register_only(const std::string& name, std::size_t size) {
  const Owned<ibv_context> context = open_device(name);
  const Owned<ibv_pd> domain = own(ibv_alloc_pd(context.get()), "ibv_alloc_pd");
  const Pages memory(size);
  const Region region(ibv_reg_mr(domain.get(), memory.bytes(), size, IBV_ACCESS_LOCAL_WRITE));
  if (region == nullptr) {
    std::printf("ibv_reg_mr of %zu bytes: %s\n", size, std::strerror(errno));
    return errno == ENOMEM ? 1 : 3;
  }
  std::printf("registered %zu bytes\n", size);
  return 0;
}

int ask(const std::string& name) {
  const Limits limits(name);
  limits.completion_queues();
  limits.queue_pairs();
  limits.many();
  limits.regions();
  std::printf("1..%u\n", passed + failed);
  return failed != 0 ? 1 : 0;
}

}  // namespace
}  // namespace rdma

int main(int argc, char** argv) {
  try {
    if (argc == 3) return rdma::register_only(argv[1], std::strtoull(argv[2], nullptr, 0));
    if (argc == 2) return rdma::ask(argv[1]);
    std::fputs(
        "usage: limits DEVICE          ask for what is at and past its limits\n"
        "       limits DEVICE BYTES    register that much memory; status 1 for ENOMEM\n",
        stderr);
  } catch (const rdma::Failure& failure) {
    std::fprintf(stderr, "limits: %s\n", failure.what());
  }
  return 2;
}
