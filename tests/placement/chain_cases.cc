// SPDX-License-Identifier: GPL-2.0
// Several work requests under way at once: chains, fences, both directions.
#include <algorithm>
#include <array>

#include "cases.h"

namespace rdma {
namespace {

// Hands out extents one after the other, with guard bytes between them.
class Placer {
 public:
  explicit Placer(std::size_t begin) : next_(begin) {}

  Extent take(std::uint32_t length, std::size_t gap) {
    const Extent extent{next_ + gap, length};
    next_ += gap + length + 1;
    return extent;
  }
  std::size_t next() const { return next_; }

 private:
  std::size_t next_;
};

// Adds a transfer of one extent at each end, at fresh places.
Transfer simple(ibv_wr_opcode opcode, Placer& local, Placer& remote, std::uint32_t size,
                unsigned flags = IBV_SEND_SIGNALED) {
  return {opcode, {local.take(size, 1 + size % 3)}, {remote.take(size, 1 + size % 5)}, flags};
}

// Chains of the client's, one after the other, to each of which `fill` adds, with places at both
// ends, `length` times.
using Fill = std::function<void(Chain& chain, Placer& local, Placer& remote, std::uint32_t at)>;
void chains(const Pair& pair, unsigned rounds, std::uint32_t length, const Fill& fill) {
  for (; rounds > 0; --rounds) {
    Chain chain(*pair.client, *pair.server);
    Placer local(0);
    Placer remote(0);
    for (std::uint32_t at = 0; at < length; ++at) fill(chain, local, remote, at);
    chain.post();
    chain.finish();
  }
}

constexpr std::array kOpcodes = {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_SEND};

void mixed_chains(Suite& suite) {
  for (const std::uint32_t length : {2U, 3U, 16U, 64U}) {
    for (const std::uint32_t size : {1U, 61U, 1429U, 5003U}) {
      const std::string name = std::to_string(length) + " work requests of about " +
                               std::to_string(size) + " bytes in one chain";
      suite.run(name, [&] {
        const Pair& pair = suite.pair();
        chains(pair, 1, length, [&](Chain& chain, Placer& local, Placer& remote, std::uint32_t at) {
          const ibv_wr_opcode opcode = kOpcodes.at(at % kOpcodes.size());
          // siw completes a send before the read in front of it.
          if (opcode != IBV_WR_RDMA_READ || !pair.client->is_siw())
            chain.add(simple(opcode, local, remote, size + at));
        });
      });
    }
  }
}

void unsignaled(Suite& suite) {
  // Far more work requests than the queue holds, so that the rings wrap; one in eight is
  // signaled and tells that its predecessors are done.
  for (const std::uint32_t size : {7U, 300U, 2000U}) {
    suite.run("1024 writes of " + std::to_string(size) + " bytes, one in eight signaled", [&] {
      chains(suite.pair(), 16, 64, [&](Chain& chain, Placer& local, Placer& remote, unsigned at) {
        const unsigned flags = at % 8 == 7 ? unsigned{IBV_SEND_SIGNALED} : 0U;
        chain.add(simple(IBV_WR_RDMA_WRITE, local, remote, size + at % 3, flags));
      });
    });
  }
  for (const ibv_wr_opcode opcode : {IBV_WR_SEND, IBV_WR_RDMA_READ}) {
    suite.run("unsignaled work requests with opcode " + std::to_string(opcode), [&] {
      const Pair& pair = suite.pair();
      chains(pair, 8, 32, [&](Chain& chain, Placer& local, Placer& remote, unsigned at) {
        // siw completes the send that ends the chain before the reads in front of it.
        const bool last = at == 31 && opcode == IBV_WR_RDMA_READ && pair.client->is_siw();
        chain.add(simple(opcode, local, remote, 1500 + at, last ? IBV_SEND_SIGNALED : 0));
      });
      require(!pair.client->poll(pair.client->send_cq()),
              "an unsignaled work request made a completion");
    });
  }
}

void outstanding_reads(Suite& suite) {
  // More than the agreed depth of reads must wait their turn, not fail.
  for (const std::uint32_t size : {1U, 1449U, 20011U}) {
    suite.run("100 reads of " + std::to_string(size) + " bytes at once, twice", [&] {
      chains(suite.pair(), 2, 100, [&](Chain& chain, Placer& local, Placer& remote, unsigned at) {
        chain.add(simple(IBV_WR_RDMA_READ, local, remote, size + at % 7));
      });
    });
  }
}

void fences(Suite& suite) {
  // The work request behind a read writes the data that the read brought to another place.
  for (const std::uint32_t size : {1U, 4099U, 300007U}) {
    for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_SEND}) {
      const std::string name = "a read of " + std::to_string(size) + " bytes, then fenced opcode " +
                               std::to_string(opcode) + " of what it brought";
      suite.run(name, [&] {
        const Extent bounce{1U << 20, size};
        const Layout there = {{(2U << 20) + 3, size}};
        const unsigned flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE;
        chains(suite.pair(), 1, 1, [&](Chain& chain, Placer&, Placer&, unsigned) {
          chain.add({IBV_WR_RDMA_READ, {bounce}, {{65537, size}}});
          chain.add({opcode, {bounce}, there, flags, false});
        });
      });
    }
  }
  // A read sees what the writes before it on the same queue pair have placed.
  for (const std::uint32_t size : {3U, 4099U, 300007U}) {
    suite.run("a write of " + std::to_string(size) + " bytes, read back behind it", [&] {
      const Layout there = {{65539, size}};
      chains(suite.pair(), 1, 1, [&](Chain& chain, Placer&, Placer&, unsigned) {
        chain.add({IBV_WR_RDMA_WRITE, {{1, size}}, there});
        chain.add({IBV_WR_RDMA_READ, {{1U << 20, size}}, there, IBV_SEND_SIGNALED, false});
      });
    });
  }
}

void both_directions(Suite& suite) {
  constexpr std::size_t kHalf = 3U << 19;
  for (const ibv_wr_opcode opcode : kOpcodes) {
    for (const std::uint32_t size : {1U, 1449U, 65537U}) {
      const std::string name = "16 work requests of " + std::to_string(size) +
                               " bytes with opcode " + std::to_string(opcode) + " each way at once";
      suite.run(name, [&] {
        const Pair& pair = suite.pair();
        Chain forth(*pair.client, *pair.server);
        Chain back(*pair.server, *pair.client);
        Placer sources[2] = {Placer(0), Placer(0)};
        Placer targets[2] = {Placer(kHalf), Placer(kHalf)};
        for (unsigned at = 0; at < 16; ++at) {
          forth.add(simple(opcode, sources[0], targets[0], size + at));
          back.add(simple(opcode, sources[1], targets[1], size + at));
        }
        forth.post();
        back.post();
        forth.finish();
        back.finish();
      });
    }
  }
  if (suite.siw()) return;  // it completes a send before the read in front of it
  suite.run("writes one way, reads the other, sends both ways", [&] {
    Pair& pair = suite.pair();
    Chain forth(*pair.client, *pair.server);
    Chain back(*pair.server, *pair.client);
    Placer client(0);
    Placer server(0);
    for (unsigned at = 0; at < 24; ++at) {
      const std::uint32_t size = 1 + at * 1999;
      forth.add(simple(IBV_WR_RDMA_WRITE, client, server, size));
      back.add(simple(IBV_WR_RDMA_READ, server, client, size / 2));
      forth.add(simple(IBV_WR_SEND, client, server, size / 3));
      back.add(simple(IBV_WR_SEND, server, client, size / 5));
    }
    back.post();
    forth.post();
    // The memory of either lies amid that of the other.
    forth.complete();
    back.complete();
    forth.check();
    back.check();
  });
}

// An extent list of up to `most` SGEs and about `size` bytes.
Layout random_layout(Suite& suite, Placer& placer, std::uint32_t size, std::uint32_t most) {
  Layout layout;
  std::uint32_t left = size;
  for (std::uint32_t count = 1 + suite.random(most); count > 1; --count) {
    const std::uint32_t part = suite.random(left / 2 + 1);
    layout.push_back(placer.take(part, suite.random(70)));
    left -= part;
  }
  layout.push_back(placer.take(left, suite.random(70)));
  return layout;
}

void random_chains(Suite& suite, unsigned rounds) {
  constexpr std::array<std::uint32_t, 5> kScales = {8, 300, 3000, 20000, 120000};
  for (unsigned round = 0; round < rounds; ++round) {
    const bool forth = suite.random(3) != 0;
    const std::uint32_t length = 1 + suite.random(20);
    const std::string name = "random chain " + std::to_string(round) + " of " +
                             std::to_string(length) + (forth ? "" : ", by the responder");
    suite.run(name, [&] {
      const Pair& pair = suite.pair();
      Endpoint& from = forth ? *pair.client : *pair.server;
      Endpoint& to = forth ? *pair.server : *pair.client;
      const std::uint32_t sges = from.cap().max_send_sge;
      const auto read_sges = std::min(static_cast<std::uint32_t>(from.device().max_sge_rd), sges);
      Chain chain(from, to);
      Placer local(1);
      Placer remote(2);
      for (std::uint32_t at = 0; at < length; ++at) {
        const ibv_wr_opcode opcode = kOpcodes.at(suite.random(kOpcodes.size()));
        const std::uint32_t size = suite.random(kScales.at(suite.random(kScales.size())));
        const bool is_read = opcode == IBV_WR_RDMA_READ;
        Transfer transfer{opcode, {}, {}, 0};
        transfer.local = random_layout(suite, local, size, is_read ? read_sges : sges);
        if (opcode == IBV_WR_SEND)
          transfer.remote =
              random_layout(suite, remote, size + suite.random(50), to.cap().max_recv_sge);
        else
          transfer.remote = {remote.take(size, suite.random(70))};
        transfer.flags |= suite.random(2) != 0 ? unsigned{IBV_SEND_SIGNALED} : 0U;
        transfer.flags |= suite.random(4) == 0 ? unsigned{IBV_SEND_FENCE} : 0U;
        transfer.flags |= suite.random(4) == 0 ? unsigned{IBV_SEND_SOLICITED} : 0U;
        if (!is_read && size <= from.cap().max_inline_data && suite.random(2) != 0)
          transfer.flags |= IBV_SEND_INLINE;
        if (std::max(local.next(), remote.next()) + 1024 > from.memory().size()) break;
        chain.add(transfer);
      }
      chain.post();
      chain.finish();
    });
  }
}

void events(Suite& suite) {
  constexpr std::chrono::milliseconds kQuiet{300};
  suite.run("a plain message raises no event on a queue armed for solicited ones", [&] {
    Pair& pair = suite.pair();
    Endpoint& server = *pair.server;
    if (server.is_siw()) return;  // which knows no solicited receive
    require_zero(ibv_req_notify_cq(server.recv_cq(), 1), "ibv_req_notify_cq");
    Chain plain(*pair.client, server);
    plain.add({IBV_WR_SEND, {{1, 100}}, {{1, 100}}});
    plain.post();
    require(!server.await_event(server.recv_cq(), kQuiet), "an event for an unsolicited message");
    Chain solicited(*pair.client, server);
    solicited.add(
        {IBV_WR_SEND, {{1001, 100}}, {{1001, 100}}, IBV_SEND_SIGNALED | IBV_SEND_SOLICITED});
    solicited.post();
    require(server.await_event(server.recv_cq(), kPatience), "no event for a solicited message");
    require(!server.await_event(server.recv_cq(), kQuiet), "two events for one arming");
    server.wait_with(Wait::kPoll);
    plain.finish();
    solicited.finish();
  });
  suite.run("an event for each arming and not one more", [&] {
    Pair& pair = suite.pair();
    Endpoint& server = *pair.server;
    for (unsigned round = 0; round < 8; ++round) {
      require_zero(ibv_req_notify_cq(server.recv_cq(), 0), "ibv_req_notify_cq");
      Chain chain(*pair.client, server);
      Placer local(0);
      Placer remote(0);
      for (unsigned at = 0; at < 4; ++at) chain.add(simple(IBV_WR_SEND, local, remote, 10));
      chain.post();
      require(server.await_event(server.recv_cq(), kPatience), "no event");
      server.wait_with(Wait::kPoll);
      pair.client->wait_with(Wait::kPoll);
      chain.finish();
      require(!server.await_event(server.recv_cq(), std::chrono::milliseconds(20)),
              "an event that was not asked for");
    }
  });
}

}  // namespace

void chain_cases(Suite& suite) {
  suite.group("chains of mixed work requests", [&] { mixed_chains(suite); });
  suite.group("unsignaled work requests", [&] { unsignaled(suite); });
  suite.group("many outstanding reads", [&] { outstanding_reads(suite); });
  suite.group("order: fences, and reads behind writes", [&] { fences(suite); });
  suite.group("both directions at once", [&] { both_directions(suite); });
  suite.group("completion events", [&] { events(suite); });
  if (!suite.siw()) {  // they have empty SGEs
    suite.group("random chains", [&] { random_chains(suite, 60); });
  }
}

}  // namespace rdma
