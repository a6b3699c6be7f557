// SPDX-License-Identifier: GPL-2.0
// The other hosts: a link to each, with the share of each behind it, and what they tell this one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "greeting.h"
#include "link.h"

namespace rdma::sharedmemory {

// Who takes part, and in what.
struct Gathering {
  Transport transport = Transport::kRdma;
  std::vector<Address> hosts;                 // host i listens at hosts[i]
  int rank = 0;                               // which of them this one is
  std::string task;                           // see Greeting
  Limit patience = std::chrono::seconds(60);  // to wait until all are there
};

// The immediate data of a notification.
enum class Signal : std::uint32_t { kNotified = 1, kReleased = 2 };

// Calls throw Failure (kLost), "host 2 ended: ...", when any of the others ended before it said
// goodbye, and have then told the rest, so that each host gives the same reason.
class Peers {
 public:
  // Listens, connects to the hosts with smaller numbers, and accepts those with larger ones. Throws
  // Failure, which names the host, if one does not come within the patience or has another task.
  Peers(const Gathering& gathering, std::span<std::byte> share);

  int rank() const { return rank_; }
  int hosts() const { return static_cast<int>(peers_.size()); }

  // Requests to the share of another host; offsets and lengths are bytes of a share.
  void write(int host, std::size_t from, std::size_t length, std::size_t to);
  void read(int host, std::size_t from, std::size_t length, std::size_t into);
  std::uint64_t fetch_add(int host, std::size_t offset, std::uint64_t add);
  std::uint64_t compare_swap(int host, std::size_t offset, std::uint64_t expected,
                             std::uint64_t desired);
  // Writes, and has the peer's next take() count the signal when all written before is there.
  void signal(int host, Signal signal, std::size_t from, std::size_t length, std::size_t to);
  // Waits until this host's requests to one other are complete, as Link::flush does.
  void flush(int host);

  // Waits for news of any host, for so long at most, and counts them.
  void take(Limit limit);
  // One notification of `host` is used up, if there is one.
  bool use_notification(int host);
  // The same of a barrier's release, which any host may give.
  bool use_release();

  // Says goodbye, and waits until all others have. To be called after a last barrier; from then on
  // a host's end is no failure.
  void leave();

 private:
  // Region, memory of the link, ends before the link does.
  struct Peer {
    std::unique_ptr<Link> link;
    std::unique_ptr<Region> share;
    RemoteRegion theirs;
    unsigned notifications = 0;
    bool left = false;  // it said goodbye
  };

  void connect_to(int host, const Gathering& gathering, std::span<std::byte> share,
                  Clock::time_point end);
  void accept_all(Listener& listener, const Gathering& gathering, std::span<std::byte> share,
                  Clock::time_point end);
  // The hosts that this one still waits for; empty if there are none.
  std::string who_is_missing(const Gathering& gathering);
  enum class Answer { kNone, kHost, kStranger };
  // Hears who has connected, if that has been said: a host gets its place.
  Answer hear(Peer& candidate, const Gathering& gathering, std::span<std::byte> share);
  void greet(Peer& peer, const Gathering& gathering, std::span<std::byte> share) const;
  // Throws Failure (kInput) if the other has not the same task.
  void compare(int host, const Greeting& greeting, const Gathering& gathering,
               std::span<std::byte> share) const;

  // Runs a request to a host; a Failure of the link is that host's end.
  template <typename Request>
  auto ask(int host, const Request& request);
  Peer& peer(int host) { return peers_[static_cast<std::size_t>(host)]; }
  int host_of(const Link* link) const;
  // What a host has sent, if something has come.
  std::optional<Arrival> next_of(int host);
  void count(int host, const Arrival& arrival);
  void drop(int host);
  // What a host's end leads to here: all others are told, and Failure is thrown.
  [[noreturn]] void lost(int host, const std::string& why);
  void tell_the_rest(int ended);
  // Adds to `ended` who else has ended, as far as is known within a moment. Returns the host that
  // another says was the first, or `host`.
  int first_to_end(int host, std::vector<int>& ended);

  int rank_;
  std::vector<Address> addresses_;
  std::vector<Peer> peers_;   // [rank_] is empty
  std::vector<Link*> links_;  // those that news may come from
  unsigned releases_ = 0;
  bool leaving_ = false;
};

}  // namespace rdma::sharedmemory
