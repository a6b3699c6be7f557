// SPDX-License-Identifier: GPL-2.0
#include "endpoint.h"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "failure.h"

namespace placement {

namespace {

int milliseconds_until(Clock::time_point end) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
  return static_cast<int>(std::max<std::int64_t>(left, 0));
}

// Returns true if the descriptor becomes readable in time.
bool readable(int descriptor, Clock::time_point end) {
  pollfd waiting{.fd = descriptor, .events = POLLIN, .revents = 0};
  for (;;) {
    const int ready = ::poll(&waiting, 1, milliseconds_until(end));
    if (ready >= 0 || errno != EINTR) {
      return ready > 0;
    }
  }
}

}  // namespace

std::string to_string(const ibv_wc& completion) {
  return "opcode " + std::to_string(completion.opcode) + ", status " +
         ibv_wc_status_str(completion.status) + " (" + std::to_string(completion.status) +
         "), vendor error " + std::to_string(completion.vendor_err) + ", wr_id " +
         std::to_string(completion.wr_id) + ", " + std::to_string(completion.byte_len) + " bytes";
}

std::uint64_t Endpoint::new_wr_id() {
  static std::uint64_t last = 0x1122334400000000U;
  return ++last;
}

Endpoint::Endpoint(rdma_cm_id* id, std::string name, const Shape& shape)
    : id_(id), name_(std::move(name)) {
  try {
    create_queues(shape);
    memory_ = std::make_unique<Memory>(pd_, shape.arena, shape.access);
  } catch (...) {
    destroy();
    throw;
  }
}

void Endpoint::create_domain(const Shape& shape) {
  if (shape.pd != nullptr) {
    pd_ = shape.pd;
    return;
  }
  protection_ = ibv_alloc_pd(id_->verbs);
  if (protection_ == nullptr) {
    fail_errno("ibv_alloc_pd");
  }
  if (!shape.domain) {
    pd_ = protection_;
    return;
  }
  ibv_td_init_attr thread{};
  td_ = ibv_alloc_td(id_->verbs, &thread);
  if (td_ == nullptr) {
    fail_errno("ibv_alloc_td");
  }
  ibv_parent_domain_init_attr parent{};
  parent.pd = protection_;
  parent.td = td_;
  pd_ = ibv_alloc_parent_domain(id_->verbs, &parent);
  if (pd_ == nullptr) {
    fail_errno("ibv_alloc_parent_domain");
  }
}

ibv_cq* Endpoint::create_cq(const Shape& shape, ibv_comp_channel* channel) const {
  if (!shape.extended) {
    return ibv_create_cq(id_->verbs, static_cast<int>(shape.cq_entries), nullptr, channel, 0);
  }
  ibv_cq_init_attr_ex init{};
  init.cqe = shape.cq_entries;
  init.channel = channel;
  init.wc_flags = IBV_WC_STANDARD_FLAGS;
  if (shape.stamps) {
    init.wc_flags |= IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
    init.wc_flags |= IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
  }
  if (shape.domain) {
    init.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
    init.parent_domain = pd_;
  }
  ibv_cq_ex* cq = ibv_create_cq_ex(id_->verbs, &init);
  return cq == nullptr ? nullptr : ibv_cq_ex_to_cq(cq);
}

void Endpoint::create_queues(const Shape& shape) {
  require_zero(ibv_query_device(id_->verbs, &device_), "ibv_query_device");
  create_domain(shape);
  send_channel_ = ibv_create_comp_channel(id_->verbs);
  recv_channel_ = ibv_create_comp_channel(id_->verbs);
  if (send_channel_ == nullptr || recv_channel_ == nullptr) {
    fail_errno("ibv_create_comp_channel");
  }
  send_cq_ = create_cq(shape, send_channel_);
  recv_cq_ = create_cq(shape, recv_channel_);
  if (send_cq_ == nullptr || recv_cq_ == nullptr) {
    if (shape.stamps && errno == EOPNOTSUPP) {
      throw Lacking("the device does not stamp completions");
    }
    fail_errno("ibv_create_cq");
  }
  const auto max_sge = static_cast<std::uint32_t>(device_.max_sge);
  if (shape.srq != nullptr) {
    srq_ = shape.srq;
    foreign_srq_ = true;
  } else if (shape.shared_receives) {
    ibv_srq_init_attr init{};
    init.attr.max_wr = shape.recv_wr;
    init.attr.max_sge = std::min(shape.sge, max_sge);
    srq_ = ibv_create_srq(shape.shared_pd != nullptr ? shape.shared_pd : pd_, &init);
    if (srq_ == nullptr) {
      fail_errno("ibv_create_srq");
    }
  }
  for (std::uint32_t inline_bytes : {shape.inline_bytes, 64U, 0U}) {
    ibv_qp_init_attr_ex init{};
    init.send_cq = send_cq_;
    init.recv_cq = recv_cq_;
    init.srq = srq_;
    init.cap = {.max_send_wr = shape.send_wr,
                .max_recv_wr = shape.recv_wr,
                .max_send_sge = std::min(shape.sge, max_sge),
                .max_recv_sge = std::min(shape.sge, max_sge),
                .max_inline_data = inline_bytes};
    init.qp_type = IBV_QPT_RC;
    init.sq_sig_all = shape.signal_all ? 1 : 0;
    init.comp_mask = IBV_QP_INIT_ATTR_PD;
    init.pd = pd_;
    if (shape.extended) {
      init.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
      init.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
                            IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
                            IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                            IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_LOCAL_INV |
                            IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_SEND_WITH_INV;
    }
    if (rdma_create_qp_ex(id_, &init) == 0) {
      cap_ = init.cap;
      return;
    }
  }
  fail_errno("rdma_create_qp");
}

void Endpoint::destroy() {
  // The identifier's event channel may belong to another endpoint; its queue pair is ours.
  if (id_->qp != nullptr) {
    rdma_destroy_qp(id_);
  }
  memory_.reset();
  if (srq_ != nullptr && !foreign_srq_) {
    ibv_destroy_srq(srq_);
  }
  for (ibv_cq* cq : {send_cq_, recv_cq_}) {
    if (cq != nullptr) {
      ibv_destroy_cq(cq);
    }
  }
  for (ibv_comp_channel* channel : {send_channel_, recv_channel_}) {
    if (channel != nullptr) {
      ibv_destroy_comp_channel(channel);
    }
  }
  if (td_ != nullptr && pd_ != nullptr) {
    ibv_dealloc_pd(pd_);
  }
  if (td_ != nullptr) {
    ibv_dealloc_td(td_);
  }
  if (protection_ != nullptr) {
    ibv_dealloc_pd(protection_);
  }
  rdma_event_channel* channel = id_->channel;
  rdma_destroy_id(id_);
  rdma_destroy_event_channel(channel);
}

Endpoint::~Endpoint() {
  destroy();
}

bool Endpoint::is_siw() const {
  return std::string_view(ibv_get_device_name(id_->verbs->device)).starts_with("siw");
}

ibv_qp_state Endpoint::state() const {
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  require_zero(ibv_query_qp(qp(), &attr, IBV_QP_STATE, &init), "ibv_query_qp");
  return attr.qp_state;
}

std::uint64_t Endpoint::post_recv(const Layout& layout) {
  std::vector<ibv_sge> sges = memory_->sges(layout);
  ibv_recv_wr work{};
  work.wr_id = new_wr_id();
  work.sg_list = sges.data();
  work.num_sge = static_cast<int>(sges.size());
  ibv_recv_wr* bad = nullptr;
  if (srq_ != nullptr) {
    require_zero(ibv_post_srq_recv(srq_, &work, &bad), "ibv_post_srq_recv at the " + name_);
  } else {
    require_zero(ibv_post_recv(qp(), &work, &bad), "ibv_post_recv at the " + name_);
  }
  return work.wr_id;
}

std::uint64_t Endpoint::post_send(ibv_send_wr work) {
  work.wr_id = new_wr_id();
  ibv_send_wr* bad = nullptr;
  require_zero(ibv_post_send(qp(), &work, &bad), "ibv_post_send at the " + name_);
  return work.wr_id;
}

std::optional<ibv_wc> Endpoint::poll(ibv_cq* cq) const {
  ibv_wc completion{};
  const int count = ibv_poll_cq(cq, 1, &completion);
  require(count >= 0, "ibv_poll_cq at the " + name_ + " returned " + std::to_string(count));
  if (count == 0) {
    return std::nullopt;
  }
  return completion;
}

bool Endpoint::await_event(ibv_cq* cq, std::chrono::milliseconds limit) {
  if (!readable(cq->channel->fd, Clock::now() + limit)) {
    return false;
  }
  ibv_cq* from = nullptr;
  void* context = nullptr;
  require_zero(ibv_get_cq_event(cq->channel, &from, &context), "ibv_get_cq_event");
  ibv_ack_cq_events(from, 1);
  require(from == cq, "a completion event names another queue");
  return true;
}

void Endpoint::expect_none(ibv_cq* cq, std::chrono::milliseconds limit) {
  const Clock::time_point end = Clock::now() + limit;
  for (;;) {
    const bool over = Clock::now() >= end;
    if (const std::optional<ibv_wc> completion = poll(cq)) {
      throw Failure("a completion at the " + name_ +
                    " that is too many: " + to_string(*completion));
    }
    if (over) {
      return;
    }
    await_event(cq, std::chrono::milliseconds(milliseconds_until(end)));
  }
}

ibv_wc Endpoint::next_by_polling(ibv_cq* cq, Clock::time_point end) const {
  do {
    // The clock is dear; look at it now and then.
    for (int turn = 0; turn < 256; ++turn) {
      if (std::optional<ibv_wc> completion = poll(cq)) {
        return *completion;
      }
    }
  } while (Clock::now() < end);
  throw Failure("no completion at the " + name_ + " (" + (cq == send_cq_ ? "send" : "receive") +
                " queue, polling) within " + std::to_string(kPatience.count()) + " s");
}

ibv_wc Endpoint::next(ibv_cq* cq) {
  const Clock::time_point end = Clock::now() + kPatience;
  if (wait_ == Wait::kPoll) {
    return next_by_polling(cq, end);
  }
  for (;;) {
    if (std::optional<ibv_wc> completion = poll(cq)) {
      return *completion;
    }
    require_zero(ibv_req_notify_cq(cq, 0), "ibv_req_notify_cq");
    if (std::optional<ibv_wc> completion = poll(cq)) {
      return *completion;
    }
    if (!await_event(cq, std::chrono::milliseconds(milliseconds_until(end)))) {
      std::string what = "no completion event at the " + name_ + " (" +
                         (cq == send_cq_ ? "send" : "receive") + " queue) within " +
                         std::to_string(kPatience.count()) + " s";
      if (std::optional<ibv_wc> completion = poll(cq)) {
        what += ", yet the queue held " + to_string(*completion);
      }
      throw Failure(what);
    }
  }
}

void Endpoint::expect_send(std::uint64_t wr_id, ibv_wc_opcode opcode) {
  const ibv_wc completion = next_send();
  require(completion.status == IBV_WC_SUCCESS && completion.wr_id == wr_id &&
              completion.opcode == opcode && completion.qp_num == qp()->qp_num,
          "send completion at the " + name_ + ": " + to_string(completion) + "; expected opcode " +
              std::to_string(opcode) + ", wr_id " + std::to_string(wr_id));
}

void Endpoint::expect_recv(std::uint64_t wr_id, std::size_t length) {
  const ibv_wc completion = next_recv();
  require(completion.status == IBV_WC_SUCCESS && completion.wr_id == wr_id &&
              completion.opcode == IBV_WC_RECV && completion.byte_len == length &&
              completion.qp_num == qp()->qp_num,
          "receive completion at the " + name_ + ": " + to_string(completion) +
              "; expected wr_id " + std::to_string(wr_id) + ", " + std::to_string(length) +
              " bytes");
}

void Endpoint::expect_flushed(ibv_cq* cq, unsigned count) {
  for (unsigned done = 0; done < count; ++done) {
    const ibv_wc completion = next(cq);
    require(completion.status == IBV_WC_WR_FLUSH_ERR,
            "completion " + std::to_string(done + 1) + " of " + std::to_string(count) + " at the " +
                name_ + " should be a flush: " + to_string(completion));
  }
  const std::optional<ibv_wc> more = poll(cq);
  require(!more, "a completion too many at the " + name_);
}

void Endpoint::expect_error_state() {
  const Clock::time_point end = Clock::now() + kPatience;
  while (state() != IBV_QPS_ERR) {
    require(Clock::now() < end, "the queue pair of the " + name_ + " is in state " +
                                    std::to_string(state()) + ", not in error");
    ::poll(nullptr, 0, 5);
  }
}

ibv_event_type Endpoint::next_event_if(const std::function<bool(const ibv_async_event&)>& wanted) {
  const Clock::time_point end = Clock::now() + kPatience;
  for (;;) {
    require(readable(id_->verbs->async_fd, end), "no asynchronous event at the " + name_ +
                                                     " within " +
                                                     std::to_string(kPatience.count()) + " s");
    ibv_async_event event{};
    require_zero(ibv_get_async_event(id_->verbs, &event), "ibv_get_async_event");
    const bool found = wanted(event);
    ibv_ack_async_event(&event);
    if (found) {
      return event.event_type;
    }
  }
}

ibv_event_type Endpoint::next_async_event(const void* about) {
  return next_event_if([&](const ibv_async_event& event) { return event.element.qp == about; });
}

ibv_event_type Endpoint::next_port_event() {
  return next_event_if([](const ibv_async_event& event) {
    return event.event_type == IBV_EVENT_PORT_ACTIVE || event.event_type == IBV_EVENT_PORT_ERR;
  });
}

rdma_cm_event_type Endpoint::next_cm_event() {
  require(readable(id_->channel->fd, Clock::now() + kPatience),
          "no connection event at the " + name_ + " within " + std::to_string(kPatience.count()) +
              " s");
  rdma_cm_event* event = nullptr;
  if (rdma_get_cm_event(id_->channel, &event) != 0) {
    fail_errno("rdma_get_cm_event");
  }
  const rdma_cm_event_type type = event->event;
  rdma_ack_cm_event(event);
  return type;
}

}  // namespace placement
