// SPDX-License-Identifier: GPL-2.0
// Waits for TCP connections, and for the first words over them.
#include <poll.h>

#include <list>

#include "tcp_link.h"

namespace rdma {

namespace {

constexpr std::size_t kMostPending = 64;
constexpr Limit kHello = std::chrono::seconds(15);
// Without a descriptor for one more connection, it is tried again after this.
constexpr Limit kRest = std::chrono::milliseconds(100);

class TcpListener : public Listener {
 public:
  TcpListener(const Address& address, const Settings& settings, Admit admit)
      : Listener(address, settings, std::move(admit)), socket_(listener(address, 128)) {
    address_.port = local_address(socket_).port;
  }

  std::unique_ptr<Link> accept(Limit limit) override;

 private:
  // A peer that has connected and not yet said hello.
  struct Pending {
    Descriptor socket;
    Address peer;
    Clock::time_point begun;
    Deadline deadline;
    std::array<std::byte, Hello::kBytes> hello{};
    std::size_t got = 0;
  };

  void take_connection();
  // Reads more of the hello; false when the peer is given up.
  static bool read_hello(Pending& pending);
  std::unique_ptr<Link> answer(Pending& pending) const;

  Descriptor socket_;
  std::list<Pending> pending_;
};

std::unique_ptr<Link> TcpListener::accept(Limit limit) {
  const Deadline deadline(limit);
  std::vector<pollfd> descriptors;
  while (true) {
    pending_.remove_if([](const Pending& each) { return each.deadline.over(); });
    descriptors.assign(1, {.fd = socket_.number(), .events = POLLIN, .revents = 0});
    for (const Pending& each : pending_) {
      descriptors.push_back({.fd = each.socket.number(), .events = POLLIN, .revents = 0});
    }
    if (poll(descriptors.data(), descriptors.size(), deadline.milliseconds()) < 0 &&
        errno != EINTR) {
      fail_errno("poll");
    }
    // In the order of the descriptors; the listening socket's may add one to the end.
    std::size_t index = 1;
    for (auto each = pending_.begin(); each != pending_.end(); index++) {
      const bool keep = descriptors[index].revents == 0 || read_hello(*each);
      if (keep && each->got == each->hello.size()) {
        Pending whole = std::move(*each);
        pending_.erase(each);
        if (std::unique_ptr<Link> link = answer(whole)) {
          return link;
        }
        break;
      }
      each = keep ? std::next(each) : pending_.erase(each);
    }
    if (descriptors[0].revents != 0) {
      take_connection();
    }
    if (deadline.over()) {
      return nullptr;
    }
  }
}

void TcpListener::take_connection() {
  SocketAddress name;
  name.length = sizeof(name.storage);
  Descriptor socket(accept4(socket_.number(), name.get(), &name.length, SOCK_CLOEXEC));
  if (!socket) {
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
      poll(nullptr, 0, static_cast<int>(kRest.count()));
    }
    return;
  }
  const Address peer = Address::of(name);
  if (admits(peer)) {
    if (pending_.size() >= kMostPending) {
      pending_.pop_front();  // the one that has been silent for longest
    }
    pending_.push_back({.socket = std::move(socket),
                        .peer = peer,
                        .begun = Clock::now(),
                        .deadline = Deadline(kHello)});
  }
}

bool TcpListener::read_hello(Pending& pending) {
  const ssize_t count = recv(pending.socket.number(), pending.hello.data() + pending.got,
                             pending.hello.size() - pending.got, MSG_DONTWAIT);
  if (count > 0) {
    pending.got += static_cast<std::size_t>(count);
  }
  return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

std::unique_ptr<Link> TcpListener::answer(Pending& pending) const {
  try {
    const Hello peer{std::span<const std::byte>(pending.hello)};
    const auto own = Hello(settings_).to_bytes();
    if (send(pending.socket.number(), own.data(), own.size(), MSG_NOSIGNAL | MSG_DONTWAIT) !=
        static_cast<ssize_t>(own.size())) {
      return nullptr;
    }
    return std::make_unique<TcpLink>(std::move(pending.socket), settings_, peer, pending.peer,
                                     pending.begun);
  } catch (const std::exception&) {
    // What is wrong is the peer's doing, or want of a thread or memory for one more.
    return nullptr;
  }
}

}  // namespace

std::unique_ptr<Listener> listen_tcp(const Address& address, const Settings& settings,
                                     Admit admit) {
  return std::make_unique<TcpListener>(address, settings, std::move(admit));
}

}  // namespace rdma
