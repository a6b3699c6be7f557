// SPDX-License-Identifier: GPL-2.0
// Connects two hosts by rdma_cm and uses the parts of verbs that the placement test does not:
// shared receive queues, the extended interfaces, memory windows, objects that change, rights.
#include "cases.h"
#include "program.h"

int main(int argc, char** argv) {
  constexpr auto kPurpose = "Listens in one network namespace and connects to it from the other";
  return rdma::run_program("verbs", kPurpose, argc, argv, [](rdma::Program& app) {
    rdma::Host client;
    rdma::Host server;
    std::string only;
    std::string without;
    app.add_option("server", server.address, "listen at this address")->required();
    app.add_option("server-netns", server.netns, "in this namespace")->required();
    app.add_option("client-netns", client.netns, "connect from this one")->required();
    app.add_option("only", only, "run the groups whose names contain this");
    app.add_option("without", without, "but not the group of that name");
    app.footer(
        "WEFT_SEED repeats a run; the seed is another one each time otherwise, and printed.");
    app.read();
    const rdma::Connector connector(client, server);
    rdma::Suite suite(connector, only, rdma::Suite::seed(), false);
    if (!without.empty()) suite.leave_out(without);
    for (const auto cases :
         {rdma::srq_cases, rdma::extended_cases, rdma::change_cases, rdma::limit_cases,
          rdma::charge_cases, rdma::window_cases, rdma::rights_cases, rdma::dmabuf_cases,
          rdma::threads_cases, rdma::hostile_cases, rdma::revoke_cases, rdma::large_cases,
          rdma::fork_cases}) {
      cases(suite);
    }
    rdma::event_cases(suite, client.netns);
    return suite.finish();
  });
}
