// SPDX-License-Identifier: GPL-2.0
// One end of a connection: its verbs objects, its memory, and waiting with a limit.
#pragma once

#include <functional>

#include "event.h"
#include "memory.h"
#include "work.h"

namespace rdma {

// The case cannot be had on this machine; the reason is printed.
class Skip : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The device says that it lacks what the case is about. Weft lacks nothing that is tested, so this
// is a failure; a device of another kind is let off.
class Lacking : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Every wait ends by then: an emulated machine under load is slow.
inline constexpr std::chrono::seconds kPatience{15};

// An identifier on a channel of its own.
struct Caller {
  Channel channel;
  Identifier id;
};

// The attributes that a queue pair is created with.
struct Shape {
  std::uint32_t send_wr = 128;
  std::uint32_t recv_wr = 128;
  std::uint32_t cq_entries = 128;
  std::uint32_t sge = 16;
  std::uint32_t inline_bytes = 288;
  std::size_t arena = 3U << 20;
  int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  bool shared_receives = false;  // receives are taken from a shared receive queue
  bool extended = false;         // a queue pair and completion queues for ibv_wr_*, ibv_start_poll
  bool stamps = false;           // extended, and completions have timestamps
  bool domain = false;           // all in a parent domain with a thread domain
  ibv_pd* pd = nullptr;          // all in this protection domain, of another that lives longer
  ibv_pd* shared_pd = nullptr;   // the shared receive queue in this one, of another again
  ibv_srq* srq = nullptr;        // receives are taken from this one, of another that lives longer
};

enum class Wait { kPoll, kEvent };

// Owns everything it makes, and the identifier.
class Endpoint {
 public:
  // The identifier has an address and a device, whose limits lower `shape`. Throws Failure.
  Endpoint(Caller caller, std::string name, const Shape& shape);

  rdma_cm_id* id() const { return caller_.id.get(); }
  ibv_context* context() const { return id()->verbs; }
  ibv_qp* qp() const { return id()->qp; }
  ibv_pd* pd() const { return pd_; }
  ibv_cq* send_cq() const { return send_cq_.get(); }
  ibv_cq* recv_cq() const { return recv_cq_.get(); }
  ibv_srq* srq() const { return srq_; }                       // or nullptr
  ibv_qp_ex* qp_ex() const { return ibv_qp_to_qp_ex(qp()); }  // or nullptr
  Memory& memory() const { return *memory_; }
  const char* name() const { return name_.c_str(); }
  const ibv_qp_cap& cap() const { return cap_; }
  const ibv_device_attr& device() const { return device_; }
  ibv_qp_state state() const { return query(qp(), IBV_QP_STATE).qp_state; }
  // Mainline's software iWARP: tests spare it what it is known to fail at.
  bool is_siw() const;

  void wait_with(Wait wait) { wait_ = wait; }

  // A work request on those bytes of this end's memory, and of an offset of the other's.
  Work work(ibv_wr_opcode opcode, const Layout& layout = {}) const {
    return Work(opcode, memory().sges(layout));
  }
  Work work(ibv_wr_opcode opcode, const Layout& layout, const Endpoint& other,
            std::size_t offset) const {
    Work made = work(opcode, layout);
    made.aim(other.memory().address(offset), other.memory().mr()->rkey);
    return made;
  }

  // Posts a receive of the layout in this end's memory; returns its wr_id. Throws Failure.
  std::uint64_t post_recv(const Layout& layout);
  // Posts with a new wr_id; returns it. Throws Failure.
  std::uint64_t post_send(const ibv_send_wr& work);
  // The same, and its completion must be the next.
  void carry_out(const ibv_send_wr& work) {
    expect_send(post_send(work), completed_as(work.opcode));
  }

  // The next completion of that queue. Throws Failure after kPatience.
  ibv_wc next(ibv_cq* cq);
  ibv_wc next_send() { return next(send_cq()); }
  ibv_wc next_recv() { return next(recv_cq()); }
  // Empty if there is none now.
  std::optional<ibv_wc> poll(ibv_cq* cq) const;
  // Its event may be of a completion that next() found after arming, and so tell nothing of others.
  static bool await_event(ibv_cq* cq, Limit limit) { return rdma::await_event(cq, limit); }
  // Throws Failure if a completion comes to that queue within the time.
  void expect_none(ibv_cq* cq, Limit limit);
  // The next successful completion must be this one. Throws Failure otherwise.
  void expect_send(std::uint64_t wr_id, ibv_wc_opcode opcode);
  void expect_recv(std::uint64_t wr_id, std::size_t length);
  // Takes `count` completions; each must be a flush. Throws Failure.
  void expect_flushed(ibv_cq* cq, unsigned count);
  // Waits for the queue pair to fail. Throws Failure after kPatience.
  void expect_error_state();

  // The next asynchronous event of this end's device, acknowledged; throws Failure when it
  // does not come in time. Events about other objects than `about` are passed over.
  ibv_event_type next_async_event(const void* about);
  // The same of the port.
  ibv_event_type next_port_event();
  // The next event of the connection must be that. Throws Failure.
  Event expect(rdma_cm_event_type type) const {
    return expect_event(id()->channel, type, kPatience);
  }

  static std::uint64_t new_wr_id();

 private:
  struct EndQueuePair {
    void operator()(rdma_cm_id* id) const { end_queue_pair(id); }
  };

  // The next asynchronous event that `wanted` says yes to.
  ibv_event_type next_event_if(const std::function<bool(const ibv_async_event&)>& wanted);
  ibv_wc next_by_polling(ibv_cq* cq, const Deadline& deadline) const;
  void create_domain(const Shape& shape);
  Owned<ibv_cq> create_cq(const Shape& shape, ibv_comp_channel* channel) const;
  void create_srq(const Shape& shape);
  void create_queue_pair(const Shape& shape);
  // "no completion at the client (send queue) within 15 s"
  std::string missing(const ibv_cq* cq, const char* how) const;

  Caller caller_;
  std::string name_;
  Wait wait_ = Wait::kEvent;
  ibv_device_attr device_{};
  ibv_qp_cap cap_{};
  // In the order of making: each needs those above it.
  Owned<ibv_pd> protection_;
  Owned<ibv_td> thread_;
  Owned<ibv_pd> parent_;
  ibv_pd* pd_ = nullptr;  // the protection domain, or the parent domain made of it
  Owned<ibv_comp_channel> send_channel_;
  Owned<ibv_comp_channel> recv_channel_;
  Owned<ibv_cq> send_cq_;
  Owned<ibv_cq> recv_cq_;
  Owned<ibv_srq> own_srq_;
  ibv_srq* srq_ = nullptr;  // or another's
  std::unique_ptr<Memory> memory_;
  std::unique_ptr<rdma_cm_id, EndQueuePair> queue_pair_;
};

// "opcode send status success (0) vendor 0 ..."
std::string to_string(const ibv_wc& completion);

}  // namespace rdma
