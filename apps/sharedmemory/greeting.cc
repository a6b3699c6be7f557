// SPDX-License-Identifier: GPL-2.0
#include "greeting.h"

#include <algorithm>
#include <string_view>

#include "bytes.h"

namespace rdma::sharedmemory {
namespace {

constexpr std::string_view kMagic = "weft shared memory 1";
constexpr std::size_t kNumber = 4;
constexpr std::size_t kHead = kMagic.size() + 2 * kNumber + RemoteRegion::kBytes;

void append(std::vector<std::byte>& out, std::span<const std::byte> bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

}  // namespace

std::vector<std::byte> Greeting::to_bytes() const {
  std::vector<std::byte> out;
  std::array<std::byte, 2 * kNumber> numbers{};
  Packer(numbers).put(host).put(hosts);
  append(out, std::as_bytes(std::span(kMagic)));
  append(out, numbers);
  append(out, share.to_bytes());
  append(out, std::as_bytes(std::span(task)));
  return out;
}

Greeting Greeting::from_bytes(std::span<const std::byte> bytes) {
  const bool known =
      bytes.size() >= kHead && bytes.size() <= kHead + kMostTask &&
      std::ranges::equal(std::as_bytes(std::span(kMagic)), bytes.first(kMagic.size()));
  if (!known) {
    throw Failure(Cause::kProtocol, "what came is no greeting of this program");
  }
  Greeting greeting;
  Unpacker from(bytes.subspan(kMagic.size()));
  greeting.host = from.take<std::uint32_t>();
  greeting.hosts = from.take<std::uint32_t>();
  greeting.share = RemoteRegion::from_bytes(from.next(RemoteRegion::kBytes));
  for (const std::byte each : from.next(from.left())) {
    const auto character = std::to_integer<unsigned char>(each);
    // It may be shown on a terminal.
    greeting.task.push_back(character >= ' ' && character <= '~' ? static_cast<char>(character)
                                                                 : '?');
  }
  return greeting;
}

}  // namespace rdma::sharedmemory
