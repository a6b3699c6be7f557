// SPDX-License-Identifier: GPL-2.0
// The first message each way on a new link: who is there, with which memory, for which task.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "remote_region.h"

namespace rdma::sharedmemory {

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

}  // namespace rdma::sharedmemory
