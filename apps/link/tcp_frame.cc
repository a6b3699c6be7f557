// SPDX-License-Identifier: GPL-2.0
#include "tcp_frame.h"

#include "bytes.h"

namespace rdma {

std::array<std::byte, Frame::kBytes> Frame::to_bytes() const {
  std::array<std::byte, kBytes> bytes{};
  Packer packer(bytes);
  packer.put(static_cast<std::uint8_t>(type)).put(std::uint8_t{0}).put(credits).put(key);
  packer.put(address).put(length).put(first).put(second);
  return bytes;
}

Frame Frame::from_bytes(std::span<const std::byte, kBytes> bytes) {
  if (bytes[0] < static_cast<std::byte>(Type::kWrite) ||
      bytes[0] > static_cast<std::byte>(Type::kRefusal) || bytes[1] != std::byte{0}) {
    throw Failure(Cause::kProtocol, "the peer sent what is no frame");
  }
  Unpacker from(bytes.subspan(2));
  return {.type = static_cast<Type>(bytes[0]),
          .credits = from.take<std::uint16_t>(),
          .key = from.take<std::uint32_t>(),
          .address = from.take<std::uint64_t>(),
          .length = from.take<std::uint64_t>(),
          .first = from.take<std::uint64_t>(),
          .second = from.take<std::uint64_t>()};
}

}  // namespace rdma
