// SPDX-License-Identifier: GPL-2.0
// A kernel with one Weft device, inside this process: it answers libibverbs' netlink queries,
// commands and ioctl()s (interpose.cc). Rings are shared mappings of a memory file. The test does
// the wire's part: it fetches work requests and adds completions.
#pragma once

#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <stdlib.h>
#include <sys/types.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "kernel_side.hpp"

// A function that the program defines over a library's, and the one that it hides.
#define INTERPOSED extern "C" __attribute__((visibility("default")))

namespace weft_test {

template <typename Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

struct FakeCq {
  ib_uverbs_cq_moderation moderation = {};
  uint64_t user_handle;
  uint32_t flags;            // of its creation
  int channel_fd;            // the kernel's end, or -1
  uint32_t events_reported;  // libibverbs waits until all are acknowledged
  KernelCompletionQueue ring;
};

struct FakeSrq {
  uint64_t user_handle;
  uint32_t limit;
  uint32_t max_wr;
  uint32_t max_sge;
  KernelRecvQueue ring;
  unsigned doorbells = 0;
  uint32_t events_reported = 0;
};

struct FakeQp {
  uint64_t user_handle;
  uint32_t qp_num;
  uint32_t state;
  ibv_qp_cap cap;
  KernelSendQueue sq;
  KernelRecvQueue rq;
  unsigned send_doorbells = 0;
  unsigned recv_doorbells = 0;
  uint32_t events_reported = 0;
  bool has_rq = false;

  void set_peer(uint32_t peer) { store(sq.control()->peer, peer); }
  void set_state(uint32_t to);
};

class FakeKernel {
 public:
  static FakeKernel& get();

  // The properties of the device, which a test may change between opens.
  std::string name = "weft0";
  uint32_t index = 0;  // by which libibverbs knows it again
  uint32_t driver_id = WEFT_DRIVER_ID;
  uint32_t abi_version = WEFT_ABI_VERSION;
  // Devices are to be found in sysfs; for programs that libfake_kernel.so is preloaded into.
  bool netlink_closed = getenv("FAKE_KERNEL_NETLINK") != nullptr;

  // The next `times` commands `command` fail with `error`.
  void fail(uint32_t command, int error, unsigned times = 1) {
    failures_[command] = {error, times};
  }
  // The next `times` doorbells fail with `error`.
  void refuse_doorbell(int error, unsigned times = 1) { doorbell_failure_ = {error, times}; }
  // Makes the next command `command` take this long.
  void delay(uint32_t command, int64_t milliseconds) { delays_[command] = milliseconds; }
  // The next ring but `skip` is given out with an offset that cannot be mapped.
  void spoil_mapping(int skip = 0) { spoil_ = skip; }

  FakeCq& cq(uint32_t handle) { return *cqs_.at(handle); }
  FakeQp& qp(uint32_t handle) { return *qps_.at(handle); }
  size_t num_cqs() const { return cqs_.size(); }
  size_t num_qps() const { return qps_.size(); }
  size_t num_pds() const { return pds_; }
  size_t num_mrs() const { return mrs_; }
  size_t num_mws() const { return mws_; }
  size_t num_srqs() const { return srqs_.size(); }
  FakeSrq& srq(uint32_t handle) { return *srqs_.at(handle); }

  // Of the last memory region registered.
  uint64_t last_mr_start = 0;
  uint64_t last_mr_iova = 0;
  uint32_t last_mr_flags = 0;   // of the last region that was reregistered
  uint64_t last_mr_offset = 0;  // into the dma-buf
  int last_mr_fd = -1;

  // Puts an asynchronous event about the object with this user handle, or port.
  void raise(ibv_event_type type, uint64_t element);

  // Adds a completion and raises the event if one is due.
  bool complete(uint32_t handle, const weft_cqe& cqe, uint8_t flags, uint8_t status, uint8_t opcode,
                bool solicited = false);

  // Ring memory that the user has mapped (not counting the kernel's own mappings).
  size_t user_mapped_bytes() const;

  // Excludes commands, doorbells and complete(). Tests with threads hold it for the kernel's side.
  std::recursive_mutex& lock() { return lock_; }

  // -- for the functions that stand in for libc's --
  int open_device();
  bool owns(int fd) const { return fd >= 0 && fd == cmd_fd_; }
  void closed() { cmd_fd_ = -1; }
  ssize_t command(const void* buffer, size_t bytes);
  int ioctl(void* argument);

 private:
  // Makes a ring of `bytes` and tells in `where` how to map it.
  void* new_ring(size_t bytes, weft_mmap* where);
  int execute(uint32_t command, const uint8_t* request, uint64_t response);
  int execute_extended(uint32_t command, const uint8_t* request, uint64_t response);
  int doorbell(const ib_uverbs_ioctl_hdr& header, const ib_uverbs_attr& queue);
  // Makes a queue and answers; the driver's part stands `core` bytes into the answer.
  int create_cq(uint64_t user_handle, uint32_t cqe, int32_t channel, uint32_t flags,
                uint64_t response, size_t core);
  int resize_cq(const uint8_t* request, uint64_t response);
  int create_srq(const uint8_t* request, uint64_t response);
  int modify_srq(const uint8_t* request);
  int create_qp(const uint8_t* request, uint64_t response);
  int modify_qp(const uint8_t* request);
  int query_qp(const uint8_t* request, uint64_t response);

  struct Failure {
    int error;
    unsigned times;
  };

  std::recursive_mutex lock_;
  int cmd_fd_ = -1;
  int memory_fd_ = -1;
  uint64_t next_offset_ = 0;
  size_t own_bytes_ = 0;
  int spoil_ = -1;
  Failure doorbell_failure_ = {0, 0};
  std::map<uint32_t, int64_t> delays_;
  uint32_t next_handle_ = 1;
  size_t pds_ = 0;
  size_t mrs_ = 0;
  size_t mws_ = 0;
  int async_fd_ = -1;  // the kernel's end
  std::map<uint32_t, Failure> failures_;
  std::map<int, int> channels_;  // the user's end to the kernel's
  std::map<uint32_t, std::unique_ptr<FakeCq>> cqs_;
  std::map<uint32_t, std::unique_ptr<FakeQp>> qps_;
  std::map<uint32_t, std::unique_ptr<FakeSrq>> srqs_;
};

}  // namespace weft_test
