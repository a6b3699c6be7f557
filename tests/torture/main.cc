// SPDX-License-Identifier: GPL-2.0
// What make torture runs between two hosts, one part at a time.
#include <cstdio>

#include "parts.h"
#include "program.h"

namespace rdma::torture {
namespace {

unsigned passed_count = 0;
unsigned failed_count = 0;

struct Part {
  const char* name;
  void (*run)(const Options& options);
  const char* what;
};
constexpr Part kParts[] = {
    {"faults", faults, "fails the 1st, 2nd, 3rd ... allocation or copy of each scenario"},
    {"errors", errors, "runs the scenarios for a time, whatever fails in them"},
    {"scribble", scribble, "writes random words into the rings of a process"},
    {"fuzz", fuzz, "sends the kernel made-up commands, mappings and methods"},
    {"bulk", bulk, "transfers data and verifies every byte"},
    {"flip", flip, "transfers data through a proxy that flips a bit of each connection"},
    {"hold", hold, "listens, and never answers, or rejects"},
    {"call", call, "connects, then obeys: drain (its queue pair goes to SQD), again (connects)"}};

int run(const Part& part, const Options& options) {
  try {
    part.run(options);
  } catch (const std::exception& error) {
    ++failed_count;
    std::printf("not ok %u - %s: %s\n", passed_count + failed_count, part.name, error.what());
  }
  std::printf("1..%u\n", passed_count + failed_count);
  return failed_count != 0 || passed_count == 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

}  // namespace

void report(const std::string& what, std::uint64_t count, const std::string& outcome,
            const std::string& failure) {
  std::cout << "row|" << what << '|' << count << '|'
            << (failure.empty() ? outcome : "FAILED: " + failure) << '\n';
  const bool good = failure.empty() && count != 0;
  ++(good ? passed_count : failed_count);
  std::cout << (good ? "ok " : "not ok ") << passed_count + failed_count << " - " << what
            << (good ? "" : ": " + (failure.empty() ? "it was tried no times" : failure))
            << std::endl;
}

}  // namespace rdma::torture

int main(int argc, char** argv) {
  constexpr auto kPurpose = "What make torture runs between two hosts, one part at a time";
  return rdma::run_program("torture", kPurpose, argc, argv, [](rdma::Program& app) {
    rdma::torture::Options options;
    app.footer("Each row of the result is a line: row|WHAT|HOW OFTEN|WHAT CAME OUT.");
    app.fallthrough();
    app.require_subcommand(1);
    app.add_option("--server", options.server, "its address");
    app.add_option("--server-netns", options.server_netns, "its network namespace");
    app.add_option("--client-netns", options.client_netns, "the client's");
    app.add_option("--only", options.only, "scenarios whose names contain this");
    app.add_option("--seed", options.seed, "repeats a run");
    app.add_option("--first", options.first, "faults, fuzz: begin with this occasion or call");
    app.add_option("--step", options.step, "faults: every so many")->check(CLI::PositiveNumber);
    app.add_option("--seconds", options.seconds, "errors, scribble, fuzz: how long");
    app.add_option("--megabytes", options.megabytes, "bulk: how much");
    app.add_option("--least", options.least, "bulk: for at least so many seconds");
    app.add_option("--flips", options.flips, "flip: how many bits");
    app.add_flag("--paths", options.paths, "flip: connections have several paths, and go on");
    app.add_option("--port", options.port, "call: at the server");
    app.add_option("--probability", options.probability, "errors: percent to fail, once prepared");
    app.add_flag("--marked", options.marked, "errors: random failures are for the scenarios");
    app.add_flag("--replay", options.replay, "fuzz: one session, of that seed, and its digests");
    app.add_flag("--breaks", options.breaks, "bulk: connects again after a break; hold: rejects");
    const rdma::torture::Part* chosen = nullptr;
    for (const rdma::torture::Part& part : rdma::torture::kParts)
      app.add_subcommand(part.name, part.what)->callback([&] { chosen = &part; });
    app.read();
    return rdma::torture::run(*chosen, options);
  });
}
