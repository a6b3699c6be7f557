// SPDX-License-Identifier: GPL-2.0
#include "rdma_link.h"

#include <fcntl.h>

#include <algorithm>
#include <array>

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
      return {Cause::kRefused,
              "the peer refused a request: its region has not this key, these bytes or this right"};
    case IBV_WC_LOC_LEN_ERR:
      return {Cause::kProtocol, "the peer sent a message that is too long"};
    default:
      return {Cause::kLost, std::string("the connection broke: ") + ibv_wc_status_str(done.status) +
                                ", vendor error " + std::to_string(done.vendor_err)};
  }
}

}  // namespace

Owned<ibv_mr> register_memory(ibv_pd* domain, std::span<std::byte> bytes, Rights rights) {
  int access = IBV_ACCESS_LOCAL_WRITE;
  access |= (rights & kRemoteRead) != 0 ? IBV_ACCESS_REMOTE_READ : 0;
  access |= (rights & kRemoteWrite) != 0 ? IBV_ACCESS_REMOTE_WRITE : 0;
  access |= (rights & kRemoteAtomic) != 0 ? IBV_ACCESS_REMOTE_ATOMIC : 0;
  Owned<ibv_mr> memory(ibv_reg_mr(domain, bytes.data(), bytes.size(), access));
  if (memory == nullptr) {
    const std::string hint =
        errno == ENOMEM ? "; raise the limit of locked memory (ulimit -l)" : "";
    throw Failure(Cause::kSystem, "registering " + std::to_string(bytes.size()) +
                                      " bytes: " + std::strerror(errno) + hint);
  }
  return memory;
}

void unblock(int descriptor) {
  must(fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK), "fcntl");
}

RdmaLink::RdmaLink(Identifier id, const Settings& settings, Clock::time_point begun)
    : Link(Transport::kRdma, settings),
      private_data_(Hello(settings).to_bytes()),
      begun_(begun),
      credits_(settings.credits, 0),
      id_(std::move(id)),
      slot_used_by_(kSendSlots) {
  make_queues();
  for (unsigned slot = 0; slot < settings_.credits + Credits::kReturns; slot++) {
    post_receive(slot);
  }
}

void RdmaLink::make_queues() {
  const unsigned receives = settings_.credits + Credits::kReturns;
  // A protection domain for each link, so that a key opens memory to this peer and no other.
  domain_ = own(ibv_alloc_pd(id_->verbs), "ibv_alloc_pd");
  events_ = own(ibv_create_comp_channel(id_->verbs), "ibv_create_comp_channel");
  unblock(events_->fd);
  queue_ = own(ibv_create_cq(id_->verbs, static_cast<int>(settings_.depth + receives + 1), nullptr,
                             events_.get(), 0),
               "ibv_create_cq");
  ibv_qp_init_attr init = queue_pair(queue_.get(), settings_.depth, receives);
  init.sq_sig_all = 1;
  init.cap.max_inline_data = kInline;
  must(rdma_create_qp(id_.get(), domain_.get(), &init), "rdma_create_qp");
  inline_bytes_ = init.cap.max_inline_data;
  slots_.resize(memory_bytes(settings_));
  slots_memory_ = register_memory(domain_.get(), slots_, kLocal);
}

std::size_t RdmaLink::memory_bytes(const Settings& settings) {
  const std::size_t slots = kSendSlots + settings.credits + Credits::kReturns;
  return kResult + slots * (kHeader + settings.message_bytes);
}

RdmaLink::~RdmaLink() {
  if (channel_ != nullptr && !broken_ && rdma_disconnect(id_.get()) == 0) {
    // In order: what the peer was sent before is still delivered.
    const Deadline deadline(kOrderlyEnd);
    try {
      while (const std::optional<Event> event = next_event(channel_.get(), deadline)) {
        if (event->type == RDMA_CM_EVENT_DISCONNECTED) {
          break;
        }
      }
    } catch (const Failure&) {
      // It ends in any case.
    }
  }
  ibv_ack_cq_events(queue_.get(), unacknowledged_);
}

rdma_conn_param RdmaLink::parameters() const {
  return rdma::parameters(kReads, private_data_.data(), private_data_.size());
}

void RdmaLink::established(Channel channel, const Hello& peer, Address address) {
  channel_ = std::move(channel);
  message_limit_ = std::min(settings_.message_bytes, peer.message_bytes);
  credits_ = Credits(settings_.credits, peer.credits);
  peer_ = std::move(address);
  statistics_.connecting = Clock::now() - begun_;
}

std::span<std::byte> RdmaLink::send_slot(unsigned slot) {
  const std::size_t size = kHeader + settings_.message_bytes;
  return std::span(slots_).subspan(kResult + slot * size, size);
}

std::span<std::byte> RdmaLink::receive_slot(unsigned slot) {
  return send_slot(kSendSlots + slot);
}

ibv_sge RdmaLink::sge_of(std::span<std::byte> slot) const {
  return {.addr = reinterpret_cast<std::uintptr_t>(slot.data()),
          .length = static_cast<std::uint32_t>(slot.size()),
          .lkey = slots_memory_->lkey};
}

void RdmaLink::post_receive(unsigned slot) {
  ibv_sge sge = sge_of(receive_slot(slot));
  ibv_recv_wr work{};
  work.wr_id = kReceive | slot;
  work.sg_list = &sge;
  work.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  require_zero(ibv_post_recv(id_->qp, &work, &bad), "ibv_post_recv");
}

std::uint64_t RdmaLink::post(ibv_send_wr& work) {
  reap();
  if (posted_ - completed_ >= settings_.depth) {
    // Half of the queue at once: a thread that is woken for each request costs more than the
    // request.
    complete(posted_ - settings_.depth / 2);
  }
  check_alive();
  work.wr_id = posted_ + 1;
  ibv_send_wr* bad = nullptr;
  const int error = ibv_post_send(id_->qp, &work, &bad);
  if (error != 0) {
    // The reason may be that the connection has just ended.
    reap();
    check_alive();
    const bool lacks = error == EOPNOTSUPP || error == EINVAL;
    throw Failure(lacks ? Cause::kDevice : Cause::kSystem,
                  std::string("ibv_post_send: ") + std::strerror(error) +
                      (lacks ? "; this device or the peer's has no such request (atomics and "
                               "notifications need Weft at both ends)"
                             : ""));
  }
  return ++posted_;
}

void RdmaLink::transfer(const Frame& request, const Region& own, std::size_t offset) {
  ibv_sge sge{.addr = reinterpret_cast<std::uintptr_t>(own.bytes().data()) + offset,
              .length = static_cast<std::uint32_t>(request.length),
              .lkey = own.local_key()};
  ibv_send_wr work{};
  work.opcode = request.type == Frame::Type::kRead    ? IBV_WR_RDMA_READ
                : request.type == Frame::Type::kWrite ? IBV_WR_RDMA_WRITE
                                                      : IBV_WR_RDMA_WRITE_WITH_IMM;
  work.sg_list = &sge;
  work.num_sge = request.length > 0 ? 1 : 0;
  work.imm_data = htonl(static_cast<std::uint32_t>(request.first));
  work.wr.rdma.remote_addr = request.address;
  work.wr.rdma.rkey = request.key;
  if (request.type != Frame::Type::kRead && request.length <= inline_bytes_) {
    work.send_flags |= IBV_SEND_INLINE;
  }
  post(work);
}

std::uint64_t RdmaLink::execute(const Frame& request) {
  std::uint64_t before = 0;
  ibv_sge sge = sge_of(std::span(slots_).first(sizeof(before)));
  ibv_send_wr work{};
  work.opcode = request.type == Frame::Type::kFetchAdd ? IBV_WR_ATOMIC_FETCH_AND_ADD
                                                       : IBV_WR_ATOMIC_CMP_AND_SWP;
  work.sg_list = &sge;
  work.num_sge = 1;
  work.wr.atomic.compare_add = request.first;
  work.wr.atomic.swap = request.second;
  work.wr.atomic.remote_addr = request.address;
  work.wr.atomic.rkey = request.key;
  complete(post(work));
  std::memcpy(&before, slots_.data(), sizeof(before));
  return before;
}

void RdmaLink::post_message(std::span<const std::byte> message, std::uint8_t kind) {
  const unsigned slot = next_slot_;
  next_slot_ = (next_slot_ + 1) % kSendSlots;
  complete(slot_used_by_[slot]);
  const std::span<std::byte> bytes = send_slot(slot);
  bytes[0] = static_cast<std::byte>(kind);
  bytes[1] = {};
  put_big(bytes.data() + 2, static_cast<std::uint16_t>(credits_.give_back()));
  std::copy(message.begin(), message.end(), bytes.begin() + kHeader);
  ibv_sge sge = sge_of(bytes.first(kHeader + message.size()));
  ibv_send_wr work{};
  work.opcode = IBV_WR_SEND;
  work.sg_list = &sge;
  work.num_sge = 1;
  work.send_flags = sge.length <= inline_bytes_ ? IBV_SEND_INLINE : 0;
  slot_used_by_[slot] = post(work);
}

void RdmaLink::send_message(std::span<const std::byte> message) {
  post_message(message, kMessage);
}

void RdmaLink::return_credits() noexcept {
  if (!credits_.due() || broken_) {
    return;
  }
  try {
    post_message({}, kCreditsOnly);
  } catch (const Failure& failure) {
    broke(failure);
  }
}

template <typename Done>
void RdmaLink::wait_until(const char* what, Done done, Limit limit) {
  const Deadline deadline(limit);
  while (!done()) {
    check_alive();
    if (deadline.over()) {
      broke(too_slow(what, limit));
      continue;
    }
    if (!wait(Deadline(std::min(settings_.patience, deadline.left()))) && !deadline.over()) {
      broke(no_sign(what));
    }
  }
}

void RdmaLink::complete(std::uint64_t number, Limit limit) {
  wait_until(
      "its requests", [&] { return completed_ >= number; }, limit);
}

void RdmaLink::take_credit() {
  if (!credits_.any()) {
    reap();
  }
  wait_until("room for a message", [&] { return credits_.any(); });
  credits_.spend();
}

void RdmaLink::flush(Limit limit) {
  reap();
  complete(posted_, limit);
}

std::optional<Arrival> RdmaLink::receive(Limit limit) {
  const Deadline deadline(limit);
  reap();
  while (arrivals_.empty()) {
    check_alive();
    if (deadline.over() || !wait(deadline)) {
      if (armed_) {
        take_events();
      }
      if (!arrivals_.empty()) {
        break;
      }
      check_alive();
      return std::nullopt;
    }
  }
  std::optional<Arrival> arrival(std::move(arrivals_.front()));
  arrivals_.pop_front();
  credits_.taken();
  statistics_.bytes_received += arrival->message.size();
  return_credits();
  return arrival;
}

bool RdmaLink::prepare_wait(std::vector<pollfd>& descriptors) {
  take_events();
  arm();
  if (!arrivals_.empty() || broken_) {
    return true;
  }
  descriptors.push_back({.fd = events_->fd, .events = POLLIN, .revents = 0});
  descriptors.push_back({.fd = channel_->fd, .events = POLLIN, .revents = 0});
  return false;
}

bool RdmaLink::wait(const Deadline& deadline) {
  const Stopwatch watch(statistics_.waiting);
  const std::uint64_t before = progress_;
  const auto news = [&] { return progress_ != before || broken_.has_value(); };
  const Clock::time_point spun = std::min(Clock::now() + kSpin, deadline.at());
  do {
    reap();
    if (news()) {
      return true;
    }
  } while (Clock::now() < spun);
  arm();
  while (!news()) {
    std::array<pollfd, 2> readable{pollfd{.fd = events_->fd, .events = POLLIN, .revents = 0},
                                   pollfd{.fd = channel_->fd, .events = POLLIN, .revents = 0}};
    const int count = poll(readable.data(), readable.size(), deadline.milliseconds());
    if (count < 0 && errno != EINTR) {
      fail_errno("poll");
    }
    if (count == 0 && deadline.over()) {
      return false;
    }
    take_events();
    arm();
  }
  return true;
}

void RdmaLink::arm() {
  if (!armed_ && !broken_) {
    armed_ = true;
    require_zero(ibv_req_notify_cq(queue_.get(), 0), "ibv_req_notify_cq");
  }
  // Completions from before the arming raise no event.
  reap();
}

void RdmaLink::take_events() {
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
    if (event->type == RDMA_CM_EVENT_DISCONNECTED || event->type == RDMA_CM_EVENT_DEVICE_REMOVAL) {
      reap();  // what came before the end, or says why it came
      broke({Cause::kLost, event->type == RDMA_CM_EVENT_DISCONNECTED
                               ? "the peer ended the connection"
                               : "the RDMA device was removed"});
    }
  }
  reap();
}

void RdmaLink::reap() {
  std::array<ibv_wc, 16> done;
  int count = 0;
  do {
    count = ibv_poll_cq(queue_.get(), static_cast<int>(done.size()), done.data());
    require(count >= 0, "ibv_poll_cq failed");
    progress_ += static_cast<unsigned>(count);
    for (int i = 0; i < count; i++) {
      take(done[static_cast<std::size_t>(i)]);
    }
  } while (count == static_cast<int>(done.size()));
}

void RdmaLink::take(const ibv_wc& done) {
  if (done.status != IBV_WC_SUCCESS) {
    // A request that was refused says more than the others, which are flushed with it.
    if (!broken_ || (done.status != IBV_WC_WR_FLUSH_ERR && broken_->cause() == Cause::kLost)) {
      broken_ = failure_of(done);
    }
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

void RdmaLink::take_message(const ibv_wc& done) {
  const auto slot = static_cast<unsigned>(done.wr_id & ~kReceive);
  if ((done.wc_flags & IBV_WC_WITH_IMM) != 0) {
    credits_.arrived();
    arrivals_.push_back({.message = {}, .immediate = ntohl(done.imm_data)});
  } else {
    const std::span<const std::byte> bytes = receive_slot(slot).first(done.byte_len);
    const auto kind =
        bytes.size() >= kHeader ? std::to_integer<std::uint8_t>(bytes[0]) : std::uint8_t{0};
    if (kind != kMessage && kind != kCreditsOnly) {
      throw Failure(Cause::kProtocol, "the peer sent what is no message");
    }
    const auto credits = get_big<std::uint16_t>(bytes.data() + 2);
    if (kind == kCreditsOnly) {
      credits_.returned_alone(credits);
    } else {
      credits_.returned(credits);
      credits_.arrived();
      arrivals_.push_back({.message = {bytes.begin() + kHeader, bytes.end()}, .immediate = {}});
    }
  }
  post_receive(slot);
}

void RdmaLink::broke(const Failure& failure) {
  if (!broken_) {
    broken_ = failure;
  }
}

void RdmaLink::check_alive() const {
  if (broken_) {
    throw Failure(*broken_);
  }
}

Region::Known RdmaLink::know(std::span<std::byte> memory, Rights rights) {
  check_alive();
  const std::shared_ptr<ibv_mr> known = register_memory(domain_.get(), memory, rights);
  return {.remote = {.address = reinterpret_cast<std::uintptr_t>(memory.data()),
                     .length = memory.size(),
                     .key = known->rkey},
          .local_key = known->lkey,
          .held = known};
}

}  // namespace rdma
