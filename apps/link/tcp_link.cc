// SPDX-License-Identifier: GPL-2.0
#include "tcp_link.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace rdma {

namespace {

// How long the end waits for the peer's own end, so that the last bytes are not lost in a reset.
constexpr Limit kOrderlyEnd = std::chrono::seconds(2);

void set_option(int socket, int level, int name, int value) {
  must(setsockopt(socket, level, name, &value, sizeof(value)), "setsockopt");
}

// Small frames leave at once, a send gives up after the patience without progress, and a peer that
// has gone without a word is found out.
void tune(int socket, Limit patience) {
  constexpr int kProbes = 3;
  const auto milliseconds = static_cast<int>(std::min<std::int64_t>(
      patience.count(), std::chrono::milliseconds(std::chrono::hours(1)).count()));
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  const int seconds = std::max(1, milliseconds / 1000 / (kProbes + 1));
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, seconds);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, seconds);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, milliseconds);
  const timeval time{.tv_sec = milliseconds / 1000, .tv_usec = milliseconds % 1000 * 1000L};
  must(setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time)), "setsockopt");
}

}  // namespace

TcpLink::TcpLink(Descriptor socket, const Settings& settings, const Hello& peer, Address address,
                 Clock::time_point begun)
    : Link(Transport::kTcp, settings),
      socket_(std::move(socket)),
      news_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      credits_(settings.credits, peer.credits) {
  message_limit_ = std::min(settings.message_bytes, peer.message_bytes);
  peer_ = std::move(address);
  if (!news_) {
    fail_errno("eventfd");
  }
  tune(socket_.number(), settings_.patience);
  receiver_ = std::thread(&TcpLink::receive_frames, this);
  try {
    responder_ = std::thread(&TcpLink::respond, this);
  } catch (...) {
    shutdown(socket_.number(), SHUT_RDWR);
    receiver_.join();
    throw;
  }
  statistics_.connecting = Clock::now() - begun;
}

TcpLink::~TcpLink() {
  {
    std::unique_lock lock(mutex_);
    closing_ = true;
    asked_.notify_all();
  }
  responder_.join();
  {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kOrderlyEnd, [this] { return received_all_; });
  }
  shutdown(socket_.number(), SHUT_RDWR);
  receiver_.join();
}

Region::Known TcpLink::know(std::span<std::byte> memory, Rights rights) {
  const std::uint32_t key = regions_.add(memory, rights);
  return {.remote = {.address = 0, .length = memory.size(), .key = key},
          .held = std::shared_ptr<RegionTable>(&regions_,
                                               [key](RegionTable* table) { table->remove(key); })};
}

void TcpLink::broke(const Failure& failure) {
  const std::lock_guard lock(mutex_);
  broke_locked(failure);
}

void TcpLink::broke_locked(const Failure& failure) {
  if (!broken_) {
    broken_ = failure;
  }
  changed_.notify_all();
  asked_.notify_all();
  eventfd_write(news_.number(), 1);
}

void TcpLink::check_alive_locked() const {
  if (broken_) {
    throw Failure(*broken_);
  }
}

// The receiver may know better why nothing can be sent: a refusal, or the peer's orderly end.
void TcpLink::fail_sending() {
  const int error = errno;
  std::unique_lock lock(mutex_);
  if (error == EAGAIN) {
    broke_locked({Cause::kTimeout, "the peer took nothing for " +
                                       std::to_string(settings_.patience.count()) + " ms"});
  } else {
    changed_.wait_for(lock, kOrderlyEnd, [this] { return broken_.has_value(); });
    broke_locked({Cause::kLost, std::string("the connection broke: ") + std::strerror(error)});
  }
  throw Failure(*broken_);
}

void TcpLink::send_all(std::span<iovec> pieces) {
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  while (message.msg_iovlen > 0) {
    const ssize_t count = sendmsg(socket_.number(), &message, MSG_NOSIGNAL);
    if (count < 0) {
      if (errno == EINTR) {
        continue;
      }
      fail_sending();
    }
    auto left = static_cast<std::size_t>(count);
    while (message.msg_iovlen > 0 && left >= message.msg_iov->iov_len) {
      left -= message.msg_iov->iov_len;
      message.msg_iov++;
      message.msg_iovlen--;
    }
    if (message.msg_iovlen > 0) {
      message.msg_iov->iov_base = static_cast<std::byte*>(message.msg_iov->iov_base) + left;
      message.msg_iov->iov_len -= left;
    }
  }
}

void TcpLink::send_frame(Frame frame, std::span<const std::byte> payload) {
  const Stopwatch watch(statistics_.waiting);
  const std::lock_guard whole(sending_);
  {
    const std::lock_guard lock(mutex_);
    check_alive_locked();
    frame.credits = static_cast<std::uint16_t>(credits_.give_back());
  }
  auto header = frame.to_bytes();
  // sendmsg(2) does not write to what it sends.
  std::array<iovec, 2> pieces{
      iovec{.iov_base = header.data(), .iov_len = header.size()},
      iovec{.iov_base = const_cast<std::byte*>(payload.data()), .iov_len = payload.size()}};
  send_all(pieces);
}

void TcpLink::transfer(const Frame& request, const Region& own, std::size_t offset) {
  if (request.type == Frame::Type::kRead) {
    ask(request, {.atomic = false,
                  .sink = {.key = own.remote().key, .address = offset, .length = request.length}});
  } else {
    send_frame(request, own.bytes().subspan(offset, request.length));
  }
}

void TcpLink::ask(const Frame& frame, const Wanted& wanted) {
  wait_until("its reads", [this] { return wanted_.size() < settings_.depth; });
  {
    const std::lock_guard lock(mutex_);
    wanted_.push_back(wanted);
  }
  send_frame(frame, {});
}

std::uint64_t TcpLink::execute(const Frame& request) {
  ask(request, {.atomic = true, .sink = {}});
  flush(kForever);
  const std::lock_guard lock(mutex_);
  return result_;
}

void TcpLink::send_message(std::span<const std::byte> message) {
  send_frame({.type = Frame::Type::kMessage, .length = message.size()}, message);
}

template <typename Done>
void TcpLink::wait_until(const char* what, Done done, Limit limit) {
  const Stopwatch watch(statistics_.waiting);
  const Deadline deadline(limit);
  std::unique_lock lock(mutex_);
  while (!done()) {
    check_alive_locked();
    if (deadline.over()) {
      broke_locked(too_slow(what, limit));
      continue;
    }
    const std::uint64_t before = progress_;
    const bool news = changed_.wait_for(lock, std::min(settings_.patience, deadline.left()),
                                        [&] { return done() || broken_ || progress_ != before; });
    if (!news && !deadline.over()) {
      broke_locked(no_sign(what));
    }
  }
}

void TcpLink::take_credit() {
  wait_until("room for a message", [this] { return credits_.any(); });
  const std::lock_guard lock(mutex_);
  credits_.spend();
}

void TcpLink::flush(Limit limit) {
  wait_until(
      "its requests", [this] { return wanted_.empty(); }, limit);
  const std::lock_guard lock(mutex_);
  check_alive_locked();
}

std::optional<Arrival> TcpLink::receive(Limit limit) {
  const Deadline deadline(limit);
  std::optional<Arrival> arrival;
  bool due = false;
  {
    const Stopwatch watch(statistics_.waiting);
    std::unique_lock lock(mutex_);
    while (arrivals_.empty()) {
      check_alive_locked();
      if (deadline.over()) {
        return std::nullopt;
      }
      if (deadline.at() == Clock::time_point::max()) {
        changed_.wait(lock);
      } else {
        changed_.wait_until(lock, deadline.at());
      }
    }
    arrival = std::move(arrivals_.front());
    arrivals_.pop_front();
    credits_.taken();
    due = credits_.due() && !broken_;
  }
  statistics_.bytes_received += arrival->message.size();
  if (due) {
    try {
      send_frame({.type = Frame::Type::kCredits}, {});
    } catch (const Failure&) {
      // The next call says so; what has arrived is the program's.
    }
  }
  return arrival;
}

bool TcpLink::prepare_wait(std::vector<pollfd>& descriptors) {
  const std::lock_guard lock(mutex_);
  eventfd_t count = 0;
  eventfd_read(news_.number(), &count);
  if (!arrivals_.empty() || broken_) {
    return true;
  }
  descriptors.push_back({.fd = news_.number(), .events = POLLIN, .revents = 0});
  return false;
}

Descriptor connect_socket(const Address& address, const Deadline& deadline) {
  const SocketAddress there = address.resolve();
  Descriptor made = stream_socket(there);
  const int flags = fcntl(made.number(), F_GETFL);
  if (fcntl(made.number(), F_SETFL, flags | O_NONBLOCK) != 0) {
    fail_errno("fcntl");
  }
  if (::connect(made.number(), there.get(), there.length) != 0) {
    if (errno == EINPROGRESS && !wait_ready(made.number(), deadline, POLLOUT)) {
      throw Failure(Cause::kTimeout, address.text() + " did not answer in time");
    }
    int error = errno;
    if (error == EINPROGRESS) {
      socklen_t length = sizeof(error);
      getsockopt(made.number(), SOL_SOCKET, SO_ERROR, &error, &length);
    }
    if (error == ECONNREFUSED) {
      throw Failure(Cause::kRefused,
                    address.text() + " refused the connection: is the server running there?");
    }
    if (error != 0) {
      throw Failure(Cause::kTimeout, address.text() + " can't be reached: " + std::strerror(error));
    }
  }
  fcntl(made.number(), F_SETFL, flags);
  return made;
}

std::unique_ptr<Link> connect_tcp(const Address& address, Limit limit, const Settings& settings) {
  const Clock::time_point begun = Clock::now();
  const Deadline deadline(limit);
  Descriptor socket = connect_socket(address, deadline);
  const auto hello = Hello(settings).to_bytes();
  std::array<std::byte, Hello::kBytes> answer{};
  std::size_t got = 0;
  if (::send(socket.number(), hello.data(), hello.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(hello.size())) {
    fail_errno("connecting to " + address.text(), Cause::kLost);
  }
  while (got < answer.size()) {
    if (!wait_ready(socket.number(), deadline)) {
      throw Failure(Cause::kTimeout, address.text() + " did not answer in time");
    }
    const ssize_t count = recv(socket.number(), answer.data() + got, answer.size() - got, 0);
    if (count <= 0) {
      throw Failure(Cause::kRefused,
                    address.text() + " refused the connection: may this host connect?");
    }
    got += static_cast<std::size_t>(count);
  }
  return std::make_unique<TcpLink>(std::move(socket), settings,
                                   Hello(std::span<const std::byte>(answer)), address, begun);
}

}  // namespace rdma
