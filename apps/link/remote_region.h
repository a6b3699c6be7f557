// SPDX-License-Identifier: GPL-2.0
// What a peer has to know of memory in order to write and read it.
#pragma once

#include <array>
#include <limits>

#include "bytes.h"
#include "sentence.h"

namespace rdma {

struct RemoteRegion {
  std::uint64_t address = 0;  // of the region's first byte, as the peer's device counts
  std::uint64_t length = 0;   // bytes
  std::uint32_t key = 0;      // the STag

  // address (8 bytes), length (8), key (4), each big endian.
  static constexpr std::size_t kBytes = 20;

  std::array<std::byte, kBytes> to_bytes() const {
    std::array<std::byte, kBytes> bytes{};
    Packer(bytes).put(address, length, key);
    return bytes;
  }
  // Reads the first kBytes of `bytes`. Throws Failure (kProtocol) if there are fewer, or if the
  // region would reach over the end of all addresses.
  static RemoteRegion from_bytes(std::span<const std::byte> bytes) {
    require(bytes.size() >= kBytes, Cause::kProtocol, "the peer's region is ", bytes.size(),
            " bytes long, not ", kBytes, "; do both ends run the same release?");
    RemoteRegion region;
    Unpacker(bytes).take(region.address, region.length, region.key);
    require(region.length <= std::numeric_limits<std::uint64_t>::max() - region.address,
            "the peer's region reaches over the end of all addresses", Cause::kProtocol);
    return region;
  }

  bool operator==(const RemoteRegion&) const = default;
};

}  // namespace rdma
