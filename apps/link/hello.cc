// SPDX-License-Identifier: GPL-2.0
#include "hello.h"

#include "bytes.h"

namespace rdma {

namespace {

constexpr std::uint32_t kWord = 0x61706c31;  // "apl1"

}  // namespace

Hello::Hello(std::span<const std::byte> bytes) {
  if (bytes.size() < kBytes || get_big<std::uint32_t>(bytes.data()) != kWord) {
    throw Failure(Cause::kProtocol,
                  "the peer is another program, or another release of it; its port may be wrong");
  }
  credits = get_big<std::uint16_t>(bytes.data() + 4);
  message_bytes = get_big<std::uint32_t>(bytes.data() + 8);
  Settings settings;
  settings.credits = credits;
  settings.message_bytes = message_bytes;
  try {
    settings.check();
  } catch (const Failure& failure) {
    throw Failure(Cause::kProtocol, std::string("the peer is wrong: ") + failure.what());
  }
}

std::array<std::byte, Hello::kBytes> Hello::to_bytes() const {
  std::array<std::byte, kBytes> bytes{};
  Packer(bytes).put(kWord).put(credits).put(std::uint16_t{0}).put(message_bytes);
  return bytes;
}

}  // namespace rdma
