// SPDX-License-Identifier: GPL-2.0
// A host's share of the memory, and what lies where in it. Every host maps the same arrays in the
// same order, so that an array has the same offset on all of them, and no host has to ask another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <type_traits>

#include "sentence.h"

namespace rdma::sharedmemory {

// Some elements in a row of an array, on a host that is named beside it.
template <typename T>
struct Slice {
  std::size_t offset = 0;  // bytes from the beginning of a share
  std::size_t count = 0;   // elements

  std::size_t bytes() const { return count * sizeof(T); }
};

// An array of which each host has `count` elements in its share.
template <typename T>
struct Array {
  std::size_t offset = 0;  // bytes
  std::size_t count = 0;   // elements

  // `length` elements from `first` on. Throws Failure (kInput) if the array has not so many.
  Slice<T> at(std::size_t first, std::size_t length) const {
    refuse_if(first > count || length > count - first, Cause::kInput, "elements ", first, " to ",
              first + length, " of an array of ", count);
    return {offset + first * sizeof(T), length};
  }
  Slice<T> all() const { return {offset, count}; }
};

// Hands out offsets, from the first byte of a share on.
class Layout {
 public:
  // Arrays begin at such multiples: what two processors write is in no cache line together.
  static constexpr std::size_t kAlign = 64;
  // More than this in one share is a mistake.
  static constexpr std::size_t kMost = std::size_t{1} << 36;

  // An array of `count` elements of T. Throws Failure (kInput) if the share would become too large.
  template <typename T>
  Array<T> map(std::size_t count) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= kAlign);
    refuse_if(count > (kMost - used_) / sizeof(T), Cause::kInput,
              "a share of more than 64 GiB; choose a smaller size");
    const Array<T> array{used_, count};
    used_ = (used_ + count * sizeof(T) + kAlign - 1) / kAlign * kAlign;
    return array;
  }
  // How many bytes a share needs.
  std::size_t bytes() const { return used_; }

 private:
  std::size_t used_ = 0;
};

// Which part of `count` things belongs to one of `hosts`: [first, last). The parts differ by one at
// most, and follow each other.
struct Part {
  std::size_t first = 0;
  std::size_t last = 0;

  static Part of(std::size_t count, int hosts, int host) {
    const auto n = static_cast<std::size_t>(hosts);
    const auto i = static_cast<std::size_t>(host);
    return {count * i / n, count * (i + 1) / n};
  }
  // Whose part thing number `index` is in, which is below `count`.
  static int owner(std::size_t count, int hosts, std::size_t index) {
    const auto n = static_cast<std::size_t>(hosts);
    return count == 0 ? 0 : static_cast<int>(((index + 1) * n - 1) / count);
  }
  // The most that any host has.
  static std::size_t most(std::size_t count, int hosts) {
    const auto n = static_cast<std::size_t>(hosts);
    return (count + n - 1) / n;
  }
  std::size_t size() const { return last - first; }
};

// The words of each share that hosts agree by. They come first in it, at offset 0.
struct Control {
  // Words apart, so that no two that differ in use share a cache line.
  static constexpr std::size_t kStride = Layout::kAlign / sizeof(std::uint64_t);
  static constexpr std::size_t kLocks = 4;

  Control(Layout& layout, int hosts)
      : arrived(layout.map<std::uint64_t>(1)),
        locks(layout.map<std::uint64_t>(kLocks * kStride)),
        told(layout.map<std::uint64_t>(static_cast<std::size_t>(hosts))),
        nothing(layout.map<std::uint64_t>(1)),
        proof(layout.map<std::uint64_t>(static_cast<std::size_t>(hosts))) {}

  Array<std::uint64_t> arrived;  // on host 0: how often a host has come to a barrier
  Array<std::uint64_t> locks;    // each 0, or 1 + the host that holds it
  Array<std::uint64_t> told;     // [host]: what it writes when it releases a barrier
  Array<std::uint64_t> nothing;  // what they write there
  Array<std::uint64_t> proof;    // [host]: what is read from it to know that writes have arrived
};

// The bytes of one host's share, from page to page, all zero at first.
class Share {
 public:
  static constexpr std::size_t kPage = 4096;

  // At least `bytes`. Throws Failure (kSystem) if the system has not so many.
  explicit Share(std::size_t bytes)
      : size_((bytes + kPage) / kPage * kPage),
        memory_(static_cast<std::byte*>(std::aligned_alloc(kPage, size_)), std::free) {
    refuse_if(!memory_, Cause::kSystem, "no memory for a share of ", size_,
              " bytes; choose a smaller --size");
    std::memset(memory_.get(), 0, size_);
  }

  std::span<std::byte> bytes() const { return {memory_.get(), size_}; }
  // The elements of a slice, in this share.
  template <typename T>
  std::span<T> of(const Slice<T>& slice) const {
    return {reinterpret_cast<T*>(memory_.get() + slice.offset), slice.count};
  }

 private:
  std::size_t size_;
  std::unique_ptr<std::byte, void (*)(void*)> memory_;
};

}  // namespace rdma::sharedmemory
