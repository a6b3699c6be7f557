// SPDX-License-Identifier: GPL-2.0
// A peer writes by a key without a pause while the key is taken away from it, and given to other
// memory where that can be done: by then the old memory stands still, and not a byte comes to lie
// in the new.
#include <thread>

#include "cases.h"

namespace rdma {
namespace {

constexpr std::uint32_t kLength = 64U << 10;
constexpr unsigned kRounds = 20;
// Writes under way at a time.
constexpr unsigned kDepth = 8;
// The patterns with which the owner fills its old memory and the next.
constexpr std::uint8_t kOld = 0x5a;
constexpr std::uint8_t kNew = 0xa5;
constexpr int kRights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_MW_BIND;

// The address that the peer writes to. The memory that follows a revoked key has the same address,
// so that only the key keeps the peer out.
constexpr std::uint64_t kAddress = 0x7eadbeef000;

Owned<ibv_mr> region_of(const Endpoint& server, const Pages& pages) {
  return own(ibv_reg_mr_iova(server.pd(), pages.bytes(), pages.size(), kAddress, kRights),
             "ibv_reg_mr_iova");
}

ibv_mw_bind_info all_of(ibv_mr* region) {
  return {region, kAddress, region->length, IBV_ACCESS_REMOTE_WRITE};
}

// The state of the server at the beginning of a round.
struct Held {
  Held(Endpoint& end, int window_type) : server(end) {
    std::ranges::fill(old.span(), kOld);
    std::ranges::fill(next.span(), kNew);
    region = region_of(server, old);
    key = region->rkey;
    if (window_type != 0) {
      other = region_of(server, next);
      window = window_of(server, static_cast<ibv_mw_type>(window_type));
      bind(server, window.get(), all_of(region.get()));
      key = window->rkey;
    }
  }

  Endpoint& server;
  // A region's address and its memory lie at the same place of a page.
  Pages old{kLength};
  Pages next{kLength};
  Owned<ibv_mr> region;   // of the old bytes
  Owned<ibv_mr> other;    // of the new ones
  std::uint32_t key = 0;  // what the peer has
  Owned<ibv_mw> window;   // last, since it goes before what it is bound to
};

void register_anew(Held& held, int change, const Pages* memory, int rights) {
  ibv_mr* region = held.region.get();
  const std::uint32_t key = region->rkey;
  require_zero(ibv_rereg_mr(region, change, nullptr, memory == nullptr ? nullptr : memory->bytes(),
                            memory == nullptr ? 0 : memory->size(), rights),
               "ibv_rereg_mr");
  require(region->rkey != key, "the key has not changed");
}

// Takes the key away.
using Revoke = void (*)(Held& held);

struct Way {
  const char* what;
  int window_type;  // whose key the peer has, or 0: the region's
  Revoke revoke;
};

constexpr Way kWays[] = {
    {"a region ends, and there is another", 0,
     [](Held& held) {
       require_zero(ibv_dereg_mr(held.region.release()), "ibv_dereg_mr");
       held.other = region_of(held.server, held.next);
     }},
    {"a region is registered anew, with its index and other memory", 0,
     [](Held& held) { register_anew(held, IBV_REREG_MR_CHANGE_TRANSLATION, &held.next, 0); }},
    {"a region is registered anew, with its index and its memory", 0,
     [](Held& held) { register_anew(held, IBV_REREG_MR_CHANGE_ACCESS, nullptr, kRights); }},
    {"a window of type 1 is bound to another region", 1,
     [](Held& held) { bind(held.server, held.window.get(), all_of(held.other.get())); }},
    {"a window of type 1 ends, and there is another", 1,
     [](Held& held) {
       require_zero(ibv_dealloc_mw(held.window.release()), "ibv_dealloc_mw");
       held.window = window_of(held.server, IBV_MW_TYPE_1);
     }},
    {"a window of type 2 is invalidated", 2,
     [](Held& held) {
       Work work(IBV_WR_LOCAL_INV);
       work.invalidate_rkey = held.window->rkey;
       held.server.carry_out(work);
     }},
};

// Writes until a write fails.
class Writer {
 public:
  Writer(Endpoint& client, std::uint64_t address, std::uint32_t rkey)
      : client_(client), work_(client.work(IBV_WR_RDMA_WRITE, {{kSource, kLength}})) {
    work_.aim(address, rkey);
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }

 private:
  void run(const std::stop_token& stop) {
    unsigned under_way = 0;
    bool good = true;
    while (!stop.stop_requested() && good) {
      while (under_way < kDepth && post(client_.qp(), work_) == 0) ++under_way;
      const auto got = client_.poll(client_.send_cq());
      if (got) {
        --under_way;
        good = got->status == IBV_WC_SUCCESS;
      } else {
        std::this_thread::yield();
      }
    }
  }

  Endpoint& client_;
  Work work_;
  std::jthread thread_;
};

void expect_all(const Pages& pages, std::uint8_t value, const std::string& whose) {
  const auto bytes = pages.span();
  const auto other = std::ranges::find_if(bytes, [value](auto byte) { return byte != value; });
  require(other == bytes.end(),
          "byte " + std::to_string(other - bytes.begin()) + " of " + whose + " was written");
}

void round(Suite& suite, const Way& way) {
  const Pair pair = suite.connector().connect({.send_wr = 16,
                                               .recv_wr = 16,
                                               .cq_entries = 16,
                                               .arena = kSource + kLength + Memory::kMargin});
  Held held(*pair.server, way.window_type);
  pair.client->memory().fill({{kSource, kLength}}, suite.random(1U << 30));
  const std::uint8_t sign = pair.client->memory().gather({{kSource, kLength}}).back();
  const Writer writer(*pair.client, kAddress, held.key);

  const auto* last = static_cast<const volatile std::uint8_t*>(&held.old.span().back());
  const Deadline deadline(kPatience);
  while (*last != sign) require(!deadline.over(), "no write arrives");
  for (unsigned turn = suite.random(5000); turn > 0; --turn) static_cast<void>(*last);
  way.revoke(held);
  // From here on it is nobody's but ours.
  std::ranges::fill(held.old.span(), kOld);
  pair.client->expect_error_state();
  pair.server->expect_error_state();
  expect_all(held.old, kOld, "the old memory");
  expect_all(held.next, kNew, "the new memory");
}

}  // namespace

void revoke_cases(Suite& suite) {
  suite.group("keys taken away under fire", [&] {
    for (const Way& way : kWays) {
      suite.run(way.what, [&] {
        for (unsigned i = 0; i < kRounds; ++i) round(suite, way);
      });
    }
  });
}

}  // namespace rdma
