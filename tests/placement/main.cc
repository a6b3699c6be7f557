// SPDX-License-Identifier: GPL-2.0
// Connects two hosts by rdma_cm and checks, byte by byte, that RDMA writes, RDMA reads and
// sends place what they carry where it belongs and nowhere else, and that what must be
// refused is refused. Both ends live in this one process, each in its own network namespace,
// so that each transfer can be judged at both ends.
#include <getopt.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "cases.h"
#include "failure.h"

namespace {

constexpr const char* kUsage =
    "usage: placement --server ADDRESS [--server-netns NAME] [--client-netns NAME]\n"
    "                 [--only TEXT] [--without NAME] [--seed NUMBER] [--siw]\n"
    "\n"
    "Listens at ADDRESS (IPv4 or IPv6, of a host with an RDMA device) in one network\n"
    "namespace, connects to it from another, and checks every kind of transfer between\n"
    "the two. --only runs the groups whose names contain TEXT; --without leaves out the\n"
    "group of that name (repeatable); --seed repeats a run of the random chains, which are\n"
    "others each time and say their seed. --siw: one end is mainline's siw, which is spared\n"
    "what is known to crash or confuse it, and what it lacks.\n";

int run(const placement::Host& client, const placement::Host& server, const std::string& only,
        const std::vector<std::string>& without, std::uint64_t seed, bool siw) {
  try {
    const placement::Connector connector(client, server);
    placement::Suite suite(connector, only, seed, siw);
    for (const std::string& name : without) {
      suite.leave_out(name);
    }
    placement::connection_cases(suite);
    placement::single_cases(suite);
    placement::chain_cases(suite);
    if (siw) {
      placement::siw_cases(suite);
    } else {
      // These look at states, which siw does not tell, and at the errors of both ends.
      placement::posting_cases(suite);
      placement::protection_cases(suite);
      placement::extended_cases(suite);
    }
    return suite.finish();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "placement: %s\n", error.what());
    return EXIT_FAILURE;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const option options[] = {{"server", required_argument, nullptr, 's'},
                            {"server-netns", required_argument, nullptr, 'a'},
                            {"client-netns", required_argument, nullptr, 'b'},
                            {"only", required_argument, nullptr, 'o'},
                            {"without", required_argument, nullptr, 'x'},
                            {"seed", required_argument, nullptr, 'r'},
                            {"siw", no_argument, nullptr, 'w'},
                            {"help", no_argument, nullptr, 'h'},
                            {nullptr, 0, nullptr, 0}};
  placement::Host client;
  placement::Host server;
  std::string only;
  std::vector<std::string> without;
  std::uint64_t seed = placement::Suite::seed();
  bool siw = false;
  for (int choice = 0; (choice = getopt_long(argc, argv, "h", options, nullptr)) != -1;) {
    switch (choice) {
      case 's':
        server.address = optarg;
        break;
      case 'a':
        server.netns = optarg;
        break;
      case 'b':
        client.netns = optarg;
        break;
      case 'o':
        only = optarg;
        break;
      case 'x':
        without.emplace_back(optarg);
        break;
      case 'r':
        seed = std::strtoull(optarg, nullptr, 0);
        break;
      case 'w':
        siw = true;
        break;
      default:
        std::fputs(kUsage, choice == 'h' ? stdout : stderr);
        return choice == 'h' ? EXIT_SUCCESS : EXIT_FAILURE;
    }
  }
  if (server.address.empty() || optind != argc) {
    std::fputs(kUsage, stderr);
    return EXIT_FAILURE;
  }
  return run(client, server, only, without, seed, siw);
}
