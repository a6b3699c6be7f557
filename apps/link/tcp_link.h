// SPDX-License-Identifier: GPL-2.0
// A link over a TCP connection, with two threads in place of the RDMA device.
//
// The receiver reads frames: it places what the peer writes, executes its atomics, and hands on
// what is for the program. It never sends, for the peer may do nothing but send. The responder
// sends the answers to the peer's reads and atomics, in their order. The program's own frames are
// sent by its own thread; a mutex keeps whole frames together.
#pragma once

#include <sys/uio.h>

#include <condition_variable>
#include <deque>
#include <thread>

#include "credits.h"
#include "hello.h"
#include "tcp_regions.h"
#include "tcp_socket.h"

namespace rdma {

class TcpLink : public Link {
 public:
  // The hellos have been exchanged over `socket`; `begun` is when the connection was begun.
  TcpLink(Descriptor socket, const Settings& settings, const Hello& peer, Address address,
          Clock::time_point begun);
  ~TcpLink() override;

  std::unique_ptr<Region> expose(std::span<std::byte> memory, Rights rights) override;
  void write(const Region& from, std::size_t offset, std::size_t length, const RemoteRegion& remote,
             std::uint64_t remote_offset) override;
  void write_notify(const Region& from, std::size_t offset, std::size_t length,
                    const RemoteRegion& remote, std::uint64_t remote_offset,
                    std::uint32_t immediate) override;
  void read(const Region& into, std::size_t offset, std::size_t length, const RemoteRegion& remote,
            std::uint64_t remote_offset) override;
  std::uint64_t fetch_add(const RemoteRegion& remote, std::uint64_t remote_offset,
                          std::uint64_t add) override;
  std::uint64_t compare_swap(const RemoteRegion& remote, std::uint64_t remote_offset,
                             std::uint64_t expected, std::uint64_t desired) override;
  void send(std::span<const std::byte> message) override;
  void flush(Limit limit) override;
  std::optional<Arrival> receive(Limit limit) override;
  std::size_t message_limit() const override { return message_limit_; }
  const Address& peer() const override { return peer_; }
  Transport transport() const override { return Transport::kTcp; }

 protected:
  bool prepare_wait(std::vector<pollfd>& descriptors) override;

 private:
  // An answer that the peer owes: where its bytes go. An atomic's has a length of 0 and goes to
  // result_.
  struct Wanted {
    bool atomic;
    Part sink;
  };

  // The program's thread.
  void send_frame(Frame frame, std::span<const std::byte> payload);
  void send_all(std::span<iovec> pieces);
  void ask(const Frame& frame, const Wanted& wanted);
  std::uint64_t execute(Frame frame, const RemoteRegion& remote, std::uint64_t remote_offset);
  void need_credit();
  // Waits until `done` says yes, with the state locked, as long as there is progress in time.
  template <typename Done>
  void wait_until(const char* what, Done done, Limit limit = kForever);
  [[noreturn]] void fail_sending();

  // The receiver's thread (tcp_service.cc).
  void receive_frames();
  bool receive_bytes(std::span<std::byte> bytes);
  void serve(const Frame& frame);
  void place(Part part, Rights right);
  void take_answer(const Frame& frame);
  void queue_answer(const Frame& frame);
  void arrive(Arrival arrival);

  // The responder's thread.
  void respond();
  void send_answer(const Frame& request);
  void send_pieces(Part part);
  void send_nowait(std::span<const std::byte> bytes);
  void await_room();

  // Any thread.
  void broke(const Failure& failure);
  void broke_locked(const Failure& failure);
  void check_alive_locked() const;

  const Settings settings_;
  const std::size_t message_limit_;
  const Address peer_;
  Descriptor socket_;
  Descriptor news_;  // an eventfd, readable when there are arrivals or the end
  RegionTable regions_;
  std::timed_mutex sending_;

  std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  Credits credits_;
  std::deque<Arrival> arrivals_;
  std::deque<Wanted> wanted_;
  std::deque<Frame> requests_;  // of the peer, without an answer yet; the last may be a refusal
  std::condition_variable asked_;
  std::uint64_t result_ = 0;
  std::uint64_t progress_ = 0;  // counts what came
  std::optional<Failure> broken_;
  bool closing_ = false;
  bool received_all_ = false;

  std::thread receiver_;
  std::thread responder_;
};

// Connects; see connect() in link.h.
std::unique_ptr<Link> connect_tcp(const Address& address, Limit limit, const Settings& settings);

}  // namespace rdma
