// SPDX-License-Identifier: GPL-2.0
// One end of a connection, and the many ways in which it ends. No call here throws: any of them may
// fail in a storm.
#pragma once

#include "chance.h"
#include "event.h"
#include "work.h"

namespace rdma::storm {

// Where an end's memory lies, as its private data says.
struct Place {
  std::uint64_t address;
  std::uint32_t key;
  std::uint32_t size;
};

class Link {
 public:
  // Owns `id` from now on.
  explicit Link(rdma_cm_id* id) : bytes_(kSize), id_(id) {}

  // Makes the queue pair and what it needs, and posts receives. `id` has a device. Returns false if
  // a part could not be had.
  bool open(Chance& chance);
  bool connect(Chance& chance);
  bool accept(Chance& chance);
  // The other end's memory is there.
  void found(const Event& news);
  // Posts some work of each kind, and looks at completions.
  void work(Chance& chance);
  // Ends it in one of many ways.
  void end(Chance& chance);

  rdma_cm_id* id() const { return id_.get(); }

 private:
  static constexpr std::size_t kSize = 65536;

  rdma_conn_param any_depths(Chance& chance) const;
  void send(Chance& chance);
  void poll();
  void release();

  std::vector<char> bytes_;
  Owned<ibv_pd> pd_;
  Owned<ibv_cq> cq_;
  Owned<ibv_mr> mr_;
  Owned<ibv_mw> mw_;
  Identifier id_;
  Place own_{};
  Place other_{};
};

// The next event of a channel within that time, if there is one.
std::optional<Event> next_news(rdma_event_channel* channel, Limit limit);

}  // namespace rdma::storm
