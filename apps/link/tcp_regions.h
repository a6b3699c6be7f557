// SPDX-License-Identifier: GPL-2.0
// The regions of a link over TCP, by key: the table that every request of the peer is held to.
//
// The program makes and ends regions while the link's threads move bytes. A piece is moved under
// the table's lock, after its key was looked up anew, and by a call that does not wait. So a region
// is gone when its end returns, however slow the peer is.
#pragma once

#include <atomic>
#include <mutex>
#include <random>
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
  std::uint32_t add(std::span<std::byte> bytes, Rights rights) {
    const std::lock_guard lock(mutex_);
    std::uint32_t key = random_();
    while (!entries_.try_emplace(key, Entry{.bytes = bytes, .rights = rights}).second)
      key = random_();
    return key;
  }
  void remove(std::uint32_t key) {
    const std::lock_guard lock(mutex_);
    entries_.erase(key);
  }

  // All of these throw Failure (kRefused) unless the part lies in a region with that right
  // (kLocal: with any).
  void check(const Part& part, Rights right) const {
    const std::lock_guard lock(mutex_);
    find(part, right);
  }
  // One recv(2) or send(2) that does not wait, of bytes of the part: they return what it does.
  ssize_t receive(int socket, const Part& part, Rights right) const {
    const std::lock_guard lock(mutex_);
    const std::span<std::byte> bytes = find(part, right);
    return recv(socket, bytes.data(), std::min(bytes.size(), kPiece), MSG_DONTWAIT);
  }
  ssize_t send(int socket, const Part& part, Rights right) const {
    const std::lock_guard lock(mutex_);
    const std::span<std::byte> bytes = find(part, right);
    return ::send(socket, bytes.data(), std::min(bytes.size(), kPiece),
                  MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  // Executes kFetchAdd or kCompareSwap; returns the value before.
  std::uint64_t execute(const Frame& frame) const {
    const std::lock_guard lock(mutex_);
    const std::span<std::byte> bytes =
        find({.key = frame.key, .address = frame.address, .length = sizeof(std::uint64_t)},
             kRemoteAtomic);
    require(reinterpret_cast<std::uintptr_t>(bytes.data()) % sizeof(std::uint64_t) == 0,
            "the peer asked for an atomic at no multiple of 8", Cause::kRefused);
    // By the processor's atomic instructions, since another link may have the same memory.
    const std::atomic_ref<std::uint64_t> word(*reinterpret_cast<std::uint64_t*>(bytes.data()));
    if (frame.type == Frame::Type::kFetchAdd) return word.fetch_add(frame.first);
    std::uint64_t before = frame.first;
    word.compare_exchange_strong(before, frame.second);
    return before;
  }

 private:
  struct Entry {
    std::span<std::byte> bytes;
    Rights rights;
  };

  std::span<std::byte> find(const Part& part, Rights right) const {
    const auto found = entries_.find(part.key);
    require(found != entries_.end(), "no region has the key that the peer named", Cause::kRefused);
    const Entry& entry = found->second;
    require((entry.rights & right) == right, "the peer has no right to what it asked of a region",
            Cause::kRefused);
    require(part.address <= entry.bytes.size() && part.length <= entry.bytes.size() - part.address,
            "the peer asked for bytes beyond a region", Cause::kRefused);
    return entry.bytes.subspan(part.address, part.length);
  }

  // The lock is held for as long as it takes to copy this much.
  static constexpr std::size_t kPiece = std::size_t{256} << 10;

  mutable std::mutex mutex_;
  std::unordered_map<std::uint32_t, Entry> entries_;
  std::random_device random_;
};

}  // namespace rdma
