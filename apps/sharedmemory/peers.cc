// SPDX-License-Identifier: GPL-2.0
#include "peers.h"

#include <algorithm>

namespace rdma::sharedmemory {
namespace {

// Messages after the greeting: one byte that says what, and one for a host's number.
constexpr std::byte kGoodbye{'G'};
constexpr std::byte kEnded{'E'};

// How long a host that has lost another listens to the rest for who was the first.
constexpr Limit kMoment{300};

constexpr const char* kAgain = ". Start all hosts again";

std::array<std::byte, 2> message(std::byte what, int host) {
  return {what, static_cast<std::byte>(host)};
}

// Is it such a message?
bool is(const Arrival& arrival, std::byte what) {
  return !arrival.immediate && arrival.message.size() == 2 && arrival.message[0] == what;
}

std::string name(int host) { return "host " + std::to_string(host); }

}  // namespace

int Peers::host_of(const Link* link) const {
  const auto found =
      std::ranges::find(peers_, link, [](const Peer& each) { return each.link.get(); });
  return static_cast<int>(found - peers_.begin());
}

void Peers::take(Limit limit) {
  const Link* const ready = wait_any(links_, limit);
  if (ready == nullptr) return;
  const int host = host_of(ready);
  while (const auto arrival = next_of(host)) count(host, *arrival);
}

std::optional<Arrival> Peers::next_of(int host) {
  Peer& other = peer(host);
  try {
    return other.link->receive(Limit{0});
  } catch (const Failure& failure) {
    if (!other.left && !leaving_) lost(host, failure.what());
    other.left = true;
    drop(host);
    return {};
  }
}

void Peers::count(int host, const Arrival& arrival) {
  Peer& other = peer(host);
  if (arrival.immediate == static_cast<std::uint32_t>(Signal::kNotified)) {
    ++other.notifications;
  } else if (arrival.immediate == static_cast<std::uint32_t>(Signal::kReleased)) {
    ++releases_;
  } else if (is(arrival, kGoodbye)) {
    other.left = true;
  } else if (is(arrival, kEnded)) {
    const int ended = std::to_integer<int>(arrival.message[1]);
    if (ended >= hosts()) lost(host, "it named a host that is none");
    drop(host);
    tell_the_rest(ended);
    throw Failure(Cause::kLost, name(ended) + " ended, as " + name(host) + " says" + kAgain);
  } else {
    lost(host, "it sent what this program does not send");
  }
}

bool Peers::use_notification(int host) {
  unsigned& left = peer(host).notifications;
  return left > 0 && left-- > 0;
}

int Peers::first_to_end(int host, std::vector<int>& ended) {
  const auto end = Clock::now() + kMoment;
  while (!links_.empty()) {
    const auto left = std::chrono::duration_cast<Limit>(end - Clock::now());
    const Link* const ready = left.count() > 0 ? wait_any(links_, left) : nullptr;
    if (ready == nullptr) break;
    const int other = host_of(ready);
    try {
      while (const auto arrival = peer(other).link->receive(Limit{0}))
        if (is(*arrival, kEnded)) return std::to_integer<int>(arrival->message[1]);
    } catch (const Failure&) {
      ended.push_back(other);
      drop(other);
    }
  }
  return host;
}

void Peers::tell_the_rest(int ended) {
  const auto rest = links_;
  for (Link* const each : rest) {
    try {
      each->send(message(kEnded, ended));
      each->flush();
    } catch (const Failure&) {
      // It has ended as well, as first_to_end() will find.
    }
  }
}

void Peers::lost(int host, const std::string& why) {
  drop(host);
  tell_the_rest(host);
  std::vector<int> ended;
  const int first = first_to_end(host, ended);
  std::string text = name(first) + " ended";
  if (first != host) text += ", and so did " + name(host);
  text += ": " + why;
  for (const int each : ended) text += "; " + name(each) + " ended";
  throw Failure(Cause::kLost, text + kAgain);
}

// When a host comes here, all have passed the last barrier: who ends now does no harm. But a link
// is held until the other host needs it no more.
void Peers::leave() {
  leaving_ = true;
  for (Peer& each : peers_) {
    try {
      if (each.link) {
        each.link->send(message(kGoodbye, rank()));
        each.link->flush();
      }
    } catch (const Failure&) {
      each.left = true;
      std::erase(links_, each.link.get());
    }
  }
  const auto stays = [](const Peer& each) { return each.link && !each.left; };
  while (std::ranges::any_of(peers_, stays)) take(kForever);
}

}  // namespace rdma::sharedmemory
