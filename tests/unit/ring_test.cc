// SPDX-License-Identifier: GPL-2.0
// userlib/ring.hpp in plain memory; its partner is tests/provider/kernel_side.hpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <numeric>

#include "random.h"
#include "ring.hpp"

#include "kernel_side.hpp"
#include "ring_memory.hpp"

namespace {

using namespace weft_test;  // NOLINT(google-build-using-namespace): the other side of this test's
using weft::CompletionRing;
using weft::RecvRing;
using weft::SendRing;

Sges some_sges(uint32_t count, uint64_t seed) {
  Sges sges(count);
  for (uint32_t i = 0; i < count; i++) {
    sges[i] = {seed * 1000 + i, static_cast<uint32_t>(seed + i),
               static_cast<uint32_t>(seed ^ (i << 8))};
  }
  return sges;
}

// ---- send queue -------------------------------------------------------------

// Where the indices start: at rest, and shortly before the counters or the sign bit wrap.
class SendRingTest : public testing::TestWithParam<uint32_t> {
 protected:
  static constexpr uint32_t kBlocks = 16;

  SendRingTest() : memory_(WEFT_RING_OFFSET + kBlocks * WEFT_SQ_BLOCK) {
    kernel_ = KernelSendQueue(memory_.base(), kBlocks);
    kernel_.start_at(GetParam());
    attach(kBlocks);
  }
  void attach(uint32_t promised) {
    ring_ = zeroed<SendRing>();
    ring_.attach(memory_.base(), kBlocks, promised);
  }

  static weft_sq_wr request(uint64_t wr_id) {
    weft_sq_wr wr = {.wr_id = wr_id,
                     .opcode = WEFT_OP_WRITE,
                     .flags = WEFT_WR_SIGNALED,
                     .ex = static_cast<uint32_t>(wr_id * 7),
                     .remote_addr = wr_id * 3,
                     .rkey = static_cast<uint32_t>(wr_id * 5)};
    return wr;
  }
  bool push(uint64_t wr_id, const Sges& sges) {
    return ring_.push(request(wr_id), sges.data(), static_cast<uint32_t>(sges.size()));
  }
  void push_largest(uint32_t count) {
    for (uint32_t i = 0; i < count; i++) ASSERT_TRUE(push(i, many_));
  }

  // The next request, which is that one.
  SendEntry fetched(uint64_t wr_id) {
    SendEntry entry = {};
    EXPECT_TRUE(kernel_.fetch(&entry));
    weft_sq_wr want = request(wr_id);
    want.flags |= entry.head.flags & WEFT_WR_INLINE;
    EXPECT_EQ(entry.fields(), SendEntry{want}.fields());
    return entry;
  }
  // Publishes it, has the kernel fetch it and be done with it, and polls its completion.
  SendEntry through(uint64_t wr_id) {
    ring_.publish();
    SendEntry entry = fetched(wr_id);
    kernel_.release(entry.blocks);
    ring_.retire(true);
    return entry;
  }
  void expect_empty() {
    SendEntry entry;
    EXPECT_FALSE(kernel_.fetch(&entry));
  }

  Memory memory_;
  KernelSendQueue kernel_;
  SendRing ring_;
  const Sges one_ = some_sges(1, 9);
  const Sges many_ = some_sges(WEFT_MAX_SGE, 3);
};

INSTANTIATE_TEST_SUITE_P(Start, SendRingTest,
                         testing::Values(0U, 15U, 0xfffffff0U, 0xfffffffdU, 0x7ffffff9U));

TEST_P(SendRingTest, NothingIsVisibleBeforePublish) {
  ASSERT_TRUE(push(1, one_));
  EXPECT_TRUE(kernel_.empty());
  ring_.publish();
  EXPECT_FALSE(kernel_.empty());
}

TEST_P(SendRingTest, EverySgeCountAtEveryPosition) {
  uint64_t wr_id = 0;
  for (int pass = 0; pass < 40; pass++) {
    for (uint32_t count = 0; count <= WEFT_MAX_SGE; count++) {
      wr_id++;
      const auto sges = some_sges(count, wr_id);
      ASSERT_TRUE(push(wr_id, sges));
      const SendEntry entry = through(wr_id);
      EXPECT_EQ(entry.head.flags, WEFT_WR_SIGNALED);
      EXPECT_EQ(entry.head.inline_len, 0U);
      EXPECT_EQ(entry.sges, sges);
    }
  }
}

TEST_P(SendRingTest, EveryInlineLengthAtEveryPosition) {
  std::vector<uint8_t> payload(WEFT_MAX_INLINE);
  std::iota(payload.begin(), payload.end(), uint8_t{1});
  std::mt19937 random = fresh_random(7);
  for (uint32_t pass = 0; pass < 8; pass++) {
    for (uint32_t bytes = 0; bytes <= WEFT_MAX_INLINE; bytes++) {
      // In up to four pieces, some of them empty.
      weft_sge pieces[4];
      uint32_t done = 0;
      for (int i = 0; i < 4; i++) {
        const auto take =
            i == 3 ? bytes - done : static_cast<uint32_t>(random() % (bytes - done + 1));
        pieces[i] = {reinterpret_cast<uintptr_t>(payload.data()) + done, take, 0xdead};
        done += take;
      }
      ASSERT_TRUE(ring_.push_inline(request(bytes), pieces, 4, bytes));
      const SendEntry entry = through(bytes);
      EXPECT_EQ(entry.head.flags, WEFT_WR_SIGNALED | WEFT_WR_INLINE);
      EXPECT_EQ(entry.head.num_sge, 0);
      ASSERT_EQ(entry.payload.size(), bytes);
      EXPECT_TRUE(std::equal(entry.payload.begin(), entry.payload.end(), payload.begin()))
          << bytes << " bytes";
    }
  }
}

TEST_P(SendRingTest, FullWhenBlocksRunOutAndNotBefore) {
  for (uint32_t i = 0; i < kBlocks; i++) {
    EXPECT_EQ(ring_.free_slots(), kBlocks - i);
    ASSERT_TRUE(push(i, one_)) << i;
  }
  EXPECT_EQ(ring_.free_slots(), 0U);
  EXPECT_FALSE(push(99, one_));
  EXPECT_FALSE(ring_.push_inline(request(99), one_.data(), 0, 0));
  ring_.publish();

  // The kernel has fetched all, but blocks come free with completion only.
  for (uint32_t i = 0; i < kBlocks; i++) fetched(i);
  expect_empty();
  EXPECT_FALSE(push(99, one_));

  kernel_.release(4);
  for (int i = 0; i < 5; i++) ring_.retire(true);
  EXPECT_EQ(weft_sq_blocks_for_sge(WEFT_MAX_SGE), 5U);
  EXPECT_FALSE(push(100, many_));
  kernel_.release(1);
  EXPECT_TRUE(push(100, many_));
  ring_.publish();
  EXPECT_EQ(fetched(100).sges, many_);
}

// A queue that promises three work requests takes three, whatever room there is.
TEST_P(SendRingTest, TakesAsManyAsItPromises) {
  attach(3);
  std::deque<uint32_t> fetched;
  std::mt19937 random(GetParam() + 7);
  uint32_t in_flight = 0;
  uint64_t refused = 0;
  for (int step = 0; step < 100000; step++) {
    if (random() % 2 == 0) {
      const auto count = static_cast<uint32_t>(random() % (WEFT_MAX_SGE + 1));
      const uint32_t before = ring_.position();
      bool taken = false;
      switch (random() % 3) {
        case 0:
          taken = ring_.push(request(1), many_.data(), count);
          break;
        case 1:
          taken = ring_.push_block(request(1), 0);
          break;
        default:
          taken = ring_.push_inline(request(1), many_.data(), 0, 0);
      }
      ASSERT_EQ(taken, in_flight < 3);
      in_flight += taken ? 1 : 0;
      refused += taken ? 0 : 1;
      if (taken && random() % 4 == 0) {  // taken back: as if it had not been
        ring_.rewind(before, 1);
        in_flight--;
      }
      ring_.publish();
    } else if (SendEntry entry; kernel_.fetch(&entry)) {
      fetched.push_back(entry.blocks);
    } else if (!fetched.empty()) {
      kernel_.release(fetched.front());
      fetched.pop_front();
      ring_.retire(true);
      in_flight--;
    }
  }
  EXPECT_GT(refused, 1000U);
}

// A request that the kernel is done with counts until its completion is polled.
TEST_P(SendRingTest, CountsUntilPolled) {
  attach(3);
  const auto post = [&](uint8_t flags) {
    weft_sq_wr wr = request(1);
    wr.flags = flags;
    const bool taken = ring_.push_block(wr, 0);
    ring_.publish();
    if (SendEntry entry; kernel_.fetch(&entry)) kernel_.release(entry.blocks);
    return taken;
  };
  EXPECT_TRUE(post(WEFT_WR_SIGNALED));
  EXPECT_TRUE(post(0));
  EXPECT_TRUE(post(WEFT_WR_SIGNALED));
  EXPECT_FALSE(post(0)) << "none is polled";
  ring_.retire(true);
  EXPECT_TRUE(post(0));
  EXPECT_FALSE(post(0)) << "one is polled";
  ring_.retire(true);  // with the unsignaled one before it
  EXPECT_TRUE(post(0));
  EXPECT_TRUE(post(0));
  EXPECT_FALSE(post(0)) << "three without a completion";
  // Each of them fails.
  for (int i = 0; i < 3; i++) {
    ring_.retire(false);
    EXPECT_TRUE(post(0)) << i;
    EXPECT_FALSE(post(0)) << i;
  }
}

TEST_P(SendRingTest, TakesNoneIfItPromisesNone) {
  attach(0);
  EXPECT_FALSE(push(1, one_));
  EXPECT_FALSE(ring_.push_block(request(1), 0));
  EXPECT_FALSE(ring_.push_inline(request(1), one_.data(), 0, 0));
}

// A process that scribbles on its ring miscounts; it neither hangs nor loses the ring.
TEST_P(SendRingTest, ScribbledBlocksEndTheCountAllTheSame) {
  for (const int scribble : {0, 1, 77, 255}) {
    kernel_.start_at(GetParam());
    attach(3);
    push_largest(3);
    ring_.publish();
    for (uint32_t i = 0; i < 3; i++) kernel_.release(fetched(i).blocks);
    auto* ring = static_cast<uint8_t*>(memory_.base()) + WEFT_RING_OFFSET;
    for (uint32_t i = 0; i < kBlocks; i++) {
      ring[size_t{i} * WEFT_SQ_BLOCK + offsetof(weft_sq_wr, num_blocks)] =
          static_cast<uint8_t>(scribble);
    }
    for (uint32_t i = 0; i < kBlocks; i++) {
      ring_.retire(true);  // also more of them than there are
    }
    EXPECT_EQ(ring_.free_slots(), kBlocks) << scribble;
    EXPECT_TRUE(push(9, many_)) << scribble;
  }
}

TEST_P(SendRingTest, ARefusedRequestLeavesNoTrace) {
  push_largest(3);
  EXPECT_EQ(ring_.free_slots(), 1U);
  EXPECT_FALSE(push(50, many_));
  EXPECT_EQ(ring_.free_slots(), 1U);
  ring_.publish();
  for (uint32_t i = 0; i < 3; i++) fetched(i);
  expect_empty();
}

TEST_P(SendRingTest, RestartFollowsTheKernel) {
  ASSERT_TRUE(push(1, one_));
  ring_.publish();
  kernel_.reset();
  ring_.restart();
  EXPECT_TRUE(kernel_.empty());
  EXPECT_EQ(ring_.free_slots(), kBlocks);
  ASSERT_TRUE(push(2, one_));
  ring_.publish();
  fetched(2);
}

TEST_P(SendRingTest, DoorbellOnlyWhenTheKernelAsks) {
  EXPECT_FALSE(ring_.need_doorbell());
  EXPECT_TRUE(kernel_.go_idle());
  EXPECT_TRUE(ring_.need_doorbell());
  kernel_.wake();
  EXPECT_FALSE(ring_.need_doorbell());
  // Work that came in meanwhile keeps the kernel awake.
  ASSERT_TRUE(push(1, one_));
  ring_.publish();
  EXPECT_FALSE(kernel_.go_idle());
  EXPECT_FALSE(ring_.need_doorbell());
}

TEST_P(SendRingTest, RandomTrafficKeepsOrderAndContent) {
  std::mt19937 random = fresh_random(GetParam() + 1);
  std::deque<std::pair<uint64_t, uint32_t>> posted;  // wr_id, SGEs
  std::deque<uint32_t> under_way;                    // blocks
  uint64_t next = 0;
  for (int step = 0; step < 200000; step++) {
    switch (random() % 3) {
      case 0: {
        const auto count = static_cast<uint32_t>(random() % (WEFT_MAX_SGE + 1));
        if (push(next, some_sges(count, next))) {
          posted.emplace_back(next++, count);
          ring_.publish();
        } else {
          EXPECT_GT(weft_sq_blocks_for_sge(count), ring_.free_slots());
        }
        break;
      }
      case 1:
        ASSERT_EQ(kernel_.empty(), posted.empty());
        if (!posted.empty()) {
          const auto [wr_id, count] = posted.front();
          const SendEntry entry = fetched(wr_id);
          EXPECT_EQ(entry.sges, some_sges(count, wr_id));
          posted.pop_front();
          under_way.push_back(entry.blocks);
        }
        break;
      default:
        if (!under_way.empty()) {
          kernel_.release(under_way.front());
          under_way.pop_front();
          ring_.retire(true);
        }
    }
  }
  EXPECT_GT(next, 10000U);
}

// Requests that fit in their first block: an atomic with its one SGE, a bind without any.
TEST_P(SendRingTest, SingleBlocksAtEveryPosition) {
  for (uint64_t wr_id = 1; wr_id <= uint64_t{3} * kBlocks; wr_id++) {
    const auto num_sge = static_cast<uint32_t>(wr_id % 2);
    weft_sq_wr wr = request(wr_id);
    wr.num_blocks = 77;  // filled in by the ring
    wr.num_sge = 99;
    wr.inline_len = 5;
    wr.atomic.result = {wr_id * 11, 8, 13};
    wr.atomic.operands = {.compare_add = wr_id * 17, .swap = wr_id * 19};
    ASSERT_TRUE(ring_.push_block(wr, num_sge));
    const SendEntry entry = through(wr_id);
    EXPECT_EQ(entry.blocks, 1U);
    EXPECT_EQ(entry.head.inline_len, 0U);
    EXPECT_EQ(entry.sges.size(), num_sge);
    EXPECT_EQ(entry.head.atomic.result.addr, wr_id * 11);
    EXPECT_EQ(entry.head.atomic.operands.compare_add, wr_id * 17);
    EXPECT_EQ(entry.head.atomic.operands.swap, wr_id * 19);
  }
  for (uint32_t i = 0; i < kBlocks; i++) ASSERT_TRUE(ring_.push_block(request(i), 0));
  EXPECT_FALSE(ring_.push_block(request(99), 0));
}

TEST_P(SendRingTest, RewindForgetsWhatWasNotPublished) {
  ASSERT_TRUE(push(1, one_));
  ring_.publish();
  for (int pass = 0; pass < 5; pass++) {
    const uint32_t start = ring_.position();
    ASSERT_TRUE(push(50, many_));
    ASSERT_TRUE(ring_.push_block(request(51), 0));
    ring_.rewind(start, 2);
    EXPECT_EQ(ring_.free_slots(), kBlocks - 1);
  }
  ASSERT_TRUE(push(2, some_sges(2, 3)));
  ring_.publish();
  fetched(1);
  fetched(2);
  expect_empty();
}

TEST_P(SendRingTest, ThePeersWord) {
  EXPECT_EQ(ring_.peer(), 0U);
  kernel_.control()->peer = WEFT_PEER_EXTENDED;
  EXPECT_EQ(ring_.peer(), static_cast<uint32_t>(WEFT_PEER_EXTENDED));
}

// ---- receive queue ----------------------------------------------------------

class RecvRingTest : public testing::TestWithParam<std::tuple<uint32_t, uint32_t>> {
 protected:
  static constexpr uint32_t kEntries = 8;

  RecvRingTest() : memory_(WEFT_RING_OFFSET + kEntries * weft_rq_stride(max_sge())) {
    kernel_ = KernelRecvQueue(memory_.base(), kEntries, max_sge());
    kernel_.start_at(std::get<0>(GetParam()));
    attach(kEntries, true);
  }
  void attach(uint32_t promised, bool shared) {
    ring_ = zeroed<RecvRing>();
    ring_.attach(memory_.base(), kEntries, max_sge(), promised, shared);
  }
  bool push(uint64_t wr_id, const Sges& sges = {}) {
    return ring_.push(wr_id, sges.data(), static_cast<uint32_t>(sges.size()));
  }
  static uint32_t max_sge() { return std::get<1>(GetParam()); }

  Memory memory_;
  KernelRecvQueue kernel_;
  RecvRing ring_;
};

INSTANTIATE_TEST_SUITE_P(StartAndSges, RecvRingTest,
                         testing::Combine(testing::Values(0U, 5U, 0xfffffffcU),
                                          testing::Values(0U, 1U, 3U, 16U)));

TEST_P(RecvRingTest, FillAndDrainManyTimes) {
  uint64_t next = 0;
  for (int pass = 0; pass < 20; pass++) {
    const uint64_t first = next;
    for (uint32_t i = 0; i < kEntries; i++, next++) {
      const auto count = static_cast<uint32_t>(next % (max_sge() + 1));
      ASSERT_TRUE(push(next, some_sges(count, next)));
    }
    EXPECT_FALSE(push(next));
    RecvEntry entry;
    EXPECT_FALSE(kernel_.fetch(&entry)) << "visible before publish";
    ring_.publish();
    for (uint64_t want = first; want < next; want++) {
      ASSERT_TRUE(kernel_.fetch(&entry));
      EXPECT_EQ(entry.wr_id, want);
      EXPECT_EQ(entry.sges, some_sges(static_cast<uint32_t>(want % (max_sge() + 1)), want));
    }
    EXPECT_FALSE(kernel_.fetch(&entry));
    EXPECT_FALSE(push(next)) << "not given back yet";
    kernel_.release();
  }
}

// Room comes back when a shared receive is taken, or when the completion of an own one is polled.
TEST_P(RecvRingTest, TakesAsManyAsItPromises) {
  for (uint32_t step = 0; step <= 2 * kEntries + 1; step++) {
    const uint32_t promised = step / 2;
    const bool shared = step % 2 == 0;
    attach(promised, shared);
    for (int pass = 0; pass < 5; pass++) {
      for (uint32_t i = 0; i < promised; i++) ASSERT_TRUE(push(i)) << i << " of " << promised;
      EXPECT_FALSE(push(99)) << promised;
      ring_.publish();
      RecvEntry entry;
      while (kernel_.fetch(&entry)) {
      }
      kernel_.release();
      if (!shared && promised != 0) {
        EXPECT_FALSE(push(99)) << promised;
        for (uint32_t i = 0; i < promised; i++) ring_.retire();
      }
    }
  }
}

// ---- completion queue -------------------------------------------------------

class CompletionRingTest : public testing::TestWithParam<uint32_t> {
 protected:
  static constexpr uint32_t kEntries = 8;

  CompletionRingTest() : memory_(WEFT_RING_OFFSET + kEntries * sizeof(weft_cqe)) {
    kernel_ = KernelCompletionQueue(memory_.base(), kEntries);
    if (GetParam() != 0) kernel_.start_at(GetParam());
    ring_ = zeroed<CompletionRing>();
    ring_.attach(memory_.base(), kEntries);
  }

  bool complete(uint64_t wr_id, uint32_t qp_num = 1) {
    weft_cqe cqe = {.wr_id = wr_id, .qp_num = qp_num, .byte_len = static_cast<uint32_t>(wr_id * 2)};
    return kernel_.push(cqe, 0, 0, WEFT_OP_SEND);
  }

  void fill() {
    for (uint32_t i = 0; i < kEntries; i++) ASSERT_TRUE(complete(i));
  }

  // Polls one, or returns UINT64_MAX.
  uint64_t poll() {
    uint32_t word = 0;
    const weft_cqe* cqe = ring_.peek(&word);
    if (cqe == nullptr) return UINT64_MAX;
    EXPECT_EQ(WEFT_CQE_OPCODE(word), static_cast<uint32_t>(WEFT_OP_SEND));
    EXPECT_EQ(cqe->byte_len, static_cast<uint32_t>(cqe->wr_id * 2));
    const uint64_t wr_id = cqe->wr_id;
    ring_.take();
    return wr_id;
  }

  Memory memory_;
  KernelCompletionQueue kernel_;
  CompletionRing ring_;
};

INSTANTIATE_TEST_SUITE_P(Start, CompletionRingTest,
                         testing::Values(0U, 3U, 8U, 12U, 0xfffffff8U, 0xfffffffdU));

TEST_P(CompletionRingTest, EmptyAtFirst) { EXPECT_EQ(poll(), UINT64_MAX); }

TEST_P(CompletionRingTest, PhaseTurnsWithEveryPass) {
  uint64_t pushed = 0;
  uint64_t polled = 0;
  // Batches of every size, so that each slot is met in each phase.
  for (uint32_t round = 0; round < 200; round++) {
    const uint32_t batch = 1 + round % kEntries;
    for (uint32_t i = 0; i < batch; i++) ASSERT_TRUE(complete(pushed++));
    for (uint32_t i = 0; i < batch; i++) ASSERT_EQ(poll(), polled++);
    ASSERT_EQ(poll(), UINT64_MAX) << "an entry of the pass before";
    ring_.publish();
  }
}

TEST_P(CompletionRingTest, ConsumerIsPublishedByTheBatch) {
  fill();
  EXPECT_EQ(poll(), 0U);
  EXPECT_EQ(poll(), 1U);
  EXPECT_EQ(kernel_.control()->consumer, GetParam());
  ring_.publish();
  EXPECT_EQ(kernel_.control()->consumer, GetParam() + 2);
  EXPECT_TRUE(complete(100));
  EXPECT_TRUE(complete(101));
}

TEST_P(CompletionRingTest, OverflowIsSeen) {
  fill();
  EXPECT_FALSE(ring_.overflown());
  EXPECT_FALSE(complete(99));
  EXPECT_TRUE(ring_.overflown());
  for (uint32_t i = 0; i < kEntries; i++)
    EXPECT_EQ(poll(), i) << "what came before the overflow is still there";
  EXPECT_EQ(poll(), UINT64_MAX);
}

TEST_P(CompletionRingTest, DiscardHitsOneQueuePairOnly) {
  ASSERT_TRUE(complete(1, 7));
  ring_.take();  // already polled: must not be touched
  ring_.publish();
  for (uint32_t i = 0; i < kEntries; i++) ASSERT_TRUE(complete(i, i % 2 == 0 ? 7 : 8));
  ring_.discard(7);
  for (uint32_t i = 0; i < kEntries; i++) {
    uint32_t word = 0;
    const weft_cqe* cqe = ring_.peek(&word);
    ASSERT_NE(cqe, nullptr);
    EXPECT_EQ(CompletionRing::discarded(word), cqe->qp_num == 7);
    EXPECT_EQ(cqe->wr_id, i);
    ring_.take();
  }
  EXPECT_EQ(poll(), UINT64_MAX);
  ring_.publish();
  EXPECT_TRUE(complete(5, 7)) << "the slots live on";
  EXPECT_EQ(poll(), 5U);
}

// To every size and back, from every position: unpolled entries come first, and none comes twice.
TEST_P(CompletionRingTest, MovesToRingsOfOtherSizes) {
  std::vector<std::unique_ptr<Memory>> rings;
  uint64_t pushed = 0;
  uint64_t polled = 0;
  uint32_t size = kEntries;
  std::mt19937 random = fresh_random(GetParam());
  ring_.arm(false);
  for (int round = 0; round < 300; round++) {
    uint32_t room = size - static_cast<uint32_t>(pushed - polled);
    for (uint32_t i = static_cast<uint32_t>(random() % (room + 1)); i > 0; i--)
      ASSERT_TRUE(complete(pushed++));
    for (uint64_t i = random() % (pushed - polled + 1); i > 0; i--) ASSERT_EQ(poll(), polled++);
    ring_.publish();
    do {
      size = 1U << random() % 7;
    } while (size < pushed - polled);
    rings.push_back(std::make_unique<Memory>(WEFT_RING_OFFSET + size * sizeof(weft_cqe)));
    kernel_.move(rings.back()->base(), size);
    ring_.move(rings.back()->base(), size);
  }
  while (polled < pushed) ASSERT_EQ(poll(), polled++);
  EXPECT_EQ(poll(), UINT64_MAX);
  ring_.publish();
  EXPECT_TRUE(kernel_.notify(false)) << "armed, as before all moves";
  ring_.arm(false);
  EXPECT_TRUE(kernel_.notify(false));
  EXPECT_FALSE(kernel_.notify(false));
}

TEST_P(CompletionRingTest, AnAbandonedRingEndsLikeAnOverflow) {
  ASSERT_TRUE(complete(1));
  ring_.abandon();
  EXPECT_EQ(poll(), 1U);
  EXPECT_EQ(poll(), UINT64_MAX);
  EXPECT_TRUE(ring_.overflown());
}

TEST_P(CompletionRingTest, UnarmedRaisesNothing) {
  ASSERT_TRUE(complete(1));
  EXPECT_FALSE(kernel_.notify(true));
}

TEST_P(CompletionRingTest, OneEventForOneArm) {
  ring_.arm(false);
  EXPECT_TRUE(kernel_.notify(false));
  EXPECT_FALSE(kernel_.notify(false));
  ring_.arm(false);
  ring_.arm(false);
  EXPECT_TRUE(kernel_.notify(false));
  EXPECT_FALSE(kernel_.notify(false));
}

TEST_P(CompletionRingTest, SolicitedOnlyWaitsForASolicitedOne) {
  ring_.arm(true);
  EXPECT_FALSE(kernel_.notify(false));
  EXPECT_TRUE(kernel_.notify(true));
  EXPECT_FALSE(kernel_.notify(true));
}

TEST_P(CompletionRingTest, AnyIsNotWeakenedWhilePending) {
  ring_.arm(false);
  ring_.arm(true);
  EXPECT_TRUE(kernel_.notify(false));
  // Once served, solicited-only is solicited-only again.
  ring_.arm(true);
  EXPECT_FALSE(kernel_.notify(false));
  EXPECT_TRUE(kernel_.notify(true));
}

TEST_P(CompletionRingTest, SolicitedIsStrengthenedByAny) {
  ring_.arm(true);
  ring_.arm(false);
  EXPECT_TRUE(kernel_.notify(false));
}

// The kernel may have raised the event and not yet stored `notified`: the next arm is a new one.
TEST_P(CompletionRingTest, ArmAfterAnEventCountsWhateverNotifiedSays) {
  ring_.arm(false);
  EXPECT_TRUE(kernel_.notify(false));
  kernel_.control()->notified = 0;
  ring_.arm(true);
  EXPECT_TRUE(kernel_.notify(true));
}

TEST_P(CompletionRingTest, ArmSequenceSkipsZero) {
  kernel_.control()->arm = WEFT_CQ_ARM(UINT32_MAX >> 1, 0);
  ring_.attach(memory_.base(), kEntries);
  ring_.arm(false);
  EXPECT_EQ(WEFT_CQ_ARM_SEQ(kernel_.control()->arm), 1U);
  EXPECT_TRUE(kernel_.notify(false));
}

}  // namespace
