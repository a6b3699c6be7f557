// SPDX-License-Identifier: GPL-2.0
// A library to load before a program of libfabric (LD_PRELOAD): who finds its completion queue
// empty lets others run. fi_pingpong asks again at once, and where it shares one processor with its
// peer, the peer, and so the answer, would wait for the scheduler's tick. Open MPI's ranks yield by
// themselves, if they are told to.
#include <dlfcn.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>
#include <sched.h>

#include <cstdlib>

namespace {

// A provider's own table of functions, and a copy of it in which one is ours. A program has one
// provider.
template <typename Ops>
class Table {
 public:
  // Has `ops` lead to the copy, with `ours` in the place of `member`.
  template <typename Function>
  void take(Ops*& ops, Function Ops::*member, Function ours) {
    if (ops == &copy_) return;
    provider_ = ops;
    copy_ = *ops;
    copy_.*member = ours;
    ops = &copy_;
  }
  [[nodiscard]] const Ops& provider() const { return *provider_; }

 private:
  const Ops* provider_ = nullptr;
  Ops copy_{};
};

Table<fi_ops_fabric> fabrics;
Table<fi_ops_domain> domains;
Table<fi_ops_cq> queues;

ssize_t read_or_yield(fid_cq* queue, void* into, size_t count) {
  const ssize_t read = queues.provider().read(queue, into, count);
  if (read == -FI_EAGAIN) sched_yield();
  return read;
}

int open_queue(fid_domain* domain, fi_cq_attr* attributes, fid_cq** queue, void* context) {
  const int ret = domains.provider().cq_open(domain, attributes, queue, context);
  if (ret == 0) queues.take((*queue)->ops, &fi_ops_cq::read, &read_or_yield);
  return ret;
}

int open_domain(fid_fabric* fabric, fi_info* info, fid_domain** domain, void* context) {
  const int ret = fabrics.provider().domain(fabric, info, domain, context);
  if (ret == 0) domains.take((*domain)->ops, &fi_ops_domain::cq_open, &open_queue);
  return ret;
}

}  // namespace

extern "C" int fi_fabric(fi_fabric_attr* attributes, fid_fabric** fabric, void* context) {
  static const auto real = reinterpret_cast<decltype(&fi_fabric)>(dlsym(RTLD_NEXT, "fi_fabric"));
  const int ret = real == nullptr ? -FI_ENOSYS : real(attributes, fabric, context);
  if (ret == 0) fabrics.take((*fabric)->ops, &fi_ops_fabric::domain, &open_domain);
  return ret;
}
