// SPDX-License-Identifier: GPL-2.0
// Waits for connections of rdma_cm.
#pragma once

#include <list>

#include "rdma_link.h"

namespace rdma {

class RdmaListener : public Listener {
 public:
  RdmaListener(const Address& address, const Settings& settings, Admit admit);

  std::unique_ptr<Link> accept(Limit limit) override;
  const Address& address() const override { return address_; }

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
  void answer(const Event& request);
  // The link of an id whose connection is there; NULL if it can't be used.
  std::unique_ptr<Link> established(const rdma_cm_id* id);
  void forget(const rdma_cm_id* id);
  void forget_late();

  Settings settings_;
  Admit admit_;
  Channel channel_;
  Identifier id_;
  Address address_;
  std::list<Pending> pending_;
};

}  // namespace rdma
