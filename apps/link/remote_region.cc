// SPDX-License-Identifier: GPL-2.0
#include "remote_region.h"

#include <limits>
#include <string>

#include "bytes.h"

namespace rdma {

std::array<std::byte, RemoteRegion::kBytes> RemoteRegion::to_bytes() const {
  std::array<std::byte, kBytes> bytes{};
  Packer(bytes).put(address).put(length).put(key);
  return bytes;
}

RemoteRegion RemoteRegion::from_bytes(std::span<const std::byte> bytes) {
  if (bytes.size() < kBytes) {
    throw Failure(Cause::kProtocol, "the peer's region is " + std::to_string(bytes.size()) +
                                        " bytes long, not " + std::to_string(kBytes) +
                                        "; do both ends run the same release?");
  }
  Unpacker from(bytes);
  const RemoteRegion region{.address = from.take<std::uint64_t>(),
                            .length = from.take<std::uint64_t>(),
                            .key = from.take<std::uint32_t>()};
  if (region.length > std::numeric_limits<std::uint64_t>::max() - region.address) {
    throw Failure(Cause::kProtocol, "the peer's region reaches over the end of all addresses");
  }
  return region;
}

}  // namespace rdma
