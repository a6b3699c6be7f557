// SPDX-License-Identifier: GPL-2.0
#include "greeting.h"

#include <algorithm>
#include <string_view>

#include "failure.h"

namespace sharedmemory {
namespace {

constexpr std::string_view kMagic = "weft shared memory 1";
constexpr std::size_t kNumber = 4;
constexpr std::size_t kHead = kMagic.size() + 2 * kNumber + apps::RemoteRegion::kBytes;

void put(std::vector<std::byte>& out, std::uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) {
    out.push_back(static_cast<std::byte>(number >> shift));
  }
}

std::uint32_t get(std::span<const std::byte> bytes) {
  std::uint32_t number = 0;
  for (const std::byte each : bytes.first(kNumber)) {
    number = number << 8 | std::to_integer<std::uint32_t>(each);
  }
  return number;
}

}  // namespace

std::vector<std::byte> Greeting::to_bytes() const {
  std::vector<std::byte> out;
  for (const char each : kMagic) {
    out.push_back(static_cast<std::byte>(each));
  }
  put(out, host);
  put(out, hosts);
  const auto where = share.to_bytes();
  out.insert(out.end(), where.begin(), where.end());
  for (const char each : task) {
    out.push_back(static_cast<std::byte>(each));
  }
  return out;
}

Greeting Greeting::from_bytes(std::span<const std::byte> bytes) {
  const bool known = bytes.size() >= kHead && bytes.size() <= kHead + kMostTask &&
                     std::equal(kMagic.begin(), kMagic.end(), bytes.begin(),
                                [](char a, std::byte b) { return static_cast<std::byte>(a) == b; });
  if (!known) {
    throw apps::Failure(apps::Cause::kProtocol, "what came is no greeting of this program");
  }
  Greeting greeting;
  bytes = bytes.subspan(kMagic.size());
  greeting.host = get(bytes);
  greeting.hosts = get(bytes.subspan(kNumber));
  greeting.share = apps::RemoteRegion::from_bytes(bytes.subspan(2 * kNumber));
  for (const std::byte each : bytes.subspan(2 * kNumber + apps::RemoteRegion::kBytes)) {
    const auto character = std::to_integer<unsigned char>(each);
    // It may be shown on a terminal.
    greeting.task.push_back(character >= ' ' && character <= '~' ? static_cast<char>(character)
                                                                 : '?');
  }
  return greeting;
}

}  // namespace sharedmemory
