// SPDX-License-Identifier: GPL-2.0
#include "tcp_regions.h"

#include <sys/socket.h>

#include <algorithm>
#include <atomic>

namespace rdma {

namespace {

// The lock is held for as long as it takes to copy this much.
constexpr std::size_t kPiece = std::size_t{256} << 10;

}  // namespace

std::uint32_t RegionTable::add(std::span<std::byte> bytes, Rights rights) {
  const std::lock_guard lock(mutex_);
  std::uint32_t key = random_();
  while (!entries_.try_emplace(key, Entry{.bytes = bytes, .rights = rights}).second) {
    key = random_();
  }
  return key;
}

void RegionTable::remove(std::uint32_t key) {
  const std::lock_guard lock(mutex_);
  entries_.erase(key);
}

std::span<std::byte> RegionTable::find(const Part& part, Rights right) const {
  const auto found = entries_.find(part.key);
  if (found == entries_.end()) {
    throw Failure(Cause::kRefused, "no region has the key that the peer named");
  }
  const Entry& entry = found->second;
  if ((entry.rights & right) != right) {
    throw Failure(Cause::kRefused, "the peer has no right to what it asked of a region");
  }
  if (part.address > entry.bytes.size() || part.length > entry.bytes.size() - part.address) {
    throw Failure(Cause::kRefused, "the peer asked for bytes beyond a region");
  }
  return entry.bytes.subspan(part.address, part.length);
}

void RegionTable::check(const Part& part, Rights right) const {
  const std::lock_guard lock(mutex_);
  find(part, right);
}

ssize_t RegionTable::receive(int socket, const Part& part, Rights right) const {
  const std::lock_guard lock(mutex_);
  const std::span<std::byte> bytes = find(part, right);
  return recv(socket, bytes.data(), std::min(bytes.size(), kPiece), MSG_DONTWAIT);
}

ssize_t RegionTable::send(int socket, const Part& part, Rights right) const {
  const std::lock_guard lock(mutex_);
  const std::span<std::byte> bytes = find(part, right);
  return ::send(socket, bytes.data(), std::min(bytes.size(), kPiece), MSG_DONTWAIT | MSG_NOSIGNAL);
}

std::uint64_t RegionTable::execute(const Frame& frame) const {
  const std::lock_guard lock(mutex_);
  const std::span<std::byte> bytes = find(
      {.key = frame.key, .address = frame.address, .length = sizeof(std::uint64_t)}, kRemoteAtomic);
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % sizeof(std::uint64_t) != 0) {
    throw Failure(Cause::kRefused, "the peer asked for an atomic at no multiple of 8");
  }
  // By the processor's atomic instructions, since another link may have the same memory.
  const std::atomic_ref<std::uint64_t> word(*reinterpret_cast<std::uint64_t*>(bytes.data()));
  if (frame.type == Frame::Type::kFetchAdd) {
    return word.fetch_add(frame.first);
  }
  std::uint64_t before = frame.first;
  word.compare_exchange_strong(before, frame.second);
  return before;
}

}  // namespace rdma
