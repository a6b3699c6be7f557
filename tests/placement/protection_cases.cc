// SPDX-License-Identifier: GPL-2.0
// Requests that the peer must refuse, and local ones that must fail on the way.
#include "cases.h"

namespace rdma {
namespace {

// A region in the middle of the server's arena, so that every byte outside it is guarded.
constexpr std::size_t kRegion = 65549;
constexpr std::size_t kRegionSize = 5003;

constexpr std::uint32_t kNeverGiven = 0xfffffe00U;

// A connection of a case, and the region that it is about.
struct Setup {
  explicit Setup(Suite& suite) : pair(suite.connector().connect()) {}

  // Registers a part of an end's memory, in another protection domain if told so.
  const ibv_mr& part(const Endpoint& end, int access, bool elsewhere = false) {
    if (elsewhere) domain = own(ibv_alloc_pd(end.context()), "ibv_alloc_pd");
    region = own(ibv_reg_mr(elsewhere ? domain.get() : end.pd(), end.memory().bytes(kRegion),
                            kRegionSize, access),
                 "ibv_reg_mr");
    return *region;
  }

  Pair pair;
  Endpoint& client = *pair.client;
  Endpoint& server = *pair.server;
  Owned<ibv_pd> domain;
  Owned<ibv_mr> region;  // before its domain goes
};

// That many bytes of an end's memory from the region on, or from a little before.
ibv_sge piece(const Endpoint& end, std::uint32_t lkey, std::uint32_t length = 100,
              std::size_t before = 0) {
  return {end.memory().address(kRegion - before), length, lkey};
}

constexpr unsigned kBehind = 3;
constexpr unsigned kReceives = 4;

// Takes the completions of the work request that fails and the kBehind behind it: of the
// first `status`, or if `late` success, since an iWARP write or send is complete when TCP
// has it; then flushes.
void expect_failure(Endpoint& end, ibv_wc_status status, bool late) {
  const ibv_wc first = end.next_send();
  require(first.status == status || (late && first.status == IBV_WC_SUCCESS) ||
              (late && first.status == IBV_WC_WR_FLUSH_ERR),
          std::string("expected ") + ibv_wc_status_str(status) + ", got " + to_string(first));
  bool failed = first.status != IBV_WC_SUCCESS;
  for (unsigned at = 0; at < kBehind; ++at) {
    const ibv_wc next = end.next_send();
    require(next.status == IBV_WC_WR_FLUSH_ERR ||
                (!failed && (next.status == IBV_WC_SUCCESS || next.status == status)),
            "behind the failed work request: " + to_string(next));
    failed = failed || next.status != IBV_WC_SUCCESS;
  }
}

// Posts the work request and kBehind sends behind it, in one chain.
void post_with_followers(Endpoint& end, const ibv_send_wr& first) {
  std::vector<ibv_send_wr> chain(1 + kBehind);
  chain[0] = first;
  for (unsigned at = 0; at <= kBehind; ++at) {
    chain[at].wr_id = Endpoint::new_wr_id();
    chain[at].send_flags |= IBV_SEND_SIGNALED;
    chain[at].next = at < kBehind ? &chain[at + 1] : nullptr;
    if (at > 0) chain[at].opcode = IBV_WR_SEND;
  }
  ibv_send_wr* bad = nullptr;
  require_zero(ibv_post_send(end.qp(), chain.data(), &bad), "ibv_post_send");
}

void post_receives(Pair& pair) {
  for (unsigned at = 0; at < kReceives; ++at) {
    pair.client->post_recv({{std::size_t{100} * at, 64}});
    pair.server->post_recv({{std::size_t{100} * at, 64}});
  }
}

// Both queue pairs fail in bounded time, and all that was posted comes back.
void expect_both_failed(Pair& pair, unsigned server_receives) {
  for (Endpoint* end : {pair.client.get(), pair.server.get()}) {
    end->expect_error_state();
    end->expect(RDMA_CM_EVENT_DISCONNECTED);
  }
  pair.client->expect_flushed(pair.client->recv_cq(), kReceives);
  pair.server->expect_flushed(pair.server->recv_cq(), server_receives);
}

void refuse_remotely(Pair& pair, ibv_wr_opcode opcode, std::uint64_t address, std::uint32_t rkey,
                     std::uint32_t length, bool in_part) {
  post_receives(pair);
  const bool is_read = opcode == IBV_WR_RDMA_READ;
  if (!is_read) pair.client->memory().fill({{1U << 20, length}}, 4711);
  Work work = pair.client->work(opcode, {{1U << 20, length}});
  work.aim(address, rkey);
  post_with_followers(*pair.client, work);
  expect_failure(*pair.client, IBV_WC_REM_ACCESS_ERR, !is_read);
  expect_both_failed(pair, kReceives);
  if (in_part) {
    // Whole segments of it may lie inside the region; nothing may change outside it.
    pair.server->memory().expect(
        {{kRegion, kRegionSize}},
        {pair.server->memory().bytes(kRegion), pair.server->memory().bytes(kRegion + kRegionSize)});
  }
  check_all(*pair.client, *pair.server);
}

void remote_refusals(Suite& suite, ibv_wr_opcode opcode, const std::string& name) {
  const int right = opcode == IBV_WR_RDMA_READ ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE;
  const int other = opcode == IBV_WR_RDMA_READ ? IBV_ACCESS_REMOTE_WRITE : IBV_ACCESS_REMOTE_READ;
  const auto bounds = [&](const std::string& what, std::int64_t begin, std::uint32_t length,
                          bool in_part) {
    suite.run(name + " " + what, [&] {
      Setup s(suite);
      const std::uint32_t rkey = s.part(s.server, IBV_ACCESS_LOCAL_WRITE | right).rkey;
      refuse_remotely(s.pair, opcode, s.server.memory().address(kRegion) + begin, rkey, length,
                      in_part);
    });
  };
  const auto size = static_cast<std::int64_t>(kRegionSize);
  bounds("from one byte before the region", -1, 8, false);
  bounds("to one byte past the region", size - 7, 8, false);
  bounds("of the whole region and one byte", 0, kRegionSize + 1, true);
  bounds("right behind the region", size, 1, false);
  bounds("far past the region", 0, 1U << 20, true);
  bounds("far away", std::int64_t{1} << 40, 100, false);

  // Of the region's beginning, or of that address.
  const auto key = [&](const std::string& what, const std::function<std::uint32_t(Setup&)>& rkey,
                       std::uint64_t address = 0) {
    suite.run(name + " with " + what, [&] {
      Setup s(suite);
      const std::uint64_t there = address != 0 ? address : s.server.memory().address(kRegion);
      refuse_remotely(s.pair, opcode, there, rkey(s), 100, false);
    });
  };
  const auto whole = [](Setup& s) { return s.server.memory().mr()->rkey; };
  key("a key that was never given", [](Setup&) { return kNeverGiven; });
  key("a key of the right index and the wrong low byte", [&](Setup& s) { return whole(s) ^ 1U; });
  key("an address that wraps around", whole, ~std::uint64_t{3});
  key("a key that lacks the right",
      [=](Setup& s) { return s.part(s.server, IBV_ACCESS_LOCAL_WRITE | other).rkey; });
  key("a key of another protection domain",
      [=](Setup& s) { return s.part(s.server, IBV_ACCESS_LOCAL_WRITE | right, true).rkey; });
  key("a key of a region that is gone", [=](Setup& s) {
    const std::uint32_t rkey = s.part(s.server, IBV_ACCESS_LOCAL_WRITE | right).rkey;
    s.region.reset();
    return rkey;
  });
}

void local_refusals(Suite& suite) {
  const auto local = [&](const std::string& what, std::initializer_list<ibv_wr_opcode> opcodes,
                         const std::function<ibv_sge(Setup&)>& make) {
    for (const ibv_wr_opcode opcode : opcodes) {
      suite.run("opcode " + std::to_string(opcode) + " with " + what, [&] {
        Setup s(suite);
        Work work(opcode, {make(s)});
        post_receives(s.pair);
        work.aim(s.server.memory().address(1U << 20), s.server.memory().mr()->rkey);
        post_with_followers(s.client, work);
        expect_failure(s.client, IBV_WC_LOC_PROT_ERR, false);
        expect_both_failed(s.pair, kReceives);
        check_all(s.client, s.server);
      });
    }
  };
  const auto all = {IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ};
  const auto writable = [](Setup& s, bool elsewhere = false) {
    return s.part(s.client, IBV_ACCESS_LOCAL_WRITE, elsewhere).lkey;
  };
  local("a local key that was never given", all,
        [](Setup& s) { return piece(s.client, kNeverGiven); });
  local("a local range that starts before its region", all,
        [&](Setup& s) { return piece(s.client, writable(s), 100, 1); });
  local("a local range that ends past its region", all,
        [&](Setup& s) { return piece(s.client, writable(s), kRegionSize + 1); });
  local("a local range that wraps around", all, [](Setup& s) {
    return ibv_sge{~std::uint64_t{3}, 100, s.client.memory().mr()->lkey};
  });
  local("a local key of another protection domain", all,
        [&](Setup& s) { return piece(s.client, writable(s, true)); });
  local("a local key of a region that is gone", all, [&](Setup& s) {
    const std::uint32_t lkey = writable(s);
    s.region.reset();
    return piece(s.client, lkey);
  });
  local("a local key without local write", {IBV_WR_RDMA_READ},
        [](Setup& s) { return piece(s.client, s.part(s.client, 0).lkey); });
}

// The server posts this receive; the client sends `length` bytes, and then more.
void refuse_receive(Suite& suite, const std::string& what, ibv_wc_status status,
                    std::uint32_t length, const std::function<ibv_sge(Setup&)>& make) {
  suite.run(what, [&] {
    Setup s(suite);
    Pair& pair = s.pair;
    const ibv_sge sge = make(s);
    Receive receive({sge}, Endpoint::new_wr_id());
    require_zero(post(pair.server->qp(), receive), "ibv_post_recv");
    post_receives(pair);
    post_with_followers(*pair.client, pair.client->work(IBV_WR_SEND, {{1U << 20, length}}));
    const ibv_wc completion = pair.server->next_recv();
    require(completion.status == status && completion.wr_id == receive.wr_id,
            std::string("at the receiver: expected ") + ibv_wc_status_str(status) + ", got " +
                to_string(completion));
    for (unsigned at = 0; at <= kBehind; ++at) pair.client->next_send();
    expect_both_failed(pair, kReceives);
    // The part that fitted may have been placed in the receive, and nowhere else.
    if (status == IBV_WC_LOC_LEN_ERR) {
      const std::uint8_t* placed = pair.server->memory().bytes(kRegion);
      pair.server->memory().expect({{kRegion, sge.length}}, {placed, placed + sge.length});
    }
    check_all(*pair.client, *pair.server);
  });
}

void receive_refusals(Suite& suite) {
  for (const auto& [room, length] : {std::pair{99U, 100U}, {1U, 5000U}, {5000U, 1U << 20}}) {
    const std::string name = "a message of " + std::to_string(length) + " bytes for a receive of " +
                             std::to_string(room);
    refuse_receive(suite, name, IBV_WC_LOC_LEN_ERR, length, [room = room](Setup& s) {
      return piece(s.server, s.server.memory().mr()->lkey, room);
    });
  }
  refuse_receive(suite, "a receive with a key that was never given", IBV_WC_LOC_PROT_ERR, 100,
                 [](Setup& s) { return piece(s.server, kNeverGiven); });
  refuse_receive(suite, "a receive into a region without local write", IBV_WC_LOC_PROT_ERR, 100,
                 [](Setup& s) { return piece(s.server, s.part(s.server, 0).lkey); });
  suite.run("a message that finds no receive", [&] {
    Pair pair = suite.connector().connect();
    for (unsigned at = 0; at < kReceives; ++at)
      pair.client->post_recv({{std::size_t{100} * at, 64}});
    post_with_followers(*pair.client, Work(IBV_WR_SEND));
    for (unsigned at = 0; at <= kBehind; ++at) pair.client->next_send();
    expect_both_failed(pair, 0);
  });
}

}  // namespace

void protection_cases(Suite& suite) {
  suite.group("refused by the peer: write",
              [&] { remote_refusals(suite, IBV_WR_RDMA_WRITE, "a write"); });
  suite.group("refused by the peer: read",
              [&] { remote_refusals(suite, IBV_WR_RDMA_READ, "a read"); });
  suite.group("refused locally", [&] { local_refusals(suite); });
  suite.group("refused at the receive queue", [&] { receive_refusals(suite); });
}

}  // namespace rdma
