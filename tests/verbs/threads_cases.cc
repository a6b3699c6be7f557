// SPDX-License-Identifier: GPL-2.0
// Sixteen threads of one process on the same objects: posters and pollers of one queue pair and one
// completion queue, feeders of one shared receive queue, and owners that ask, change and register
// beside. And posts that race with the kernel's own work for a queue pair.
#include <atomic>
#include <thread>

#include "cases.h"

namespace rdma {
namespace {

constexpr std::uint64_t kEach = 400;  // work requests of a poster
constexpr std::size_t kRoom = 4096;   // of a poster, in both arenas

// Threads that end together: when one of them fails, none has anything left to do, or nothing has
// gone on for kPatience. How long all of it takes is the machine's affair, not the module's.
class Crowd {
 public:
  // Runs `body`, which returns at once when over() says so.
  void add(const std::function<void()>& body) {
    threads_.emplace_back([this, body] {
      try {
        body();
      } catch (const std::exception& error) {
        fail(error.what());
      }
    });
  }
  // Throws Failure with what the first one said.
  void join() {
    threads_.clear();
    require(!failed_, why_);
  }
  ~Crowd() { over_ = true; }

  bool over() const { return over_ || Clock::now() - moved_.load() > kPatience; }
  void moved() { moved_ = Clock::now(); }
  void fail(const std::string& why) {
    if (!failed_.exchange(true)) why_ = why;
    over_ = true;
  }
  std::size_t size() const { return threads_.size(); }

 private:
  std::atomic<bool> over_ = false;
  std::atomic<bool> failed_ = false;
  std::string why_;
  std::atomic<Clock::time_point> moved_ = Clock::now();
  std::vector<std::jthread> threads_;  // last, since they use the others until they are joined
};

// Which work requests have completed; each must do so once.
class Ledger {
 public:
  explicit Ledger(std::uint64_t count) : seen_(count) {}
  void note(std::uint64_t wr_id) {
    require(wr_id < seen_.size(), "a completion of no work request of ours");
    require(seen_[wr_id].fetch_add(1) == 0,
            "work request " + std::to_string(wr_id) + " completed twice");
    done_.fetch_add(1);
  }
  bool complete() const { return done_ == seen_.size(); }
  std::string missing() const {
    return std::to_string(seen_.size() - done_) + " of " + std::to_string(seen_.size()) +
           " are missing, and nothing has come for " + std::to_string(kPatience.count()) + " s";
  }

 private:
  std::vector<std::atomic<std::uint8_t>> seen_;
  std::atomic<std::uint64_t> done_ = 0;
};

// Takes the completions of a queue, each of which must be a success.
bool take(ibv_cq* cq, const std::function<void(const ibv_wc&)>& note) {
  ibv_wc completions[8];
  const int count = ibv_poll_cq(cq, 8, completions);
  require(count >= 0, "ibv_poll_cq failed");
  for (const ibv_wc& completion : std::span(completions).first(static_cast<std::size_t>(count))) {
    require(completion.status == IBV_WC_SUCCESS, to_string(completion));
    note(completion);
  }
  return count > 0;
}

// Posts, and tries again while the queue is full. Returns true if posted, false at the end.
template <typename Queue, typename Request>
bool keep_posting(const Crowd& crowd, Queue* queue, Request& work) {
  for (;;) {
    const int error = post(queue, work);
    if (error == 0) return true;
    require_error(error, ENOMEM, "a post");
    if (crowd.over()) return false;
    std::this_thread::yield();
  }
}

// Polls without waiting, or sleeps until an event.
void poll_until(Crowd& crowd, ibv_cq* cq, bool by_event, const Ledger& ledger,
                const std::function<void(const ibv_wc&)>& note) {
  const auto take_some = [&] {
    const bool some = take(cq, note);
    if (some) crowd.moved();
    return some;
  };
  while (!crowd.over() && !ledger.complete()) {
    if (!by_event) {
      if (!take_some()) std::this_thread::yield();
      continue;
    }
    require_zero(ibv_req_notify_cq(cq, 0), "ibv_req_notify_cq");
    while (take_some()) {
    }
    await_event(cq, Limit(100));
  }
}

// Eight threads post writes, reads and inline writes to one queue pair, four poll its one
// completion queue, one of them by events; four ask, change and register beside.
void one_queue_pair(Suite& suite) {
  constexpr unsigned kPosters = 8;
  // More completions than all: pollers may be slower than posters.
  const Pair pair =
      suite.connector().connect({.send_wr = 32, .cq_entries = 4096, .extended = true}, {});
  Endpoint& client = *pair.client;
  const Endpoint& server = *pair.server;
  Ledger ledger(kPosters * kEach);
  const auto note = [&](const ibv_wc& completion) { ledger.note(completion.wr_id); };
  Crowd crowd;
  for (unsigned which = 0; which < kPosters; ++which) {
    // Each poster has its own bytes here and there: reads bring back what its writes brought there.
    const std::uint32_t length = which % 2 == 0 ? 64 : 3000;
    const Layout mine = {{kSource + which * kRoom, length}};
    client.memory().fill(mine, which);
    server.memory().expect({{kTarget + which * kRoom, length}}, client.memory().gather(mine));
    crowd.add([&, which, mine] {
      for (std::uint64_t at = 0; at < kEach; ++at) {
        Work work = client.work(at % 3 == 2 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, mine, server,
                                kTarget + which * kRoom);
        work.wr_id = which * kEach + at;
        if (at % 3 == 1 && which % 2 == 0) work.send_flags |= IBV_SEND_INLINE;
        if (!keep_posting(crowd, client.qp(), work)) return;
      }
    });
  }
  for (unsigned which = 0; which < 4; ++which)
    crowd.add([&, which] { poll_until(crowd, client.send_cq(), which == 0, ledger, note); });
  for (unsigned which = 0; which < 2; ++which) {
    crowd.add([&] {
      while (!crowd.over() && !ledger.complete()) {
        const ibv_qp_attr attr = query(client.qp(), IBV_QP_STATE | IBV_QP_CAP);
        require(attr.qp_state == IBV_QPS_RTS, "the queue pair is in another state");
        const Owned<ibv_qp> neighbour = unconnected_qp(client);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    });
  }
  for (unsigned which = 0; which < 2; ++which) {
    crowd.add([&] {
      std::vector<char> bytes(100000);
      while (!crowd.over() && !ledger.complete()) {
        const Owned<ibv_mr> region =
            own(ibv_reg_mr(client.pd(), bytes.data(), bytes.size(), IBV_ACCESS_LOCAL_WRITE),
                "ibv_reg_mr");
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
    });
  }
  require(crowd.size() == 16, "sixteen threads");
  crowd.join();
  require(ledger.complete(), ledger.missing());
  check_all(client, server);
}

// Four queue pairs take their receives from one shared queue that four threads fill; a thread
// sends to each, and each end's completions have a poller of their own.
void one_shared_queue(Suite& suite) {
  constexpr unsigned kPairs = 4;
  constexpr unsigned kFeeders = 4;
  const Layout message = {{kSource, 200}};
  Shape fed{.recv_wr = 64, .cq_entries = 2048, .shared_receives = true};
  const Pair home = suite.connector().connect({}, fed);
  ibv_srq* srq = home.server->srq();
  fed.pd = home.server->pd();
  fed.srq = srq;
  std::vector<Pair> pairs;
  for (unsigned at = 0; at < kPairs; ++at)
    pairs.push_back(suite.connector().connect({.cq_entries = 2048}, fed));
  Ledger sent(kPairs * kEach);
  Ledger received(kFeeders * kEach);
  // A buffer for each receive, filled by the client whose queue pair the completion names.
  const auto buffer = [](std::uint64_t wr_id) {
    return kTarget + static_cast<std::size_t>(wr_id) * 256;
  };
  for (unsigned which = 0; which < kPairs; ++which)
    pairs[which].client->memory().fill(message, which);
  Crowd crowd;
  for (unsigned which = 0; which < kFeeders; ++which) {
    crowd.add([&, which] {
      for (std::uint64_t at = 0; at < kEach; ++at) {
        const std::uint64_t number = which * kEach + at;
        Receive work(home.server->memory().sges({{buffer(number), 256}}), number);
        if (!keep_posting(crowd, srq, work)) return;
      }
    });
  }
  for (unsigned which = 0; which < kPairs; ++which) {
    Endpoint& client = *pairs[which].client;
    Endpoint& server = *pairs[which].server;
    crowd.add([&, which] {
      Work work = client.work(IBV_WR_SEND, message);
      for (std::uint64_t at = 0; at < kEach; ++at) {
        work.wr_id = which * kEach + at;
        if (!keep_posting(crowd, client.qp(), work)) return;
      }
    });
    crowd.add([&, which] {
      poll_until(crowd, client.send_cq(), which % 2 == 0, sent,
                 [&](const ibv_wc& completion) { sent.note(completion.wr_id); });
    });
    crowd.add([&, which] {
      poll_until(crowd, server.recv_cq(), which % 2 != 0, received, [&](const ibv_wc& completion) {
        received.note(completion.wr_id);
        require(completion.byte_len == 200, to_string(completion));
        require(completion.qp_num == server.qp()->qp_num, "of another queue pair");
        const std::uint8_t* bytes = home.server->memory().bytes(buffer(completion.wr_id));
        require(std::ranges::equal(client.memory().gather(message),
                                   std::span(bytes, completion.byte_len)),
                "a receive has other bytes than were sent");
      });
    });
  }
  require(crowd.size() == 16, "sixteen threads");
  crowd.join();
  require(sent.complete(), "sends: " + sent.missing());
  require(received.complete(), "receives: " + received.missing());
}

// A thread reads from the server all the time. The server's queue pair answers, while its program
// sends single messages at any moment.
void sends_between_answers(Suite& suite) {
  constexpr std::chrono::seconds kTime{6};
  constexpr unsigned kReads = 4;
  constexpr unsigned kReceives = 64;
  const Pair pair = suite.connector().connect();
  Endpoint& client = *pair.client;
  Endpoint& server = *pair.server;
  server.wait_with(Wait::kPoll);
  std::atomic<bool> refused = false;
  std::jthread reader([&](const std::stop_token& done) {
    const Work read = client.work(IBV_WR_RDMA_READ, {{kTarget, 1}}, server, kSource);
    try {
      for (unsigned at = 0; at < kReads; ++at) client.post_send(read);
      while (!done.stop_requested()) {
        const auto completion = client.poll(client.send_cq());
        if (completion) {
          require(completion->status == IBV_WC_SUCCESS, to_string(*completion));
          client.post_send(read);
        }
      }
    } catch (const Failure&) {
      refused = true;
    }
  });
  const Work send = server.work(IBV_WR_SEND, {{kSource, 1}});
  for (unsigned at = 0; at < kReceives; ++at) client.post_recv({{kTarget + 8, 1}});
  const Deadline deadline(kTime);
  for (unsigned pause = 0; !deadline.over() && !refused; pause = (pause + 1) % 64) {
    server.carry_out(send);
    while (client.poll(client.recv_cq())) client.post_recv({{kTarget + 8, 1}});
    for (unsigned turn = 0; turn < pause; ++turn) static_cast<void>(server.poll(server.recv_cq()));
  }
  reader.request_stop();
  reader.join();
  require(!refused, "a read failed");
}

}  // namespace

void threads_cases(Suite& suite) {
  suite.group("races", [&] {
    suite.run("sends between answers to reads", [&] { sends_between_answers(suite); });
  });
  suite.group("threads on the same objects", [&] {
    suite.run("one queue pair, one completion queue", [&] { one_queue_pair(suite); });
    suite.run("one shared receive queue", [&] { one_shared_queue(suite); });
  });
}

}  // namespace rdma
