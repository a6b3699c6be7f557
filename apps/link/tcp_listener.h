// SPDX-License-Identifier: GPL-2.0
// Waits for TCP connections, and for the first words over them.
#pragma once

#include <list>

#include "tcp_link.h"

namespace rdma {

class TcpListener : public Listener {
 public:
  TcpListener(const Address& address, const Settings& settings, Admit admit);

  std::unique_ptr<Link> accept(Limit limit) override;
  const Address& address() const override { return address_; }

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

  Settings settings_;
  Admit admit_;
  Descriptor socket_;
  Address address_;
  std::list<Pending> pending_;
};

}  // namespace rdma
