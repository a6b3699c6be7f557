// SPDX-License-Identifier: GPL-2.0
// Messages one way, never more than the receiver has posted receives for: it tells the sender
// with an empty message for each half of the queue it has taken.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "transport.h"

namespace rdma::perf {

class FlowOut {
 public:
  explicit FlowOut(Transport& transport, const Settings& settings)
      : transport_(transport),
        settings_(settings),
        credits_(transport.needs_credits() && settings.operation == Operation::kSend),
        sent_(transport.connections()) {}

  // Returns true if a message may be posted on this connection now.
  bool ready(unsigned connection) const {
    return transport_.outstanding(connection) < transport_.depth() &&
           (!credits_ || sent_[connection] < room(connection));
  }
  void send(unsigned connection, bool last) {
    const std::size_t step = std::max<std::size_t>(settings_.size, 1);
    transport_.post(connection, settings_.operation, offset_, settings_.size, last);
    offset_ = offset_ + 2 * step <= settings_.arena ? offset_ + step : 0;
    sent_[connection]++;
  }
  // Waits until ready().
  void await(unsigned connection) {
    while (!ready(connection)) {
      const bool full = transport_.outstanding(connection) >= transport_.depth();
      transport_.progress(full ? Until::kSent : Until::kReceived, true);
    }
  }

 private:
  std::uint64_t room(unsigned connection) const {
    return transport_.depth() + transport_.notices(connection) * ((transport_.depth() + 1) / 2);
  }

  Transport& transport_;
  const Settings& settings_;
  bool credits_;
  std::size_t offset_ = 0;
  std::vector<std::uint64_t> sent_;
};

class FlowIn {
 public:
  explicit FlowIn(Transport& transport, const Settings& settings)
      : transport_(transport),
        credits_(transport.needs_credits() && settings.operation == Operation::kSend),
        granted_(transport.connections()) {}

  // Tells the sender of room that has become free.
  void grant(unsigned connection) {
    const std::uint64_t half = (transport_.depth() + 1) / 2;
    while (credits_ && transport_.received(connection) >= (granted_[connection] + 1) * half) {
      transport_.notify(connection);
      granted_[connection]++;
    }
  }

 private:
  Transport& transport_;
  bool credits_;
  std::vector<std::uint64_t> granted_;
};

}  // namespace rdma::perf
