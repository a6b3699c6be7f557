// SPDX-License-Identifier: GPL-2.0
// Plain sockets that connect to whatever listens, and say all, half or nothing of a Request, or
// nonsense.
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <vector>

#include "parts.h"

namespace rdma::storm {
namespace {

// A Request of revision 1 with CRC (RFC 5044, section 7.1).
constexpr std::array<char, 20> kRequest = {'M', 'P', 'A', ' ', 'I', 'D', ' ',    'R', 'e', 'q',
                                           ' ', 'F', 'r', 'a', 'm', 'e', '\x40', 1,   0,   0};
constexpr std::size_t kOpen = 48;

// The ports in a table of /proc/PID/net that listen; the storm's own if it cannot be read.
std::vector<std::uint16_t> ports_in(const Options& options) {
  std::vector<std::uint16_t> ports{options.address.port};
  std::ifstream table(options.listeners);
  for (std::string line; std::getline(table, line);) {
    std::istringstream fields(line);
    std::string number;
    std::string local;
    std::string remote;
    std::string state;
    if (fields >> number >> local >> remote >> state && state == "0A")
      ports.push_back(static_cast<std::uint16_t>(
          std::strtoul(local.substr(local.rfind(':') + 1).c_str(), nullptr, 16)));
  }
  return ports;
}

// A socket that connects there, or none.
Descriptor begin(const Options& options, std::uint16_t port) {
  const SocketAddress where = Address{options.address.host, port}.resolve();
  Descriptor made(socket(where.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
                         options.sctp ? IPPROTO_SCTP : IPPROTO_TCP));
  if (!made || (::connect(made.number(), where.get(), where.length) != 0 && errno != EINPROGRESS))
    return {};
  count(kAttempts);
  return made;
}

void say(int fd, Chance& chance) {
  std::array<char, 64> words{};
  std::size_t length = kRequest.size();
  std::ranges::copy(kRequest, words.begin());
  const std::size_t kind = chance.below(4);
  if (kind == 0) {
    length = 1 + chance.below(length);  // a part
  } else if (kind == 1) {
    length = 1 + chance.below(words.size());  // nonsense
    std::ranges::generate(words, [&] { return static_cast<char>(chance.below(256)); });
  }
  if (send(fd, words.data(), length, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(length))
    count(kRequests);
}

}  // namespace

void intrude(const Options& options) {
  Chance chance(options.seed);
  std::vector<Descriptor> open;
  std::vector<std::uint16_t> ports;
  for (std::uint64_t turn = 0;; ++turn) {
    if (turn % 256 == 0) {
      ports = ports_in(options);
      chance.nap();
    }
    if (Descriptor made = begin(options, ports[chance.below(ports.size())]))
      open.push_back(std::move(made));
    else
      usleep(1000);
    for (int times = 0; times < 2 && !open.empty(); ++times) {
      Descriptor& some = open[chance.below(open.size())];
      if (!chance.one_in(3) && open.size() <= kOpen) {
        say(some.number(), chance);
        continue;
      }
      if (chance.one_in(2)) {
        const linger at_once{1, 0};
        setsockopt(some.number(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
      }
      std::swap(some, open.back());
      open.pop_back();
    }
  }
}

}  // namespace rdma::storm
