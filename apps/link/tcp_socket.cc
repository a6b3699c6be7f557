// SPDX-License-Identifier: GPL-2.0
#include "tcp_socket.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

namespace rdma {

namespace {

void set_option(int socket, int level, int name, int value) {
  must(setsockopt(socket, level, name, &value, sizeof(value)), "setsockopt");
}

}  // namespace

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

}  // namespace rdma
