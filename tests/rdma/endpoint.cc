// SPDX-License-Identifier: GPL-2.0
#include "endpoint.h"

namespace rdma {

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

Endpoint::Endpoint(Caller caller, std::string name, const Shape& shape)
    : caller_(std::move(caller)), name_(std::move(name)) {
  require_zero(ibv_query_device(context(), &device_), "ibv_query_device");
  create_domain(shape);
  send_channel_ = own(ibv_create_comp_channel(context()), "ibv_create_comp_channel");
  recv_channel_ = own(ibv_create_comp_channel(context()), "ibv_create_comp_channel");
  send_cq_ = create_cq(shape, send_channel_.get());
  recv_cq_ = create_cq(shape, recv_channel_.get());
  create_srq(shape);
  create_queue_pair(shape);
  memory_ = std::make_unique<Memory>(pd_, shape.arena, shape.access);
}

void Endpoint::create_domain(const Shape& shape) {
  pd_ = shape.pd;
  if (pd_ != nullptr) return;
  protection_ = own(ibv_alloc_pd(context()), "ibv_alloc_pd");
  pd_ = protection_.get();
  if (shape.domain) {
    ibv_td_init_attr thread{};
    thread_ = own(ibv_alloc_td(context(), &thread), "ibv_alloc_td");
    ibv_parent_domain_init_attr parent{.pd = pd_, .td = thread_.get()};
    parent_ = own(ibv_alloc_parent_domain(context(), &parent), "ibv_alloc_parent_domain");
    pd_ = parent_.get();
  }
}

Owned<ibv_cq> Endpoint::create_cq(const Shape& shape, ibv_comp_channel* channel) const {
  if (!shape.extended) {
    return own(ibv_create_cq(context(), static_cast<int>(shape.cq_entries), nullptr, channel, 0),
               "ibv_create_cq");
  }
  ibv_cq_init_attr_ex init{
      .cqe = shape.cq_entries, .channel = channel, .wc_flags = IBV_WC_STANDARD_FLAGS};
  if (shape.stamps) {
    init.wc_flags |= IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
    init.wc_flags |= IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
  }
  if (shape.domain) {
    init.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
    init.parent_domain = pd_;
  }
  ibv_cq_ex* cq = ibv_create_cq_ex(context(), &init);
  if (cq == nullptr && shape.stamps && errno == EOPNOTSUPP)
    throw Lacking("the device does not stamp completions");
  return own(cq == nullptr ? nullptr : ibv_cq_ex_to_cq(cq), "ibv_create_cq_ex");
}

void Endpoint::create_srq(const Shape& shape) {
  srq_ = shape.srq;
  if (srq_ == nullptr && shape.shared_receives) {
    const auto sge = std::min(shape.sge, static_cast<std::uint32_t>(device_.max_sge));
    ibv_srq_init_attr init{.attr = {.max_wr = shape.recv_wr, .max_sge = sge}};
    own_srq_ = own(ibv_create_srq(shape.shared_pd != nullptr ? shape.shared_pd : pd_, &init),
                   "ibv_create_srq");
    srq_ = own_srq_.get();
  }
}

void Endpoint::create_queue_pair(const Shape& shape) {
  const std::uint32_t sge = std::min(shape.sge, static_cast<std::uint32_t>(device_.max_sge));
  for (std::uint32_t inline_bytes : {shape.inline_bytes, 64U, 0U}) {
    ibv_qp_init_attr_ex init{.send_cq = send_cq(),
                             .recv_cq = recv_cq(),
                             .srq = srq_,
                             .cap = {shape.send_wr, shape.recv_wr, sge, sge, inline_bytes},
                             .qp_type = IBV_QPT_RC,
                             .comp_mask = IBV_QP_INIT_ATTR_PD,
                             .pd = pd_};
    if (shape.extended) {
      init.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
      init.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
                            IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
                            IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                            IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_LOCAL_INV |
                            IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_SEND_WITH_INV;
    }
    if (rdma_create_qp_ex(id(), &init) == 0) {
      queue_pair_.reset(id());
      cap_ = init.cap;
      return;
    }
  }
  fail_errno("rdma_create_qp");
}

bool Endpoint::is_siw() const {
  return std::string_view(ibv_get_device_name(context()->device)).starts_with("siw");
}

std::uint64_t Endpoint::post_recv(const Layout& layout) {
  Receive work(memory().sges(layout), new_wr_id());
  require_zero(srq_ != nullptr ? post(srq_, work) : post(qp(), work), "a receive at the " + name_);
  return work.wr_id;
}

std::uint64_t Endpoint::post_send(const ibv_send_wr& work) {
  ibv_send_wr numbered = work;
  numbered.wr_id = new_wr_id();
  require_zero(post(qp(), numbered), "ibv_post_send at the " + name_);
  return numbered.wr_id;
}

std::optional<ibv_wc> Endpoint::poll(ibv_cq* cq) const {
  ibv_wc completion{};
  const int count = ibv_poll_cq(cq, 1, &completion);
  require(count >= 0, "ibv_poll_cq at the " + name_ + " returned " + std::to_string(count));
  return count == 0 ? std::nullopt : std::optional(completion);
}

void Endpoint::expect_none(ibv_cq* cq, Limit limit) {
  const Deadline deadline(limit);
  for (;;) {
    const bool over = deadline.over();
    if (const std::optional<ibv_wc> completion = poll(cq)) {
      throw Failure("a completion at the " + name_ +
                    " that is too many: " + to_string(*completion));
    }
    if (over) return;
    await_event(cq, deadline.left());
  }
}

std::string Endpoint::missing(const ibv_cq* cq, const char* how) const {
  return std::string("no completion") + how + " at the " + name_ + " (" +
         (cq == send_cq() ? "send" : "receive") + " queue) within " +
         std::to_string(kPatience.count()) + " s";
}

ibv_wc Endpoint::next_by_polling(ibv_cq* cq, const Deadline& deadline) const {
  do {
    // The clock is dear; look at it now and then.
    for (int turn = 0; turn < 256; ++turn) {
      if (std::optional<ibv_wc> completion = poll(cq)) return *completion;
    }
  } while (!deadline.over());
  throw Failure(missing(cq, ", by polling,"));
}

ibv_wc Endpoint::next(ibv_cq* cq) {
  const Deadline deadline(kPatience);
  if (wait_ == Wait::kPoll) return next_by_polling(cq, deadline);
  for (;;) {
    std::optional<ibv_wc> completion = poll(cq);
    if (!completion) {
      require_zero(ibv_req_notify_cq(cq, 0), "ibv_req_notify_cq");
      completion = poll(cq);
    }
    if (completion) return *completion;
    if (!await_event(cq, deadline.left())) {
      std::string what = missing(cq, " event");
      if (completion = poll(cq); completion)
        what += ", yet the queue held " + to_string(*completion);
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
  require(!poll(cq), "a completion too many at the " + name_);
}

void Endpoint::expect_error_state() {
  const Deadline deadline(kPatience);
  while (state() != IBV_QPS_ERR) {
    require(!deadline.over(), "the queue pair of the " + name_ + " is in state " +
                                  std::to_string(state()) + ", not in error");
    ::poll(nullptr, 0, 5);
  }
}

ibv_event_type Endpoint::next_event_if(const std::function<bool(const ibv_async_event&)>& wanted) {
  const Deadline deadline(kPatience);
  for (;;) {
    require(wait_ready(context()->async_fd, deadline),
            "no asynchronous event at the " + name_ + " within " +
                std::to_string(kPatience.count()) + " s");
    ibv_async_event event{};
    must(ibv_get_async_event(context(), &event), "ibv_get_async_event");
    const bool found = wanted(event);
    ibv_ack_async_event(&event);
    if (found) return event.event_type;
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

}  // namespace rdma
