// SPDX-License-Identifier: GPL-2.0
// Transfers whose every byte is verified, over a wire that may do what it likes; and through a
// proxy that flips one bit of each connection behind TCP's back: the receiver's CRC must find it,
// and no byte outside the target of the transfer under way may have changed. With several paths
// only the damaged one ends, and all transfers are done.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <thread>

#include "deadline.h"
#include "netns.h"
#include "parts.h"
#include "socket.h"

namespace rdma::torture {
namespace {

// --- transfers ---

// A completion with an error: the connection has ended.
class Broken : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Where transfers begin in an end's memory, about.
constexpr std::size_t kSource = 64U << 10;
constexpr std::size_t kTarget = 2U << 20;
constexpr std::uint32_t kLongest = 1U << 20;
constexpr std::size_t kArena = 4U << 20;

struct Way {
  Layout source;
  Layout target;
};
// A way of random length, one in four of them up to kLongest, at random places.
Way any_way(std::mt19937_64& random) {
  const auto length =
      static_cast<std::uint32_t>(1 + random() % (random() % 4 == 0 ? kLongest : 70000));
  return {.source = {{kSource + random() % 64, length}},
          .target = {{kTarget + random() % 4096, length}}};
}

// The next completion, which must be a success. Throws Broken otherwise, and Failure if there is
// none for that long.
void await(Endpoint& end, ibv_cq* cq, const char* what, std::chrono::seconds patience) {
  const Deadline deadline(patience);
  for (;;) {
    std::optional<ibv_wc> completion = end.poll(cq);
    if (!completion && ibv_req_notify_cq(cq, 0) == 0) completion = end.poll(cq);
    if (completion) {
      if (completion->status != IBV_WC_SUCCESS)
        throw Broken(std::string(what) + ": " + to_string(*completion));
      return;
    }
    if (!end.await_event(cq, std::chrono::seconds(1)) && deadline.over())
      throw Failure(std::string(what) + ": no completion within " +
                    std::to_string(patience.count()) + " s");
  }
}

// Carries fresh bytes from one end to the other by a SEND, a WRITE or a READ. Throws as await does.
void transfer(Endpoint& from, Endpoint& to, const Way& way, std::mt19937_64& random,
              std::chrono::seconds patience) {
  const auto& [source, target] = way;
  const std::uint64_t kind = random() % 3;
  from.memory().fill(source, random());
  to.memory().expect(target, from.memory().gather(source));
  if (kind == 0) {
    to.post_recv(target);
    from.post_send(from.work(IBV_WR_SEND, source));
    await(from, from.send_cq(), "a send", patience);
    await(to, to.recv_cq(), "a receive", patience);
  } else if (kind == 1) {
    to.post_recv({{0, 0}});
    from.post_send(from.work(IBV_WR_RDMA_WRITE, source, to, target[0].offset));
    from.post_send(Work(IBV_WR_SEND));
    await(from, from.send_cq(), "a write", patience);
    await(from, from.send_cq(), "the send behind it", patience);
    await(to, to.recv_cq(), "what comes behind a write", patience);
  } else {
    to.post_send(to.work(IBV_WR_RDMA_READ, target, from, source[0].offset));
    await(to, to.send_cq(), "a read", patience);
  }
}

// Verifies every byte but those of targets, in their order, of which a connection that broke may
// have written any part. Throws Failure.
void check_around(const Memory& memory, const Layout& targets, const char* whose) {
  // check() looks that far around what it is given.
  constexpr std::size_t kMargin = Memory::kMargin;
  const auto between = [&](std::size_t begin, std::size_t end) {
    memory.check({{begin + kMargin, static_cast<std::uint32_t>(end - begin - 2 * kMargin)}}, whose);
  };
  std::size_t begin = 0;
  for (const Extent& target : targets) {
    between(begin, target.offset);
    begin = target.offset + target.length;
  }
  between(begin, memory.size());
}

// --- the proxy ---

// The fields of a frame (RFC 5044); of a DDP header its first 14 bytes.
constexpr std::array kNames = {"the length", "the header", "the payload", "padding and CRC"};

// Which bit: of the first frame from `frame` on that has the field, counted from 0.
struct Flip {
  bool to_server = true;
  unsigned frame = 0;
  std::size_t field = 0;     // of kNames
  std::uint64_t random = 0;  // chooses byte and bit of the field
};

constexpr std::size_t kHandshake = 20;  // a Request or Reply before its private data
constexpr std::size_t kLengthField = 2;
constexpr std::size_t kShortHeader = 14;  // of a tagged segment
constexpr std::size_t kLongHeader = 18;   // of an untagged one
constexpr std::size_t kCrc = 4;
constexpr Limit kTick{100};

std::size_t padding(std::size_t length) { return -(kLengthField + length) % 4; }

// One direction of a connection, which it follows frame by frame.
class Follower {
 public:
  // Looks at bytes that pass. True: one of them is flipped now. Without a flip nothing is changed.
  bool pass(std::span<std::uint8_t> bytes, const Flip* flip) {
    bool now = false;
    for (std::uint8_t& byte : bytes) {
      const std::uint8_t whole = byte;
      if (flip != nullptr && due(*flip)) {
        byte ^= static_cast<std::uint8_t>(1U << (flip->random >> 32U) % 8);
        flipped_ = now = true;
      }
      // The length, by what the sender said; a handshake's is in its last two bytes.
      const std::size_t field = handshake_ ? kHandshake - 2 : 0;
      if (at_ == field)
        length_ = std::size_t{whole} * 256;
      else if (at_ == field + 1)
        length_ += whole;
      ++at_;
      const std::size_t total =
          handshake_ ? kHandshake + length_ : kLengthField + length_ + padding(length_) + kCrc;
      if (at_ >= field + 2 && at_ == total) {
        frame_ += handshake_ ? 0 : 1;
        handshake_ = false;
        at_ = 0;
      }
    }
    return now;
  }

 private:
  // The byte about to pass is at at_, and if that is behind the length field, length_ is known.
  bool due(const Flip& flip) const {
    if (handshake_ || flipped_ || frame_ < flip.frame) return false;
    // Where each field begins, and how many bytes it has.
    const std::size_t payload = std::max(length_, kLongHeader) - kLongHeader;
    const std::array<std::pair<std::size_t, std::size_t>, kNames.size()> fields = {
        {{0, kLengthField},
         {kLengthField, kShortHeader},
         {kLengthField + kLongHeader, payload},
         {kLengthField + length_, padding(length_) + kCrc}}};
    const auto [begin, bytes] = fields[flip.field];
    return bytes != 0 && at_ == begin + flip.random % bytes;
  }

  bool handshake_ = true;
  bool flipped_ = false;
  std::size_t at_ = 0;      // in the frame, or in the handshake's
  std::size_t length_ = 0;  // of the ULPDU, or of the private data
  unsigned frame_ = 0;
};

// A TCP proxy that knows MPA, and flips one bit of a connection behind its handshake. TCP's
// checksum is right again on the other side, so that nobody but the CRC can tell.
class Proxy {
 public:
  // Listens at that IPv4 address in a namespace, and passes on to a port there. Throws Failure.
  Proxy(const std::string& netns, const std::string& address, std::uint16_t server)
      : netns_(netns), server_{address, server} {
    {
      const Inside inside(netns);
      listener_ = listener({address, 0}, 1);
    }
    thread_ = std::jthread([this](const std::stop_token& ends) { run(ends); });
  }

  std::uint16_t port() const { return local_address(listener_).port; }
  // Sets the damage for the next connection, once armed. The last one must have ended.
  void plan(const Flip& flip, bool armed = true) {
    flip_ = flip;
    flipped_ = false;
    armed_ = armed;
  }
  void arm() { armed_ = true; }
  bool flipped() const { return flipped_; }

 private:
  void run(const std::stop_token& ends) {
    enter(netns_);
    while (!ends.stop_requested()) {
      if (!wait_ready(listener_.number(), Deadline(kTick))) continue;
      try {
        const Descriptor client = accept_from(listener_);
        const Descriptor server = connect_to(server_);
        no_delay(client);
        no_delay(server);
        carry(ends, client.number(), server.number());
      } catch (const Failure&) {
        // The client finds out.
      }
    }
  }
  // Until both have ended, or one is reset.
  void carry(const std::stop_token& ends, int client, int server) {
    constexpr std::size_t kPiece = 64U << 10;
    std::vector<std::uint8_t> buffer(kPiece);
    std::array<Follower, 2> followers;
    std::array<pollfd, 2> waiting = {pollfd{.fd = client, .events = POLLIN, .revents = 0},
                                     pollfd{.fd = server, .events = POLLIN, .revents = 0}};
    const std::array<int, 2> to = {server, client};
    while (!ends.stop_requested() && (waiting[0].fd >= 0 || waiting[1].fd >= 0)) {
      if (poll(waiting.data(), waiting.size(), static_cast<int>(kTick.count())) < 0) return;
      for (std::size_t i = 0; i < waiting.size(); ++i) {
        if (waiting[i].fd < 0 || waiting[i].revents == 0) continue;
        const ssize_t n = recv(waiting[i].fd, buffer.data(), buffer.size(), 0);
        if (n < 0) return;
        if (n == 0) {
          shutdown(to[i], SHUT_WR);
          waiting[i].fd = -1;
          continue;
        }
        const std::span bytes(buffer.data(), static_cast<std::size_t>(n));
        // Told before it is sent: what it does may be seen before we run again.
        const bool damage = armed_ && (i == 0) == flip_.to_server;
        if (followers[i].pass(bytes, damage ? &flip_ : nullptr)) flipped_ = true;
        if (send(to[i], bytes.data(), bytes.size(), MSG_NOSIGNAL) != n) return;
      }
    }
  }

  Flip flip_;
  std::atomic<bool> armed_ = false;
  std::atomic<bool> flipped_ = false;
  std::string netns_;
  Address server_;
  Descriptor listener_;
  std::jthread thread_;
};

// --- what is judged ---

// A lossy wire makes TCP wait; not for as long as that.
constexpr std::chrono::seconds kLossyPatience{180};
// A length that has grown makes the receiver wait for bytes that no sender has: that long.
constexpr std::chrono::seconds kStall{2};
// More than the longest frame: with that behind it, what was taken for a frame is whole.
constexpr unsigned kBehind = 128U << 10;
constexpr std::uint32_t kPiece = 32U << 10;
constexpr std::size_t kPushed = kTarget + kLongest + (256U << 10);
// Transfers after the flip until it must have been found.
constexpr unsigned kFew = 32;
// The first frames are the connection's own.
constexpr unsigned kFirst = 2;
constexpr unsigned kFrames = 40;
// With several paths: what a transfer may take, and how many there may be before the flip.
constexpr std::chrono::seconds kPathPatience{30};
constexpr unsigned kMany = 2000;
// One flip in so many, at most, may be drawn anew because it was not due: a path through the proxy
// is slower than the other, and the sender takes the one that has room.
constexpr std::uint64_t kUndue = 20;

constexpr const char* kDevices = "/sys/class/infiniband/";

std::uint64_t counter(const std::string& device, const char* name) {
  const std::string path = std::string(kDevices) + device + "/ports/1/hw_counters/" + name;
  std::ifstream file(path);
  std::uint64_t value = 0;
  require(static_cast<bool>(file >> value), "cannot read " + path);
  return value;
}

std::uint64_t crc_errors(const Endpoint& end) {
  return counter(end.context()->device->name, "rx_crc_errors");
}

// What all devices together have counted.
std::uint64_t of_all(const char* name) {
  std::uint64_t sum = 0;
  for (const auto& device : std::filesystem::directory_iterator(kDevices))
    sum += counter(device.path().filename(), name);
  return sum;
}

// Sends on from an end whose peer takes what it gets for a longer frame, until the connection ends.
// The writes may well succeed: all that they need is to have left.
void push(Endpoint& from, Endpoint& to) {
  to.memory().expect({{kPushed, kPiece}}, from.memory().gather({{kSource, kPiece}}));
  Work work = from.work(IBV_WR_RDMA_WRITE, {{kSource, kPiece}}, to, kPushed);
  work.send_flags = 0;
  for (unsigned sent = 0; sent < kBehind; sent += kPiece) from.post_send(work);
  from.expect_error_state();
}

// Verifies that each byte of a target is what it was, or what a transfer was to bring.
void check_within(const Memory& memory, const Layout& target,
                  const std::vector<std::uint8_t>& before) {
  const std::vector<std::uint8_t> after = memory.gather(target);
  const std::uint8_t* bytes = memory.bytes(target[0].offset);
  for (std::size_t i = 0; i < before.size(); ++i)
    require(bytes[i] == before[i] || bytes[i] == after[i],
            "a wrong byte in a target, at " + std::to_string(i));
}

// One connection, up to its end. Throws Failure.
void one(const Pair& pair, Proxy& proxy, bool to_server, std::mt19937_64& random) {
  const auto [sender, receiver] = either_way(pair, !to_server);
  for (unsigned after = 0; after < kFew; after += proxy.flipped() ? 1 : 0) {
    const auto [from, to] = either_way(pair, (random() % 2 != 0) == to_server);
    const Way way = any_way(random);
    // A byte that was on the way may have arrived or not; every other byte is unchanged.
    const Layout pushed = {{kPushed, kPiece}};
    const std::vector<std::uint8_t> before = to.memory().gather(way.target);
    const std::vector<std::uint8_t> unpushed = receiver.memory().gather(pushed);
    try {
      transfer(from, to, way, random, kStall);
      to.memory().check({}, "the target's");
      continue;
    } catch (const Broken&) {
      require(proxy.flipped(), "the connection broke before the flip");
    } catch (const Failure&) {
      require(proxy.flipped(), "a transfer came to a stop before the flip");
      push(sender, receiver);
    }
    sender.expect_error_state();
    receiver.expect_error_state();
    check_within(to.memory(), way.target, before);
    check_within(receiver.memory(), pushed, unpushed);
    check_around(to.memory(), {way.target[0], pushed[0]}, "the target's");
    check_around(from.memory(), pushed, "the source's");
    return;
  }
  throw Failure("the flip was not found");
}

// One connection with several paths, the first of which is damaged once another has joined. False:
// it did not carry as many frames as the flip was to wait for. Throws Failure.
bool one_of_paths(const Pair& pair, Proxy& proxy, std::uint64_t joins, std::mt19937_64& random) {
  const Deadline deadline(kPathPatience);
  // Both ends count it.
  while (of_all("path_joins") < joins + 2) {
    require(!deadline.over(), "no second path has joined");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  const std::uint64_t leaves = of_all("path_leaves");
  proxy.arm();
  unsigned after = 0;
  for (unsigned all = 0; after < kFew; all++, after += proxy.flipped() ? 1 : 0) {
    if (all == kMany) {
      require(of_all("path_leaves") == leaves, "a path was given up before the flip");
      return false;
    }
    const auto [from, to] = either_way(pair, random() % 2 != 0);
    const Way way = any_way(random);
    try {
      transfer(from, to, way, random, kPathPatience);
    } catch (const Broken& broken) {
      throw Failure(std::string("the connection did not go on: ") + broken.what());
    }
    to.memory().check({}, "the target's");
  }
  require(of_all("path_leaves") > leaves, "no path was given up");
  return true;
}

}  // namespace

void bulk(const Options& options) {
  const Connector connector = connector_of(options);
  const Shape shape{.arena = kArena};
  std::mt19937_64 random(options.seed);
  const std::uint64_t wanted = options.megabytes << 20;
  std::uint64_t bytes = 0;
  std::uint64_t transfers = 0;
  std::uint64_t connections = 0;
  std::uint64_t said = 0;
  std::string why;
  const Deadline least{std::chrono::seconds(options.least)};
  const auto enough = [&] { return bytes >= wanted && least.over(); };
  while (why.empty() && !enough()) {
    try {
      const Pair pair = connector.connect(shape);
      ++connections;
      while (!enough()) {
        const auto [from, to] = either_way(pair, random() % 2 != 0);
        const Way way = any_way(random);
        try {
          transfer(from, to, way, random, kLossyPatience);
        } catch (const Broken& broken) {
          check_around(to.memory(), way.target, "the target's");
          if (!options.breaks) throw Failure(broken.what());
          std::cout << "# connection " << connections << " broke: " << broken.what() << '\n';
          break;
        }
        to.memory().check(way.target, "the target's");
        bytes += way.source[0].length;
        if (++transfers % 64 == 0) {
          from.memory().check({}, "the source's");
          to.memory().check({}, "the target's");
        }
        if (bytes >> 24 != said) {
          said = bytes >> 24;
          std::cout << "# " << (bytes >> 20) << " of " << options.megabytes << " MB" << std::endl;
        }
      }
    } catch (const Failure& failure) {
      why = failure.what();
    }
  }
  report("verified transfers", transfers,
         std::to_string(bytes >> 20) + " MB over " + std::to_string(connections) +
             " connections, no wrong byte",
         why);
}

void flip(const Options& options) {
  Connector connector = connector_of(options);
  Proxy proxy(options.server_netns, options.server, connector.port());
  connector.go_through(proxy.port());
  const Shape shape{.arena = kArena};
  std::mt19937_64 random(options.seed);
  std::array<std::uint64_t, kNames.size()> flips{};
  std::array<std::string, kNames.size()> failures;
  // Behind a length that has grown, the receiver waits for what goes on other paths instead.
  const std::size_t first = options.paths ? 1 : 0;
  std::uint64_t undue = 0;
  for (std::uint64_t i = 0; i < options.flips;) {
    const std::size_t field = first + i % (kNames.size() - first);
    const Flip plan{.to_server = random() % 2 != 0,
                    .frame = kFirst + static_cast<unsigned>(random() % kFrames),
                    .field = field,
                    .random = random()};
    proxy.plan(plan, !options.paths);
    try {
      const std::uint64_t joins = of_all("path_joins");
      const Pair pair = connector.connect(shape);
      const Endpoint& receiver = plan.to_server ? *pair.server : *pair.client;
      const std::uint64_t before = crc_errors(receiver);
      if (!options.paths) {
        one(pair, proxy, plan.to_server, random);
      } else if (!one_of_paths(pair, proxy, joins, random)) {
        if (++undue * kUndue <= options.flips) continue;
        throw Failure(std::to_string(undue) + " flips were never due");
      }
      // The core returns counters that are up to 10 ms old.
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      const std::uint64_t counted = crc_errors(receiver) - before;
      require(counted == 1, "rx_crc_errors counted " + std::to_string(counted));
      ++flips[field];
    } catch (const Failure& failure) {
      if (failures[field].empty())
        failures[field] = "flip " + std::to_string(i) + ", byte and bit " +
                          std::to_string(plan.random) + ", frame " + std::to_string(plan.frame) +
                          ": " + failure.what();
    }
    ++i;
  }
  if (undue != 0) std::cout << "# " << undue << " flips were never due, and were drawn anew\n";
  const char* const outcome = options.paths
                                  ? "each ended a path by its CRC; all went on by another"
                                  : "each ended its connection by its CRC; no byte elsewhere";
  for (std::size_t field = first; field < kNames.size(); ++field)
    report(std::string("bits flipped in ") + kNames[field], flips[field], outcome, failures[field]);
}

}  // namespace rdma::torture
