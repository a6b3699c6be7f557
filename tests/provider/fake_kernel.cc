// SPDX-License-Identifier: GPL-2.0
#include "fake_kernel.hpp"

#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <fstream>

namespace weft_test {
namespace {

constexpr char kMemoryName[] = "weft-rings";
constexpr uint32_t kSqMaxBlocks = WEFT_SQ_MAX_BLOCKS;

template <typename Out>
void answer(uint64_t response, const Out& out, size_t offset = 0) {
  if (response == 0) {
    abort();  // a command that has an answer came without room for it
  }
  memcpy(reinterpret_cast<uint8_t*>(static_cast<uintptr_t>(response)) + offset, &out, sizeof(out));
}

template <typename In>
const In& as(const uint8_t* request) {
  return *reinterpret_cast<const In*>(request);
}

size_t page_align(size_t bytes) {
  return (bytes + 4095) & ~size_t{4095};
}

// Mappings of the memory file in this process.
size_t mappings() {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  size_t count = 0;
  while (std::getline(maps, line)) {
    count += line.find(kMemoryName) != std::string::npos;
  }
  return count;
}

}  // namespace

void FakeQp::set_state(uint32_t to) {
  state = to;
  store(sq.control()->qp_state, to);
  store(rq.control()->qp_state, to);
}

FakeKernel& FakeKernel::get() {
  static FakeKernel* kernel = [] {
    auto* made = new FakeKernel;
    // For programs that are not a test of ours: libfake_kernel.so preloaded.
    if (const char* abi = getenv("FAKE_KERNEL_ABI")) {
      made->abi_version = static_cast<uint32_t>(strtoul(abi, nullptr, 0));
    }
    if (const char* id = getenv("FAKE_KERNEL_DRIVER_ID")) {
      made->driver_id = static_cast<uint32_t>(strtoul(id, nullptr, 0));
    }
    if (const char* device = getenv("FAKE_KERNEL_NAME")) {
      made->name = device;
    }
    return made;
  }();
  return *kernel;
}

void FakeKernel::fail(uint32_t command, int error, unsigned times) {
  failures_[command] = {error, times};
}

size_t FakeKernel::user_mappings() const {
  return mappings() - own_mappings_;
}

bool FakeKernel::complete(uint32_t handle, const weft_cqe& cqe, uint8_t flags, uint8_t status,
                          uint8_t opcode, bool solicited) {
  FakeCq& queue = cq(handle);
  if (!queue.ring.push(cqe, flags, status, opcode)) {
    return false;
  }
  if (queue.ring.notify(solicited || status != 0) && queue.channel_fd >= 0) {
    const ib_uverbs_comp_event_desc event = {.cq_handle = queue.user_handle};
    queue.events_reported++;
    if (::write(queue.channel_fd, &event, sizeof(event)) != sizeof(event)) {
      abort();
    }
  }
  return true;
}

int FakeKernel::open_device() {
  memory_fd_ = memfd_create(kMemoryName, MFD_CLOEXEC);
  next_offset_ = 0;
  cmd_fd_ = memory_fd_;
  return cmd_fd_;
}

void* FakeKernel::new_ring(size_t bytes, weft_mmap* where) {
  where->offset = next_offset_;
  where->length = page_align(bytes);
  next_offset_ += where->length;
  if (ftruncate(memory_fd_, static_cast<off_t>(next_offset_)) != 0) {
    abort();
  }
  const size_t before = mappings();
  void* own = mmap(nullptr, where->length, PROT_READ | PROT_WRITE, MAP_SHARED, memory_fd_,
                   static_cast<off_t>(where->offset));
  if (own == MAP_FAILED) {
    abort();
  }
  own_mappings_ += mappings() - before;
  if (spoil_ >= 0 && spoil_-- == 0) {
    where->offset++;
  }
  return own;
}

int FakeKernel::create_cq(const uint8_t* request, uint64_t response) {
  const auto& cmd = as<ib_uverbs_create_cq>(request);
  if (cmd.cqe == 0) {
    return EINVAL;
  }
  auto made = std::make_unique<FakeCq>();
  weft_create_cq_resp resp = {};
  resp.cqe = std::bit_ceil(cmd.cqe);
  void* memory = new_ring(WEFT_RING_OFFSET + resp.cqe * sizeof(weft_cqe), &resp.ring);
  made->ring = KernelCompletionQueue(memory, resp.cqe);
  made->user_handle = cmd.user_handle;
  made->channel_fd = cmd.comp_channel < 0 ? -1 : channels_.at(cmd.comp_channel);
  answer(response, ib_uverbs_create_cq_resp{.cq_handle = next_handle_, .cqe = resp.cqe});
  answer(response, resp, sizeof(ib_uverbs_create_cq_resp));
  cqs_[next_handle_++] = std::move(made);
  return 0;
}

int FakeKernel::create_qp(const uint8_t* request, uint64_t response) {
  const auto& cmd = as<ib_uverbs_create_qp>(request);
  if (cmd.qp_type != IBV_QPT_RC) {
    return EOPNOTSUPP;
  }
  auto made = std::make_unique<FakeQp>();
  const uint32_t caps[] = {cmd.max_send_wr, cmd.max_recv_wr, cmd.max_send_sge, cmd.max_recv_sge,
                           cmd.max_inline_data};
  memcpy(made->caps, caps, sizeof(caps));
  weft_create_qp_resp resp = {};
  resp.sq_max_blocks = std::max(weft_sq_blocks_for_sge(cmd.max_send_sge),
                                weft_sq_blocks_for_inline(cmd.max_inline_data));
  if (resp.sq_max_blocks > kSqMaxBlocks) {
    return EINVAL;
  }
  resp.sq_blocks = std::bit_ceil(std::max(1U, cmd.max_send_wr * resp.sq_max_blocks));
  resp.rq_entries = std::bit_ceil(std::max(1U, cmd.max_recv_wr));
  resp.rq_max_sge = cmd.max_recv_sge;
  made->sq = KernelSendQueue(new_ring(WEFT_RING_OFFSET + resp.sq_blocks * WEFT_SQ_BLOCK, &resp.sq),
                             resp.sq_blocks);
  made->rq = KernelRecvQueue(
      new_ring(WEFT_RING_OFFSET + resp.rq_entries * weft_rq_stride(resp.rq_max_sge), &resp.rq),
      resp.rq_entries, resp.rq_max_sge);
  made->qp_num = next_handle_ + 1000;
  made->send_cq = cmd.send_cq_handle;
  made->recv_cq = cmd.recv_cq_handle;
  made->set_state(IBV_QPS_RESET);

  ib_uverbs_create_qp_resp core;
  memset(&core, 0, sizeof(core));
  core.qp_handle = next_handle_;
  core.qpn = made->qp_num;
  core.max_send_wr = caps[0];
  core.max_recv_wr = caps[1];
  core.max_send_sge = caps[2];
  core.max_recv_sge = caps[3];
  core.max_inline_data = caps[4];
  answer(response, core);
  answer(response, resp, sizeof(core));
  qps_[next_handle_++] = std::move(made);
  return 0;
}

int FakeKernel::modify_qp(const uint8_t* request) {
  const auto& cmd = as<ib_uverbs_modify_qp>(request);
  FakeQp& queue_pair = qp(cmd.qp_handle);
  if ((cmd.attr_mask & IBV_QP_STATE) == 0) {
    return 0;
  }
  if (cmd.qp_state == IBV_QPS_RESET) {
    queue_pair.sq.reset();
    queue_pair.rq.reset();
  }
  queue_pair.set_state(cmd.qp_state);
  return 0;
}

int FakeKernel::query_qp(const uint8_t* request, uint64_t response) {
  const FakeQp& queue_pair = qp(as<ib_uverbs_query_qp>(request).qp_handle);
  ib_uverbs_query_qp_resp resp;
  memset(&resp, 0, sizeof(resp));
  resp.qp_state = static_cast<uint8_t>(queue_pair.state);
  resp.max_send_wr = queue_pair.caps[0];
  resp.max_recv_wr = queue_pair.caps[1];
  resp.max_send_sge = queue_pair.caps[2];
  resp.max_recv_sge = queue_pair.caps[3];
  resp.max_inline_data = queue_pair.caps[4];
  answer(response, resp);
  return 0;
}

int FakeKernel::execute(uint32_t command, const uint8_t* request, uint64_t response) {
  switch (command) {
    case IB_USER_VERBS_CMD_GET_CONTEXT: {
      int ends[2];
      if (pipe2(ends, O_CLOEXEC) != 0) {
        return errno;
      }
      ::close(ends[1]);  // no asynchronous event ever comes
      const uint32_t core[2] = {static_cast<uint32_t>(ends[0]), 1};  // async_fd, vectors
      answer(response, core);
      answer(response, weft_ucontext_resp{.max_inline = WEFT_MAX_INLINE, .reserved = 0},
             sizeof(core));
      return 0;
    }
    case IB_USER_VERBS_CMD_QUERY_DEVICE: {
      ib_uverbs_query_device_resp resp = {};
      resp.fw_ver = uint64_t{1} << 32 | uint64_t{2} << 16 | 3;
      resp.max_qp = 4711;
      resp.max_sge = WEFT_MAX_SGE;
      resp.phys_port_cnt = 1;
      answer(response, resp);
      return 0;
    }
    case IB_USER_VERBS_CMD_QUERY_PORT: {
      ib_uverbs_query_port_resp resp = {};
      resp.state = IBV_PORT_ACTIVE;
      resp.gid_tbl_len = 1;
      resp.link_layer = IBV_LINK_LAYER_ETHERNET;
      answer(response, resp);
      return 0;
    }
    case IB_USER_VERBS_CMD_ALLOC_PD:
      pds_++;
      answer(response, next_handle_++);
      return 0;
    case IB_USER_VERBS_CMD_DEALLOC_PD:
      pds_--;
      return 0;
    case IB_USER_VERBS_CMD_REG_MR: {
      const auto& cmd = as<ib_uverbs_reg_mr>(request);
      last_mr_start = cmd.start;
      last_mr_iova = cmd.hca_va;
      const uint32_t resp[3] = {next_handle_++, 0x1100, 0x2200};  // handle, lkey, rkey
      answer(response, resp);
      mrs_++;
      return 0;
    }
    case IB_USER_VERBS_CMD_DEREG_MR:
      mrs_--;
      return 0;
    case IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL: {
      int ends[2];
      if (pipe2(ends, O_CLOEXEC) != 0) {
        return errno;
      }
      channels_[ends[0]] = ends[1];
      answer(response, static_cast<uint32_t>(ends[0]));
      return 0;
    }
    case IB_USER_VERBS_CMD_CREATE_CQ:
      return create_cq(request, response);
    case IB_USER_VERBS_CMD_DESTROY_CQ: {
      const auto it = cqs_.find(as<ib_uverbs_destroy_cq>(request).cq_handle);
      if (it == cqs_.end()) {
        return EINVAL;
      }
      ib_uverbs_destroy_cq_resp resp = {};
      resp.comp_events_reported = it->second->events_reported;
      answer(response, resp);
      cqs_.erase(it);
      return 0;
    }
    case IB_USER_VERBS_CMD_CREATE_QP:
      return create_qp(request, response);
    case IB_USER_VERBS_CMD_MODIFY_QP:
      return modify_qp(request);
    case IB_USER_VERBS_CMD_QUERY_QP:
      return query_qp(request, response);
    case IB_USER_VERBS_CMD_DESTROY_QP:
      if (qps_.erase(as<ib_uverbs_destroy_qp>(request).qp_handle) == 0) {
        return EINVAL;
      }
      answer(response, ib_uverbs_destroy_qp_resp{});
      return 0;
    case IB_USER_VERBS_CMD_POST_SEND: {
      const auto& cmd = as<ib_uverbs_post_send>(request);
      if (cmd.wr_count != 0 || cmd.wqe_size < sizeof(ib_uverbs_send_wr)) {
        return EINVAL;
      }
      FakeQp& queue_pair = qp(cmd.qp_handle);
      queue_pair.send_doorbells++;
      return 0;
    }
    case IB_USER_VERBS_CMD_POST_RECV: {
      const auto& cmd = as<ib_uverbs_post_recv>(request);
      if (cmd.wr_count != 0 || cmd.wqe_size < sizeof(ib_uverbs_recv_wr)) {
        return EINVAL;
      }
      qp(cmd.qp_handle).recv_doorbells++;
      return 0;
    }
    default:
      return EOPNOTSUPP;
  }
}

ssize_t FakeKernel::command(const void* buffer, size_t bytes) {
  const auto* header = static_cast<const ib_uverbs_cmd_hdr*>(buffer);
  if (bytes < sizeof(*header)) {
    errno = EINVAL;
    return -1;
  }
  if ((header->command & IB_USER_VERBS_CMD_FLAG_EXTENDED) != 0) {
    errno = EOPNOTSUPP;  // an old kernel: libibverbs falls back
    return -1;
  }
  const uint32_t number = header->command & IB_USER_VERBS_CMD_COMMAND_MASK;
  commands[number]++;
  int error = 0;
  // The uverbs core judges the header before the driver sees anything.
  if (size_t{header->in_words} * 4 != bytes) {
    error = EINVAL;
  } else if (auto it = failures_.find(number); it != failures_.end() && it->second.times > 0) {
    it->second.times--;
    error = it->second.error;
  } else {
    const uint8_t* request = static_cast<const uint8_t*>(buffer) + sizeof(*header);
    uint64_t response = 0;  // the first word, in commands that have one
    if (bytes >= sizeof(*header) + sizeof(response)) {
      memcpy(&response, request, sizeof(response));
    }
    error = execute(number, request, response);
  }
  if (error != 0) {
    errno = error;
    return -1;
  }
  return static_cast<ssize_t>(bytes);
}

}  // namespace weft_test
