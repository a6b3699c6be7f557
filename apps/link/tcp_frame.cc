// SPDX-License-Identifier: GPL-2.0
#include "tcp_frame.h"

#include "bytes.h"
#include "failure.h"

namespace apps {

std::array<std::byte, Frame::kBytes> Frame::to_bytes() const {
  std::array<std::byte, kBytes> bytes{};
  bytes[0] = static_cast<std::byte>(type);
  put_big(bytes.data() + 2, credits);
  put_big(bytes.data() + 4, key);
  put_big(bytes.data() + 8, address);
  put_big(bytes.data() + 16, length);
  put_big(bytes.data() + 24, first);
  put_big(bytes.data() + 32, second);
  return bytes;
}

Frame Frame::from_bytes(std::span<const std::byte, kBytes> bytes) {
  if (bytes[0] < static_cast<std::byte>(Type::kWrite) ||
      bytes[0] > static_cast<std::byte>(Type::kRefusal) || bytes[1] != std::byte{0}) {
    throw Failure(Cause::kProtocol, "the peer sent what is no frame");
  }
  return {.type = static_cast<Type>(bytes[0]),
          .credits = get_big<std::uint16_t>(bytes.data() + 2),
          .key = get_big<std::uint32_t>(bytes.data() + 4),
          .address = get_big<std::uint64_t>(bytes.data() + 8),
          .length = get_big<std::uint64_t>(bytes.data() + 16),
          .first = get_big<std::uint64_t>(bytes.data() + 24),
          .second = get_big<std::uint64_t>(bytes.data() + 32)};
}

}  // namespace apps
