// SPDX-License-Identifier: GPL-2.0
// Connects two hosts by rdma_cm and checks, byte by byte, that transfers place their data where it
// belongs and nowhere else, and that what must be refused is refused. Both ends live in this one
// process, each in its own network namespace, so that each transfer is judged at both.
#include "cases.h"
#include "program.h"

int main(int argc, char** argv) {
  constexpr auto kPurpose = "Checks every kind of transfer between two hosts";
  return rdma::run_program("placement", kPurpose, argc, argv, [](rdma::Program& app) {
    rdma::Host client;
    rdma::Host server;
    std::string only;
    std::vector<std::string> without;
    std::uint64_t seed = rdma::Suite::seed();
    bool siw = false;
    app.add_option("--server", server.address, "of an RDMA device: listen there")->required();
    app.add_option("--server-netns", server.netns, "in this network namespace");
    app.add_option("--client-netns", client.netns, "connect from this one");
    app.add_option("--only", only, "run the groups whose names contain this");
    app.add_option("--without", without, "leave out this group")->allow_extra_args(false);
    app.add_option("--seed", seed, "repeats a run of the random chains, which say their seed");
    app.add_flag("--siw", siw, "one end is mainline's siw: without what it lacks or fails at");
    app.read();
    const rdma::Connector connector(client, server);
    rdma::Suite suite(connector, only, seed, siw);
    for (const std::string& name : without) suite.leave_out(name);
    rdma::connection_cases(suite);
    rdma::single_cases(suite);
    rdma::chain_cases(suite);
    if (siw) {
      rdma::siw_cases(suite);
    } else {
      // These look at states, which siw does not tell, and at the errors of both ends.
      rdma::posting_cases(suite);
      rdma::protection_cases(suite);
      rdma::extended_cases(suite);
    }
    return suite.finish();
  });
}
