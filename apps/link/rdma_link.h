// SPDX-License-Identifier: GPL-2.0
// A link over a connection of rdma_cm: what a request does is done by the RDMA devices.
//
// One completion queue serves both directions. Every request asks for its completion, which comes
// in the order of posting, so two counters say what is on the way. Messages lie in slots of memory
// of the link's own; one that arrives is copied out and its slot posted again at once, and the peer
// learns of the room when the program has taken the message (Credits).
#pragma once

#include <deque>

#include "event.h"
#include "protocol.h"

namespace rdma {

class RdmaLink : public Link {
 public:
  // `id` has a device; `begun` is when the connection was begun. The queue pair is ready for
  // rdma_connect() or rdma_accept() when this returns.
  RdmaLink(Identifier id, const Settings& settings, Clock::time_point begun);
  ~RdmaLink() override;

  // What each link registers for messages, before any region.
  static std::size_t memory_bytes(const Settings& settings);

  // What goes to rdma_connect() or rdma_accept(). It points into this link.
  rdma_conn_param parameters() const;
  // The connection is there: its further events come to `channel`, which is the id's from now on.
  void established(Channel channel, const Hello& peer, Address address);

  void flush(Limit limit) override;
  std::optional<Arrival> receive(Limit limit) override;

 protected:
  Region::Known know(std::span<std::byte> memory, Rights rights) override;
  void transfer(const Frame& request, const Region& own, std::size_t offset) override;
  std::uint64_t execute(const Frame& request) override;
  void send_message(std::span<const std::byte> message) override;
  void take_credit() override;
  bool prepare_wait(std::vector<pollfd>& descriptors) override;

 private:
  void make_queues();
  std::span<std::byte> send_slot(unsigned slot);
  std::span<std::byte> receive_slot(unsigned slot);
  ibv_sge sge_of(std::span<std::byte> slot) const;
  void post_receive(unsigned slot);
  // Posts a request when there is room for it; returns its number, which complete() is told.
  std::uint64_t post(ibv_send_wr& work);
  void post_message(std::span<const std::byte> message, std::uint8_t kind);
  // Tells the peer of the messages that were taken, if half of its room is owed.
  void return_credits() noexcept;

  // Waits until `done` says yes, as long as there is progress within the patience.
  template <typename Done>
  void wait_until(const char* what, Done done, Limit limit = kForever);
  // Waits until the request of that number is complete.
  void complete(std::uint64_t number, Limit limit = kForever);
  // Waits for anything new, until the deadline; false when there was nothing.
  bool wait(const Deadline& deadline);
  // Takes the completions that are there.
  void reap();
  void take(const ibv_wc& done);
  void take_message(const ibv_wc& done);
  // Takes what woke poll(): events of completion and of the connection.
  void take_events();
  void arm();
  void broke(const Failure& failure);
  void check_alive() const;

  const std::array<std::byte, Hello::kBytes> private_data_;
  Clock::time_point begun_;
  Credits credits_;

  // Destroyed from below: the queue pair first.
  Channel channel_;
  Owned<ibv_pd> domain_;
  Owned<ibv_comp_channel> events_;
  Owned<ibv_cq> queue_;
  std::vector<std::byte> slots_;
  Owned<ibv_mr> slots_memory_;
  Identifier id_;

  std::uint64_t progress_ = 0;  // counts completions
  std::uint64_t posted_ = 0;
  std::uint64_t completed_ = 0;
  std::vector<std::uint64_t> slot_used_by_;  // the last request that sends from each slot
  unsigned next_slot_ = 0;
  std::uint32_t inline_bytes_ = 0;
  bool armed_ = false;
  unsigned unacknowledged_ = 0;
  std::deque<Arrival> arrivals_;
  std::optional<Failure> broken_;
};

// Registers memory for the rights; throws Failure (kSystem) that says which limit was met.
Owned<ibv_mr> register_memory(ibv_pd* domain, std::span<std::byte> bytes, Rights rights);
// Makes reads of a descriptor return EAGAIN instead of waiting.
void unblock(int descriptor);

// See connect() and Listener::listen() in link.h.
std::unique_ptr<Link> connect_rdma(const Address& address, Limit limit, const Settings& settings);
std::unique_ptr<Listener> listen_rdma(const Address& address, const Settings& settings,
                                      Admit admit);

}  // namespace rdma
