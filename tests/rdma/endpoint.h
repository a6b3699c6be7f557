// SPDX-License-Identifier: GPL-2.0
// One end of a connection: its verbs objects, its memory, and waiting with a limit.
#ifndef WEFT_TESTS_ENDPOINT_H
#define WEFT_TESTS_ENDPOINT_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "memory.h"

namespace placement {

using Clock = std::chrono::steady_clock;

// Every wait ends by then. Generous: an emulated machine under load is slow, a hang is not
// a matter of seconds.
inline constexpr std::chrono::seconds kPatience{15};

// The attributes that a queue pair is created with.
struct Shape {
  std::uint32_t send_wr = 128;
  std::uint32_t recv_wr = 128;
  std::uint32_t cq_entries = 128;
  std::uint32_t sge = 16;
  std::uint32_t inline_bytes = 288;
  bool signal_all = false;
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

// Owns everything it makes, the rdma_cm identifier included.
class Endpoint {
 public:
  // `id` has an address and a device. Values of `shape` above the device's limits are lowered
  // to them. Throws Failure.
  Endpoint(rdma_cm_id* id, std::string name, const Shape& shape);
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  rdma_cm_id* id() const { return id_; }
  ibv_qp* qp() const { return id_->qp; }
  ibv_pd* pd() const { return pd_; }
  ibv_cq* send_cq() const { return send_cq_; }
  ibv_cq* recv_cq() const { return recv_cq_; }
  ibv_srq* srq() const { return srq_; }                          // or nullptr
  ibv_qp_ex* qp_ex() const { return ibv_qp_to_qp_ex(id_->qp); }  // or nullptr
  Memory& memory() const { return *memory_; }
  const char* name() const { return name_.c_str(); }
  const ibv_qp_cap& cap() const { return cap_; }
  const ibv_device_attr& device() const { return device_; }
  ibv_qp_state state() const;
  // Mainline's software iWARP: tests spare it what it is known to fail at.
  bool is_siw() const;

  void wait_with(Wait wait) { wait_ = wait; }

  // Posts a receive of the layout in this end's memory; returns its wr_id. Throws Failure.
  std::uint64_t post_recv(const Layout& layout);
  // Fills in wr_id and posts; returns wr_id. Throws Failure.
  std::uint64_t post_send(ibv_send_wr work);

  // The next completion of that queue. Throws Failure after kPatience.
  ibv_wc next(ibv_cq* cq);
  ibv_wc next_send() { return next(send_cq_); }
  ibv_wc next_recv() { return next(recv_cq_); }
  // Empty if there is none now.
  std::optional<ibv_wc> poll(ibv_cq* cq) const;
  // Returns true if a completion event of that queue arrives within the time. It may be of a
  // completion that next() found by itself after arming, and so tells nothing of completions.
  bool await_event(ibv_cq* cq, std::chrono::milliseconds limit);
  // Throws Failure if a completion comes to that queue within the time.
  void expect_none(ibv_cq* cq, std::chrono::milliseconds limit);
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

  // The next event of the connection; throws Failure when it does not come in time.
  rdma_cm_event_type next_cm_event();

  static std::uint64_t new_wr_id();

 private:
  // The next asynchronous event that `wanted` says yes to.
  ibv_event_type next_event_if(const std::function<bool(const ibv_async_event&)>& wanted);
  ibv_wc next_by_polling(ibv_cq* cq, Clock::time_point end) const;
  void create_domain(const Shape& shape);
  ibv_cq* create_cq(const Shape& shape, ibv_comp_channel* channel) const;
  void create_queues(const Shape& shape);
  void destroy();

  rdma_cm_id* id_;
  std::string name_;
  Wait wait_ = Wait::kEvent;
  ibv_device_attr device_{};
  ibv_qp_cap cap_{};
  ibv_td* td_ = nullptr;
  ibv_pd* protection_ = nullptr;  // the protection domain
  ibv_pd* pd_ = nullptr;          // the same, or the parent domain made of it
  ibv_srq* srq_ = nullptr;
  bool foreign_srq_ = false;  // another's
  ibv_comp_channel* send_channel_ = nullptr;
  ibv_comp_channel* recv_channel_ = nullptr;
  ibv_cq* send_cq_ = nullptr;
  ibv_cq* recv_cq_ = nullptr;
  std::unique_ptr<Memory> memory_;
};

// "opcode send status success (0) vendor 0 ..."
std::string to_string(const ibv_wc& completion);

}  // namespace placement

#endif  // WEFT_TESTS_ENDPOINT_H
