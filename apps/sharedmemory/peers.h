// SPDX-License-Identifier: GPL-2.0
// The other hosts: a link to each, with the share of each behind it, and what they tell this one.
#pragma once

#include "link.h"

namespace rdma::sharedmemory {

// The first message each way on a new link: who is there, with which memory, for which task.
struct Greeting {
  static constexpr std::size_t kMostTask = 1024;  // bytes

  std::uint32_t host = 0;   // the sender's number
  std::uint32_t hosts = 0;  // how many there are
  RemoteRegion share;
  std::string task;  // the kernel and its options: all hosts must have the same

  std::vector<std::byte> to_bytes() const;
  // Throws Failure (kProtocol) for what is no such message.
  static Greeting from_bytes(std::span<const std::byte> bytes);
};

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
  Peers(Gathering gathering, std::span<std::byte> share);

  int rank() const { return gathering_.rank; }
  int hosts() const { return static_cast<int>(peers_.size()); }

  // Another host. The region, memory of the link, ends before the link does.
  struct Peer {
    std::unique_ptr<Link> link;
    std::unique_ptr<Region> share;  // this host's, for that one
    RemoteRegion theirs;
    unsigned notifications = 0;
    bool left = false;  // it said goodbye
  };
  // Runs a request to a host, of its Peer; a Failure of the link is that host's end. A notification
  // has a Signal, which the peer's take() counts.
  template <typename Request>
  auto ask(int host, const Request& request) {
    try {
      return request(peer(host));
    } catch (const Failure& failure) {
      if (failure.cause() == Cause::kInput) throw;
      lost(host, failure.what());
    }
  }

  // Waits for news of any host, for so long at most, and counts them.
  void take(Limit limit);
  // One notification of `host` is used up, if there is one.
  bool use_notification(int host);
  // The same of a barrier's release, which any host may give.
  bool use_release() { return releases_ > 0 && releases_-- > 0; }

  // Says goodbye, and waits until all others have. To be called after a last barrier; from then on
  // a host's end is no failure.
  void leave();

 private:
  void connect_to(int host);
  void accept_all(Listener& listener);
  // The hosts that this one still waits for; empty if there are none.
  std::string who_is_missing() const;
  enum class Answer { kNone, kHost, kStranger };
  // Hears who has connected, if that has been said: a host gets its place.
  Answer hear(Peer& candidate);
  void greet(Peer& peer) const;
  // Throws Failure (kInput) if the other has not the same task.
  void compare(int host, const Greeting& greeting) const;
  // A host with its address.
  std::string described(int host) const;

  Peer& peer(int host) { return peers_[static_cast<std::size_t>(host)]; }
  int host_of(const Link* link) const;
  // What a host has sent, if something has come.
  std::optional<Arrival> next_of(int host);
  void count(int host, const Arrival& arrival);
  void drop(int host) { std::erase(links_, peer(host).link.get()); }
  // What a host's end leads to here: all others are told, and Failure is thrown.
  [[noreturn]] void lost(int host, const std::string& why);
  void tell_the_rest(int ended);
  // Adds to `ended` who else has ended, as far as is known within a moment. Returns the host that
  // another says was the first, or `host`.
  int first_to_end(int host, std::vector<int>& ended);

  Gathering gathering_;
  std::span<std::byte> share_;
  Clock::time_point end_;     // of the patience
  std::vector<Peer> peers_;   // this host's own is empty
  std::vector<Link*> links_;  // those that news may come from
  unsigned releases_ = 0;
  bool leaving_ = false;
};

}  // namespace rdma::sharedmemory
