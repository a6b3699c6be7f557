// SPDX-License-Identifier: GPL-2.0
// How the hosts find each other: the part of Peers that runs once.
#include <algorithm>
#include <cstdio>
#include <list>
#include <optional>
#include <thread>

#include "failure.h"
#include "peers.h"

namespace rdma::sharedmemory {
namespace {

// One try to connect, and the pause before the next.
constexpr Limit kTry = std::chrono::seconds(5);
constexpr Limit kPause{100};
// A host that has connected says who it is in this time.
constexpr Limit kGreeting = std::chrono::seconds(10);
// While some have not said it, they are asked so often; the oldest of more is passed over.
constexpr Limit kLook{10};
constexpr std::size_t kMostCandidates = 128;
// After this long without the others, say for whom this host waits.
constexpr auto kQuiet = std::chrono::seconds(3);

Limit until(Clock::time_point end) {
  return std::max(Limit{0}, std::chrono::duration_cast<Limit>(end - Clock::now()));
}

std::string name(int host, const Gathering& gathering) {
  return "host " + std::to_string(host) + " (" +
         gathering.hosts[static_cast<std::size_t>(host)].text() + ")";
}

}  // namespace

Peers::Peers(const Gathering& gathering, std::span<std::byte> share)
    : rank_(gathering.rank), addresses_(gathering.hosts), peers_(gathering.hosts.size()) {
  const auto end = Clock::now() + gathering.patience;
  // Looked up once, and not whenever somebody knocks.
  std::vector<std::string> known;
  for (const Address& each : addresses_) {
    known.push_back(Address::of(each.resolve()).host);
  }
  const auto listener = Listener::listen(
      gathering.transport, addresses_[static_cast<std::size_t>(rank_)], {},
      [&known](const Address& from) { return std::ranges::find(known, from.host) != known.end(); });
  for (int host = 0; host < rank_; ++host) {
    connect_to(host, gathering, share, end);
  }
  accept_all(*listener, gathering, share, end);
  for (const Peer& each : peers_) {
    if (each.link) {
      links_.push_back(each.link.get());
    }
  }
}

void Peers::greet(Peer& peer, const Gathering& gathering, std::span<std::byte> share) const {
  peer.share = peer.link->expose(share, kRemoteRead | kRemoteWrite | kRemoteAtomic);
  const Greeting greeting{static_cast<std::uint32_t>(rank_),
                          static_cast<std::uint32_t>(gathering.hosts.size()), peer.share->remote(),
                          gathering.task};
  peer.link->send(greeting.to_bytes());
}

void Peers::compare(int host, const Greeting& greeting, const Gathering& gathering,
                    std::span<std::byte> share) const {
  if (greeting.task != gathering.task || greeting.hosts != gathering.hosts.size() ||
      greeting.share.length != share.size()) {
    throw Failure(Cause::kInput, name(host, gathering) + " runs '" + greeting.task + "' on " +
                                     std::to_string(greeting.hosts) + " hosts, this host '" +
                                     gathering.task + "' on " +
                                     std::to_string(gathering.hosts.size()) +
                                     ". Start all hosts with the same options but --rank");
  }
}

void Peers::connect_to(int host, const Gathering& gathering, std::span<std::byte> share,
                       Clock::time_point end) {
  const auto begin = Clock::now();
  bool said = false;
  Peer& other = peer(host);
  while (!other.link) {
    try {
      other.link = connect(gathering.transport, gathering.hosts[static_cast<std::size_t>(host)],
                           std::clamp(until(end), Limit{1}, kTry));
    } catch (const Failure& failure) {
      if (failure.cause() == Cause::kSystem || failure.cause() == Cause::kDevice) {
        throw;  // this host's own matter, as a limit of locked memory
      }
      const bool may_come = failure.cause() == Cause::kRefused ||
                            failure.cause() == Cause::kTimeout || failure.cause() == Cause::kLost;
      if (!may_come || until(end).count() == 0) {
        throw Failure(failure.cause(), name(host, gathering) + " is not there: " + failure.what() +
                                           ". Start the program there with --rank " +
                                           std::to_string(host));
      }
      if (!said && Clock::now() - begin > kQuiet) {
        said = true;
        std::fprintf(stderr, "sharedmemory: waiting for %s\n", name(host, gathering).c_str());
      }
      std::this_thread::sleep_for(kPause);
    }
  }
  greet(other, gathering, share);
  const auto answer = other.link->receive(std::max(until(end), kGreeting));
  if (!answer) {
    throw Failure(Cause::kTimeout, name(host, gathering) + " does not answer");
  }
  const Greeting greeting = Greeting::from_bytes(answer->message);
  if (greeting.host != static_cast<std::uint32_t>(host)) {
    throw Failure(Cause::kInput, name(host, gathering) + " was started with --rank " +
                                     std::to_string(greeting.host));
  }
  compare(host, greeting, gathering, share);
  other.theirs = greeting.share;
}

void Peers::accept_all(Listener& listener, const Gathering& gathering, std::span<std::byte> share,
                       Clock::time_point end) {
  struct Candidate {
    Peer peer;
    Clock::time_point end;  // of its time to say who it is
  };
  std::list<Candidate> candidates;
  auto quiet = Clock::now() + kQuiet;
  bool said = false;
  std::string missing;
  while (!(missing = who_is_missing(gathering)).empty()) {
    if (until(end).count() == 0) {
      throw Failure(Cause::kTimeout, missing +
                                         " did not come. Start the program there with the "
                                         "same options and its own --rank");
    }
    if (!said && until(quiet).count() == 0) {
      std::fprintf(stderr, "sharedmemory: waiting for %s\n", missing.c_str());
      said = true;
    }
    const Limit pause = !candidates.empty() ? kLook : said ? Limit::max() : until(quiet);
    if (auto link = listener.accept(std::min(pause, until(end)))) {
      if (candidates.size() == kMostCandidates) {
        candidates.pop_front();
      }
      candidates.emplace_back().peer.link = std::move(link);
      candidates.back().end = Clock::now() + kGreeting;
    }
    for (auto each = candidates.begin(); each != candidates.end();) {
      const Answer answer = hear(each->peer, gathering, share);
      if (answer == Answer::kHost) {
        quiet = Clock::now() + kQuiet;
        said = false;
      }
      const bool stays = answer == Answer::kNone && until(each->end).count() > 0;
      each = stays ? std::next(each) : candidates.erase(each);
    }
  }
}

std::string Peers::who_is_missing(const Gathering& gathering) {
  std::string missing;
  for (int host = rank_ + 1; host < hosts(); ++host) {
    missing += peer(host).link ? "" : (missing.empty() ? "" : ", ") + name(host, gathering);
  }
  return missing;
}

Peers::Answer Peers::hear(Peer& candidate, const Gathering& gathering, std::span<std::byte> share) {
  std::optional<Greeting> received;
  bool gone = false;
  try {
    const auto first = candidate.link->receive(Limit{0});
    if (!first) {
      return Answer::kNone;
    }
    received = Greeting::from_bytes(first->message);
    greet(candidate, gathering, share);
    candidate.link->flush();
  } catch (const Failure& failure) {
    if (failure.cause() == Cause::kSystem) {
      throw;  // as a limit of locked memory, which no other host gets past either
    }
    gone = true;
  }
  if (!received) {
    return Answer::kStranger;
  }
  const Greeting& greeting = *received;
  const auto host = static_cast<int>(greeting.host);
  if (greeting.host >= peers_.size() || host <= rank_ || peer(host).link) {
    throw Failure(Cause::kInput, "a second host came as --rank " + std::to_string(greeting.host) +
                                     ". Give each host a number of its own, from 0 on");
  }
  // Compared even if it has gone: a host that finds a difference leaves at once.
  compare(host, greeting, gathering, share);
  if (gone) {
    return Answer::kStranger;
  }
  candidate.theirs = greeting.share;
  peer(host) = std::move(candidate);
  return Answer::kHost;
}

}  // namespace rdma::sharedmemory
