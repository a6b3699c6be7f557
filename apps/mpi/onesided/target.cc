// SPDX-License-Identifier: GPL-2.0
#include "target.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>

#include "failure.h"

namespace rdma::onesided {

namespace {

constexpr std::size_t kCopied = 16384;                   // the most bytes that are copied
constexpr std::size_t kCopies = 1U << 18;                // room for copies
constexpr std::size_t kConfirm = sizeof(std::uint64_t);  // the read that ends a flush, at the begin

constexpr std::uint64_t offset_of(Word word) {
  return static_cast<std::uint64_t>(word) * sizeof(std::uint64_t);
}

}  // namespace

void Target::check(std::size_t length, std::uint64_t offset) const {
  if (offset > size_ || length > size_ - offset) {
    throw Failure(Cause::kInput,
                  std::to_string(length) + " bytes at offset " + std::to_string(offset) +
                      " reach past the end of a window of " + std::to_string(size_) + " bytes");
  }
}

void Target::put(std::span<const std::byte> bytes, std::uint64_t offset) {
  check(bytes.size(), offset);
  if (!bytes.empty()) {
    write(bytes, offset);
  }
}

void Target::get(std::span<std::byte> bytes, std::uint64_t offset) {
  check(bytes.size(), offset);
  if (!bytes.empty()) {
    read(bytes, offset);
  }
}

void OwnTarget::write(std::span<const std::byte> bytes, std::uint64_t offset) {
  std::memmove(&memory_[offset], bytes.data(), bytes.size());
}

void OwnTarget::read(std::span<std::byte> bytes, std::uint64_t offset) {
  std::memmove(bytes.data(), &memory_[offset], bytes.size());
}

std::uint64_t OwnTarget::fetch_add(Word word, std::uint64_t add) {
  return std::atomic_ref(words_[static_cast<std::size_t>(word)]).fetch_add(add);
}

std::uint64_t OwnTarget::compare_swap(Word word, std::uint64_t expected, std::uint64_t desired) {
  std::atomic_ref(words_[static_cast<std::size_t>(word)])
      .compare_exchange_strong(expected, desired);
  return expected;
}

LinkTarget::LinkTarget(Link& link, const RemoteRegion& memory, const RemoteRegion& words)
    : Target(memory.length), link_(link), memory_(memory), words_(words), copies_(kCopies) {
  // An answer to a read is a write on cards that speak iWARP.
  copies_region_ = link_.expose(copies_, kRemoteWrite);
  used_ = kConfirm;
}

std::size_t LinkTarget::copy_room(std::size_t length) {
  if (copies_.size() - used_ < length) {
    flush();
  }
  const std::size_t at = used_;
  used_ += length;
  return at;
}

void LinkTarget::write(std::span<const std::byte> bytes, std::uint64_t offset) {
  written_ = true;
  if (bytes.size() <= kCopied) {
    const std::size_t at = copy_room(bytes.size());
    written_ = true;  // also if that flushed
    std::ranges::copy(bytes, copies_.begin() + static_cast<std::ptrdiff_t>(at));
    link_.write(*copies_region_, at, bytes.size(), memory_, offset);
    return;
  }
  // The device only reads them.
  const std::span<std::byte> memory(const_cast<std::byte*>(bytes.data()), bytes.size());
  regions_.push_back(link_.expose(memory, kLocal));
  link_.write(*regions_.back(), 0, bytes.size(), memory_, offset);
}

void LinkTarget::read(std::span<std::byte> bytes, std::uint64_t offset) {
  if (bytes.size() <= kCopied) {
    const std::size_t at = copy_room(bytes.size());
    wanted_.push_back({bytes, at});
    link_.read(*copies_region_, at, bytes.size(), memory_, offset);
    return;
  }
  regions_.push_back(link_.expose(bytes, kRemoteWrite));
  link_.read(*regions_.back(), 0, bytes.size(), memory_, offset);
}

void LinkTarget::flush() {
  if (written_) {
    // Its answer says that what was written before it has been placed.
    link_.read(*copies_region_, 0, kConfirm, words_, 0);
  }
  if (written_ || !wanted_.empty() || !regions_.empty()) {
    link_.flush();
  }
  for (const Wanted& wanted : wanted_) {
    std::copy_n(copies_.begin() + static_cast<std::ptrdiff_t>(wanted.at), wanted.bytes.size(),
                wanted.bytes.begin());
  }
  wanted_.clear();
  regions_.clear();
  used_ = kConfirm;
  written_ = false;
}

std::uint64_t LinkTarget::fetch_add(Word word, std::uint64_t add) {
  return link_.fetch_add(words_, offset_of(word), add);
}

std::uint64_t LinkTarget::compare_swap(Word word, std::uint64_t expected, std::uint64_t desired) {
  return link_.compare_swap(words_, offset_of(word), expected, desired);
}

}  // namespace rdma::onesided
