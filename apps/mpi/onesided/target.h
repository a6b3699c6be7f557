// SPDX-License-Identifier: GPL-2.0
// A rank's part of a window, as another rank reaches it: its memory, and two words beside it that
// order who does what there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "link.h"

namespace rdma::onesided {

// The words beside the memory. Each is changed by atomic requests alone, also by the rank it is of.
enum class Word : std::size_t {
  kLock,       // of MPI_Win_lock(): who holds it, see lock.h
  kAccumulate  // 1 while somebody accumulates here, else 0
};
using Words = std::array<std::uint64_t, 2>;

class Target {
 public:
  virtual ~Target() = default;
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  // Puts bytes into the memory, or gets them from it, `offset` bytes behind its begin. Complete
  // after flush(), which is when the caller may use `bytes` again. Throws Failure (kInput) if the
  // memory ends before them.
  void put(std::span<const std::byte> bytes, std::uint64_t offset);
  void get(std::span<std::byte> bytes, std::uint64_t offset);
  // Waits until all that was put is in the memory, and all that was got is here.
  virtual void flush() = 0;
  // Atomic on a word; return what it was. What was put before is in the memory when another rank
  // sees the change.
  virtual std::uint64_t fetch_add(Word word, std::uint64_t add) = 0;
  virtual std::uint64_t compare_swap(Word word, std::uint64_t expected, std::uint64_t desired) = 0;

 protected:
  explicit Target(std::uint64_t size) : size_(size) {}
  virtual void write(std::span<const std::byte> bytes, std::uint64_t offset) = 0;
  virtual void read(std::span<std::byte> bytes, std::uint64_t offset) = 0;

 private:
  void check(std::size_t length, std::uint64_t offset) const;
  std::uint64_t size_;  // bytes of the memory
};

// This rank's own part: nothing travels. The device's atomics and the processor's are atomic to one
// another (IBV_ATOMIC_GLOB), so the words may be changed by both.
class OwnTarget : public Target {
 public:
  OwnTarget(std::span<std::byte> memory, Words& words)
      : Target(memory.size()), memory_(memory), words_(words) {}
  void flush() override {}
  std::uint64_t fetch_add(Word word, std::uint64_t add) override;
  std::uint64_t compare_swap(Word word, std::uint64_t expected, std::uint64_t desired) override;

 protected:
  void write(std::span<const std::byte> bytes, std::uint64_t offset) override;
  void read(std::span<std::byte> bytes, std::uint64_t offset) override;

 private:
  std::span<std::byte> memory_;
  Words& words_;
};

// Another rank's, over the link to it. Few bytes are copied into memory that the device knows; of
// many the device is told for the time of the call, since registering them costs less than a copy.
class LinkTarget : public Target {
 public:
  LinkTarget(Link& link, const RemoteRegion& memory, const RemoteRegion& words);
  void flush() override;
  std::uint64_t fetch_add(Word word, std::uint64_t add) override;
  std::uint64_t compare_swap(Word word, std::uint64_t expected, std::uint64_t desired) override;

 protected:
  void write(std::span<const std::byte> bytes, std::uint64_t offset) override;
  void read(std::span<std::byte> bytes, std::uint64_t offset) override;

 private:
  // Bytes that are read into the copies first.
  struct Wanted {
    std::span<std::byte> bytes;
    std::size_t at;
  };
  // Room for a copy; flushes if there is none left.
  std::size_t copy_room(std::size_t length);

  Link& link_;
  RemoteRegion memory_;
  RemoteRegion words_;
  std::vector<std::byte> copies_;
  std::unique_ptr<Region> copies_region_;
  std::size_t used_ = 0;  // of copies_
  bool written_ = false;  // something since the last flush
  std::vector<Wanted> wanted_;
  std::vector<std::unique_ptr<Region>> regions_;  // of many bytes, until flush()
};

}  // namespace rdma::onesided
