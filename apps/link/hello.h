// SPDX-License-Identifier: GPL-2.0
// What the two ends tell each other when they connect: as private data of the RDMA connection, or
// as the first bytes of the TCP connection.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "link.h"

namespace rdma {

struct Hello {
  std::uint16_t credits = 0;        // arrivals that wait for the program
  std::uint32_t message_bytes = 0;  // the longest message

  // A word that names this protocol (4 bytes), credits (2), zero (2), message_bytes (4); big
  // endian.
  static constexpr std::size_t kBytes = 12;

  explicit Hello(const Settings& settings)
      : credits(static_cast<std::uint16_t>(settings.credits)),
        message_bytes(settings.message_bytes) {}
  // Throws Failure (kProtocol) unless the bytes begin with a hello whose values Settings may have.
  explicit Hello(std::span<const std::byte> bytes);

  std::array<std::byte, kBytes> to_bytes() const;
};

}  // namespace rdma
