// SPDX-License-Identifier: GPL-2.0
// Transfers through a proxy that flips one bit of each connection: the receiver's CRC must find it,
// and no byte outside the target of the transfer under way may have changed. With several paths
// only the damaged one ends, and all transfers are done.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "parts.h"
#include "proxy.h"
#include "transfer.h"

namespace rdma::torture {

namespace {

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
constexpr std::array kNames = {"the length", "the header", "the payload", "padding and CRC"};

// The damaged path did not carry as many frames as the flip was to wait for.
class NotDue : public Failure {
 public:
  NotDue() : Failure("the flip was never due") {}
};

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
  for (const auto& device : std::filesystem::directory_iterator(kDevices)) {
    sum += counter(device.path().filename(), name);
  }
  return sum;
}

// Sends on from an end whose peer takes what it gets for a longer frame, until the connection ends.
// The writes may well succeed: all that they need is to have left.
void push(Endpoint& from, Endpoint& to) {
  to.memory().expect({{kPushed, kPiece}}, from.memory().gather({{kSource, kPiece}}));
  Work work = from.work(IBV_WR_RDMA_WRITE, {{kSource, kPiece}}, to, kPushed);
  work.send_flags = 0;
  for (unsigned sent = 0; sent < kBehind; sent += kPiece) {
    from.post_send(work);
  }
  from.expect_error_state();
}

// Verifies that each byte of a target is what it was, or what a transfer was to bring.
void check_within(const Memory& memory, const Layout& target,
                  const std::vector<std::uint8_t>& before) {
  const std::vector<std::uint8_t> after = memory.gather(target);
  const std::uint8_t* bytes = memory.bytes(target[0].offset);
  for (std::size_t i = 0; i < before.size(); ++i) {
    require(bytes[i] == before[i] || bytes[i] == after[i],
            "a wrong byte in a target, at " + std::to_string(i));
  }
}

// One connection, up to its end. Throws Failure.
void one(const Pair& pair, Proxy& proxy, bool to_server, std::mt19937_64& random) {
  Endpoint& sender = to_server ? *pair.client : *pair.server;
  Endpoint& receiver = to_server ? *pair.server : *pair.client;
  for (unsigned after = 0; after < kFew; after += proxy.flipped() ? 1 : 0) {
    const bool back = random() % 2 != 0;
    Endpoint& from = back ? receiver : sender;
    Endpoint& to = back ? sender : receiver;
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

// One connection with several paths, the first of which is damaged once another has joined. Throws
// Failure.
void one_of_paths(const Pair& pair, Proxy& proxy, std::uint64_t joins, std::mt19937_64& random) {
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
      throw NotDue();
    }
    const bool back = random() % 2 != 0;
    Endpoint& from = back ? *pair.server : *pair.client;
    Endpoint& to = back ? *pair.client : *pair.server;
    const Way way = any_way(random);
    try {
      transfer(from, to, way, random, kPathPatience);
    } catch (const Broken& broken) {
      throw Failure(std::string("the connection did not go on: ") + broken.what());
    }
    to.memory().check({}, "the target's");
  }
  require(of_all("path_leaves") > leaves, "no path was given up");
}

}  // namespace

void flip(const Options& options) {
  Connector connector = connector_of(options);
  Proxy proxy(options.server_netns, options.server, connector.port());
  connector.go_through(proxy.port());
  Shape shape;
  shape.arena = kArena;
  std::mt19937_64 random(options.seed);
  std::array<std::uint64_t, kFields.size()> flips{};
  std::array<std::string, kFields.size()> failures;
  // Behind a length that has grown, the receiver waits for what goes on other paths instead.
  const std::size_t first = options.paths ? 1 : 0;
  std::uint64_t undue = 0;
  for (std::uint64_t i = 0; i < options.flips;) {
    const std::size_t field = first + i % (kFields.size() - first);
    const Flip plan{.to_server = random() % 2 != 0,
                    .frame = kFirst + static_cast<unsigned>(random() % kFrames),
                    .field = kFields[field],
                    .random = random()};
    proxy.plan(plan, !options.paths);
    try {
      const std::uint64_t joins = of_all("path_joins");
      const Pair pair = connector.connect(shape);
      const Endpoint& receiver = plan.to_server ? *pair.server : *pair.client;
      const std::uint64_t before = crc_errors(receiver);
      if (options.paths) {
        one_of_paths(pair, proxy, joins, random);
      } else {
        one(pair, proxy, plan.to_server, random);
      }
      // The core returns counters that are up to 10 ms old.
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      const std::uint64_t counted = crc_errors(receiver) - before;
      require(counted == 1, "rx_crc_errors counted " + std::to_string(counted));
      ++flips[field];
    } catch (const NotDue& failure) {
      if (++undue * kUndue <= options.flips) {
        continue;
      }
      failures[field] = std::to_string(undue) + " flips were never due";
    } catch (const Failure& failure) {
      if (failures[field].empty()) {
        failures[field] = "flip " + std::to_string(i) + ", byte and bit " +
                          std::to_string(plan.random) + ", frame " + std::to_string(plan.frame) +
                          ": " + failure.what();
      }
    }
    ++i;
  }
  if (undue != 0) {
    std::printf("# %llu flips were never due, and were drawn anew\n",
                static_cast<unsigned long long>(undue));
  }
  const char* const outcome = options.paths
                                  ? "each ended a path by its CRC; all went on by another"
                                  : "each ended its connection by its CRC; no byte elsewhere";
  for (std::size_t field = first; field < kFields.size(); ++field) {
    report(std::string("bits flipped in ") + kNames[field], flips[field], outcome, failures[field]);
  }
}

}  // namespace rdma::torture
