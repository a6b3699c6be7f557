// SPDX-License-Identifier: GPL-2.0
// Two processes beside each other. One writes random words into everything that it shares with
// the kernel, rings and all their indices, and rings every doorbell. The other transfers data and
// verifies it. What the first does may ruin the first; the second must not notice.
#include <array>
#include <atomic>
#include <fstream>
#include <iostream>
#include <random>
#include <thread>

#include "child.h"
#include "doorbell.h"
#include "parts.h"

namespace rdma::torture {
namespace {

// The memory by which the processes talk to each other.
struct Board {
  std::atomic<bool> ready;          // the bystander is under way
  std::atomic<std::uint32_t> lkey;  // of its memory, for the other to try
  std::atomic<std::uint32_t> rkey;
  std::atomic<std::uint64_t> address;
  std::atomic<std::uint64_t> transfers;  // that the bystander verified
  std::atomic<std::uint64_t> words;      // that the scribbler wrote
  std::atomic<std::uint64_t> requests;   // of its words, work requests that look like such
  std::atomic<std::uint64_t> doorbells;  // that it rang
};

// --- the bystander ---

void bystand(const Options& options, Board& board, Clock::time_point end) {
  const Connector connector = connector_of(options);
  const Pair pair = connector.connect({.arena = 1U << 20});
  board.lkey = pair.client->memory().mr()->lkey;
  board.rkey = pair.server->memory().mr()->rkey;
  board.address = pair.server->memory().address(0);
  board.ready = true;
  std::mt19937_64 random(options.seed);
  while (Clock::now() < end) {
    const auto length = static_cast<std::uint32_t>(1 + random() % 100000);
    const Layout source = {{random() % 1000, length}};
    const Layout target = {{500000 + random() % 1000, length}};
    const auto [from, to] = either_way(pair, random() % 2 != 0);
    from.memory().fill(source, random());
    to.memory().expect(target, from.memory().gather(source));
    const std::uint64_t receive = to.post_recv(target);
    const std::uint64_t sent = from.post_send(from.work(IBV_WR_SEND, source));
    to.expect_recv(receive, length);
    from.expect_send(sent, IBV_WC_SEND);
    to.memory().check(target, "the bystander's");
    if (++board.transfers % 64 == 0) check_all(*pair.client, *pair.server);
  }
  check_all(*pair.client, *pair.server);
}

// --- the scribbler ---

struct Mapping {
  std::uint32_t* words;
  std::size_t count;
};

// Everything that this process shares with the kernel's device.
std::vector<Mapping> shared_with_kernel() {
  std::vector<Mapping> found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0;
    unsigned long end = 0;
    if (line.find("uverbs") != std::string::npos &&
        std::sscanf(line.c_str(), "%lx-%lx", &begin, &end) == 2)
      found.push_back({reinterpret_cast<std::uint32_t*>(begin), (end - begin) / 4});
  }
  return found;
}

class Scribbler {
 public:
  Scribbler(const Options& options, Board& board, std::uint64_t seed)
      : board_(board), random_(seed), connector_(connector_of(options)) {
    Shape shape{.arena = 256U << 10, .access = kAllRights};
    pairs_[0] = connector_.connect(shape);
    const Shape plain = shape;
    shape.shared_receives = true;
    pairs_[1] = connector_.connect(plain, shape);
    mappings_ = shared_with_kernel();
    require(mappings_.size() >= 8, "the rings of the scribbler are not found");
  }

  void run(Clock::time_point end) {
    const std::jthread one([this](const std::stop_token& done) { ring_all(pairs_[0], done); });
    const std::jthread other([this](const std::stop_token& done) { ring_all(pairs_[1], done); });
    while (Clock::now() < end)
      for (unsigned turn = 0; turn < 512; ++turn) write_something();
  }

 private:
  std::uint64_t random(std::uint64_t limit) { return random_() % limit; }

  // A number of the kind that finds mistakes.
  std::uint32_t word() {
    const auto any = static_cast<std::uint32_t>(random_());
    const std::uint32_t bit = 1U << random(32);
    const std::array<std::uint32_t, 6> words = {any % 16, ~(any % 16), bit, bit - 1, any, any};
    return words[random(words.size())];
  }

  std::uint32_t key() {
    const Memory& own = pairs_[random(2)].client->memory();
    const std::array<std::uint32_t, 4> keys = {own.mr()->lkey, board_.lkey, board_.rkey, word()};
    return keys[random(keys.size())];
  }

  std::uint64_t address() {
    const Memory& own = pairs_[random(2)].client->memory();
    const std::uint64_t which = random(4);
    return which == 0   ? board_.address + random(4096)
           : which == 1 ? std::uint64_t{word()} << random(33)
                        : own.address(random(own.size()));
  }

  // Writes words that mostly look like a work request at any block of any ring.
  void write_request(const Mapping& ring) {
    weft_sq_wr work{.wr_id = random_(),
                    .opcode = static_cast<std::uint8_t>(random(12)),
                    .flags = static_cast<std::uint8_t>(random(16)),
                    .num_blocks = static_cast<std::uint8_t>(random(8) != 0 ? 1 : random(256)),
                    .num_sge = static_cast<std::uint8_t>(random(3)),
                    .ex = key(),
                    .remote_addr = address(),
                    .rkey = key(),
                    .inline_len = random(4) != 0 ? 0 : word()};
    if (random(2) != 0) work.flags &= static_cast<std::uint8_t>(~WEFT_WR_INLINE);
    for (weft_sge& sge : work.sge)
      sge = {address(), random(4) != 0 ? static_cast<std::uint32_t>(random(65536)) : word(), key()};
    const std::size_t blocks = (ring.count * 4 - WEFT_RING_OFFSET) / sizeof(work);
    if (blocks == 0) return;
    auto* bytes = reinterpret_cast<std::byte*>(ring.words);
    std::memcpy(bytes + WEFT_RING_OFFSET + random(blocks) * sizeof(work), &work, sizeof(work));
    ++board_.requests;
  }

  void write_something() {
    const Mapping& ring = mappings_[random(mappings_.size())];
    auto* control = reinterpret_cast<std::atomic<std::uint32_t>*>(ring.words);
    const std::uint64_t what = random(8);
    if (what == 0)  // any word at all
      control[random(ring.count)] = word();
    else if (what == 1)  // any word of the indices
      control[random(WEFT_RING_OFFSET / 4)] = word();
    else if (what < 4)  // the producer (of a completion queue: the consumer) a little further
      control[0] += static_cast<std::uint32_t>(random(4));
    else if (what == 4)  // need_doorbell, the kernel's own word
      control[33] = static_cast<std::uint32_t>(random(2));
    else if (what == 5)  // arm
      control[1] += static_cast<std::uint32_t>(random(4));
    else
      write_request(ring);
    ++board_.words;
  }

  void ring_all(const Pair& pair, const std::stop_token& done) {
    while (!done.stop_requested()) {
      for (const Endpoint* end : {pair.client.get(), pair.server.get()}) {
        for (const weft_qp_method method : {WEFT_METHOD_SEND_DOORBELL, WEFT_METHOD_RECV_DOORBELL}) {
          ring(end->context()->cmd_fd, UVERBS_OBJECT_QP, method, end->qp()->qp_num, 8);
          ++board_.doorbells;
        }
        if (end->srq() != nullptr) {
          ring(end->context()->cmd_fd, UVERBS_OBJECT_SRQ, WEFT_METHOD_SRQ_DOORBELL,
               end->srq()->handle, 0);
          ++board_.doorbells;
        }
      }
    }
  }

  Board& board_;
  std::mt19937_64 random_;
  Connector connector_;
  std::array<Pair, 2> pairs_;
  std::vector<Mapping> mappings_;
};

}  // namespace

void scribble(const Options& options) {
  constexpr std::chrono::seconds kLife{5};
  constexpr std::chrono::seconds kGrace{120};
  const Pages shared(sizeof(Board), MAP_SHARED | MAP_ANONYMOUS);
  Board& board = *reinterpret_cast<Board*>(shared.bytes());
  const Clock::time_point end = Clock::now() + std::chrono::seconds(options.seconds);
  const Child bystander([&] {
    bystand(options, board, end);
    return 0;
  });
  std::uint64_t lives = 0;
  std::uint64_t unconnected = 0;
  std::uint64_t signals = 0;
  std::string why;
  while (!board.ready && Clock::now() < end) usleep(10000);
  while (why.empty() && Clock::now() < end) {
    const std::uint64_t seed = options.seed + lives++;
    std::cout << "# scribbler " << seed << ", " << board.words << " words so far, "
              << board.transfers << " transfers beside it\n";
    const Child child([&] {
      Scribbler scribbler(options, board, seed);
      scribbler.run(Clock::now() + kLife);
      // Half of them leave it to the kernel to clear up.
      if (seed % 2 != 0) {
        std::fflush(stdout);
        kill(getpid(), SIGKILL);
      }
      return 0;
    });
    const End ended = child.end(kLife + kGrace);
    if (ended.killed)
      why = "scribbler " + std::to_string(seed) +
            (ended.stuck ? " cannot be killed" : " did not end");
    // It may have killed itself by scribbling on its own library's memory.
    signals += ended.signal != 0 && ended.signal != SIGKILL ? 1U : 0U;
    unconnected += !ended.killed && ended.signal == 0 && ended.status != 0 ? 1U : 0U;
  }
  const End ended = bystander.end(kGrace);
  if (why.empty() && !ended.good())
    why = "the process beside it went wrong, status " + std::to_string(ended.status) + ", signal " +
          std::to_string(ended.signal);
  report(
      "scribblers", lives,
      std::to_string(signals) + " died of it, " + std::to_string(unconnected) + " could not begin",
      why.empty() && unconnected == lives ? "none of them could begin" : why);
  report("words written at random into rings and indices", board.words,
         std::to_string(board.requests) + " times what looks like a work request", "");
  report("doorbells rung meanwhile", board.doorbells, "answered", "");
  report("transfers beside the scribblers", board.transfers, "every byte right",
         ended.good() ? "" : "the bystander failed; see above");
}

}  // namespace rdma::torture
