// SPDX-License-Identifier: GPL-2.0
// A rank's part of a window, as another rank reaches it: its memory, and two words beside it that
// order who does what there.
#pragma once

#include "link.h"

namespace rdma::onesided {

// The words beside the memory. Each is changed by atomic requests alone, also by the rank it is of.
enum class Word : std::size_t {
  kLock,       // of MPI_Win_lock(): who holds it, see lock()
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

  // The lock of MPI_Win_lock(), and the right to accumulate here. Both wait until they have it, and
  // forever if its holder never lets it go. What was put before a holder lets go is in the memory
  // when the next one has it.
  void lock(bool alone);
  void unlock(bool alone);
  void begin_accumulating();
  void end_accumulating();

 protected:
  explicit Target(std::uint64_t size) : size_(size) {}
  virtual void write(std::span<const std::byte> bytes, std::uint64_t offset) = 0;
  virtual void read(std::span<std::byte> bytes, std::uint64_t offset) = 0;
  // Atomic on a word; return what it was.
  virtual std::uint64_t fetch_add(Word word, std::uint64_t add) = 0;
  virtual std::uint64_t compare_swap(Word word, std::uint64_t expected, std::uint64_t desired) = 0;

 private:
  void check(std::size_t length, std::uint64_t offset) const;
  std::uint64_t size_;  // bytes of the memory
};

// This rank's own part.
std::unique_ptr<Target> own_target(std::span<std::byte> memory, Words& words);
// Another rank's, over the link to it.
std::unique_ptr<Target> link_target(Link& link, const RemoteRegion& memory,
                                    const RemoteRegion& words);

}  // namespace rdma::onesided
