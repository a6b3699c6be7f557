// SPDX-License-Identifier: GPL-2.0
// How the hosts find each other: the part of Peers that runs once.
#include <cstdio>
#include <list>
#include <thread>

#include "peers.h"
#include "share.h"

namespace rdma::sharedmemory {
namespace {

constexpr std::string_view kMagic = "weft shared memory 1";
constexpr std::size_t kHead = kMagic.size() + 2 * sizeof(std::uint32_t) + RemoteRegion::kBytes;

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

void say_waiting(const std::string& hosts) {
  std::fprintf(stderr, "sharedmemory: waiting for %s\n", hosts.c_str());
}

}  // namespace

std::vector<std::byte> Greeting::to_bytes() const {
  std::vector<std::byte> out;
  const auto append = [&out](std::span<const std::byte> bytes) {
    out.insert(out.end(), bytes.begin(), bytes.end());
  };
  std::array<std::byte, 2 * sizeof(std::uint32_t)> numbers{};
  Packer(numbers).put(host).put(hosts);
  append(std::as_bytes(std::span(kMagic)));
  append(numbers);
  append(share.to_bytes());
  append(std::as_bytes(std::span(task)));
  return out;
}

Greeting Greeting::from_bytes(std::span<const std::byte> bytes) {
  if (bytes.size() < kHead || bytes.size() > kHead + kMostTask ||
      !std::ranges::equal(std::as_bytes(std::span(kMagic)), bytes.first(kMagic.size())))
    throw Failure(Cause::kProtocol, "what came is no greeting of this program");
  Greeting greeting;
  Unpacker from(bytes.subspan(kMagic.size()));
  greeting.host = from.take<std::uint32_t>();
  greeting.hosts = from.take<std::uint32_t>();
  greeting.share = RemoteRegion::from_bytes(from.next(RemoteRegion::kBytes));
  while (from.left() > 0) {
    const auto letter = from.take<std::uint8_t>();
    // It may be shown on a terminal.
    greeting.task += letter >= ' ' && letter <= '~' ? static_cast<char>(letter) : '?';
  }
  return greeting;
}

Peers::Peers(Gathering gathering, std::span<std::byte> share)
    : gathering_(std::move(gathering)),
      share_(share),
      end_(Clock::now() + gathering_.patience),
      peers_(gathering_.hosts.size()) {
  // Looked up once, and not whenever somebody knocks.
  std::vector<std::string> known;
  for (const Address& each : gathering_.hosts) known.push_back(Address::of(each.resolve()).host);
  const auto listener = Listener::listen(
      gathering_.transport, gathering_.hosts[static_cast<std::size_t>(rank())], {},
      [&known](const Address& from) { return std::ranges::find(known, from.host) != known.end(); });
  for (int host = 0; host < rank(); ++host) connect_to(host);
  accept_all(*listener);
  for (const Peer& each : peers_)
    if (each.link) links_.push_back(each.link.get());
}

std::string Peers::described(int host) const {
  return sentence("host ", host, " (", gathering_.hosts[static_cast<std::size_t>(host)].text(),
                  ")");
}

void Peers::greet(Peer& peer) const {
  peer.share = peer.link->expose(share_, kRemoteRead | kRemoteWrite | kRemoteAtomic);
  peer.link->send(Greeting{static_cast<std::uint32_t>(rank()), static_cast<std::uint32_t>(hosts()),
                           peer.share->remote(), gathering_.task}
                      .to_bytes());
}

void Peers::compare(int host, const Greeting& greeting) const {
  refuse_if(greeting.task != gathering_.task || greeting.hosts != peers_.size() ||
                greeting.share.length != share_.size(),
            Cause::kInput, described(host), " runs '", greeting.task, "' on ", greeting.hosts,
            " hosts, this host '", gathering_.task, "' on ", hosts(),
            ". Start all hosts with the same options but --rank");
}

void Peers::connect_to(int host) {
  const auto begin = Clock::now();
  bool said = false;
  Peer& other = peer(host);
  while (!other.link) {
    try {
      other.link = connect(gathering_.transport, gathering_.hosts[static_cast<std::size_t>(host)],
                           std::clamp(until(end_), Limit{1}, kTry));
    } catch (const Failure& failure) {
      const Cause cause = failure.cause();
      if (cause == Cause::kSystem || cause == Cause::kDevice)
        throw;  // this host's own matter, as a limit of locked memory
      const bool may_come =
          cause == Cause::kRefused || cause == Cause::kTimeout || cause == Cause::kLost;
      if (!may_come || until(end_).count() == 0)
        throw Failure(cause, described(host) + " is not there: " + failure.what() +
                                 ". Start the program there with --rank " + std::to_string(host));
      if (!said && Clock::now() - begin > kQuiet) {
        say_waiting(described(host));
        said = true;
      }
      std::this_thread::sleep_for(kPause);
    }
  }
  greet(other);
  const auto answer = other.link->receive(std::max(until(end_), kGreeting));
  refuse_if(!answer, Cause::kTimeout, described(host), " does not answer");
  const Greeting greeting = Greeting::from_bytes(answer->message);
  refuse_if(greeting.host != static_cast<std::uint32_t>(host), Cause::kInput, described(host),
            " was started with --rank ", greeting.host);
  compare(host, greeting);
  other.theirs = greeting.share;
}

void Peers::accept_all(Listener& listener) {
  struct Candidate {
    Peer peer;
    Clock::time_point end;  // of its time to say who it is
  };
  std::list<Candidate> candidates;
  auto quiet = Clock::now() + kQuiet;
  bool said = false;
  std::string missing;
  while (!(missing = who_is_missing()).empty()) {
    refuse_if(until(end_).count() == 0, Cause::kTimeout, missing,
              " did not come. Start the program there with the same options and its own --rank");
    if (!said && until(quiet).count() == 0) {
      say_waiting(missing);
      said = true;
    }
    const Limit pause = !candidates.empty() ? kLook : said ? Limit::max() : until(quiet);
    if (auto link = listener.accept(std::min(pause, until(end_)))) {
      if (candidates.size() == kMostCandidates) candidates.pop_front();
      candidates.emplace_back().peer.link = std::move(link);
      candidates.back().end = Clock::now() + kGreeting;
    }
    for (auto each = candidates.begin(); each != candidates.end();) {
      const Answer answer = hear(each->peer);
      if (answer == Answer::kHost) {
        quiet = Clock::now() + kQuiet;
        said = false;
      }
      const bool stays = answer == Answer::kNone && until(each->end).count() > 0;
      each = stays ? std::next(each) : candidates.erase(each);
    }
  }
}

std::string Peers::who_is_missing() const {
  std::string missing;
  for (int host = rank() + 1; host < hosts(); ++host)
    if (!peers_[static_cast<std::size_t>(host)].link)
      missing += (missing.empty() ? "" : ", ") + described(host);
  return missing;
}

Peers::Answer Peers::hear(Peer& candidate) {
  std::optional<Greeting> greeting;
  bool gone = false;
  try {
    const auto first = candidate.link->receive(Limit{0});
    if (!first) return Answer::kNone;
    greeting = Greeting::from_bytes(first->message);
    greet(candidate);
    candidate.link->flush();
  } catch (const Failure& failure) {
    if (failure.cause() == Cause::kSystem)
      throw;  // as a limit of locked memory, which no other host gets past either
    gone = true;
  }
  if (!greeting) return Answer::kStranger;
  const auto host = static_cast<int>(greeting->host);
  refuse_if(greeting->host >= peers_.size() || host <= rank() || peer(host).link, Cause::kInput,
            "a second host came as --rank ", greeting->host,
            ". Give each host a number of its own, from 0 on");
  // Compared even if it has gone: a host that finds a difference leaves at once.
  compare(host, *greeting);
  if (gone) return Answer::kStranger;
  candidate.theirs = greeting->share;
  peer(host) = std::move(candidate);
  return Answer::kHost;
}

}  // namespace rdma::sharedmemory
