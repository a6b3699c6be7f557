// SPDX-License-Identifier: GPL-2.0
// One end of a connection, and the many ways in which it ends. No call here throws: any of them may
// fail in a storm.
#ifndef WEFT_TESTS_STORM_LINK_H
#define WEFT_TESTS_STORM_LINK_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <cstdint>
#include <vector>

#include "chance.h"

namespace storm {

// Where an end's memory lies, as its private data says.
struct Place {
  std::uint64_t address;
  std::uint32_t key;
  std::uint32_t size;
};

class Link {
 public:
  // Owns `id` from now on.
  explicit Link(rdma_cm_id* id) : id_(id), bytes_(kSize) {}
  ~Link() { release(); }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // Makes the queue pair and what it needs, and posts receives. `id` has a device. Returns false if
  // a part could not be had.
  bool open(Chance& chance);
  bool connect(Chance& chance);
  bool accept(Chance& chance);
  // The other end's memory is there.
  void found(const void* private_data, std::size_t length);
  // Posts some work of each kind, and looks at completions.
  void work(Chance& chance);
  // Ends it in one of many ways.
  void end(Chance& chance);

  rdma_cm_id* id() const { return id_; }

 private:
  static constexpr std::size_t kSize = 65536;

  rdma_conn_param parameters(Chance& chance);
  void send(Chance& chance);
  void poll();
  void release();

  rdma_cm_id* id_;
  std::vector<char> bytes_;
  ibv_pd* pd_ = nullptr;
  ibv_cq* cq_ = nullptr;
  ibv_mr* mr_ = nullptr;
  ibv_mw* mw_ = nullptr;
  Place own_{};
  Place other_{};
};

// The next event of a channel within that time, acknowledged; its private data and, of a request,
// its identifier stay.
struct News {
  rdma_cm_event_type type{};
  rdma_cm_id* id = nullptr;
  std::vector<char> private_data;
};
bool next_news(rdma_event_channel* channel, std::chrono::milliseconds limit, News& news);

}  // namespace storm

#endif  // WEFT_TESTS_STORM_LINK_H
