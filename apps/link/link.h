// SPDX-License-Identifier: GPL-2.0
// A connection over which each end writes and reads the other's memory: by RDMA, or by TCP with a
// thread in place of the RDMA device, so that a program can compare the two with the same code.
//
//     server                                        client
//     auto listener = Listener::listen(kind, at);   auto link = connect(kind, at, 5s);
//     auto link = listener->accept(5s);             auto mine = link->expose(bytes, kLocal);
//     auto mine = link->expose(bytes, kWrite);      auto hello = link->receive(5s);
//     link->send(mine->remote().to_bytes());        auto theirs = RemoteRegion::from_bytes(
//     auto news = link->receive(5s);                    hello->message);
//     // bytes[0..4095] are the client's now        link->write_notify(*mine, 0, 4096, theirs, 0,
//     7); news->immediate == 7                          link->flush();
//
// Order: what a peer places is placed in any order, until a message or a notification is received.
// When receive() returns one, all that the peer wrote before it, in the order of its calls, is in
// this end's memory. Messages and notifications arrive in the order in which they were sent.
//
// A link is for one thread at a time; two links may be in two threads. What one-sided requests of
// the peer do needs no call at this end. Failures are of the class Failure, and a link that has
// thrown one whose cause is not kInput is at its end: destroy it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "address.h"
#include "deadline.h"
#include "remote_region.h"

namespace rdma {

struct Frame;

enum class Transport { kRdma, kTcp };

// "rdma" or "tcp". Throws Failure (kInput).
Transport parse_transport(std::string_view text);
std::string_view name_of(Transport transport);

// A limit of kForever is for receive(), accept() and wait_any(), which wait for what a peer may do
// at any time.

// What the peer may do with a region. Rights are joined with |.
enum Rights : unsigned {
  kLocal = 0,        // nothing: memory for this end's own requests
  kRemoteRead = 1,   // read it
  kRemoteWrite = 2,  // write it
  kRemoteAtomic = 4  // fetch_add and compare_swap in it
};
constexpr Rights operator|(Rights left, Rights right) {
  return static_cast<Rights>(static_cast<unsigned>(left) | static_cast<unsigned>(right));
}

// What a link is made with. The two ends may differ.
struct Settings {
  // Requests on the way; one more waits for the first to be complete. 2 to 4096.
  unsigned depth = 64;
  // Messages and notifications from the peer that wait here for receive(). 4 to 4096.
  unsigned credits = 32;
  // The longest message that this end takes, in bytes. 64 to 1 MiB.
  std::uint32_t message_bytes = 4096;
  // After this long without progress while a request waits for the peer, the peer is given up.
  Limit patience = std::chrono::seconds(30);

  // Throws Failure (kInput) that names the value out of its range.
  void check() const;
};

// What this end has asked for over one link, and what that took.
struct Statistics {
  std::uint64_t operations = 0;            // writes, reads, atomics, messages, notifications
  std::uint64_t bytes_written = 0;         // by write() and write_notify()
  std::chrono::nanoseconds registering{};  // in expose() and in ends of regions
  std::chrono::nanoseconds connecting{};   // until the link was usable
};

// Memory that a link's requests may use and, with rights, that the peer may reach. It ends before
// the link does and before the memory, and after flush(). From then on no peer reaches the memory.
class Region {
 public:
  // The memory as the device, or the threads in its place, know it until `held` goes.
  struct Known {
    RemoteRegion remote;
    std::uint32_t local_key = 0;
    std::shared_ptr<void> held;
  };

  Region(std::span<std::byte> bytes, Known known, Transport transport, Statistics& statistics)
      : bytes_(bytes), known_(std::move(known)), transport_(transport), statistics_(statistics) {}
  ~Region() {
    const Clock::time_point begun = Clock::now();
    known_.held.reset();
    statistics_.registering += Clock::now() - begun;
  }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  std::span<std::byte> bytes() const { return bytes_; }
  // What the peer is to be told, by a message.
  const RemoteRegion& remote() const { return known_.remote; }
  // The key that this end's device takes.
  std::uint32_t local_key() const { return known_.local_key; }
  Transport transport() const { return transport_; }

 private:
  std::span<std::byte> bytes_;
  Known known_;
  Transport transport_;
  Statistics& statistics_;
};

// What receive() returns: a message, or the notification of a write.
struct Arrival {
  std::vector<std::byte> message;          // of send()
  std::optional<std::uint32_t> immediate;  // of write_notify(); the message is empty
};

class Link {
 public:
  // Ends the connection. The peer still gets what was flushed.
  virtual ~Link() = default;
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // Makes memory usable on this link, and reachable for its peer as `rights` say. The memory stays
  // the caller's. Throws Failure (kInput: no bytes; kSystem: with the limit that was met).
  std::unique_ptr<Region> expose(std::span<std::byte> memory, Rights rights);

  // One-sided requests. `offset` and `length` (bytes) are of `from` or `into`, this end's;
  // `remote_offset` is of `remote`, the peer's. None waits for the peer, but when Settings::depth
  // of them are on the way. This end's bytes are in use until flush() returns. The peer refuses
  // what its region does not allow; it ends the connection, and a later call throws Failure
  // (kRefused; for a write over RDMA, which has no answer that could say why, kLost).
  void write(const Region& from, std::size_t offset, std::size_t length, const RemoteRegion& remote,
             std::uint64_t remote_offset);
  // The same, and when all is placed the peer's receive() returns `immediate`. Waits while the peer
  // has Settings::credits arrivals that it has not yet received.
  void write_notify(const Region& from, std::size_t offset, std::size_t length,
                    const RemoteRegion& remote, std::uint64_t remote_offset,
                    std::uint32_t immediate);
  // The bytes are there when flush() returns. They are those that the peer's memory had after all
  // that this end wrote before; what it writes after may be in them as well. On RDMA cards that
  // speak iWARP `into` needs the right kRemoteWrite, for their answer to a read is a write; Weft's
  // does not.
  void read(const Region& into, std::size_t offset, std::size_t length, const RemoteRegion& remote,
            std::uint64_t remote_offset);

  // Atomic requests on 8 bytes of the peer's memory, in its byte order, at a multiple of 8. They
  // wait, and return the value before. They are atomic to one another over all links of the host.
  std::uint64_t fetch_add(const RemoteRegion& remote, std::uint64_t remote_offset,
                          std::uint64_t add);
  // Puts `desired` there if `expected` is there.
  std::uint64_t compare_swap(const RemoteRegion& remote, std::uint64_t remote_offset,
                             std::uint64_t expected, std::uint64_t desired);

  // Sends a message, which is copied. Waits while the peer has Settings::credits arrivals that it
  // has not yet received: two ends that only send, and never receive, wait for each other. Throws
  // Failure (kInput) if the message is longer than the peer's Settings::message_bytes.
  void send(std::span<const std::byte> message);
  // Waits until all requests of this end are complete: bytes read are there, and bytes to write may
  // be changed again. What was written may still be on its way to the peer's memory; to know that
  // it has arrived, read() something and flush(), or have the peer answer. Throws Failure
  // (kTimeout) if they are not complete within the limit, though the peer may be at them: a peer
  // that is not trusted could make them last for ever, a byte now and then.
  virtual void flush(Limit limit = kForever) = 0;
  // The next message or notification; empty when there is none within the limit (0: none now).
  // Throws Failure (kLost) when the peer has ended the connection and all that arrived before is
  // taken.
  virtual std::optional<Arrival> receive(Limit limit) = 0;

  // The longest message that the peer takes.
  std::size_t message_limit() const { return message_limit_; }
  const Address& peer() const { return peer_; }
  const Statistics& statistics() const { return statistics_; }

 protected:
  Link(Transport transport, const Settings& settings)
      : settings_(settings), transport_(transport) {}

  // Makes memory known. Throws as expose() does.
  virtual Region::Known know(std::span<std::byte> memory, Rights rights) = 0;
  // Begins a write or a read, whose bounds have been checked, of this end's bytes from `offset` on.
  virtual void transfer(const Frame& request, const Region& own, std::size_t offset) = 0;
  // Executes an atomic request.
  virtual std::uint64_t execute(const Frame& request) = 0;
  virtual void send_message(std::span<const std::byte> message) = 0;
  // Waits until the peer has room for one more arrival, and takes it.
  virtual void take_credit() = 0;
  // For wait_any(): adds the descriptors that become readable when there is something to receive.
  // Returns true if there is something now, or the link has ended.
  virtual bool prepare_wait(std::vector<pollfd>& descriptors) = 0;
  friend Link* wait_any(std::span<Link* const> links, Limit limit);

  // The failures of a wait for `what`: it took longer than the call's limit, or than the patience
  // without progress.
  static Failure too_slow(const char* what, Limit limit);
  Failure no_sign(const char* what) const;
  // The link is at its end; the first reason stays, and check_alive() throws it.
  void broke(const Failure& failure) {
    if (!broken_) broken_ = failure;
  }
  void check_alive() const {
    if (broken_) throw Failure(*broken_);
  }

  std::optional<Failure> broken_;
  const Settings settings_;
  std::size_t message_limit_ = 0;
  Address peer_;
  Statistics statistics_;

 private:
  void begin(Frame request, const Region& own, std::size_t offset, std::size_t length,
             const RemoteRegion& remote, std::uint64_t remote_offset);
  std::uint64_t atomic(Frame request, const RemoteRegion& remote, std::uint64_t remote_offset);

  const Transport transport_;
};

// Waits for the first of several links, of any transport, whose receive(0) has an arrival or
// throws; NULL when there is none within the limit. May return a link that has no arrival yet:
// receive(0) tells.
Link* wait_any(std::span<Link* const> links, Limit limit);

// Says whether a peer may connect, by its numeric host; the port is the peer's own.
using Admit = std::function<bool(const Address& peer)>;

class Listener {
 public:
  virtual ~Listener() = default;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Listens. Peers that `admit` says no to are refused before they get anything. Throws Failure
  // (kDevice: no RDMA device has the address; kSystem: the port is in use).
  static std::unique_ptr<Listener> listen(Transport transport, const Address& address,
                                          const Settings& settings = {}, Admit admit = {});

  // The next peer; NULL when there is none within the limit. A peer that is slow, silent or wrong
  // costs the others nothing, and is no Failure.
  virtual std::unique_ptr<Link> accept(Limit limit) = 0;
  // Where it listens, with the port that it has got.
  const Address& address() const { return address_; }

 protected:
  Listener(const Address& address, const Settings& settings, Admit admit)
      : address_(address), settings_(settings), admit_(std::move(admit)) {}
  bool admits(const Address& peer) const { return !admit_ || admit_(peer); }

  Address address_;
  const Settings settings_;

 private:
  Admit admit_;
};

// Connects. Throws Failure: kDevice if no RDMA device of this host reaches the address, kRefused if
// nobody listens there or the peer says no, kTimeout after `limit`.
std::unique_ptr<Link> connect(Transport transport, const Address& address, Limit limit,
                              const Settings& settings = {});

}  // namespace rdma
