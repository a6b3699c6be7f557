// SPDX-License-Identifier: GPL-2.0
#include "tcp_transport.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

namespace rdma::perf {

namespace {

constexpr int kSomeBacklog = 1024;

// The area messages lie in, then the place where what arrives goes.
std::size_t area(const Settings& settings) {
  return std::max(settings.arena, settings.size);
}

}  // namespace

TcpTransport::TcpTransport(const Settings& settings, std::vector<Descriptor> sockets)
    : Transport(settings),
      message_(settings.size),
      gather_(settings.gather),
      arrivals_(area(settings)),
      memory_(arrivals_ + std::max(arrivals_, gather_ * message_)),
      parts_(gather_, iovec{.iov_base = memory_.bytes(), .iov_len = message_}),
      sockets_(std::move(sockets)),
      pipes_(settings.connections),
      epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  if (epoll_.number() < 0) {
    fail_errno("epoll_create1");
  }
  for (unsigned i = 0; i < connections(); i++) {
    no_delay(sockets_[i]);
    epoll_event event{.events = EPOLLIN, .data = {.u32 = i}};
    if (epoll_ctl(epoll_.number(), EPOLL_CTL_ADD, sockets_[i].number(), &event) != 0) {
      fail_errno("epoll_ctl");
    }
  }
}

std::unique_ptr<Transport> TcpTransport::connect(const Settings& settings,
                                                 const std::string& address, std::uint16_t port) {
  std::vector<Descriptor> sockets;
  for (unsigned i = 0; i < settings.connections; i++) {
    sockets.push_back(connect_to({address, port}));
  }
  return std::make_unique<TcpTransport>(settings, std::move(sockets));
}

bool TcpTransport::push(unsigned connection, bool wait) {
  Pipe& pipe = pipes_[connection];
  if (pipe.unsent == 0) {
    return false;
  }
  // Messages posted at one place are sent one by one, or several in a call if the settings say so.
  const auto messages = [this](std::size_t bytes) { return (bytes + message_ - 1) / message_; };
  const std::size_t before = messages(pipe.unsent);
  const std::size_t rest = (pipe.unsent - 1) % message_ + 1;
  unsigned char* from = memory_.bytes() + pipe.offset + (message_ - rest);
  const int flags = MSG_NOSIGNAL | (wait ? 0 : MSG_DONTWAIT);
  ssize_t sent = 0;
  if (gather_ == 1) {
    sent = send(sockets_[connection].number(), from, rest, flags);
  } else {
    msghdr header{};
    parts_[0] = {.iov_base = from, .iov_len = rest};
    header.msg_iov = parts_.data();
    header.msg_iovlen = std::min(gather_, before);
    sent = sendmsg(sockets_[connection].number(), &header, flags);
  }
  if (sent < 0) {
    if (errno == EAGAIN) {
      watch(connection, true);
      return false;
    }
    fail_errno("send");
  }
  pipe.unsent -= static_cast<std::size_t>(sent);
  gone(connection, static_cast<unsigned>(before - messages(pipe.unsent)));
  if (pipe.unsent == 0 && pipe.watched) {
    watch(connection, false);
  }
  return true;
}

bool TcpTransport::pull(unsigned connection, bool wait) {
  Pipe& pipe = pipes_[connection];
  unsigned char* to = memory_.bytes() + arrivals_;
  const ssize_t got = recv(sockets_[connection].number(), to + pipe.got,
                           gather_ * message_ - pipe.got, wait ? 0 : MSG_DONTWAIT);
  if (got < 0 && errno == EAGAIN) {
    return false;
  }
  if (got <= 0) {
    require(got < 0, "the peer closed a connection");
    fail_errno("recv");
  }
  pipe.got += static_cast<std::size_t>(got);
  for (; pipe.got >= message_; pipe.got -= message_) {
    arrived(connection);
  }
  return true;
}

void TcpTransport::watch(unsigned connection, bool writable) {
  Pipe& pipe = pipes_[connection];
  if (pipe.watched == writable) {
    return;
  }
  epoll_event event{.events = EPOLLIN, .data = {.u32 = connection}};
  if (writable) {
    event.events |= EPOLLOUT;
  }
  if (epoll_ctl(epoll_.number(), EPOLL_CTL_MOD, sockets_[connection].number(), &event) != 0) {
    fail_errno("epoll_ctl");
  }
  pipe.watched = writable;
}

void TcpTransport::post(unsigned connection, Operation /*operation*/, std::size_t offset,
                        std::size_t bytes, bool told) {
  require(bytes == message_, "messages over TCP have one size");
  pipes_[connection].offset = offset;
  pipes_[connection].unsent += bytes;
  posted(connection);
  // What is kept back goes with a later message, or when the program waits.
  if (!told && pipes_[connection].unsent < gather_ * message_ && gather_ > 1) {
    return;
  }
  while (pipes_[connection].unsent > 0 && push(connection, false)) {
  }
}

void TcpTransport::notify(unsigned /*connection*/) {
  throw Failure("TCP has no empty messages");
}

void TcpTransport::progress(Until until, bool wait) {
  while (gather_ > 1 && push(0, false)) {
  }
  // Pending data must be sent on while the caller waits for something else.
  if (connections() == 1 &&
      (until == Until::kSent || (until == Until::kReceived && outstanding() == 0))) {
    const bool block = wait && !polls();
    const bool moved = until == Until::kSent ? push(0, block) : pull(0, block);
    if (!moved && wait) {
      nothing_came();
    }
    return;
  }
  std::array<epoll_event, 64> events{};
  const int ready = epoll_wait(epoll_.number(), events.data(), static_cast<int>(events.size()),
                               wait && !polls() ? -1 : 0);
  if (ready == 0 && wait) {
    nothing_came();
  }
  for (int i = 0; i < ready; i++) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    if ((event.events & EPOLLOUT) != 0) {
      while (push(event.data.u32, false)) {
      }
    }
    if ((event.events & ~EPOLLOUT) != 0) {
      pull(event.data.u32, false);
    }
  }
}

TcpListener::TcpListener(const std::string& address, unsigned connections)
    : socket_(listener({address, 0}, static_cast<int>(connections) + kSomeBacklog)) {}

std::unique_ptr<Transport> TcpListener::accept(const Settings& settings) {
  std::vector<Descriptor> sockets;
  for (unsigned i = 0; i < settings.connections; i++) {
    sockets.push_back(accept_from(socket_));
  }
  return std::make_unique<TcpTransport>(settings, std::move(sockets));
}

}  // namespace rdma::perf
