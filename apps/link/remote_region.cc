// SPDX-License-Identifier: GPL-2.0
#include "remote_region.h"

#include <limits>
#include <string>

#include "bytes.h"
#include "failure.h"

namespace apps {

std::array<std::byte, RemoteRegion::kBytes> RemoteRegion::to_bytes() const {
  std::array<std::byte, kBytes> bytes{};
  put_big(bytes.data(), address);
  put_big(bytes.data() + 8, length);
  put_big(bytes.data() + 16, key);
  return bytes;
}

RemoteRegion RemoteRegion::from_bytes(std::span<const std::byte> bytes) {
  if (bytes.size() < kBytes) {
    throw Failure(Cause::kProtocol, "the peer's region is " + std::to_string(bytes.size()) +
                                        " bytes long, not " + std::to_string(kBytes) +
                                        "; do both ends run the same release?");
  }
  const RemoteRegion region{.address = get_big<std::uint64_t>(bytes.data()),
                            .length = get_big<std::uint64_t>(bytes.data() + 8),
                            .key = get_big<std::uint32_t>(bytes.data() + 16)};
  if (region.length > std::numeric_limits<std::uint64_t>::max() - region.address) {
    throw Failure(Cause::kProtocol, "the peer's region reaches over the end of all addresses");
  }
  return region;
}

}  // namespace apps
