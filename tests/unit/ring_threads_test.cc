// SPDX-License-Identifier: GPL-2.0
// userlib/ring.hpp between two threads, one the kernel's side: no doorbell and no event is lost.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "random.h"
#include "ring.hpp"

#include "kernel_side.hpp"
#include "ring_memory.hpp"

namespace {

using weft::CompletionRing;
using weft::SendRing;
using weft_test::KernelCompletionQueue;
using weft_test::KernelSendQueue;
using weft_test::Memory;
using weft_test::SendEntry;
using weft_test::zeroed;

// A kernel that sleeps until a doorbell comes. If one is lost, the wait runs out.
class Bell {
 public:
  void ring() {
    {
      std::lock_guard lock(mutex_);
      rung_ = true;
    }
    changed_.notify_one();
  }
  bool wait() {
    std::unique_lock lock(mutex_);
    const bool in_time = changed_.wait_for(lock, std::chrono::seconds(20), [&] { return rung_; });
    rung_ = false;
    return in_time;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool rung_ = false;
};

TEST(Threads, NoDoorbellIsLost) {
  static constexpr uint32_t kBlocks = 16;
  // As in a real queue each has room for the most blocks: none is written over before its poll.
  static constexpr uint32_t kRequestsAtOnce = kBlocks / WEFT_SQ_MAX_BLOCKS;
  static constexpr uint64_t kRequests = 100000;
  Memory memory(WEFT_RING_OFFSET + kBlocks * WEFT_SQ_BLOCK);
  KernelSendQueue kernel(memory.base(), kBlocks);
  kernel.start_at(0xffffff00U);
  auto ring = zeroed<SendRing>();
  ring.attach(memory.base(), kBlocks, kRequestsAtOnce);
  ASSERT_TRUE(kernel.go_idle());
  Bell bell;
  std::atomic<bool> failed = false;
  uint64_t times_asked = 0;  // that the kernel set the need-doorbell word

  std::thread kernel_thread([&] {
    uint64_t expected = 0;
    while (expected < kRequests) {
      if (!bell.wait()) {
        failed = true;
        return;
      }
      do {
        times_asked++;
        SendEntry entry;
        while (kernel.fetch(&entry)) {
          if (entry.head.wr_id != expected++) failed = true;
          kernel.release(entry.blocks);
          ring.retire(false);
        }
      } while (!kernel.go_idle());
    }
  });
  std::mt19937 random = fresh_random(1);
  uint64_t doorbells = 0;
  uint64_t next = 0;
  weft_sge sges[WEFT_MAX_SGE] = {};
  while (next < kRequests && !failed) {
    const auto chain = 1 + random() % 3;
    const uint64_t before = next;
    for (uint64_t i = 0; i < chain && next < kRequests; i++) {
      weft_sq_wr wr = {.wr_id = next};
      if (!ring.push(wr, sges, static_cast<uint32_t>(random() % 7))) break;
      next++;
    }
    if (next != before) {
      ring.publish();
      if (ring.need_doorbell()) {
        doorbells++;
        kernel.wake();  // a doorbell clears the word in the caller's context
        bell.ring();
      }
    } else {
      std::this_thread::yield();
    }
  }
  kernel_thread.join();
  EXPECT_FALSE(failed) << "posted " << next << ", doorbells " << doorbells;
  EXPECT_LE(doorbells, times_asked + 1) << "the kernel was entered unasked";
}

TEST(Threads, NoCompletionEventIsLost) {
  static constexpr uint32_t kEntries = 8;
  static constexpr uint64_t kCompletions = 100000;
  Memory memory(WEFT_RING_OFFSET + kEntries * sizeof(weft_cqe));
  KernelCompletionQueue kernel(memory.base(), kEntries);
  auto ring = zeroed<CompletionRing>();
  ring.attach(memory.base(), kEntries);
  Bell event;
  std::atomic<uint64_t> in_ring = 0;
  std::atomic<bool> failed = false;
  uint64_t events = 0;

  std::thread kernel_thread([&] {
    for (uint64_t i = 0; i < kCompletions && !failed; i++) {
      while (in_ring.load() >= kEntries && !failed) std::this_thread::yield();
      in_ring++;
      weft_cqe cqe = {.wr_id = i};
      if (!kernel.push(cqe, 0, 0, WEFT_OP_SEND)) {
        failed = true;
        return;
      }
      if (kernel.notify(false)) {
        events++;
        event.ring();
      }
    }
  });
  // The loop of every user of events: arm, poll once more, only then sleep.
  uint64_t next = 0;
  std::mt19937 random = fresh_random(2);
  const auto drain = [&] {
    uint32_t word = 0;
    uint64_t taken = 0;
    while (const weft_cqe* cqe = ring.peek(&word)) {
      if (cqe->wr_id != next++) failed = true;
      ring.take();
      taken++;
    }
    ring.publish();
    in_ring -= taken;
  };
  while (next < kCompletions && !failed) {
    // Solicited-only weakens no pending "any": safe if the first arm after an event asks for any.
    ring.arm(false);
    if (random() % 4 == 0) ring.arm(true);
    const uint64_t before = next;
    drain();
    if (next == before && next < kCompletions && !event.wait()) failed = true;
    drain();
  }
  const bool lost = failed;
  failed = failed || next < kCompletions;
  kernel_thread.join();
  EXPECT_FALSE(lost) << "polled " << next << ", events " << events;
  EXPECT_GT(events, 0U);
}

// Runs `user` and `kernel` at the same moment, `rounds` times, and `check` after each. A
// missing fence shows only when the two really run at the same time, which threads that
// sleep and wake hardly ever do.
template <typename User, typename Kernel, typename Check>
void collide(uint32_t rounds, User user, Kernel kernel, Check check) {
  std::atomic<uint32_t> start = 0;
  std::atomic<uint32_t> ready = 0;
  std::atomic<uint32_t> done = 0;
  const auto await = [](const std::atomic<uint32_t>& word, uint32_t value) {
    for (int spins = 0; word.load(std::memory_order_acquire) != value; spins++) {
      if (spins > 2000) std::this_thread::yield();
    }
  };
  const auto linger = [](uint32_t turns) {
    for (uint32_t i = 0; i < 4 * turns; i++) {
      asm volatile("" : "+r"(i));  // a loop the compiler must keep
    }
  };
  std::thread kernel_thread([&] {
    for (uint32_t round = 1; round <= rounds; round++) {
      await(start, round);
      ready.store(round, std::memory_order_release);
      linger(round * 7 % 128);  // the other hears of it with a delay
      kernel();
      done.store(round, std::memory_order_release);
    }
  });
  for (uint32_t round = 1; round <= rounds; round++) {
    start.store(round, std::memory_order_release);
    await(ready, round);
    linger(round % 16);
    user();
    await(done, round);
    check(round);
  }
  kernel_thread.join();
}

TEST(Threads, PostAndDrainNeverMissEachOther) {
  static constexpr uint32_t kBlocks = 8;
  Memory memory(WEFT_RING_OFFSET + kBlocks * WEFT_SQ_BLOCK);
  KernelSendQueue kernel(memory.base(), kBlocks);
  auto ring = zeroed<SendRing>();
  ring.attach(memory.base(), kBlocks, kBlocks);
  bool rings = false;
  bool sleeps = false;
  uint32_t missed = 0;
  const weft_sge sge = {};
  collide(
      150000,
      [&] {
        ring.push(weft_sq_wr{}, &sge, 1);
        ring.publish();
        rings = ring.need_doorbell();
      },
      [&] { sleeps = kernel.go_idle(); },
      [&](uint32_t) {
        missed += sleeps && !rings;
        kernel.wake();
        SendEntry entry;
        while (kernel.fetch(&entry)) {
          kernel.release(entry.blocks);
          ring.retire(false);
        }
      });
  EXPECT_EQ(missed, 0U) << "work in the ring, the kernel asleep, and no doorbell";
}

TEST(Threads, ArmAndNotifyNeverMissEachOther) {
  static constexpr uint32_t kEntries = 8;
  Memory memory(WEFT_RING_OFFSET + kEntries * sizeof(weft_cqe));
  KernelCompletionQueue kernel(memory.base(), kEntries);
  auto ring = zeroed<CompletionRing>();
  ring.attach(memory.base(), kEntries);
  bool found = false;
  bool event = false;
  uint32_t missed = 0;
  collide(
      150000,
      [&] {
        uint32_t word = 0;
        ring.arm(false);
        found = ring.peek(&word) != nullptr;
      },
      [&] {
        kernel.push(weft_cqe{}, 0, 0, WEFT_OP_SEND);
        event = kernel.notify(false);
      },
      [&](uint32_t) {
        missed += !found && !event;
        ring.take();
        ring.publish();
        kernel.notify(false);  // serves the arm if nothing has
      });
  EXPECT_EQ(missed, 0U) << "a completion that was neither polled nor signalled";
}

}  // namespace
