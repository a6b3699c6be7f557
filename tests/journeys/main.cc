// SPDX-License-Identifier: GPL-2.0
// Goes the three journeys of kernel/README.md between hosts A and B: a connection, and a SEND of
// 64 KiB with its receive. A line in the kernel's record says where each begins, and an empty one
// where it ends.
#include <fstream>
#include <utility>

#include "connector.h"
#include "program.h"

namespace rdma {
namespace {

// Before the one that is recorded: the first have memory allocated, and TCP's window opened.
constexpr int kSends = 4;
constexpr std::size_t kLength = 65536;

void note(const char* text) {
  std::ofstream record("/sys/kernel/debug/weft_journey");
  if (!(record << text << '\n' << std::flush))
    throw Failure("the kernel's record of functions cannot be written");
}

// As Connector::connect(), with the initiator's and the responder's part noted.
Pair connect(const Connector& connector) {
  Pair pair;
  pair.client = std::make_unique<Endpoint>(connector.resolved(), "client", Shape());
  note("connect");
  connector.start(*pair.client, {});
  Caller caller = connector.accepted();
  note("");
  pair.server = std::make_unique<Endpoint>(std::move(caller), "server", Shape());
  note("connect");
  connector.accept(*pair.server, {});
  pair.client->expect(RDMA_CM_EVENT_ESTABLISHED);
  pair.server->expect(RDMA_CM_EVENT_ESTABLISHED);
  note("");
  return pair;
}

void send(const Pair& pair) {
  const Layout layout = {{0, kLength}};
  const std::uint64_t receive = pair.server->post_recv(layout);
  pair.client->carry_out(pair.client->work(IBV_WR_SEND, layout));
  pair.server->expect_recv(receive, kLength);
}

}  // namespace
}  // namespace rdma

int main(int argc, char** argv) {
  constexpr auto kPurpose = "Goes the journeys of kernel/README.md between hosts A and B";
  return rdma::run_program("journeys", kPurpose, argc, argv, [](rdma::Program& app) {
    app.read();
    const rdma::Connector connector({"B", ""}, {"A", "10.0.0.1"});
    const rdma::Pair pair = rdma::connect(connector);
    for (int i = 0; i < rdma::kSends; ++i) rdma::send(pair);
    rdma::note("send");
    rdma::send(pair);
    rdma::note("");
    return 0;
  });
}
