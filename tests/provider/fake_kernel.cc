// SPDX-License-Identifier: GPL-2.0
#include "fake_kernel.hpp"

#include <errno.h>
#include <fcntl.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <fstream>
#include <thread>
#include <utility>

namespace weft_test {
namespace {

constexpr char kMemoryName[] = "weft-rings";

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

// The answer of the core, and behind it that of the driver.
template <typename Core, typename Driver>
void answer_both(uint64_t response, const Core& core, const Driver& driver) {
  answer(response, core);
  answer(response, driver, sizeof(core));
}

// What a system call returns.
int outcome(int error) {
  errno = error == 0 ? errno : error;
  return error == 0 ? 0 : -1;
}

// Ends an object, and tells how many of its events libibverbs has to wait for.
template <typename Out, typename Object>
int destroy(std::map<uint32_t, std::unique_ptr<Object>>& objects, uint32_t handle,
            uint64_t response) {
  const auto it = objects.find(handle);
  if (it == objects.end()) return EINVAL;
  Out out = {};
  if constexpr (requires { out.comp_events_reported; })
    out.comp_events_reported = it->second->events_reported;
  else
    out.events_reported = it->second->events_reported;
  answer(response, out);
  objects.erase(it);
  return 0;
}

// The user's end of a pipe, and the kernel's.
std::array<int, 2> new_pipe() {
  std::array<int, 2> ends = {};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) abort();
  return ends;
}

template <typename Event>
void write_event(int to, const Event& event) {
  if (::write(to, &event, sizeof(event)) != sizeof(event)) abort();
}

}  // namespace

// Not the number of mappings: neighbours become one.
size_t FakeKernel::user_mapped_bytes() const {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  size_t bytes = 0;
  while (std::getline(maps, line)) {
    size_t start = 0;
    size_t end = 0;
    if (line.find(kMemoryName) != std::string::npos &&
        sscanf(line.c_str(), "%zx-%zx", &start, &end) == 2) {
      bytes += end - start;
    }
  }
  return bytes - own_bytes_;
}

void FakeQp::set_state(uint32_t to) {
  state = to;
  store(sq.control()->qp_state, to);
  if (has_rq) store(rq.control()->qp_state, to);
}

FakeKernel& FakeKernel::get() {
  static FakeKernel* kernel = new FakeKernel;
  return *kernel;
}

bool FakeKernel::complete(uint32_t handle, const weft_cqe& cqe, uint8_t flags, uint8_t status,
                          uint8_t opcode, bool solicited) {
  const std::lock_guard guard(lock_);
  FakeCq& queue = cq(handle);
  if (!queue.ring.push(cqe, flags, status, opcode)) return false;
  if (queue.ring.notify(solicited || status != 0) && queue.channel_fd >= 0) {
    queue.events_reported++;
    write_event(queue.channel_fd, ib_uverbs_comp_event_desc{.cq_handle = queue.user_handle});
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
  where->length = (bytes + 4095) & ~size_t{4095};
  next_offset_ += where->length;
  if (ftruncate(memory_fd_, static_cast<off_t>(next_offset_)) != 0) abort();
  void* own = mmap(nullptr, where->length, PROT_READ | PROT_WRITE, MAP_SHARED, memory_fd_,
                   static_cast<off_t>(where->offset));
  if (own == MAP_FAILED) abort();
  own_bytes_ += where->length;
  if (spoil_ >= 0 && spoil_-- == 0) where->offset++;
  return own;
}

int FakeKernel::create_cq(uint64_t user_handle, uint32_t cqe, int32_t channel, uint32_t flags,
                          uint64_t response, size_t core) {
  if (cqe == 0) return EINVAL;
  auto made = std::make_unique<FakeCq>();
  weft_create_cq_resp resp = {.cqe = std::bit_ceil(cqe)};
  void* memory = new_ring(WEFT_RING_OFFSET + resp.cqe * sizeof(weft_cqe), &resp.ring);
  made->ring = KernelCompletionQueue(memory, resp.cqe);
  made->user_handle = user_handle;
  made->flags = flags;
  made->channel_fd = channel < 0 ? -1 : channels_.at(channel);
  answer(response, ib_uverbs_create_cq_resp{.cq_handle = next_handle_, .cqe = resp.cqe});
  answer(response, resp, core);
  cqs_[next_handle_++] = std::move(made);
  return 0;
}

int FakeKernel::resize_cq(const uint8_t* request, uint64_t response) {
  const auto& cmd = as<ib_uverbs_resize_cq>(request);
  FakeCq& queue = cq(cmd.cq_handle);
  weft_create_cq_resp resp = {.cqe = std::bit_ceil(cmd.cqe)};
  if (queue.ring.unpolled() > resp.cqe) return EINVAL;
  queue.ring.move(new_ring(WEFT_RING_OFFSET + resp.cqe * sizeof(weft_cqe), &resp.ring), resp.cqe);
  answer_both(response, ib_uverbs_resize_cq_resp{.cqe = resp.cqe}, resp);
  return 0;
}

int FakeKernel::create_srq(const uint8_t* request, uint64_t response) {
  const auto& cmd = as<ib_uverbs_create_srq>(request);
  if (cmd.max_wr == 0 || cmd.max_sge > WEFT_MAX_SGE) return EINVAL;
  auto made = std::make_unique<FakeSrq>();
  weft_create_srq_resp resp = {
      .entries = std::bit_ceil(cmd.max_wr), .max_sge = cmd.max_sge, .srq_num = next_handle_ + 2000};
  made->ring = KernelRecvQueue(
      new_ring(WEFT_RING_OFFSET + resp.entries * weft_rq_stride(resp.max_sge), &resp.ring),
      resp.entries, resp.max_sge);
  made->user_handle = cmd.user_handle;
  made->limit = cmd.srq_limit;
  made->max_wr = resp.entries;
  made->max_sge = cmd.max_sge;
  const ib_uverbs_create_srq_resp core = {
      .srq_handle = next_handle_, .max_wr = resp.entries, .max_sge = cmd.max_sge};
  answer_both(response, core, resp);
  srqs_[next_handle_++] = std::move(made);
  return 0;
}

int FakeKernel::modify_srq(const uint8_t* request) {
  const auto& cmd = as<ib_uverbs_modify_srq>(request);
  FakeSrq& queue = srq(cmd.srq_handle);
  if ((cmd.attr_mask & IBV_SRQ_MAX_WR) != 0) return EOPNOTSUPP;
  if ((cmd.attr_mask & IBV_SRQ_LIMIT) != 0) queue.limit = cmd.srq_limit;
  return 0;
}

void FakeKernel::raise(ibv_event_type type, uint64_t element) {
  for (auto& [handle, queue] : srqs_) queue->events_reported += queue->user_handle == element;
  for (auto& [handle, queue] : qps_) queue->events_reported += queue->user_handle == element;
  write_event(async_fd_, ib_uverbs_async_event_desc{.element = element,
                                                    .event_type = static_cast<uint32_t>(type)});
}

int FakeKernel::create_qp(const uint8_t* request, uint64_t response) {
  const auto& cmd = as<ib_uverbs_create_qp>(request);
  if (cmd.qp_type != IBV_QPT_RC) return EOPNOTSUPP;
  auto made = std::make_unique<FakeQp>();
  made->cap = {cmd.max_send_wr, cmd.max_recv_wr, cmd.max_send_sge, cmd.max_recv_sge,
               cmd.max_inline_data};
  weft_create_qp_resp resp = {.sq_max_blocks =
                                  std::max(weft_sq_blocks_for_sge(cmd.max_send_sge),
                                           weft_sq_blocks_for_inline(cmd.max_inline_data))};
  if (resp.sq_max_blocks > uint32_t{WEFT_SQ_MAX_BLOCKS}) return EINVAL;
  resp.sq_blocks = std::bit_ceil(std::max(1U, cmd.max_send_wr * resp.sq_max_blocks));
  made->sq = KernelSendQueue(new_ring(WEFT_RING_OFFSET + resp.sq_blocks * WEFT_SQ_BLOCK, &resp.sq),
                             resp.sq_blocks);
  if (cmd.is_srq != 0) {
    if (!srqs_.contains(cmd.srq_handle)) return EINVAL;
  } else {
    resp.rq_entries = std::bit_ceil(std::max(1U, cmd.max_recv_wr));
    resp.rq_max_sge = cmd.max_recv_sge;
    made->rq = KernelRecvQueue(
        new_ring(WEFT_RING_OFFSET + resp.rq_entries * weft_rq_stride(resp.rq_max_sge), &resp.rq),
        resp.rq_entries, resp.rq_max_sge);
    made->has_rq = true;
  }
  made->user_handle = cmd.user_handle;
  made->qp_num = next_handle_ + 1000;
  made->set_state(IBV_QPS_RESET);

  const ib_uverbs_create_qp_resp core = {.qp_handle = next_handle_,
                                         .qpn = made->qp_num,
                                         .max_send_wr = cmd.max_send_wr,
                                         .max_recv_wr = cmd.max_recv_wr,
                                         .max_send_sge = cmd.max_send_sge,
                                         .max_recv_sge = cmd.max_recv_sge,
                                         .max_inline_data = cmd.max_inline_data};
  answer_both(response, core, resp);
  qps_[next_handle_++] = std::move(made);
  return 0;
}

int FakeKernel::modify_qp(const uint8_t* request) {
  const auto& cmd = as<ib_uverbs_modify_qp>(request);
  FakeQp& queue_pair = qp(cmd.qp_handle);
  if ((cmd.attr_mask & IBV_QP_STATE) == 0) return 0;
  if (cmd.qp_state == IBV_QPS_RESET) {
    queue_pair.sq.reset();
    if (queue_pair.has_rq) queue_pair.rq.reset();
  }
  queue_pair.set_state(cmd.qp_state);
  return 0;
}

int FakeKernel::query_qp(const uint8_t* request, uint64_t response) {
  const FakeQp& queue_pair = qp(as<ib_uverbs_query_qp>(request).qp_handle);
  answer(response, ib_uverbs_query_qp_resp{.max_send_wr = queue_pair.cap.max_send_wr,
                                           .max_recv_wr = queue_pair.cap.max_recv_wr,
                                           .max_send_sge = queue_pair.cap.max_send_sge,
                                           .max_recv_sge = queue_pair.cap.max_recv_sge,
                                           .max_inline_data = queue_pair.cap.max_inline_data,
                                           .qp_state = static_cast<uint8_t>(queue_pair.state)});
  return 0;
}

int FakeKernel::execute(uint32_t command, const uint8_t* request, uint64_t response) {
  switch (command) {
    case IB_USER_VERBS_CMD_GET_CONTEXT: {
      const auto [here, there] = new_pipe();
      if (async_fd_ >= 0) ::close(async_fd_);
      async_fd_ = there;
      const uint32_t core[2] = {static_cast<uint32_t>(here), 1};  // async_fd, vectors
      answer_both(response, core, weft_ucontext_resp{.max_inline = WEFT_MAX_INLINE, .reserved = 0});
      return 0;
    }
    case IB_USER_VERBS_CMD_QUERY_DEVICE: {
      const uint64_t version = uint64_t{1} << 32 | uint64_t{2} << 16 | 3;
      answer(response,
             ib_uverbs_query_device_resp{
                 .fw_ver = version, .max_qp = 4711, .max_sge = WEFT_MAX_SGE, .phys_port_cnt = 1});
      return 0;
    }
    case IB_USER_VERBS_CMD_QUERY_PORT: {
      const ib_uverbs_query_port_resp resp = {
          .gid_tbl_len = 1, .state = IBV_PORT_ACTIVE, .link_layer = IBV_LINK_LAYER_ETHERNET};
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
      const auto [here, there] = new_pipe();
      channels_[here] = there;
      answer(response, static_cast<uint32_t>(here));
      return 0;
    }
    case IB_USER_VERBS_CMD_REREG_MR: {
      const auto& cmd = as<ib_uverbs_rereg_mr>(request);
      last_mr_start = cmd.start;
      last_mr_iova = cmd.hca_va;
      last_mr_flags = cmd.flags;
      answer(response, ib_uverbs_rereg_mr_resp{.lkey = 0x1101, .rkey = 0x2201});
      return 0;
    }
    case IB_USER_VERBS_CMD_ALLOC_MW: {
      const uint32_t rkey = 0x3300 + as<ib_uverbs_alloc_mw>(request).mw_type;
      answer(response, ib_uverbs_alloc_mw_resp{.mw_handle = next_handle_++, .rkey = rkey});
      mws_++;
      return 0;
    }
    case IB_USER_VERBS_CMD_DEALLOC_MW:
      mws_--;
      return 0;
    case IB_USER_VERBS_CMD_CREATE_CQ: {
      const auto& cmd = as<ib_uverbs_create_cq>(request);
      return create_cq(cmd.user_handle, cmd.cqe, cmd.comp_channel, 0, response,
                       sizeof(ib_uverbs_create_cq_resp));
    }
    case IB_USER_VERBS_CMD_RESIZE_CQ:
      return resize_cq(request, response);
    case IB_USER_VERBS_CMD_CREATE_SRQ:
      return create_srq(request, response);
    case IB_USER_VERBS_CMD_MODIFY_SRQ:
      return modify_srq(request);
    case IB_USER_VERBS_CMD_QUERY_SRQ: {
      const FakeSrq& queue = srq(as<ib_uverbs_query_srq>(request).srq_handle);
      ib_uverbs_query_srq_resp resp = {
          .max_wr = queue.max_wr, .max_sge = queue.max_sge, .srq_limit = queue.limit};
      answer(response, resp);
      return 0;
    }
    case IB_USER_VERBS_CMD_DESTROY_SRQ:
      return destroy<ib_uverbs_destroy_srq_resp>(
          srqs_, as<ib_uverbs_destroy_srq>(request).srq_handle, response);
    case IB_USER_VERBS_CMD_DESTROY_CQ:
      return destroy<ib_uverbs_destroy_cq_resp>(cqs_, as<ib_uverbs_destroy_cq>(request).cq_handle,
                                                response);
    case IB_USER_VERBS_CMD_CREATE_QP:
      return create_qp(request, response);
    case IB_USER_VERBS_CMD_MODIFY_QP:
      return modify_qp(request);
    case IB_USER_VERBS_CMD_QUERY_QP:
      return query_qp(request, response);
    case IB_USER_VERBS_CMD_DESTROY_QP:
      return destroy<ib_uverbs_destroy_qp_resp>(qps_, as<ib_uverbs_destroy_qp>(request).qp_handle,
                                                response);
    default:
      return EOPNOTSUPP;
  }
}

int FakeKernel::execute_extended(uint32_t command, const uint8_t* request, uint64_t response) {
  if (command == IB_USER_VERBS_EX_CMD_MODIFY_CQ) {
    const auto& cmd = as<ib_uverbs_ex_modify_cq>(request);
    cq(cmd.cq_handle).moderation = cmd.attr;
    return cmd.attr_mask == IBV_CQ_ATTR_MODERATE && cmd.reserved == 0 ? 0 : EINVAL;
  }
  if (command != IB_USER_VERBS_EX_CMD_CREATE_CQ) {
    return EOPNOTSUPP;  // an old kernel: libibverbs falls back
  }
  const auto& cmd = as<ib_uverbs_ex_create_cq>(request);
  return create_cq(cmd.user_handle, cmd.cqe, cmd.comp_channel, cmd.flags, response,
                   sizeof(ib_uverbs_ex_create_cq_resp));
}

// Of a queue pair's number, or of a shared receive queue's handle, which has no length.
int FakeKernel::doorbell(const ib_uverbs_ioctl_hdr& header, const ib_uverbs_attr& queue) {
  if (header.length != sizeof(header) + sizeof(queue) || header.num_attrs != 1 ||
      header.driver_id != driver_id || queue.attr_id != WEFT_ATTR_DOORBELL) {
    return EINVAL;
  }
  if (doorbell_failure_.times > 0) {
    doorbell_failure_.times--;
    return doorbell_failure_.error;
  }
  if (header.object_id == UVERBS_OBJECT_SRQ) {
    srq(static_cast<uint32_t>(queue.data)).doorbells++;
    return queue.len == 0 ? 0 : EINVAL;
  }
  if (queue.len != sizeof(uint64_t)) return EINVAL;
  for (auto& [handle, rung] : qps_) {
    if (rung->qp_num == queue.data) {
      (header.method_id == WEFT_METHOD_SEND_DOORBELL ? rung->send_doorbells
                                                     : rung->recv_doorbells)++;
      return 0;
    }
  }
  return ENOENT;
}

// One of libibverbs' methods is by ioctl alone; for others ENOTTY tells it to write commands.
int FakeKernel::ioctl(void* argument) {
  const std::lock_guard guard(lock_);
  const auto* header = static_cast<const ib_uverbs_ioctl_hdr*>(argument);
  if (header->method_id >= WEFT_METHOD_SEND_DOORBELL)
    return outcome(doorbell(*header, header->attrs[0]));
  if (header->object_id != UVERBS_OBJECT_MR || header->method_id != UVERBS_METHOD_REG_DMABUF_MR)
    return outcome(ENOTTY);
  auto* attrs = reinterpret_cast<ib_uverbs_attr*>(static_cast<uint8_t*>(argument) +
                                                  sizeof(ib_uverbs_ioctl_hdr));
  std::map<uint16_t, ib_uverbs_attr*> by_id;
  for (uint16_t i = 0; i < header->num_attrs; i++) by_id[attrs[i].attr_id] = &attrs[i];
  by_id.at(UVERBS_ATTR_REG_DMABUF_MR_HANDLE)->data = next_handle_++;
  last_mr_offset = by_id.at(UVERBS_ATTR_REG_DMABUF_MR_OFFSET)->data;
  last_mr_iova = by_id.at(UVERBS_ATTR_REG_DMABUF_MR_IOVA)->data;
  last_mr_fd = static_cast<int>(by_id.at(UVERBS_ATTR_REG_DMABUF_MR_FD)->data_s64);
  answer(by_id.at(UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY)->data, uint32_t{0x1102});
  answer(by_id.at(UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY)->data, uint32_t{0x2202});
  mrs_ += last_mr_fd >= 0;
  return outcome(last_mr_fd >= 0 ? 0 : EBADF);
}

ssize_t FakeKernel::command(const void* buffer, size_t bytes) {
  const auto* header = static_cast<const ib_uverbs_cmd_hdr*>(buffer);
  if (bytes < sizeof(*header)) return outcome(EINVAL);
  const uint32_t number = header->command & IB_USER_VERBS_CMD_COMMAND_MASK;
  if (auto delay = delays_.extract(number))
    std::this_thread::sleep_for(std::chrono::milliseconds(delay.mapped()));
  const std::lock_guard guard(lock_);
  int error = 0;
  // The uverbs core judges the header before the driver sees anything.
  const bool extended = (header->command & IB_USER_VERBS_CMD_FLAG_EXTENDED) != 0;
  const auto* extension = reinterpret_cast<const ib_uverbs_ex_cmd_hdr*>(header + 1);
  const size_t announced = extended
                               ? sizeof(*header) + sizeof(*extension) +
                                     (size_t{header->in_words} + extension->provider_in_words) * 8
                               : size_t{header->in_words} * 4;
  if (announced != bytes) {
    error = EINVAL;
  } else if (auto it = failures_.find(number); it != failures_.end() && it->second.times > 0) {
    it->second.times--;
    error = it->second.error;
  } else if (extended) {
    error = execute_extended(number, reinterpret_cast<const uint8_t*>(extension + 1),
                             extension->response);
  } else {
    const uint8_t* request = static_cast<const uint8_t*>(buffer) + sizeof(*header);
    uint64_t response = 0;  // the first word, in commands that have one
    if (bytes >= sizeof(*header) + sizeof(response)) memcpy(&response, request, sizeof(response));
    error = execute(number, request, response);
  }
  return outcome(error) == 0 ? static_cast<ssize_t>(bytes) : -1;
}

}  // namespace weft_test
