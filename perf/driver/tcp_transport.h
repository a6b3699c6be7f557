// SPDX-License-Identifier: GPL-2.0
// Messages of one size over plain TCP sockets.
#pragma once

#include <sys/uio.h>

#include <memory>
#include <string>
#include <vector>

#include "socket.h"
#include "memory.h"
#include "transport.h"

namespace rdma::perf {

class TcpTransport : public Transport {
 public:
  // Takes connected sockets.
  TcpTransport(const Settings& settings, std::vector<Descriptor> sockets);
  static std::unique_ptr<Transport> connect(const Settings& settings, const std::string& address,
                                            std::uint16_t port);

  void post(unsigned connection, Operation operation, std::size_t offset, std::size_t bytes,
            bool told) override;
  void notify(unsigned connection) override;
  // TCP has a window of its own.
  bool needs_credits() const override { return false; }
  void progress(Until until, bool wait) override;
  unsigned char* bytes() const override { return memory_.bytes(); }

 private:
  struct Pipe {
    std::size_t offset = 0;  // where the bytes of the messages posted begin
    std::size_t unsent = 0;  // bytes of them the socket has not taken
    std::size_t got = 0;     // bytes of messages that are arriving
    bool watched = false;    // epoll says when it is writable
  };
  // Both return whether anything moved.
  bool push(unsigned connection, bool wait);
  bool pull(unsigned connection, bool wait);
  void watch(unsigned connection, bool writable);

  std::size_t message_;
  std::size_t gather_;
  std::size_t arrivals_;  // where in the memory what arrives goes
  Memory memory_;
  std::vector<iovec> parts_;  // of a call: messages, all at the memory's beginning
  std::vector<Descriptor> sockets_;
  std::vector<Pipe> pipes_;
  Descriptor epoll_;
};

class TcpListener : public Listener {
 public:
  TcpListener(const std::string& address, unsigned connections);
  std::uint16_t port() const override { return local_address(socket_).port; }
  std::unique_ptr<Transport> accept(const Settings& settings) override;

 private:
  Descriptor socket_;
};

}  // namespace rdma::perf
