// SPDX-License-Identifier: GPL-2.0
#include "target.h"

#include <atomic>
#include <thread>
#include <utility>

#include "sentence.h"

namespace rdma::onesided {
namespace {

constexpr std::size_t kCopied = 16384;                   // the most bytes that are copied
constexpr std::size_t kCopies = 1U << 18;                // room for copies
constexpr std::size_t kConfirm = sizeof(std::uint64_t);  // the read that ends a flush, at the begin

// Nothing travels. The device's atomics and the processor's are atomic to one another
// (IBV_ATOMIC_GLOB), so the words may be changed by both.
class OwnTarget : public Target {
 public:
  OwnTarget(std::span<std::byte> memory, Words& words)
      : Target(memory.size()), memory_(memory), words_(words) {}
  void flush() override {}

 protected:
  void write(std::span<const std::byte> bytes, std::uint64_t offset) override {
    std::memmove(&memory_[offset], bytes.data(), bytes.size());
  }
  void read(std::span<std::byte> bytes, std::uint64_t offset) override {
    std::memmove(bytes.data(), &memory_[offset], bytes.size());
  }
  std::uint64_t fetch_add(Word word, std::uint64_t add) override {
    return std::atomic_ref(words_[static_cast<std::size_t>(word)]).fetch_add(add);
  }
  std::uint64_t compare_swap(Word word, std::uint64_t expected, std::uint64_t desired) override {
    std::atomic_ref(words_[static_cast<std::size_t>(word)])
        .compare_exchange_strong(expected, desired);
    return expected;
  }

 private:
  std::span<std::byte> memory_;
  Words& words_;
};

// Few bytes are copied into memory that the device knows; of many the device is told for the time
// of the call, since registering them costs less than a copy.
class LinkTarget : public Target {
 public:
  LinkTarget(Link& link, const RemoteRegion& memory, const RemoteRegion& words)
      : Target(memory.length),
        link_(link),
        memory_(memory),
        words_(words),
        copies_(kCopies),
        // An answer to a read is a write on cards that speak iWARP.
        copies_region_(link.expose(copies_, kRemoteWrite)) {}

  void flush() override {
    if (written_) {
      // Its answer says that what was written before it has been placed.
      link_.read(*copies_region_, 0, kConfirm, words_, 0);
    }
    if (written_ || !wanted_.empty() || !regions_.empty()) link_.flush();
    for (const Wanted& wanted : wanted_) {
      std::copy_n(copies_.begin() + static_cast<std::ptrdiff_t>(wanted.at), wanted.bytes.size(),
                  wanted.bytes.begin());
    }
    wanted_.clear();
    regions_.clear();
    used_ = kConfirm;
    written_ = false;
  }

 protected:
  void write(std::span<const std::byte> bytes, std::uint64_t offset) override {
    if (bytes.size() <= kCopied) {
      const std::size_t at = copy_room(bytes.size());
      std::ranges::copy(bytes, copies_.begin() + static_cast<std::ptrdiff_t>(at));
      link_.write(*copies_region_, at, bytes.size(), memory_, offset);
    } else {
      // The device only reads them.
      const std::span<std::byte> memory(const_cast<std::byte*>(bytes.data()), bytes.size());
      regions_.push_back(link_.expose(memory, kLocal));
      link_.write(*regions_.back(), 0, bytes.size(), memory_, offset);
    }
    written_ = true;
  }
  void read(std::span<std::byte> bytes, std::uint64_t offset) override {
    if (bytes.size() <= kCopied) {
      const std::size_t at = copy_room(bytes.size());
      wanted_.push_back({bytes, at});
      link_.read(*copies_region_, at, bytes.size(), memory_, offset);
    } else {
      regions_.push_back(link_.expose(bytes, kRemoteWrite));
      link_.read(*regions_.back(), 0, bytes.size(), memory_, offset);
    }
  }
  std::uint64_t fetch_add(Word word, std::uint64_t add) override {
    return link_.fetch_add(words_, static_cast<std::uint64_t>(word) * sizeof(std::uint64_t), add);
  }
  std::uint64_t compare_swap(Word word, std::uint64_t expected, std::uint64_t desired) override {
    return link_.compare_swap(words_, static_cast<std::uint64_t>(word) * sizeof(std::uint64_t),
                              expected, desired);
  }

 private:
  // Bytes that are read into the copies first.
  struct Wanted {
    std::span<std::byte> bytes;
    std::size_t at;
  };

  // Room for a copy; flushes if there is none left.
  std::size_t copy_room(std::size_t length) {
    if (copies_.size() - used_ < length) flush();
    return std::exchange(used_, used_ + length);
  }

  Link& link_;
  RemoteRegion memory_;
  RemoteRegion words_;
  std::vector<std::byte> copies_;
  std::unique_ptr<Region> copies_region_;
  std::size_t used_ = kConfirm;  // of copies_
  bool written_ = false;         // something since the last flush
  std::vector<Wanted> wanted_;
  std::vector<std::unique_ptr<Region>> regions_;  // of many bytes, until flush()
};

// The lock's word counts those that share it. Its highest bit says that one has it alone; one that
// wants to share and finds the bit takes itself away again, so the count may be more for a moment.
constexpr std::uint64_t kAlone = 1ULL << 63;

// Tries until it holds, and waits longer from time to time, so that those who wait do not keep the
// holder's host busy.
template <typename Taken>
void take(Taken taken) {
  constexpr std::chrono::microseconds kLongest{2000};
  for (std::chrono::microseconds pause{20}; !taken(); pause = std::min(pause * 2, kLongest))
    std::this_thread::sleep_for(pause);
}

}  // namespace

void Target::check(std::size_t length, std::uint64_t offset) const {
  require(offset <= size_ && length <= size_ - offset, Cause::kInput, length, " bytes at offset ",
          offset, " reach past the end of a window of ", size_, " bytes");
}

void Target::put(std::span<const std::byte> bytes, std::uint64_t offset) {
  check(bytes.size(), offset);
  if (!bytes.empty()) write(bytes, offset);
}

void Target::get(std::span<std::byte> bytes, std::uint64_t offset) {
  check(bytes.size(), offset);
  if (!bytes.empty()) read(bytes, offset);
}

void Target::lock(bool alone) {
  take([&] {
    if (alone) return compare_swap(Word::kLock, 0, kAlone) == 0;
    const bool shared = (fetch_add(Word::kLock, 1) & kAlone) == 0;
    if (!shared) unlock(false);
    return shared;
  });
}

void Target::unlock(bool alone) { fetch_add(Word::kLock, alone ? kAlone : ~0ULL); }

void Target::begin_accumulating() {
  take([&] { return compare_swap(Word::kAccumulate, 0, 1) == 0; });
}

void Target::end_accumulating() { compare_swap(Word::kAccumulate, 1, 0); }

std::unique_ptr<Target> own_target(std::span<std::byte> memory, Words& words) {
  return std::make_unique<OwnTarget>(memory, words);
}

std::unique_ptr<Target> link_target(Link& link, const RemoteRegion& memory,
                                    const RemoteRegion& words) {
  return std::make_unique<LinkTarget>(link, memory, words);
}

}  // namespace rdma::onesided
