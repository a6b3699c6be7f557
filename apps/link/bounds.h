// SPDX-License-Identifier: GPL-2.0
// What a request is held to before it is begun: it lies in this end's region and in the peer's.
#pragma once

#include <cstdint>
#include <string>

#include "failure.h"
#include "remote_region.h"

namespace rdma {

// Throws Failure (kInput) unless offset + length <= size, without overflow.
inline void check_within(const char* whose, std::uint64_t size, std::uint64_t offset,
                         std::uint64_t length) {
  if (offset > size || length > size - offset) {
    throw Failure(Cause::kInput, std::to_string(length) + " bytes at offset " +
                                     std::to_string(offset) + " do not lie in " + whose +
                                     " region of " + std::to_string(size) + " bytes");
  }
}

inline void check_request(std::uint64_t own_size, std::uint64_t offset, std::uint64_t length,
                          const RemoteRegion& remote, std::uint64_t remote_offset) {
  check_within("this end's", own_size, offset, length);
  check_within("the peer's", remote.length, remote_offset, length);
}

// Throws Failure (kInput) unless the 8 bytes of an atomic lie in the region, at a multiple of 8.
inline void check_atomic(const RemoteRegion& remote, std::uint64_t remote_offset) {
  check_within("the peer's", remote.length, remote_offset, sizeof(std::uint64_t));
  if ((remote.address + remote_offset) % sizeof(std::uint64_t) != 0) {
    throw Failure(Cause::kInput, "an atomic request takes an address that is a multiple of 8");
  }
}

inline void check_message(std::size_t length, std::size_t limit) {
  if (length > limit) {
    throw Failure(Cause::kInput, "a message of " + std::to_string(length) +
                                     " bytes is longer than the " + std::to_string(limit) +
                                     " that both ends take; raise Settings::message_bytes");
  }
}

}  // namespace rdma
