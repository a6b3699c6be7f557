// SPDX-License-Identifier: GPL-2.0
// The processes of the lab storm, one a call.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "parts.h"
#include "program.h"

namespace rdma::storm {
namespace {

struct Part {
  const char* name;
  void (*run)(const Options& options);
  const char* what;
};

void print_counts(const Options&) {
  for (std::size_t at = 0; at < kCounts; ++at)
    std::printf("%s %llu\n", kNames.at(at),
                static_cast<unsigned long long>(counts().at(at).load()));
}

constexpr Part kParts[] = {
    {"serve", serve, "listens at --address and --port, accepts, and ends, without end"},
    {"connect", connect, "connects to it, sends, and ends, without end"},
    {"intrude", intrude, "connects by plain sockets, and says half, nonsense or nothing"},
    {"churn", churn, "makes and ends regions, windows and queues of --device"},
    {"answer", answer, "answers honest clients"},
    {"ask", ask, "is one, and prints how many milliseconds it took"},
    {"counts", print_counts, "prints what --counts holds"}};

}  // namespace

void live(const Options& options, void (*life)(const Options& options, Chance& chance)) {
  Chance chance(options.seed);
  for (;;) {
    const std::uint64_t seed = options.seed + chance.below(1U << 30);
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      Chance own(seed);
      for (std::size_t lives = 1 + own.below(20); lives > 0; --lives) life(options, own);
      _exit(0);
    }
    if (child < 0) {
      usleep(1000);
    } else if (chance.one_in(3)) {
      chance.nap();
      kill(child, SIGKILL);  // the kernel clears up
    }
    while (child > 0 && waitpid(child, nullptr, 0) < 0) {
    }
  }
}

}  // namespace rdma::storm

int main(int argc, char** argv) {
  constexpr auto kPurpose = "The processes of the lab storm, one a call";
  return rdma::run_program("storm", kPurpose, argc, argv, [](rdma::Program& app) {
    rdma::storm::Options options;
    std::string file;
    app.fallthrough();
    app.require_subcommand(1);
    app.add_option("--address", options.address.host, "of the server");
    app.add_option("--port", options.address.port, "of the server");
    app.add_option("--seed", options.seed, "of what is left to chance");
    app.add_option("--device", options.device, "churn: of this one");
    app.add_option("--counts", file, "where all processes count");
    app.add_option("--listeners", options.listeners,
                   "intrude: also connect to the ports of this table, /proc/PID/net/tcp");
    app.add_flag("--sctp", options.sctp, "intrude: by SCTP");
    void (*run)(const rdma::storm::Options&) = nullptr;
    for (const auto& part : rdma::storm::kParts)
      app.add_subcommand(part.name, part.what)->callback([&] { run = part.run; });
    app.read();
    rdma::storm::counts(file);
    run(options);
    return 0;
  });
}
