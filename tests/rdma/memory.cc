// SPDX-License-Identifier: GPL-2.0
#include "memory.h"

#include <algorithm>
#include <iomanip>
#include <sstream>

#include "pattern.h"

namespace rdma {
namespace {
constexpr std::uint64_t kGuardSeed = 0x67756172642e2e2eU;
}

Memory::Memory(ibv_pd* pd, std::size_t size, int access)
    : pages_(size, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE), expected_(size) {
  // One pattern, made once: under emulation making it costs more than copying it.
  static const std::vector<std::uint8_t> guards = [] {
    std::vector<std::uint8_t> bytes(1U << 16);
    fill_pattern(bytes, kGuardSeed);
    return bytes;
  }();
  for (std::size_t at = 0; at < size; at += guards.size())
    std::memcpy(bytes(at), guards.data(), std::min(guards.size(), size - at));
  accept();
  mr_ = own(ibv_reg_mr(pd, bytes(), size, access),
            "ibv_reg_mr of " + std::to_string(size) + " bytes");
}

std::vector<ibv_sge> Memory::sges(const Layout& layout) const {
  std::vector<ibv_sge> list;
  for (const Extent& extent : layout)
    list.push_back({address(extent.offset), extent.length, mr_->lkey});
  return list;
}

void Memory::fill(const Layout& layout, std::uint64_t seed) {
  for (const Extent& extent : layout) {
    fill_pattern({bytes(extent.offset), extent.length}, seed + extent.offset);
    std::copy_n(bytes(extent.offset), extent.length, expected_.data() + extent.offset);
  }
}

std::vector<std::uint8_t> Memory::gather(const Layout& layout) const {
  std::vector<std::uint8_t> message;
  message.reserve(size_of(layout));
  for (const Extent& extent : layout) {
    const std::uint8_t* from = expected_.data() + extent.offset;
    message.insert(message.end(), from, from + extent.length);
  }
  return message;
}

void Memory::expect(const Layout& layout, const std::vector<std::uint8_t>& message) {
  std::size_t done = 0;
  for (const Extent& extent : layout) {
    const std::size_t part = std::min<std::size_t>(extent.length, message.size() - done);
    std::copy_n(message.data() + done, part, expected_.data() + extent.offset);
    done += part;
  }
}

void Memory::compare(std::size_t begin, std::size_t end, const char* whose) const {
  if (std::memcmp(bytes(begin), expected_.data() + begin, end - begin) == 0) return;
  std::vector<std::size_t> different;
  for (std::size_t at = begin; at < end; ++at) {
    if (bytes()[at] != expected_[at]) different.push_back(at);
  }
  if (different.empty())
    throw Failure(std::string(whose) + " memory changed while it was compared");
  const std::size_t first = different.front();
  std::ostringstream text;
  const auto four_of = [&](const std::uint8_t* memory) {
    for (std::size_t at = first; at < std::min(first + 4, size()); ++at)
      text << ' ' << std::setw(2) << std::setfill('0') << std::hex << unsigned{memory[at]};
  };
  text << whose << " memory: first differing byte at arena offset " << first << ": expected";
  four_of(expected_.data());
  text << ", got";
  four_of(bytes());
  text << "; " << std::dec << different.size() << " bytes differ, the last at " << different.back();
  throw Failure(text.str());
}

void Memory::check(const Layout& layout, const char* whose) const {
  if (layout.empty()) compare(0, size(), whose);
  for (const Extent& extent : layout) {
    const std::size_t begin = extent.offset > kMargin ? extent.offset - kMargin : 0;
    compare(begin, std::min(extent.offset + extent.length + kMargin, size()), whose);
  }
}

void Memory::accept() { std::memcpy(expected_.data(), bytes(), expected_.size()); }

}  // namespace rdma
