// SPDX-License-Identifier: GPL-2.0
// A process that forks keeps its regions, and its child gets copies.
#include "cases.h"
#include "child.h"
#include "descriptor.h"

namespace rdma {
namespace {

constexpr std::uint32_t kLength = 20000;

void write_and_read(const Pair& pair) {
  Endpoint& client = *pair.client;
  Endpoint& server = *pair.server;
  prepare(client, server, kLength);
  client.carry_out(client.work(IBV_WR_RDMA_WRITE, {{kSource, kLength}}, server, kTarget));
  // A read behind it: the write has been placed when that is done.
  client.memory().expect({{kTarget, kLength}}, server.memory().gather({{kTarget, kLength}}));
  client.carry_out(client.work(IBV_WR_RDMA_READ, {{kTarget, kLength}}, server, kTarget));
  check_target(client, kLength);
  check_target(server, kLength);
}

void parent_goes_on(Suite& suite) {
  const Pair pair = suite.connector().connect();
  send_checked(*pair.client, *pair.server, kLength);
  int ends[2] = {-1, -1};
  must(pipe(ends), "pipe");
  const Descriptor here(ends[0]);
  Descriptor there(ends[1]);
  // Waits for the pipe's end, and scribbles over its copy of both arenas.
  const Child child([&] {
    char word = 0;
    close(there.number());
    const bool told = read(here.number(), &word, 1) == 0;
    for (const Endpoint* end : {pair.client.get(), pair.server.get()})
      std::memset(end->memory().bytes(), 0xdd, end->memory().size());
    return told ? 0 : 1;
  });
  // From here on, the wire must carry what the parent writes, and the parent read what arrives.
  send_checked(*pair.client, *pair.server, kLength);
  write_and_read(pair);
  there = Descriptor();
  require(child.end(kPatience).good(), "the child went wrong");
  check_all(*pair.client, *pair.server);
  send_checked(*pair.server, *pair.client, kLength);
  write_and_read(pair);
}

}  // namespace

void fork_cases(Suite& suite) {
  suite.group("fork", [&] { suite.run("the parent goes on", [&] { parent_goes_on(suite); }); });
}

}  // namespace rdma
