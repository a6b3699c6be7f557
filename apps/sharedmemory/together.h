// SPDX-License-Identifier: GPL-2.0
// For the unit tests: several hosts as threads of this process, over TCP on 127.0.0.1, and what a
// failure says.
#pragma once

#include <gtest/gtest.h>

#include <thread>

#include "socket.h"
#include "world.h"

namespace rdma::sharedmemory {

inline testing::AssertionResult says(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << text << "' does not say '" << part << "'";
}

// No host has failed.
inline testing::AssertionResult all_well(const std::vector<std::string>& failures) {
  for (std::size_t i = 0; i < failures.size(); ++i)
    if (!failures[i].empty())
      return testing::AssertionFailure() << "host " << i << ": " << failures[i];
  return testing::AssertionSuccess();
}

// Addresses of 127.0.0.1 whose ports are free now.
inline std::vector<Address> free_addresses(int hosts) {
  std::vector<Descriptor> sockets;
  std::vector<Address> found;
  for (int i = 0; i < hosts; ++i) {
    sockets.push_back(listener({"127.0.0.1", 0}, 1));
    found.push_back(local_address(sockets.back()));
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
    Peers peers({Transport::kTcp, addresses, rank, "a test", std::chrono::seconds(20)},
                share.bytes());
    World world(share, control, &peers);
    work(world);
    world.barrier();
    peers.leave();
  });
}

}  // namespace rdma::sharedmemory
