// SPDX-License-Identifier: GPL-2.0
// Messages over RC queue pairs that rdma_cm connects. All share one completion queue.
#include <algorithm>
#include <array>
#include <deque>

#include "event.h"
#include "transport.h"

namespace rdma::perf {

namespace {

// As much as common devices take inline, and perftest's default for sends.
constexpr std::size_t kInline = 64;
constexpr unsigned kAcknowledgeEvery = 256;

// A work request's identifier: its connection, how many messages it stands for, which way.
constexpr std::uint64_t kReceive = 1ULL << 63;
constexpr unsigned kMessagesShift = 32;
constexpr std::uint8_t kReads = 16;
constexpr std::array kOpcodes{IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
                              IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_ATOMIC_FETCH_AND_ADD};

// Apart, since to make up its text costs as much as a message.
[[noreturn]] void fail_completion(const ibv_wc& done, bool receive, unsigned connection) {
  throw Failure(std::string(receive ? "a receive" : "a send") + " on connection " +
                std::to_string(connection) + " ended with " + ibv_wc_status_str(done.status) +
                ", vendor error " + std::to_string(done.vendor_err));
}

class VerbsTransport final : public Transport {
 public:
  // Makes what all connections share, on this device.
  VerbsTransport(const Settings& settings, ibv_context* device)
      : Transport(settings),
        message_(settings.size),
        // A completion for each half of the queue keeps it full at few wake-ups.
        signal_every_(std::max(1U, settings.depth / 2)),
        receives_(settings.depth + settings.depth / 2 + 2),
        // Messages lie in the first half; what arrives goes to the second.
        memory_(2 * std::max(settings.arena, settings.size)),
        lines_(settings.connections) {
    pd_ = own(ibv_alloc_pd(device), "ibv_alloc_pd");
    mr_ = own(
        ibv_reg_mr(pd_.get(), memory_.bytes(), memory_.size(),
                   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                       (settings.operation == Operation::kAtomic ? IBV_ACCESS_REMOTE_ATOMIC : 0)),
        "ibv_reg_mr of " + std::to_string(memory_.size()) + " bytes");
    events_ = own(ibv_create_comp_channel(device), "ibv_create_comp_channel");
    const unsigned entries = settings.connections * (settings.depth + receives_) + 1;
    cq_ = own(ibv_create_cq(device, static_cast<int>(entries), nullptr, events_.get(), 0),
              "ibv_create_cq of " + std::to_string(entries) + " entries");
    mine_ = {.address = reinterpret_cast<std::uintptr_t>(memory_.bytes()), .rkey = mr_->rkey};
  }
  ~VerbsTransport() override { ibv_ack_cq_events(cq_.get(), unacknowledged_); }

  // Gives an identifier its queue pair, with receives posted. Returns the parameters of its
  // connection.
  rdma_conn_param equip(rdma_cm_id* id) {
    // Credits go beside the messages.
    ibv_qp_init_attr init = queue_pair(cq_.get(), depth() + 2, receives_);
    init.cap.max_inline_data = message_ <= kInline ? static_cast<std::uint32_t>(kInline) : 0;
    must(rdma_create_qp(id, pd_.get(), &init), "rdma_create_qp");
    inline_bytes_ = init.cap.max_inline_data;
    for (unsigned i = 0; i < receives_; i++)
      post_receive(id->qp, static_cast<unsigned>(ids_.size()));
    return parameters(kReads, &mine_);
  }

  // Moderates the receiver's queue, which has a completion for each message. A device that can't
  // wakes the receiver for each.
  void moderate(unsigned batch) {
    constexpr std::uint16_t kMicroseconds = 1000;
    ibv_modify_cq_attr attr{};
    attr.attr_mask = IBV_CQ_ATTR_MODERATE;
    attr.moderate = {.cq_count = static_cast<std::uint16_t>(batch), .cq_period = kMicroseconds};
    const int error = batch > 1 ? ibv_modify_cq(cq_.get(), &attr) : 0;
    if (error != EOPNOTSUPP) require_zero(error, "ibv_modify_cq");
  }

  // Takes a connected identifier over.
  void adopt(Identifier id, Remote remote) {
    lines_[ids_.size()].remote = remote;
    ids_.push_back(std::move(id));
  }
  void keep(Channel channel) { cm_channel_ = std::move(channel); }

  void post(unsigned connection, Operation operation, std::size_t offset, std::size_t bytes,
            bool told) override {
    Line& line = lines_[connection];
    ibv_sge sge{.addr = mine_.address + offset,
                .length = static_cast<std::uint32_t>(bytes),
                .lkey = mr_->lkey};
    // Not cleared, since most of it is for operations that are not made here.
    ibv_send_wr work;
    work.wr_id = 0;
    work.next = nullptr;
    work.send_flags = 0;
    work.sg_list = &sge;
    work.num_sge = bytes > 0 ? 1 : 0;
    work.opcode = kOpcodes[static_cast<std::size_t>(operation)];
    const std::uint64_t remote = line.remote.address + memory_.size() / 2 + offset;
    if (operation == Operation::kAtomic) {
      work.wr.atomic = {
          .remote_addr = remote, .compare_add = 1, .swap = 0, .rkey = line.remote.rkey};
    } else {
      work.imm_data = 0;
      work.wr.rdma = {.remote_addr = remote, .rkey = line.remote.rkey};
    }
    if (!answered(operation) && bytes <= inline_bytes_) work.send_flags |= IBV_SEND_INLINE;
    posted(connection);
    line.unsignaled++;
    if (line.unsignaled >= signal_every_ || told) {
      work.send_flags |= IBV_SEND_SIGNALED;
      work.wr_id = static_cast<std::uint64_t>(line.unsignaled) << kMessagesShift | connection;
      line.unsignaled = 0;
    }
    ibv_send_wr* bad = nullptr;
    require_zero(ibv_post_send(ids_[connection]->qp, &work, &bad), "ibv_post_send");
  }

  void notify(unsigned connection) override { post(connection, Operation::kSend, 0, 0, false); }

  bool needs_credits() const override { return true; }

  void progress(Until /*until*/, bool wait) override {
    if (reap() > 0 || !wait) return;
    if (polls()) {
      nothing_came();
      return;
    }
    require_zero(ibv_req_notify_cq(cq_.get(), 0), "ibv_req_notify_cq");
    // Completions from before the arming raise no event.
    if (reap() > 0) return;
    ibv_cq* cq = nullptr;
    void* context = nullptr;
    must(ibv_get_cq_event(events_.get(), &cq, &context), "ibv_get_cq_event");
    if (++unacknowledged_ == kAcknowledgeEvery) {
      ibv_ack_cq_events(cq_.get(), unacknowledged_);
      unacknowledged_ = 0;
    }
    reap();
  }

  unsigned char* bytes() const override { return memory_.bytes(); }

 private:
  struct Line {
    Remote remote{};
    unsigned unsignaled = 0;
  };

  void post_receive(ibv_qp* qp, unsigned connection) const {
    ibv_sge sge{.addr = mine_.address + memory_.size() / 2,
                .length = static_cast<std::uint32_t>(message_),
                .lkey = mr_->lkey};
    ibv_recv_wr work{};
    work.wr_id = kReceive | connection;
    work.sg_list = &sge;
    work.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    require_zero(ibv_post_recv(qp, &work, &bad), "ibv_post_recv");
  }

  int reap() {
    const int count =
        ibv_poll_cq(cq_.get(), static_cast<int>(completions_.size()), completions_.data());
    require(count >= 0, "ibv_poll_cq failed");
    for (int i = 0; i < count; i++) {
      const ibv_wc& done = completions_[static_cast<std::size_t>(i)];
      const auto connection = static_cast<unsigned>(done.wr_id & ~0U >> 1);
      const bool receive = (done.wr_id & kReceive) != 0;
      if (done.status != IBV_WC_SUCCESS) fail_completion(done, receive, connection);
      if (!receive) {
        gone(connection, static_cast<unsigned>(done.wr_id >> kMessagesShift));
        continue;
      }
      post_receive(ids_[connection]->qp, connection);
      if (done.byte_len > 0)
        arrived(connection);
      else
        noticed(connection);
    }
    return count;
  }

  std::size_t message_;
  unsigned signal_every_;
  unsigned receives_;
  unsigned inline_bytes_ = 0;
  Memory memory_;
  // In the order of making: each needs those above it.
  Channel cm_channel_;
  Owned<ibv_pd> pd_;
  Owned<ibv_mr> mr_;
  Owned<ibv_comp_channel> events_;
  Owned<ibv_cq> cq_;
  unsigned unacknowledged_ = 0;
  std::array<ibv_wc, 32> completions_{};  // kept, since to clear it costs more than a message
  Remote mine_{};
  std::vector<Line> lines_;
  std::vector<Identifier> ids_;
};

class VerbsListener final : public Listener {
 public:
  VerbsListener(const std::string& address, unsigned connections)
      : port_(listen_at(id_.get(), {address, 0}, static_cast<int>(connections) + 1)) {}

  std::uint16_t port() const override { return port_; }

  std::unique_ptr<Transport> accept(const Settings& settings) override {
    std::unique_ptr<VerbsTransport> transport;
    unsigned taken = 0;
    for (unsigned established = 0; established < settings.connections;) {
      if (taken < settings.connections && !requests_.empty()) {
        auto [id, remote] = std::move(requests_.front());
        requests_.pop_front();
        if (transport == nullptr) {
          transport = std::make_unique<VerbsTransport>(settings, id->verbs);
          transport->moderate(settings.batch);
        }
        rdma_conn_param param = transport->equip(id.get());
        must(rdma_accept(id.get(), &param), "rdma_accept");
        transport->adopt(std::move(id), remote);
        taken++;
        continue;
      }
      // The request for the next connection may come before the event of the last.
      const Event event = *next_event(channel_.get(), Deadline(kForever));
      if (event.type == RDMA_CM_EVENT_ESTABLISHED)
        established++;
      else if (event.type == RDMA_CM_EVENT_CONNECT_REQUEST)
        requests_.emplace_back(Identifier(event.id), event.as<Remote>());
      else
        throw event.instead_of(RDMA_CM_EVENT_CONNECT_REQUEST);
    }
    return transport;
  }

 private:
  Channel channel_ = make_channel();
  Identifier id_ = make_identifier(channel_.get());
  std::uint16_t port_;
  std::deque<std::pair<Identifier, Remote>> requests_;  // not taken up yet
};

}  // namespace

std::unique_ptr<Listener> listen_verbs(const Settings& settings, const std::string& address) {
  return std::make_unique<VerbsListener>(address, settings.connections);
}

std::unique_ptr<Transport> connect_verbs(const Settings& settings, const std::string& address,
                                         std::uint16_t port, Phases* phases) {
  Channel channel = make_channel();
  std::unique_ptr<VerbsTransport> transport;
  for (unsigned i = 0; i < settings.connections; i++) {
    Identifier id = make_identifier(channel.get());
    resolve(id.get(), {address, port}, std::chrono::seconds(10));
    if (phases != nullptr) phases->found = Clock::now();
    if (transport == nullptr) transport = std::make_unique<VerbsTransport>(settings, id->verbs);
    rdma_conn_param param = transport->equip(id.get());
    if (phases != nullptr) phases->made = Clock::now();
    must(rdma_connect(id.get(), &param), "rdma_connect");
    transport->adopt(std::move(id),
                     expect_event(channel.get(), RDMA_CM_EVENT_ESTABLISHED).as<Remote>());
  }
  transport->keep(std::move(channel));
  return transport;
}

}  // namespace rdma::perf
