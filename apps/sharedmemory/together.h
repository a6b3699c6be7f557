// SPDX-License-Identifier: GPL-2.0
// For the unit tests: several hosts as threads of this process, over TCP on 127.0.0.1.
#ifndef WEFT_APPS_SHAREDMEMORY_TOGETHER_H
#define WEFT_APPS_SHAREDMEMORY_TOGETHER_H

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "barrier.h"
#include "control.h"
#include "layout.h"
#include "peers.h"
#include "share.h"
#include "world.h"

namespace sharedmemory {

// Addresses of 127.0.0.1 whose ports are free now.
inline std::vector<apps::Address> free_addresses(int hosts) {
  std::vector<apps::Address> found;
  std::vector<int> sockets;
  for (int i = 0; i < hosts; ++i) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    sockets.push_back(socket(AF_INET, SOCK_STREAM, 0));
    if (bind(sockets.back(), reinterpret_cast<sockaddr*>(&address), length) != 0 ||
        getsockname(sockets.back(), reinterpret_cast<sockaddr*>(&address), &length) != 0) {
      apps::fail_errno("a free port");
    }
    found.push_back({"127.0.0.1", ntohs(address.sin_port)});
  }
  for (const int each : sockets) {
    close(each);
  }
  return found;
}

// Runs work(i) in a thread for each host; what each threw, or nothing.
template <typename Work>
std::vector<std::string> each_in_a_thread(int hosts, const Work& work) {
  std::vector<std::string> failures(static_cast<std::size_t>(hosts));
  {
    std::vector<std::jthread> threads;
    threads.reserve(failures.size());
    for (int i = 0; i < hosts; ++i) {
      threads.emplace_back([&, i] {
        try {
          work(i);
        } catch (const std::exception& failure) {
          failures[static_cast<std::size_t>(i)] = failure.what();
        }
      });
    }
  }
  return failures;
}

// Runs work(world) on each of several hosts, whose shares are of this layout.
template <typename Work>
std::vector<std::string> together(int hosts, const Layout& layout, const Control& control,
                                  const Work& work) {
  const auto addresses = free_addresses(hosts);
  return each_in_a_thread(hosts, [&](int rank) {
    const Share share(layout.bytes());
    Peers peers({apps::Transport::kTcp, addresses, rank, "a test", std::chrono::seconds(20)},
                share.bytes());
    World world(share, control, &peers);
    work(world);
    barrier(world);
    peers.leave();
  });
}

}  // namespace sharedmemory

#endif  // WEFT_APPS_SHAREDMEMORY_TOGETHER_H
