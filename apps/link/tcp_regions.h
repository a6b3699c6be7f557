// SPDX-License-Identifier: GPL-2.0
// The regions of a link over TCP, by key: the table that every request of the peer is held to.
//
// The program makes and ends regions while the link's threads move bytes. A piece is moved under
// the table's lock, after its key was looked up anew, and by a call that does not wait. So a region
// is gone when its end returns, however slow the peer is.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <mutex>
#include <random>
#include <span>
#include <unordered_map>

#include "protocol.h"

namespace rdma {

// A part of a region, as a peer names it; addresses count from 0.
struct Part {
  std::uint32_t key;
  std::uint64_t address;
  std::uint64_t length;
};

class RegionTable {
 public:
  // Returns a key that no peer can guess better than by chance.
  std::uint32_t add(std::span<std::byte> bytes, Rights rights);
  void remove(std::uint32_t key);

  // All of these throw Failure (kRefused) unless the part lies in a region with that right
  // (kLocal: with any).
  void check(const Part& part, Rights right) const;
  // One recv(2) or send(2) that does not wait, of bytes of the part: they return what it does.
  ssize_t receive(int socket, const Part& part, Rights right) const;
  ssize_t send(int socket, const Part& part, Rights right) const;
  // Executes kFetchAdd or kCompareSwap; returns the value before.
  std::uint64_t execute(const Frame& frame) const;

 private:
  struct Entry {
    std::span<std::byte> bytes;
    Rights rights;
  };

  std::span<std::byte> find(const Part& part, Rights right) const;

  mutable std::mutex mutex_;
  std::unordered_map<std::uint32_t, Entry> entries_;
  std::random_device random_;
};

}  // namespace rdma
