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

#include "protocol.h"
#include "socket.h"
#include "tcp_regions.h"

namespace rdma {

class TcpLink : public Link {
 public:
  // The hellos have been exchanged over `socket`; `begun` is when the connection was begun.
  TcpLink(Descriptor socket, const Settings& settings, const Hello& peer, Address address,
          Clock::time_point begun);
  ~TcpLink() override;

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

// A connected socket. Throws Failure: kRefused, kTimeout.
Descriptor connect_socket(const Address& address, const Deadline& deadline);

// See connect() and Listener::listen() in link.h.
std::unique_ptr<Link> connect_tcp(const Address& address, Limit limit, const Settings& settings);
std::unique_ptr<Listener> listen_tcp(const Address& address, const Settings& settings, Admit admit);

}  // namespace rdma
