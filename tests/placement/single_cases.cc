// SPDX-License-Identifier: GPL-2.0
// Every size, offset, SGE layout and inline length of a single work request.
#include <algorithm>
#include <array>

#include "cases.h"

namespace rdma {
namespace {

// Around a word, a cache line, the payload of a full FPDU (MTU 1500: 1428 and 1432 bytes with
// and without room for padding; segments of 1448), a page, the largest FPDU, and beyond.
constexpr std::array kSizes = {0U,    1U,    2U,    3U,     4U,     5U,     7U,
                               8U,    63U,   64U,   65U,    255U,   1427U,  1428U,
                               1429U, 1447U, 1448U, 1449U,  4095U,  4096U,  4097U,
                               8947U, 8948U, 8949U, 65535U, 65536U, 65537U, (1U << 20) + 13};
// Of the local and the remote end within a page.
constexpr std::array<std::pair<std::size_t, std::size_t>, 5> kOffsets = {
    {{0, 0}, {1, 0}, {0, 1}, {3, 5}, {7, 4093}}};
constexpr std::size_t kBase = 64U << 10;

void run_one(Suite& suite, const Transfer& transfer, bool back = false) {
  suite.run((back ? "by the responder: " : "") + to_string(transfer), [&] {
    Pair& pair = suite.pair();
    Chain::run(back ? *pair.server : *pair.client, back ? *pair.client : *pair.server, transfer);
  });
}

void sizes_and_offsets(Suite& suite, ibv_wr_opcode opcode) {
  for (const std::uint32_t size : kSizes) {
    for (const auto& [local, remote] : kOffsets) {
      if (suite.siw() && opcode == IBV_WR_RDMA_READ && remote == 4093 && size <= 24)
        continue;  // answers with the wrong bytes of the first page
      run_one(suite, {opcode, {{kBase + local, size}}, {{kBase + remote, size}}});
    }
  }
}

// `count` extents of odd lengths with guard bytes between them.
Layout scattered(std::size_t count, std::size_t step, bool with_empty) {
  Layout layout;
  std::size_t at = kBase + 1;
  for (std::size_t index = 0; index < count; ++index) {
    const bool empty = with_empty && index % 3 == 1;
    const auto length = static_cast<std::uint32_t>(empty ? 0 : 1 + index * step);
    layout.push_back({at, length});
    at += length + 3 + index % 5;
  }
  return layout;
}

void gather_and_scatter(Suite& suite, ibv_wr_opcode opcode) {
  const Endpoint& client = *suite.pair().client;
  std::size_t most = client.cap().max_send_sge;
  if (opcode == IBV_WR_RDMA_READ)
    most = std::min(most, static_cast<std::size_t>(client.device().max_sge_rd));
  for (std::size_t count = 1; count <= most; ++count) {
    for (const std::size_t step : {1U, 2U, 101U, 713U, 4099U}) {
      for (const bool with_empty : {false, true}) {
        if (with_empty && suite.siw())
          continue;  // follows a null pointer when it sends an empty SGE
        const Layout local = scattered(count, step, with_empty);
        const auto size = static_cast<std::uint32_t>(size_of(local));
        run_one(suite, {opcode, local, {{kBase + 5, size}}});
      }
    }
  }
}

void scattered_receives(Suite& suite) {
  const std::size_t most = suite.pair().server->cap().max_recv_sge;
  for (std::size_t count = 1; count <= most; ++count) {
    for (const std::size_t step : {2U, 101U, 1449U}) {
      for (const bool with_empty : {false, true}) {
        const Layout remote = scattered(count, step, with_empty);
        // A message that fills the receive, and one that ends in the middle of it.
        const auto full = static_cast<std::uint32_t>(size_of(remote));
        for (const std::uint32_t size : {full, full / 2})
          run_one(suite, {IBV_WR_SEND, {{kBase + 3, size}}, remote});
      }
    }
  }
  // Both ends scattered, with borders that fall differently.
  const std::size_t both = std::min<std::size_t>(most, suite.pair().client->cap().max_send_sge);
  for (std::size_t count = 2; count <= both; ++count) {
    Layout local = scattered(count, 701, !suite.siw());
    Layout remote = scattered(count - 1, 809, false);
    remote.push_back({kBase + (1U << 20) + 1, 1U << 17});
    run_one(suite, {IBV_WR_SEND, local, remote});
  }
}

void inline_payload(Suite& suite, ibv_wr_opcode opcode) {
  const std::uint32_t most = suite.pair().client->cap().max_inline_data;
  if (most == 0) throw Lacking("the device has no inline payload");
  const unsigned flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
  for (std::uint32_t size = 0; size <= most; ++size)
    run_one(suite, {opcode, {{kBase + 1, size}}, {{kBase + 3, size}}, flags});
  for (std::size_t count = 2; count <= suite.pair().client->cap().max_send_sge; ++count) {
    const Layout local = scattered(count, 1, !suite.siw());
    const auto size = static_cast<std::uint32_t>(size_of(local));
    if (size <= most) run_one(suite, {opcode, local, {{kBase + 3, size}}, flags});
  }
}

void without_sges(Suite& suite) {
  run_one(suite, {IBV_WR_SEND, {}, {{kBase, 64}}});
  if (!suite.siw()) {  // which refuses a receive without SGEs
    run_one(suite, {IBV_WR_SEND, {}, {}});
  }
  run_one(suite, {IBV_WR_RDMA_WRITE, {}, {{kBase, 0}}});
  run_one(suite, {IBV_WR_RDMA_READ, {}, {{kBase, 0}}});
}

void larger_receive(Suite& suite) {
  for (const std::uint32_t size : kSizes)
    run_one(suite, {IBV_WR_SEND, {{kBase + 1, size}}, {{kBase + 2, size + 4099}}});
}

void from_the_responder(Suite& suite, ibv_wr_opcode opcode) {
  for (const std::uint32_t size : kSizes)
    run_one(suite, {opcode, {{kBase + 5, size}}, {{kBase + 2, size}}}, true);
}

}  // namespace

void single_cases(Suite& suite) {
  for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_SEND}) {
    const bool is_read = opcode == IBV_WR_RDMA_READ;
    const std::string name = is_read ? "read" : opcode == IBV_WR_SEND ? "send" : "write";
    suite.group(name + ": sizes and offsets", [&] { sizes_and_offsets(suite, opcode); });
    suite.group(name + ": by the responder", [&] { from_the_responder(suite, opcode); });
    suite.group(name + ": scatter/gather", [&] { gather_and_scatter(suite, opcode); });
    if (!is_read) suite.group(name + ": inline payload", [&] { inline_payload(suite, opcode); });
  }
  suite.group("send: into scattered receives", [&] { scattered_receives(suite); });
  suite.group("send: into larger receives", [&] { larger_receive(suite); });
  suite.group("work requests without SGEs", [&] { without_sges(suite); });
}

}  // namespace rdma
