// SPDX-License-Identifier: GPL-2.0
#include "cases.h"

namespace rdma {
namespace {

// The server's windows show parts of this region, which no peer may reach by its own key.
constexpr std::size_t kRegion = kTarget - 5003;
constexpr std::size_t kRegionSize = 200000;
// Of which the window shows this much from kTarget on.
constexpr std::uint32_t kShown = 70001;
constexpr unsigned kBoth = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

using Region = Owned<ibv_mr>;
using Window = Owned<ibv_mw>;

Region region_of(const Endpoint& server,
                 unsigned access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND) {
  return own(ibv_reg_mr(server.pd(), server.memory().bytes(kRegion), kRegionSize,
                        static_cast<int>(access)),
             "ibv_reg_mr");
}

// The range that a window is bound to; length 0 and no region: nothing.
ibv_mw_bind_info shown(const Endpoint& server, ibv_mr* region, unsigned access = kBoth,
                       std::size_t offset = kTarget, std::uint64_t length = kShown) {
  return {region, server.memory().address(offset), length, access};
}

// Posts by the extended interface where the queue pair has it, or else by ibv_post_send.
std::uint64_t post_either(Endpoint& end, const ibv_send_wr& work,
                          const std::function<void(ibv_qp_ex*)>& extended) {
  return end.qp_ex() == nullptr ? end.post_send(work) : post_extended(end, extended);
}

std::uint64_t start_invalidate(Endpoint& server, std::uint32_t rkey) {
  Work work(IBV_WR_LOCAL_INV);
  work.invalidate_rkey = rkey;
  return post_either(server, work, [&](ibv_qp_ex* qp) { ibv_wr_local_inv(qp, rkey); });
}

// A SEND of nothing that is to end a key of the server's.
std::uint64_t send_invalidating(Endpoint& client, std::uint32_t rkey) {
  Work work(IBV_WR_SEND_WITH_INV);
  work.invalidate_rkey = rkey;
  return post_either(client, work, [&](ibv_qp_ex* qp) { ibv_wr_send_inv(qp, rkey); });
}

void invalidated_by_peer(Endpoint& client, Endpoint& server, std::uint32_t rkey) {
  const std::uint64_t receive = server.post_recv({{0, 0}});
  client.expect_send(send_invalidating(client, rkey), IBV_WC_SEND);
  const ibv_wc got = server.next_recv();
  require(got.status == IBV_WC_SUCCESS && got.wr_id == receive && got.opcode == IBV_WC_RECV &&
              (got.wc_flags & IBV_WC_WITH_INV) != 0 && got.invalidated_rkey == rkey,
          "receive completion: " + to_string(got) + ", flags " + std::to_string(got.wc_flags) +
              ", key " + std::to_string(got.invalidated_rkey));
}

// Has the client read from the server, or write to it.
std::uint64_t reach(Endpoint& client, ibv_wr_opcode opcode, std::uint32_t rkey,
                    std::uint64_t address, std::uint32_t length) {
  Work work = client.work(opcode, {{opcode == IBV_WR_RDMA_READ ? kTarget : kSource, length}});
  work.aim(address, rkey);
  return post_either(client, work, [&](ibv_qp_ex* qp) {
    if (opcode == IBV_WR_RDMA_READ)
      ibv_wr_rdma_read(qp, rkey, address);
    else
      ibv_wr_rdma_write(qp, rkey, address);
    ibv_wr_set_sge_list(qp, 1, work.sg_list);
  });
}

// The client writes what the window shows, from its first byte to its last, and reads it back.
void write_and_read(Endpoint& client, Endpoint& server, std::uint32_t rkey, std::uint64_t address,
                    std::uint32_t length = kShown) {
  prepare(client, server, length);
  client.memory().expect({{kTarget, length}}, client.memory().gather({{kSource, length}}));
  client.expect_send(reach(client, IBV_WR_RDMA_WRITE, rkey, address, length), IBV_WC_RDMA_WRITE);
  client.expect_send(reach(client, IBV_WR_RDMA_READ, rkey, address, length), IBV_WC_RDMA_READ);
  check_target(client, length);
  check_target(server, length);
}

void refuse_read(Endpoint& client, Endpoint& server, std::uint32_t rkey, std::uint64_t address,
                 std::uint32_t length) {
  const std::uint64_t wr_id = reach(client, IBV_WR_RDMA_READ, rkey, address, length);
  const ibv_wc got = client.next_send();
  require(got.wr_id == wr_id && got.status == IBV_WC_REM_ACCESS_ERR, "the read: " + to_string(got));
  expect_refused(client, server);
}

void refuse_write(Endpoint& client, Endpoint& server, std::uint32_t rkey, std::uint64_t address,
                  std::uint32_t length) {
  client.memory().fill({{kSource, length}}, 4711);
  reach(client, IBV_WR_RDMA_WRITE, rkey, address, length);
  expect_refused(client, server);
}

void refuse_invalidation(Endpoint& client, Endpoint& server, std::uint32_t rkey) {
  server.post_recv({{0, 0}});
  send_invalidating(client, rkey);
  expect_refused(client, server);
  const ibv_wc got = server.next_recv();
  require(got.status == IBV_WC_WR_FLUSH_ERR, "the receive: " + to_string(got));
}

// The server's own work request is refused, which costs it the connection.
void refuse_locally(Endpoint& server, std::uint64_t wr_id) {
  const ibv_wc got = server.next_send();
  require(got.wr_id == wr_id && got.status == IBV_WC_MW_BIND_ERR,
          "the work request: " + to_string(got));
  server.expect_error_state();
}

const char* name_of(ibv_mw_type type) {
  return type == IBV_MW_TYPE_1 ? "memory windows, type 1" : "memory windows, type 2";
}

// ---- what holds ----

void type_1_works(Endpoint& client, Endpoint& server) {
  Region region = region_of(server);
  const Window window = window_of(server, IBV_MW_TYPE_1);
  const std::uint64_t there = server.memory().address(kTarget);
  const std::uint32_t unbound = window->rkey;
  bind(server, window.get(), shown(server, region.get()));
  require(window->rkey != unbound, "the key has not changed");
  write_and_read(client, server, window->rkey, there);
  // Bound again, to a smaller range at another place.
  bind(server, window.get(), shown(server, region.get(), kBoth, kTarget, 100));
  write_and_read(client, server, window->rkey, there, 100);
  require(ibv_dereg_mr(region.get()) == EBUSY, "a region under a window went away");
  bind(server, window.get(), {});
  require_zero(ibv_dereg_mr(region.release()), "ibv_dereg_mr with no window bound");
}

void type_2_works(Endpoint& client, Endpoint& server, unsigned access) {
  Region region = region_of(server);
  const Window window = window_of(server, IBV_MW_TYPE_2);
  const std::uint64_t there =
      (access & IBV_ACCESS_ZERO_BASED) != 0 ? 0 : server.memory().address(kTarget);
  bind(server, window.get(), shown(server, region.get(), access));
  write_and_read(client, server, window->rkey, there);
  require(ibv_dereg_mr(region.get()) == EBUSY, "a region under a window went away");
  server.expect_send(start_invalidate(server, window->rkey), IBV_WC_LOCAL_INV);
  bind(server, window.get(), shown(server, region.get(), access));
  write_and_read(client, server, window->rkey, there);
  invalidated_by_peer(client, server, window->rkey);
  require_zero(ibv_dereg_mr(region.release()), "ibv_dereg_mr with no window bound");
}

// ---- refusals ----

// A connection, and a window of the server's that is bound with these rights.
struct Bound {
  Bound(Suite& suite, ibv_mw_type type, unsigned access)
      : pair(suite.connector().connect()),
        client(*pair.client),
        server(*pair.server),
        region(region_of(server)),
        window(window_of(server, type)),
        there(server.memory().address(kTarget)) {
    bind(server, window.get(), shown(server, region.get(), access));
  }

  Pair pair;
  Endpoint& client;
  Endpoint& server;
  Region region;
  Window window;
  std::uint64_t there;
};

using Body = std::function<void(Bound& bound)>;
// A case with such a connection.
void bound(Suite& suite, ibv_mw_type type, const std::string& what, const Body& body,
           unsigned access = kBoth) {
  suite.run(what, [&] {
    Bound made(suite, type, access);
    body(made);
  });
}

void bounds_and_rights(Suite& suite, ibv_mw_type type) {
  const auto refused = [&](const char* what, unsigned access, bool write, std::int64_t from,
                           bool by_region = false) {
    const auto body = [=](Bound& b) {
      const std::uint32_t rkey = by_region ? b.region->rkey : b.window->rkey;
      (write ? refuse_write : refuse_read)(b.client, b.server, rkey, b.there + from, 8);
    };
    bound(suite, type, what, body, access);
  };
  refused("read from one byte before", kBoth, false, -1);
  refused("read to one byte beyond", kBoth, false, kShown - 7);
  refused("write to one byte beyond", kBoth, true, kShown - 7);
  refused("read without the right", IBV_ACCESS_REMOTE_WRITE, false, 0);
  refused("write without the right", IBV_ACCESS_REMOTE_READ, true, 0);
  refused("read by the region's own key", kBoth, false, 0, true);
}

void type_1_refusals(Suite& suite) {
  bound(suite, IBV_MW_TYPE_1, "read by the key before the last bind", [&](Bound& b) {
    const std::uint32_t old = b.window->rkey;
    bind(b.server, b.window.get(), shown(b.server, b.region.get()));
    refuse_read(b.client, b.server, old, b.there, 8);
  });
  bound(suite, IBV_MW_TYPE_1, "read when it is unbound", [&](Bound& b) {
    bind(b.server, b.window.get(), {});
    refuse_read(b.client, b.server, b.window->rkey, b.there, 8);
  });
  bound(suite, IBV_MW_TYPE_1, "the peer's invalidation",
        [&](Bound& b) { refuse_invalidation(b.client, b.server, b.window->rkey); });
}

void type_2_refusals(Suite& suite) {
  bound(suite, IBV_MW_TYPE_2, "read after LOCAL_INV", [&](Bound& b) {
    b.server.expect_send(start_invalidate(b.server, b.window->rkey), IBV_WC_LOCAL_INV);
    refuse_read(b.client, b.server, b.window->rkey, b.there, 8);
  });
  bound(suite, IBV_MW_TYPE_2, "write after the peer's invalidation", [&](Bound& b) {
    invalidated_by_peer(b.client, b.server, b.window->rkey);
    refuse_write(b.client, b.server, b.window->rkey, b.there, 8);
  });
  bound(suite, IBV_MW_TYPE_2, "the peer's second invalidation", [&](Bound& b) {
    invalidated_by_peer(b.client, b.server, b.window->rkey);
    refuse_invalidation(b.client, b.server, b.window->rkey);
  });
  bound(suite, IBV_MW_TYPE_2, "the peer's invalidation of a region",
        [&](Bound& b) { refuse_invalidation(b.client, b.server, b.server.memory().mr()->rkey); });
  bound(suite, IBV_MW_TYPE_2, "a bind of what is bound", [&](Bound& b) {
    refuse_locally(b.server, start_bind(b.server, b.window.get(), shown(b.server, b.region.get())));
  });
  bound(suite, IBV_MW_TYPE_2, "another queue pair's window", [&](Bound& b) {
    for (const bool invalidate : {false, true}) {
      const Pair other = suite.connector().connect({}, {.pd = b.server.pd()});
      if (invalidate)
        refuse_invalidation(*other.client, *other.server, b.window->rkey);
      else
        refuse_read(*other.client, *other.server, b.window->rkey, b.there, 8);
    }
    write_and_read(b.client, b.server, b.window->rkey, b.there);
  });
  bound(suite, IBV_MW_TYPE_2, "the end of its queue pair ends it", [&](Bound& b) {
    require(ibv_dereg_mr(b.region.get()) == EBUSY, "a region under a window went away");
    rdma_destroy_qp(b.server.id());
    require_zero(ibv_dereg_mr(b.region.get()), "ibv_dereg_mr with its queue pair gone");
    static_cast<void>(b.region.release());
  });
}

void bad_binds(Suite& suite, ibv_mw_type type) {
  const auto refused = [&](const std::string& what, unsigned region_access, std::size_t offset,
                           std::uint64_t length) {
    suite.run("a bind " + what, [&] {
      const Pair pair = suite.connector().connect();
      Endpoint& server = *pair.server;
      const Region region = region_of(server, region_access);
      const Window window = window_of(server, type);
      refuse_locally(server, start_bind(server, window.get(),
                                        shown(server, region.get(), kBoth, offset, length)));
    });
  };
  const unsigned enough = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND;
  refused("to a region that allows none", IBV_ACCESS_LOCAL_WRITE, kTarget, kShown);
  refused("for writes, to a region that is only read", IBV_ACCESS_MW_BIND, kTarget, kShown);
  refused("from before the region", enough, kRegion - 1, 10);
  refused("to beyond the region", enough, kRegion, kRegionSize + 1);
  refused("of a length that wraps", enough, kTarget, ~std::uint64_t{0});
}

void limits(Suite& suite) {
  const Pair pair = suite.connector().connect();
  const Endpoint& end = *pair.server;
  suite.run("the device says what it has", [&] {
    require(end.device().max_mw > 0, "max_mw is " + std::to_string(end.device().max_mw));
    const unsigned both = IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B;
    require((end.device().device_cap_flags & both) == both,
            "capabilities " + std::to_string(end.device().device_cap_flags));
  });
  suite.run("a thousand, and none twice", [&] {
    std::vector<Window> windows;
    std::set<std::uint32_t> indices;
    while (windows.size() < 1000) {
      windows.push_back(window_of(end, windows.size() % 2 == 0 ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2));
      require(indices.insert(windows.back()->rkey >> 8).second, "a key was given twice");
    }
  });
  suite.run("of a type that is none", [&] {
    const Window window(ibv_alloc_mw(end.pd(), static_cast<ibv_mw_type>(3)));
    require(window == nullptr && errno == EINVAL, "ibv_alloc_mw did not refuse it");
  });
}

}  // namespace

void window_cases(Suite& suite) {
  suite.group(name_of(IBV_MW_TYPE_1), [&] {
    const Pair pair = suite.connector().connect();
    suite.run("bound, bound anew, unbound", [&] { type_1_works(*pair.client, *pair.server); });
    bounds_and_rights(suite, IBV_MW_TYPE_1);
    type_1_refusals(suite);
    bad_binds(suite, IBV_MW_TYPE_1);
  });
  suite.group(name_of(IBV_MW_TYPE_2), [&] {
    for (const bool extended : {false, true}) {
      const Pair pair = suite.connector().connect({.extended = extended});
      const std::string how = extended ? ", by ibv_wr_*" : "";
      suite.run("bound and invalidated" + how,
                [&] { type_2_works(*pair.client, *pair.server, kBoth); });
      suite.run("zero-based" + how,
                [&] { type_2_works(*pair.client, *pair.server, kBoth | IBV_ACCESS_ZERO_BASED); });
    }
    bounds_and_rights(suite, IBV_MW_TYPE_2);
    type_2_refusals(suite);
    bad_binds(suite, IBV_MW_TYPE_2);
  });
  suite.group("memory windows, limits", [&] { limits(suite); });
}

}  // namespace rdma
