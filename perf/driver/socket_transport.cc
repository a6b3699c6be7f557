// SPDX-License-Identifier: GPL-2.0
// Messages of one size over plain sockets: TCP's, SMC's, or Unix'.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "socket.h"
#include "transport.h"

namespace rdma::perf {

namespace {

constexpr int kSomeBacklog = 1024;

class SocketTransport final : public Transport {
 public:
  // Takes connected sockets.
  SocketTransport(const Settings& settings, std::vector<Descriptor> sockets)
      : Transport(settings),
        message_(settings.size),
        gather_(settings.gather),
        arrivals_(std::max(settings.arena, settings.size)),
        memory_(arrivals_ + std::max(arrivals_, gather_ * message_)),
        parts_(gather_, iovec{.iov_base = memory_.bytes(), .iov_len = message_}),
        sockets_(std::move(sockets)),
        pipes_(settings.connections),
        epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    for (unsigned i = 0; i < connections(); i++) {
      no_delay(sockets_[i]);
      control(EPOLL_CTL_ADD, i, EPOLLIN);
    }
  }

  void post(unsigned connection, Operation /*operation*/, std::size_t offset, std::size_t bytes,
            bool told) override {
    require(bytes == message_, "messages over sockets have one size");
    pipes_[connection].offset = offset;
    pipes_[connection].unsent += bytes;
    posted(connection);
    // What is kept back goes with a later message, or when the program waits.
    if (!told && pipes_[connection].unsent < gather_ * message_ && gather_ > 1) return;
    while (pipes_[connection].unsent > 0 && push(connection, false)) {
    }
  }

  void notify(unsigned /*connection*/) override { throw Failure("sockets have no empty messages"); }

  // Sockets have windows of their own.
  bool needs_credits() const override { return false; }

  void progress(Until until, bool wait) override {
    while (gather_ > 1 && push(0, false)) {
    }
    // Pending data must be sent on while the caller waits for something else.
    if (connections() == 1 &&
        (until == Until::kSent || (until == Until::kReceived && outstanding() == 0))) {
      const bool block = wait && !polls();
      const bool moved = until == Until::kSent ? push(0, block) : pull(0, block);
      if (!moved && wait) nothing_came();
      return;
    }
    std::array<epoll_event, 64> events{};
    const int ready = epoll_wait(epoll_.number(), events.data(), static_cast<int>(events.size()),
                                 wait && !polls() ? -1 : 0);
    if (ready == 0 && wait) nothing_came();
    for (int i = 0; i < ready; i++) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      if ((event.events & EPOLLOUT) != 0) {
        while (push(event.data.u32, false)) {
        }
      }
      if ((event.events & ~EPOLLOUT) != 0) pull(event.data.u32, false);
    }
  }

  unsigned char* bytes() const override { return memory_.bytes(); }

 private:
  struct Pipe {
    std::size_t offset = 0;  // where the bytes of the messages posted begin
    std::size_t unsent = 0;  // bytes of them the socket has not taken
    std::size_t got = 0;     // bytes of messages that are arriving
    bool watched = false;    // epoll says when it is writable
  };

  // Both return whether anything moved.
  bool push(unsigned connection, bool wait) {
    Pipe& pipe = pipes_[connection];
    if (pipe.unsent == 0) return false;
    // Messages posted at one place are sent one by one, or several in a call if the settings say
    // so.
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
    if (pipe.unsent == 0 && pipe.watched) watch(connection, false);
    return true;
  }

  bool pull(unsigned connection, bool wait) {
    Pipe& pipe = pipes_[connection];
    unsigned char* to = memory_.bytes() + arrivals_;
    const ssize_t got = recv(sockets_[connection].number(), to + pipe.got,
                             gather_ * message_ - pipe.got, wait ? 0 : MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) return false;
    if (got <= 0) {
      require(got < 0, "the peer closed a connection");
      fail_errno("recv");
    }
    pipe.got += static_cast<std::size_t>(got);
    for (; pipe.got >= message_; pipe.got -= message_) arrived(connection);
    return true;
  }

  void watch(unsigned connection, bool writable) {
    if (pipes_[connection].watched != writable) {
      control(EPOLL_CTL_MOD, connection, writable ? EPOLLIN | EPOLLOUT : EPOLLIN);
      pipes_[connection].watched = writable;
    }
  }

  void control(int how, unsigned connection, std::uint32_t events) {
    epoll_event event{.events = events, .data = {.u32 = connection}};
    must(epoll_ctl(epoll_.number(), how, sockets_[connection].number(), &event), "epoll_ctl");
  }

  std::size_t message_;
  std::size_t gather_;
  std::size_t arrivals_;  // where in the memory what arrives goes, behind the messages
  Memory memory_;
  std::vector<iovec> parts_;  // of a call: messages, all at the memory's beginning
  std::vector<Descriptor> sockets_;
  std::vector<Pipe> pipes_;
  Descriptor epoll_;
};

// What a carrier's protocol is called in socket(); 0 is TCP.
int protocol(const Settings& settings) {
  constexpr int kSmc = 256;  // IPPROTO_SMC, since Linux 6.11
  return settings.carrier == Carrier::kSmc ? kSmc : 0;
}

// The name of a Unix socket, by the number that stands for its port.
SocketAddress path_of(std::uint16_t number) {
  SocketAddress made;
  auto* const name = reinterpret_cast<sockaddr_un*>(made.get());
  name->sun_family = AF_UNIX;
  const std::string path =
      std::filesystem::temp_directory_path() / ("weft-perf-" + std::to_string(number));
  require(path.size() < sizeof(name->sun_path), path + " is too long for a Unix socket");
  path.copy(name->sun_path, path.size());
  made.length = sizeof(*name);
  return made;
}

Descriptor listener_at(const SocketAddress& path, int backlog) {
  Descriptor made = stream_socket(path);
  must(bind(made.number(), path.get(), path.length),
       std::string("bind to ") + reinterpret_cast<const sockaddr_un*>(path.get())->sun_path);
  must(listen(made.number(), backlog), "listen");
  return made;
}

class SocketListener final : public Listener {
 public:
  SocketListener(const Settings& settings, const std::string& address)
      : unix_(settings.carrier == Carrier::kUnix), number_(static_cast<std::uint16_t>(getpid())) {
    const int backlog = static_cast<int>(settings.connections) + kSomeBacklog;
    socket_ = unix_ ? listener_at(path_of(number_), backlog)
                    : listener({address, 0}, backlog, protocol(settings));
  }
  ~SocketListener() override {
    if (unix_) unlink(reinterpret_cast<const sockaddr_un*>(path_of(number_).get())->sun_path);
  }

  std::uint16_t port() const override { return unix_ ? number_ : local_address(socket_).port; }

  std::unique_ptr<Transport> accept(const Settings& settings) override {
    std::vector<Descriptor> sockets(settings.connections);
    for (Descriptor& socket : sockets) socket = accept_from(socket_);
    return std::make_unique<SocketTransport>(settings, std::move(sockets));
  }

 private:
  bool unix_;
  std::uint16_t number_;  // of a Unix socket
  Descriptor socket_;
};

Descriptor connected(const Settings& settings, const std::string& address, std::uint16_t port) {
  if (settings.carrier != Carrier::kUnix) return connect_to({address, port}, protocol(settings));
  const SocketAddress path = path_of(port);
  Descriptor made = stream_socket(path);
  must(connect(made.number(), path.get(), path.length), "connecting");
  return made;
}

}  // namespace

std::unique_ptr<Listener> listen_sockets(const Settings& settings, const std::string& address) {
  return std::make_unique<SocketListener>(settings, address);
}

std::unique_ptr<Transport> connect_sockets(const Settings& settings, const std::string& address,
                                           std::uint16_t port) {
  std::vector<Descriptor> sockets(settings.connections);
  for (Descriptor& socket : sockets) socket = connected(settings, address, port);
  return std::make_unique<SocketTransport>(settings, std::move(sockets));
}

}  // namespace rdma::perf
