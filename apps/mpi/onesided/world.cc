// SPDX-License-Identifier: GPL-2.0
#include "world.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <sys/random.h>

#include <cstdlib>

#include "../c_mpi.h"
#include "deadline.h"
#include "sentence.h"

namespace rdma::onesided {
namespace {

constexpr Limit kPatience = std::chrono::seconds(30);
// A rank greets as soon as it is connected.
constexpr Limit kGreeting = std::chrono::seconds(5);

// What each rank tells the others of itself through MPI: plain bytes.
struct Card {
  std::array<char, 64> host{};
  std::uint16_t port = 0;
  std::array<std::byte, 16> secret{};
};

// What the one that connects says first.
struct Greeting {
  std::array<std::byte, 16> secret{};  // of the rank that listens
  std::int32_t rank = 0;               // of the one that connects
};

// The numeric IPv4 addresses of this host that may have an RDMA device.
std::vector<std::string> addresses() {
  if (const char* wanted = std::getenv("ONESIDED_ADDRESS"); wanted != nullptr) return {wanted};
  ifaddrs* list = nullptr;
  must(getifaddrs(&list), "cannot list this host's addresses");
  std::vector<std::string> found;
  for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
    const bool up = (at->ifa_flags & IFF_UP) != 0 && (at->ifa_flags & IFF_LOOPBACK) == 0;
    if (at->ifa_addr != nullptr && at->ifa_addr->sa_family == AF_INET && up)
      found.push_back(Address::of(at->ifa_addr).host);
  }
  freeifaddrs(list);
  return found;
}

std::unique_ptr<Listener> listen() {
  std::optional<Failure> why;
  for (const std::string& host : addresses()) {
    try {
      return Listener::listen(Transport::kRdma, Address{host, 0});
    } catch (const Failure& failure) {
      if (failure.cause() != Cause::kDevice) throw;
      why = failure;
    }
  }
  throw why.value_or(
      Failure(Cause::kDevice, "this host has no IPv4 address besides lo's; set ONESIDED_ADDRESS"));
}

Card card_of(const Listener& listener) {
  Card card;
  const Address& address = listener.address();
  require(address.host.size() < card.host.size(), Cause::kInput, "the address ", address.host,
          " is too long");
  std::ranges::copy(address.host, card.host.begin());
  card.port = address.port;
  if (getrandom(card.secret.data(), card.secret.size(), 0) !=
      static_cast<ssize_t>(card.secret.size()))
    fail_errno("no random bytes");
  return card;
}

std::unique_ptr<Link> call(const Card& peer, int rank) {
  const Address address{std::string(peer.host.data()), peer.port};
  std::unique_ptr<Link> link = connect(Transport::kRdma, address, kPatience);
  const Greeting greeting{peer.secret, rank};
  link->send(std::as_bytes(std::span(&greeting, 1)));
  return link;
}

// What the caller says first; none if it says nothing of that kind, or goes. It may be anybody.
std::optional<Greeting> greeting_of(Link& link) {
  try {
    const std::optional<Arrival> arrival = link.receive(kGreeting);
    if (arrival && arrival->message.size() == sizeof(Greeting)) {
      Greeting greeting;
      std::memcpy(&greeting, arrival->message.data(), sizeof(greeting));
      return greeting;
    }
  } catch (const Failure&) {
    // The link is at its end, and this rank's business is with the others.
  }
  return std::nullopt;
}

// A caller that knows the secret. Others are sent away, and what they take does not make the wait
// longer.
std::pair<int, std::unique_ptr<Link>> answer(Listener& listener, const Card& own) {
  const Deadline deadline(kPatience);
  while (!deadline.over()) {
    std::unique_ptr<Link> link =
        listener.accept(std::chrono::milliseconds(deadline.milliseconds()));
    if (link == nullptr) break;
    const std::optional<Greeting> greeting = greeting_of(*link);
    if (greeting && greeting->secret == own.secret) return {greeting->rank, std::move(link)};
  }
  throw Failure(Cause::kTimeout,
                "a rank did not connect within 30 s: does a firewall hold back "
                "RDMA's connections, or has the rank ended?");
}

}  // namespace

World::World() {
  int size = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  links_.resize(static_cast<std::size_t>(size));
  const std::unique_ptr<Listener> listener = listen();
  const Card own = card_of(*listener);
  std::vector<Card> cards(links_.size());
  PMPI_Allgather(&own, sizeof(own), MPI_BYTE, cards.data(), sizeof(own), MPI_BYTE, MPI_COMM_WORLD);
  // The lower rank of two calls. Each first waits for those below it, so rank 0 waits for nobody,
  // and nobody waits in a circle.
  for (int below = 0; below < rank_; below++) {
    auto [rank, link] = answer(*listener, own);
    require(rank >= 0 && rank < rank_ && !links_[static_cast<std::size_t>(rank)],
            "a rank connected that was not expected", Cause::kProtocol);
    links_[static_cast<std::size_t>(rank)] = std::move(link);
  }
  for (int above = rank_ + 1; above < size; above++)
    links_[static_cast<std::size_t>(above)] = call(cards[static_cast<std::size_t>(above)], rank_);
}

}  // namespace rdma::onesided
