// SPDX-License-Identifier: GPL-2.0
// A number of connections to one peer, over verbs or sockets, behind one face: messages are posted,
// and some time later they have left, or arrived. Both sides make one with the same settings.
#pragma once

#include <sched.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "pages.h"
#include "settings.h"
#include "usage.h"

namespace rdma::perf {

// Page-aligned memory that is there: every page has been touched.
class Memory : public Pages {
 public:
  explicit Memory(std::size_t size) : Pages(size) { std::memset(bytes(), 0x5a, size); }
};

// The events that progress() waits for. Over a single socket a blocking call serves either.
enum class Until { kSent, kReceived, kAny };

class Transport {
 public:
  virtual ~Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  unsigned connections() const { return static_cast<unsigned>(lines_.size()); }
  unsigned depth() const { return depth_; }
  // Messages of this connection posted and not gone yet: below depth(), one may be posted.
  unsigned outstanding(unsigned connection) const { return lines_[connection].outstanding; }
  unsigned outstanding() const { return outstanding_; }
  // Messages that have arrived on this connection, on all, since the start.
  std::uint64_t received(unsigned connection) const { return lines_[connection].received; }
  std::uint64_t received() const { return received_; }

  // Empty messages, which are not counted as received: news of room, or of a write.
  std::uint64_t notices(unsigned connection) const { return lines_[connection].notices; }

  // The connection of each message that has arrived, once: those not handed out yet. With
  // many connections, looking at each would cost more than the messages do.
  const std::vector<unsigned>& news() {
    handed_.clear();
    handed_.swap(news_);
    return handed_;
  }
  void keep_news() { keeps_news_ = true; }

  // Posts a message of this operation. A read is gone when its answer is here. A message without a
  // completion counts as gone when a later one with a completion is, so the last must have one.
  virtual void post(unsigned connection, Operation operation, std::size_t offset, std::size_t bytes,
                    bool told = false) = 0;
  // Sends an empty message; not over sockets.
  virtual void notify(unsigned connection) = 0;
  // Returns true if a sender must not post more than the receiver has room for.
  virtual bool needs_credits() const = 0;
  // Waits until something has left or arrived, or once looks and yields where the settings say so;
  // may return for less. With `wait` false it only looks.
  virtual void progress(Until until, bool wait) = 0;
  // The message area, for polling on its bytes.
  virtual unsigned char* bytes() const = 0;

  void await_sent(unsigned at_most) {
    while (outstanding_ > at_most) progress(Until::kSent, true);
  }
  void await_room(unsigned connection) {
    while (lines_[connection].outstanding >= depth_) progress(Until::kSent, true);
  }
  void await_received(std::uint64_t total) {
    while (received_ < total) progress(Until::kReceived, true);
  }
  void await_notices(unsigned connection, std::uint64_t total) {
    while (lines_[connection].notices < total) progress(Until::kReceived, true);
  }
  void await_received(unsigned connection, std::uint64_t total) {
    while (lines_[connection].received < total) progress(Until::kReceived, true);
  }

 protected:
  explicit Transport(const Settings& settings)
      : mode_(settings.mode), depth_(settings.depth), lines_(settings.connections) {}

  bool polls() const { return mode_ != Mode::kEvent; }
  // A side that polls has found nothing.
  void nothing_came() const {
    if (mode_ == Mode::kYield) sched_yield();
  }

  void posted(unsigned connection) {
    lines_[connection].outstanding++;
    outstanding_++;
  }
  void gone(unsigned connection, unsigned messages) {
    lines_[connection].outstanding -= messages;
    outstanding_ -= messages;
  }
  void arrived(unsigned connection) {
    lines_[connection].received++;
    received_++;
    if (keeps_news_) news_.push_back(connection);
  }
  void noticed(unsigned connection) { lines_[connection].notices++; }

 private:
  struct Line {
    unsigned outstanding = 0;
    std::uint64_t received = 0;
    std::uint64_t notices = 0;
  };
  Mode mode_;
  unsigned depth_;
  unsigned outstanding_ = 0;
  std::uint64_t received_ = 0;
  std::vector<Line> lines_;
  bool keeps_news_ = false;
  std::vector<unsigned> news_;
  std::vector<unsigned> handed_;
};

// The server's half of making one: listens, says where, then accepts.
class Listener {
 public:
  virtual ~Listener() = default;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  virtual std::uint16_t port() const = 0;
  virtual std::unique_ptr<Transport> accept(const Settings& settings) = 0;

 protected:
  Listener() = default;
};

// For each carrier. All throw Failure.
std::unique_ptr<Listener> listen_sockets(const Settings& settings, const std::string& address);
std::unique_ptr<Listener> listen_verbs(const Settings& settings, const std::string& address);
std::unique_ptr<Transport> connect_sockets(const Settings& settings, const std::string& address,
                                           std::uint16_t port);
// `phases`, if there is one, gets when the route was found, and when the queue pair was made.
struct Phases {
  Clock::time_point found, made;
};
std::unique_ptr<Transport> connect_verbs(const Settings& settings, const std::string& address,
                                         std::uint16_t port, Phases* phases = nullptr);

// For the carrier of the settings.
inline std::unique_ptr<Listener> make_listener(const Settings& settings,
                                               const std::string& address) {
  return (settings.carrier == Carrier::kVerbs ? listen_verbs : listen_sockets)(settings, address);
}
inline std::unique_ptr<Transport> make_connected(const Settings& settings,
                                                 const std::string& address, std::uint16_t port) {
  return settings.carrier == Carrier::kVerbs ? connect_verbs(settings, address, port)
                                             : connect_sockets(settings, address, port);
}

// Where a peer's memory is; travels as private data of the handshake over verbs.
struct Remote {
  std::uint64_t address;
  std::uint32_t rkey;
};

}  // namespace rdma::perf
