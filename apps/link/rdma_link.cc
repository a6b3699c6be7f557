// SPDX-License-Identifier: GPL-2.0
// A link over a connection of rdma_cm: what a request does is done by the RDMA devices.
//
// One completion queue serves both directions. Every request asks for its completion, which comes
// in the order of posting, so two counters say what is on the way. Messages lie in slots of memory
// of the link's own; one that arrives is copied out and its slot posted again at once, and the peer
// learns of the room when the program has taken the message (Credits).
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include <cstdio>
#include <deque>
#include <list>

#include "event.h"
#include "protocol.h"
#include "socket.h"
#include "transports.h"
#include "work.h"

namespace rdma {
namespace {

constexpr unsigned kSendSlots = 16;
// A message is preceded by its kind (1 byte), zero (1), and the credits that it gives back (2).
constexpr std::size_t kHeader = 4;
constexpr std::uint8_t kMessage = 1;
constexpr std::uint8_t kCreditsOnly = 2;
// The value of an atomic request comes here, at the beginning of the slots.
constexpr std::size_t kResult = 64;
// What common devices take inline, and most messages that steer something are not longer.
constexpr std::uint32_t kInline = 128;
constexpr std::uint64_t kReceive = 1ULL << 63;  // of a wr_id; the rest is a slot
// As long as an answer takes that is already on its way. A thread that sleeps has to be woken.
constexpr std::chrono::microseconds kSpin{20};
constexpr unsigned kAcknowledgeEvery = 256;
constexpr std::uint8_t kReads = 16;
constexpr Limit kOrderlyEnd = std::chrono::seconds(6);

Failure failure_of(const ibv_wc& done) {
  switch (done.status) {
    case IBV_WC_WR_FLUSH_ERR:
      return {Cause::kLost, "the peer ended the connection"};
    case IBV_WC_REM_ACCESS_ERR:
    case IBV_WC_REM_OP_ERR:
    case IBV_WC_REM_INV_REQ_ERR:
      return {Cause::kRefused, kRefusal};
    case IBV_WC_LOC_LEN_ERR:
      return {Cause::kProtocol, "the peer sent a message that is too long"};
    default:
      return {Cause::kLost, sentence("the connection broke: ", ibv_wc_status_str(done.status),
                                     ", vendor error ", done.vendor_err)};
  }
}

// Registers memory for the rights; throws Failure (kSystem) that says which limit was met.
Owned<ibv_mr> register_memory(ibv_pd* domain, std::span<std::byte> bytes, Rights rights) {
  int access = IBV_ACCESS_LOCAL_WRITE;
  access |= (rights & kRemoteRead) != 0 ? IBV_ACCESS_REMOTE_READ : 0;
  access |= (rights & kRemoteWrite) != 0 ? IBV_ACCESS_REMOTE_WRITE : 0;
  access |= (rights & kRemoteAtomic) != 0 ? IBV_ACCESS_REMOTE_ATOMIC : 0;
  Owned<ibv_mr> memory(ibv_reg_mr(domain, bytes.data(), bytes.size(), access));
  require(memory != nullptr, Cause::kSystem, "registering ", bytes.size(),
          " bytes: ", std::strerror(errno),
          errno == ENOMEM ? "; raise the limit of locked memory (ulimit -l)" : "");
  return memory;
}

// Makes reads of a descriptor return EAGAIN instead of waiting.
void unblock(int descriptor) {
  must(fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK), "fcntl");
}

class RdmaLink : public Link {
 public:
  // `id` has a device; `begun` is when the connection was begun. The queue pair is ready for
  // rdma_connect() or rdma_accept() when this returns.
  RdmaLink(Identifier id, const Settings& settings, Clock::time_point begun)
      : Link(Transport::kRdma, settings),
        private_data_(Hello(settings).to_bytes()),
        begun_(begun),
        credits_(settings.credits, 0),
        id_(std::move(id)),
        slot_used_by_(kSendSlots) {
    make_queues();
    for (unsigned slot = 0; slot < settings_.credits + Credits::kReturns; slot++)
      post_receive(slot);
  }
  ~RdmaLink() override {
    if (channel_ != nullptr && !broken_ && rdma_disconnect(id_.get()) == 0) {
      // In order: what the peer was sent before is still delivered.
      const Deadline deadline(kOrderlyEnd);
      try {
        while (const std::optional<Event> event = next_event(channel_.get(), deadline))
          if (event->type == RDMA_CM_EVENT_DISCONNECTED) break;
      } catch (const Failure&) {
        // It ends in any case.
      }
    }
    ibv_ack_cq_events(queue_.get(), unacknowledged_);
  }

  // What each link registers for messages, before any region.
  static std::size_t memory_bytes(const Settings& settings) {
    const std::size_t slots = kSendSlots + settings.credits + Credits::kReturns;
    return kResult + slots * (kHeader + settings.message_bytes);
  }

  // What goes to rdma_connect() or rdma_accept(). It points into this link.
  rdma_conn_param parameters() const {
    return rdma::parameters(kReads, private_data_.data(), private_data_.size());
  }
  // The connection is there: its further events come to `channel`, which is the id's from now on.
  void established(Channel channel, const Hello& peer, Address address) {
    channel_ = std::move(channel);
    message_limit_ = std::min(settings_.message_bytes, peer.message_bytes);
    credits_ = Credits(settings_.credits, peer.credits);
    peer_ = std::move(address);
    statistics_.connecting = Clock::now() - begun_;
  }

  void flush(Limit limit) override {
    reap();
    complete(posted_, limit);
  }
  std::optional<Arrival> receive(Limit limit) override {
    const Deadline deadline(limit);
    reap();
    while (arrivals_.empty()) {
      check_alive();
      if (deadline.over() || !wait(deadline)) {
        if (armed_) take_events();
        if (!arrivals_.empty()) break;
        check_alive();
        return std::nullopt;
      }
    }
    std::optional<Arrival> arrival(std::move(arrivals_.front()));
    arrivals_.pop_front();
    credits_.taken();
    return_credits();
    return arrival;
  }

 protected:
  Region::Known know(std::span<std::byte> memory, Rights rights) override {
    check_alive();
    const std::shared_ptr<ibv_mr> known = register_memory(domain_.get(), memory, rights);
    return {.remote = {.address = reinterpret_cast<std::uintptr_t>(memory.data()),
                       .length = memory.size(),
                       .key = known->rkey},
            .local_key = known->lkey,
            .held = known};
  }
  void transfer(const Frame& request, const Region& own, std::size_t offset) override {
    ibv_sge sge = sge_of(own.bytes().subspan(offset, request.length), own.local_key());
    ibv_send_wr work =
        work_on(sge, request.type == Frame::Type::kRead    ? IBV_WR_RDMA_READ
                     : request.type == Frame::Type::kWrite ? IBV_WR_RDMA_WRITE
                                                           : IBV_WR_RDMA_WRITE_WITH_IMM);
    work.imm_data = htonl(static_cast<std::uint32_t>(request.first));
    work.wr.rdma.remote_addr = request.address;
    work.wr.rdma.rkey = request.key;
    post(work);
  }
  std::uint64_t execute(const Frame& request) override {
    std::uint64_t before = 0;
    ibv_sge sge = sge_of(std::span(slots_).first(sizeof(before)), slots_memory_->lkey);
    ibv_send_wr work =
        work_on(sge, request.type == Frame::Type::kFetchAdd ? IBV_WR_ATOMIC_FETCH_AND_ADD
                                                            : IBV_WR_ATOMIC_CMP_AND_SWP);
    work.wr.atomic.compare_add = request.first;
    work.wr.atomic.swap = request.second;
    work.wr.atomic.remote_addr = request.address;
    work.wr.atomic.rkey = request.key;
    complete(post(work));
    std::memcpy(&before, slots_.data(), sizeof(before));
    return before;
  }
  void send_message(std::span<const std::byte> message) override {
    post_message(message, kMessage);
  }
  void take_credit() override {
    if (!credits_.any()) reap();
    wait_until("room for a message", [&] { return credits_.any(); });
    credits_.spend();
  }
  bool prepare_wait(std::vector<pollfd>& descriptors) override {
    take_events();
    arm();
    if (!arrivals_.empty() || broken_) return true;
    const auto both = news_from();
    descriptors.insert(descriptors.end(), both.begin(), both.end());
    return false;
  }

 private:
  void make_queues() {
    const unsigned receives = settings_.credits + Credits::kReturns;
    // A protection domain for each link, so that a key opens memory to this peer and no other.
    domain_ = own(ibv_alloc_pd(id_->verbs), "ibv_alloc_pd");
    events_ = own(ibv_create_comp_channel(id_->verbs), "ibv_create_comp_channel");
    unblock(events_->fd);
    queue_ = own(ibv_create_cq(id_->verbs, static_cast<int>(settings_.depth + receives + 1),
                               nullptr, events_.get(), 0),
                 "ibv_create_cq");
    ibv_qp_init_attr init = queue_pair(queue_.get(), settings_.depth, receives);
    init.sq_sig_all = 1;
    init.cap.max_inline_data = kInline;
    must(rdma_create_qp(id_.get(), domain_.get(), &init), "rdma_create_qp");
    inline_bytes_ = init.cap.max_inline_data;
    slots_.resize(memory_bytes(settings_));
    slots_memory_ = register_memory(domain_.get(), slots_, kLocal);
  }
  std::span<std::byte> send_slot(unsigned slot) {
    const std::size_t size = kHeader + settings_.message_bytes;
    return std::span(slots_).subspan(kResult + slot * size, size);
  }
  std::span<std::byte> receive_slot(unsigned slot) { return send_slot(kSendSlots + slot); }
  static ibv_sge sge_of(std::span<std::byte> bytes, std::uint32_t key) {
    return {.addr = reinterpret_cast<std::uintptr_t>(bytes.data()),
            .length = static_cast<std::uint32_t>(bytes.size()),
            .lkey = key};
  }
  ibv_send_wr work_on(ibv_sge& sge, ibv_wr_opcode opcode) const {
    const bool sends = opcode != IBV_WR_RDMA_READ && !is_atomic(opcode);
    ibv_send_wr work{};
    work.opcode = opcode;
    work.sg_list = &sge;
    work.num_sge = sge.length > 0 ? 1 : 0;
    work.send_flags = sends && sge.length <= inline_bytes_ ? IBV_SEND_INLINE : 0;
    return work;
  }
  // The descriptors that become readable when there is something new.
  std::array<pollfd, 2> news_from() const {
    return {pollfd{.fd = events_->fd, .events = POLLIN, .revents = 0},
            pollfd{.fd = channel_->fd, .events = POLLIN, .revents = 0}};
  }
  void post_receive(unsigned slot) {
    ibv_sge sge = sge_of(receive_slot(slot), slots_memory_->lkey);
    ibv_recv_wr work{};
    work.wr_id = kReceive | slot;
    work.sg_list = &sge;
    work.num_sge = 1;
    require_zero(rdma::post(id_->qp, work), "ibv_post_recv");
  }
  // Posts a request when there is room for it; returns its number, which complete() is told.
  std::uint64_t post(ibv_send_wr& work) {
    reap();
    if (posted_ - completed_ >= settings_.depth) {
      // Half of the queue at once: a thread that is woken for each request costs more than the
      // request.
      complete(posted_ - settings_.depth / 2);
    }
    check_alive();
    work.wr_id = posted_ + 1;
    const int error = rdma::post(id_->qp, work);
    if (error != 0) {
      // The reason may be that the connection has just ended.
      reap();
      check_alive();
      const bool lacks = error == EOPNOTSUPP || error == EINVAL;
      fail(lacks ? Cause::kDevice : Cause::kSystem, "ibv_post_send: ", std::strerror(error),
           lacks
               ? "; this device or the peer's has no such request (atomics and notifications need "
                 "Weft at both ends)"
               : "");
    }
    return ++posted_;
  }
  void post_message(std::span<const std::byte> message, std::uint8_t kind) {
    const unsigned slot = next_slot_;
    next_slot_ = (next_slot_ + 1) % kSendSlots;
    complete(slot_used_by_[slot]);
    const std::span<std::byte> bytes = send_slot(slot);
    bytes[0] = static_cast<std::byte>(kind);
    bytes[1] = {};
    put_big(bytes.data() + 2, static_cast<std::uint16_t>(credits_.give_back()));
    std::copy(message.begin(), message.end(), bytes.begin() + kHeader);
    ibv_sge sge = sge_of(bytes.first(kHeader + message.size()), slots_memory_->lkey);
    ibv_send_wr work = work_on(sge, IBV_WR_SEND);
    slot_used_by_[slot] = post(work);
  }
  // Tells the peer of the messages that were taken, if half of its room is owed.
  void return_credits() noexcept {
    if (!credits_.due() || broken_) return;
    try {
      post_message({}, kCreditsOnly);
    } catch (const Failure& failure) {
      broke(failure);
    }
  }

  // Waits until `done` says yes, as long as there is progress within the patience.
  template <typename Done>
  void wait_until(const char* what, Done done, Limit limit = kForever) {
    const Deadline deadline(limit);
    while (!done()) {
      check_alive();
      if (deadline.over()) {
        broke(too_slow(what, limit));
        continue;
      }
      if (!wait(Deadline(std::min(settings_.patience, deadline.left()))) && !deadline.over())
        broke(no_sign(what));
    }
  }
  // Waits until the request of that number is complete.
  void complete(std::uint64_t number, Limit limit = kForever) {
    wait_until(
        "its requests", [&] { return completed_ >= number; }, limit);
  }
  // Waits for anything new, until the deadline; false when there was nothing.
  bool wait(const Deadline& deadline) {
    const std::uint64_t before = progress_;
    const auto news = [&] { return progress_ != before || broken_.has_value(); };
    const Clock::time_point spun = std::min(Clock::now() + kSpin, deadline.at());
    do {
      reap();
      if (news()) return true;
    } while (Clock::now() < spun);
    arm();
    while (!news()) {
      auto readable = news_from();
      const int count = poll(readable.data(), readable.size(), deadline.milliseconds());
      if (count < 0 && errno != EINTR) fail_errno("poll");
      if (count == 0 && deadline.over()) return false;
      take_events();
      arm();
    }
    return true;
  }
  // Takes the completions that are there.
  void reap() {
    std::array<ibv_wc, 16> done;
    int count = 0;
    do {
      count = ibv_poll_cq(queue_.get(), static_cast<int>(done.size()), done.data());
      require(count >= 0, "ibv_poll_cq failed");
      progress_ += static_cast<unsigned>(count);
      for (int i = 0; i < count; i++) take(done[static_cast<std::size_t>(i)]);
    } while (count == static_cast<int>(done.size()));
  }
  void take(const ibv_wc& done) {
    if (done.status != IBV_WC_SUCCESS) {
      // A request that was refused says more than the others, which are flushed with it.
      if (!broken_ || (done.status != IBV_WC_WR_FLUSH_ERR && broken_->cause() == Cause::kLost))
        broken_ = failure_of(done);
    } else if ((done.wr_id & kReceive) == 0) {
      completed_ = done.wr_id;
    } else if (!broken_) {
      try {
        take_message(done);
      } catch (const Failure& failure) {
        broke(failure);
      }
    }
  }
  void take_message(const ibv_wc& done) {
    const auto slot = static_cast<unsigned>(done.wr_id & ~kReceive);
    if ((done.wc_flags & IBV_WC_WITH_IMM) != 0) {
      credits_.arrived();
      arrivals_.push_back({.message = {}, .immediate = ntohl(done.imm_data)});
    } else {
      const std::span<const std::byte> bytes = receive_slot(slot).first(done.byte_len);
      const auto kind =
          bytes.size() >= kHeader ? std::to_integer<std::uint8_t>(bytes[0]) : std::uint8_t{0};
      require(kind == kMessage || kind == kCreditsOnly, "the peer sent what is no message",
              Cause::kProtocol);
      credits_.returned(get_big<std::uint16_t>(bytes.data() + 2), kind == kCreditsOnly);
      if (kind == kMessage) {
        credits_.arrived();
        arrivals_.push_back({.message = {bytes.begin() + kHeader, bytes.end()}, .immediate = {}});
      }
    }
    post_receive(slot);
  }
  // Takes what woke poll(): events of completion and of the connection.
  void take_events() {
    ibv_cq* queue = nullptr;
    void* context = nullptr;
    while (ibv_get_cq_event(events_.get(), &queue, &context) == 0) {
      armed_ = false;
      if (++unacknowledged_ == kAcknowledgeEvery) {
        ibv_ack_cq_events(queue_.get(), unacknowledged_);
        unacknowledged_ = 0;
      }
    }
    while (const std::optional<Event> event = next_event(channel_.get(), Deadline(Limit(0)))) {
      if (event->type == RDMA_CM_EVENT_DISCONNECTED ||
          event->type == RDMA_CM_EVENT_DEVICE_REMOVAL) {
        reap();  // what came before the end, or says why it came
        broke({Cause::kLost, event->type == RDMA_CM_EVENT_DISCONNECTED
                                 ? "the peer ended the connection"
                                 : "the RDMA device was removed"});
      }
    }
    reap();
  }
  void arm() {
    if (!armed_ && !broken_) {
      armed_ = true;
      require_zero(ibv_req_notify_cq(queue_.get(), 0), "ibv_req_notify_cq");
    }
    // Completions from before the arming raise no event.
    reap();
  }

  const std::array<std::byte, Hello::kBytes> private_data_;
  Clock::time_point begun_;
  Credits credits_;

  // Destroyed from below: the queue pair first.
  Channel channel_;
  Owned<ibv_pd> domain_;
  Owned<ibv_comp_channel> events_;
  Owned<ibv_cq> queue_;
  std::vector<std::byte> slots_;
  Owned<ibv_mr> slots_memory_;
  Identifier id_;

  std::uint64_t progress_ = 0;  // counts completions
  std::uint64_t posted_ = 0;
  std::uint64_t completed_ = 0;
  std::vector<std::uint64_t> slot_used_by_;  // the last request that sends from each slot
  unsigned next_slot_ = 0;
  std::uint32_t inline_bytes_ = 0;
  bool armed_ = false;
  unsigned unacknowledged_ = 0;
  std::deque<Arrival> arrivals_;
};

// ---- how it begins: by rdma_cm, from either end ----

// The network device that has an address of this host; empty if none has.
std::string netdev_with(const std::string& host) {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(first, freeifaddrs);
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next)
    if (each->ifa_addr != nullptr &&
        (each->ifa_addr->sa_family == AF_INET || each->ifa_addr->sa_family == AF_INET6) &&
        Address::of(each->ifa_addr).host == host)
      return each->ifa_name;
  return {};
}

// The network device by which packets leave for the address. Nothing is sent.
std::string netdev_towards(const Address& address) {
  const SocketAddress there = address.resolve();
  const Descriptor probe(socket(there.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  return ::connect(probe.number(), there.get(), there.length) == 0
             ? netdev_with(local_address(probe).host)
             : std::string();
}

// "no RDMA device reaches 10.0.0.1:3640: rdma link add weft0 type weft netdev eth0", with the
// network device that packets to `address` leave by.
Failure no_device(const Address& address) {
  const std::string netdev = address.host == "*" ? "" : netdev_towards(address);
  return {Cause::kDevice,
          sentence("no RDMA device reaches ", address.text(),
                   ": rdma link add weft0 type weft netdev ", netdev.empty() ? "NETDEV" : netdev)};
}

// Throws no_device() if that is what an error of rdma_cm says.
void check_device(int error, const Address& address) {
  if (error == ENODEV || error == EADDRNOTAVAIL) throw no_device(address);
}

// A channel whose descriptor does not block. Throws no_device() on a host that has none at all.
Channel channel_to(const Address& address) {
  rdma_event_channel* channel = rdma_create_event_channel();
  if (channel == nullptr && (errno == ENODEV || errno == ENOENT)) throw no_device(address);
  Channel owner = own(channel, "rdma_create_event_channel");
  unblock(channel->fd);
  return owner;
}

// The event that ends a step of connecting; throws Failure in the words of a user if it is another.
Event expect(const Channel& channel, rdma_cm_event_type wanted, const Address& address,
             const Deadline& deadline) {
  const std::optional<Event> event = next_event(channel.get(), deadline);
  require(event.has_value(), Cause::kTimeout, address.text(), " did not answer in time");
  if (event->type == wanted) return *event;
  const int error = std::abs(event->status);
  if (event->type == RDMA_CM_EVENT_ADDR_ERROR) check_device(error, address);
  if (event->type == RDMA_CM_EVENT_REJECTED || error == ECONNREFUSED) {
    fail(Cause::kRefused, address.text(),
         " refused the connection: is the server running there, and may this host connect?");
  }
  if (event->type == RDMA_CM_EVENT_ADDR_ERROR || event->type == RDMA_CM_EVENT_UNREACHABLE ||
      error == ETIMEDOUT)
    fail(Cause::kTimeout, address.text(), " can't be reached: ", std::strerror(error));
  fail(Cause::kLost, "connecting to ", address.text(), ": ", rdma_event_str(event->type), ", ",
       std::strerror(error));
}

// Registers what a link takes, and gives it back: a peer that came to a limit of this process would
// be told no, and nobody here why.
void try_memory(rdma_cm_id* id, const Settings& settings) {
  const std::unique_ptr<ibv_context*, void (*)(ibv_context**)> all(rdma_get_devices(nullptr),
                                                                   rdma_free_devices);
  // Of an id that listens at every address it is NULL.
  ibv_context* device = id->verbs != nullptr || all == nullptr ? id->verbs : *all;
  if (device == nullptr) return;
  const Owned<ibv_pd> domain = own(ibv_alloc_pd(device), "ibv_alloc_pd");
  std::vector<std::byte> bytes(RdmaLink::memory_bytes(settings));
  register_memory(domain.get(), bytes, kLocal);
}

class RdmaListener : public Listener {
 public:
  RdmaListener(const Address& address, const Settings& settings, Admit admit)
      : Listener(address, settings, std::move(admit)),
        channel_(channel_to(address)),
        id_(make_identifier(channel_.get())) {
    SocketAddress name = address.resolve();
    if (rdma_bind_addr(id_.get(), name.get()) != 0) {
      check_device(errno, address);
      fail_listening(address);
    }
    // Bound to an address of this host that has no device, it would hear nothing.
    if (address.host != "*" && id_->verbs == nullptr) throw no_device(address);
    if (rdma_listen(id_.get(), 128) != 0) fail_listening(address);
    try_memory(id_.get(), settings_);
    address_.port = ntohs(rdma_get_src_port(id_.get()));
  }

  std::unique_ptr<Link> accept(Limit limit) override {
    const Deadline deadline(limit);
    while (const std::optional<Event> event = next_event(channel_.get(), deadline)) {
      forget_late();
      switch (event->type) {
        case RDMA_CM_EVENT_CONNECT_REQUEST:
          answer(*event);
          break;
        case RDMA_CM_EVENT_ESTABLISHED:
          if (std::unique_ptr<Link> link = established(event->id)) return link;
          break;
        case RDMA_CM_EVENT_DEVICE_REMOVAL:
          require(event->id != id_.get(), Cause::kDevice, "the RDMA device of ", address_.text(),
                  " was removed");
          forget(event->id);
          break;
        default:
          forget(event->id);
      }
      // Peers that are refused, one after the other, are no reason to stay.
      if (deadline.over()) break;
    }
    return nullptr;
  }

 private:
  // A peer that was told yes, and has not yet said that it knows.
  struct Pending {
    rdma_cm_id* id;
    std::unique_ptr<RdmaLink> link;
    Hello hello;
    Address peer;
    Deadline deadline;
  };

  // Answers a request for a connection.
  void answer(const Event& request) {
    Identifier id(request.id);
    // What goes wrong here is the peer's doing, or want of memory for one more.
    try {
      const Address peer = Address::of(rdma_get_peer_addr(id.get()));
      if (pending_.size() >= kMostPending || !admits(peer)) {
        rdma_reject(id.get(), nullptr, 0);
        return;
      }
      const Hello hello{std::as_bytes(std::span(request.private_data))};
      rdma_cm_id* const name = id.get();
      auto link = std::make_unique<RdmaLink>(std::move(id), settings_, Clock::now());
      rdma_conn_param param = link->parameters();
      if (rdma_accept(name, &param) == 0) {
        pending_.push_back({.id = name,
                            .link = std::move(link),
                            .hello = hello,
                            .peer = peer,
                            .deadline = Deadline(kAnswer)});
      }
    } catch (const std::exception& failure) {
      if (id != nullptr) rdma_reject(id.get(), nullptr, 0);
      const auto* known = dynamic_cast<const Failure*>(&failure);
      if (known != nullptr && known->cause() == Cause::kSystem) {
        // No peer can mend this host's limit, and nobody else here would hear of it.
        std::fprintf(stderr, "%s: one more peer was refused: %s\n", program_invocation_short_name,
                     failure.what());
      }
    }
  }
  // The link of an id whose connection is there; NULL if it can't be used.
  std::unique_ptr<Link> established(const rdma_cm_id* id) {
    const auto found = std::find_if(pending_.begin(), pending_.end(),
                                    [id](const Pending& each) { return each.id == id; });
    if (found == pending_.end()) return nullptr;
    Pending pending = std::move(*found);
    pending_.erase(found);
    try {
      Channel channel = channel_to(pending.peer);
      if (rdma_migrate_id(pending.id, channel.get()) != 0) return nullptr;
      pending.link->established(std::move(channel), pending.hello, std::move(pending.peer));
      return std::move(pending.link);
    } catch (const std::exception&) {
      return nullptr;  // there is no descriptor for one more
    }
  }
  void forget(const rdma_cm_id* id) {
    pending_.remove_if([id](const Pending& each) { return each.id == id; });
  }
  void forget_late() {
    pending_.remove_if([](const Pending& each) { return each.deadline.over(); });
  }

  Channel channel_;
  Identifier id_;
  std::list<Pending> pending_;
};

}  // namespace

std::unique_ptr<Link> connect_rdma(const Address& address, Limit limit, const Settings& settings) {
  const Clock::time_point begun = Clock::now();
  const Deadline deadline(limit);
  SocketAddress name = address.resolve();
  Channel channel = channel_to(address);
  Identifier id = make_identifier(channel.get());
  const auto timeout = deadline.milliseconds() < 0 ? 60000 : deadline.milliseconds();
  if (rdma_resolve_addr(id.get(), nullptr, name.get(), timeout) != 0) {
    check_device(errno, address);
    fail_errno("the way to " + address.text(), Cause::kTimeout);
  }
  expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED, address, deadline);
  if (rdma_resolve_route(id.get(), timeout) != 0)
    fail_errno("the way to " + address.text(), Cause::kTimeout);
  expect(channel, RDMA_CM_EVENT_ROUTE_RESOLVED, address, deadline);
  rdma_cm_id* const connecting = id.get();
  auto link = std::make_unique<RdmaLink>(std::move(id), settings, begun);
  rdma_conn_param param = link->parameters();
  if (rdma_connect(connecting, &param) != 0)
    fail_errno("connecting to " + address.text(), Cause::kRefused);
  const Event event = expect(channel, RDMA_CM_EVENT_ESTABLISHED, address, deadline);
  link->established(std::move(channel), Hello(std::as_bytes(std::span(event.private_data))),
                    address);
  return link;
}

std::unique_ptr<Listener> listen_rdma(const Address& address, const Settings& settings,
                                      Admit admit) {
  return std::make_unique<RdmaListener>(address, settings, std::move(admit));
}

}  // namespace rdma
