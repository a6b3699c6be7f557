// SPDX-License-Identifier: GPL-2.0
//
// A kernel with one Weft device, inside this process: libibverbs' netlink
// queries, its open() of /dev/infiniband/uverbs0 and the commands it writes there
// are answered here (fake_kernel.cc defines those functions over libc's and
// libnl's). Rings are real shared mappings of a memory file. What the wire would
// do, the test does: it fetches work requests and adds completions.
#ifndef WEFT_TESTS_FAKE_KERNEL_HPP
#define WEFT_TESTS_FAKE_KERNEL_HPP

#include <stdint.h>
#include <sys/types.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernel_side.hpp"

namespace weft_test {

struct FakeCq {
  uint64_t user_handle;
  int channel_fd;            // the kernel's end, or -1
  uint32_t events_reported;  // libibverbs waits until all are acknowledged
  KernelCompletionQueue ring;
};

struct FakeQp {
  uint32_t qp_num;
  uint32_t send_cq;
  uint32_t recv_cq;
  uint32_t state;
  uint32_t caps[5];  // send_wr, recv_wr, send_sge, recv_sge, inline
  KernelSendQueue sq;
  KernelRecvQueue rq;
  unsigned send_doorbells = 0;
  unsigned recv_doorbells = 0;

  void set_state(uint32_t to);
};

class FakeKernel {
 public:
  static FakeKernel& get();

  // What the device is; may be changed between opens.
  std::string name = "weft0";
  uint32_t index = 0;  // by which libibverbs knows it again
  uint32_t driver_id = WEFT_DRIVER_ID;
  uint32_t abi_version = WEFT_ABI_VERSION;

  // The next `times` commands `command` fail with `error`.
  void fail(uint32_t command, int error, unsigned times = 1);
  // The next ring is given out with an offset that cannot be mapped, after
  // `skip` good ones.
  void spoil_mapping(int skip = 0) { spoil_ = skip; }

  FakeCq& cq(uint32_t handle) { return *cqs_.at(handle); }
  FakeQp& qp(uint32_t handle) { return *qps_.at(handle); }
  size_t num_cqs() const { return cqs_.size(); }
  size_t num_qps() const { return qps_.size(); }
  size_t num_pds() const { return pds_; }
  size_t num_mrs() const { return mrs_; }

  // Of the last memory region registered.
  uint64_t last_mr_start = 0;
  uint64_t last_mr_iova = 0;

  // Adds a completion and raises the event if one is due.
  bool complete(uint32_t handle, const weft_cqe& cqe, uint8_t flags, uint8_t status, uint8_t opcode,
                bool solicited = false);

  // Ring mappings that the user holds (not counting the kernel's own).
  size_t user_mappings() const;

  // How often a command was issued.
  std::map<uint32_t, unsigned> commands;

  // -- for the functions that stand in for libc's --
  int open_device();
  bool owns(int fd) const { return fd >= 0 && fd == cmd_fd_; }
  void closed() { cmd_fd_ = -1; }
  ssize_t command(const void* buffer, size_t bytes);

 private:
  // Makes a ring of `bytes` and tells in `where` how to map it.
  void* new_ring(size_t bytes, weft_mmap* where);
  int execute(uint32_t command, const uint8_t* request, uint64_t response);
  int create_cq(const uint8_t* request, uint64_t response);
  int create_qp(const uint8_t* request, uint64_t response);
  int modify_qp(const uint8_t* request);
  int query_qp(const uint8_t* request, uint64_t response);

  struct Failure {
    int error;
    unsigned times;
  };

  int cmd_fd_ = -1;
  int memory_fd_ = -1;
  uint64_t next_offset_ = 0;
  size_t own_mappings_ = 0;
  int spoil_ = -1;
  uint32_t next_handle_ = 1;
  size_t pds_ = 0;
  size_t mrs_ = 0;
  std::map<uint32_t, Failure> failures_;
  std::map<int, int> channels_;  // the user's end to the kernel's
  std::map<uint32_t, std::unique_ptr<FakeCq>> cqs_;
  std::map<uint32_t, std::unique_ptr<FakeQp>> qps_;
};

}  // namespace weft_test

#endif  // WEFT_TESTS_FAKE_KERNEL_HPP
