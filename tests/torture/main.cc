// SPDX-License-Identifier: GPL-2.0
// What make torture runs between two hosts, one part at a time.
#include <getopt.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "parts.h"

namespace torture {

namespace {

unsigned passed_count = 0;
unsigned failed_count = 0;

constexpr const char* kUsage =
    "usage: torture PART [OPTIONS]\n"
    "\n"
    "  faults    fails the 1st, 2nd, 3rd ... allocation or copy of each scenario\n"
    "  errors    runs the scenarios for a time, whatever fails in them\n"
    "  scribble  writes random words into the rings of a process\n"
    "  fuzz      sends the kernel made-up commands, mappings and methods\n"
    "  bulk      transfers data and verifies every byte\n"
    "  flip      transfers data through a proxy that flips a bit of each connection\n"
    "  hold      listens, and never answers\n"
    "  call      connects, and then does what it reads: drain, again\n"
    "\n"
    "  --server ADDRESS  --server-netns NAME  --client-netns NAME\n"
    "  --only TEXT       scenarios whose names contain TEXT\n"
    "  --seed N          repeats a run\n"
    "  --first N         faults: begin with this one; fuzz: begin with this call\n"
    "  --step N          faults: fail every Nth only\n"
    "  --seconds N       errors, scribble, fuzz: how long\n"
    "  --megabytes N     bulk: how much\n"
    "  --least N         bulk: for at least so many seconds\n"
    "  --flips N         flip: how many bits\n"
    "  --paths           flip: connections have several paths, and go on\n"
    "  --port N          call: at the server\n"
    "  --probability N   errors: of allocations that fail, in a hundred, once connected\n"
    "  --marked          errors: failures at random are for the scenarios' processes\n"
    "  --replay          fuzz: one session, of that seed, and its digests\n"
    "  --breaks          bulk: a connection that breaks is made again; hold: rejects\n"
    "\n"
    "Each row of the result is a line: row|WHAT|HOW OFTEN|WHAT CAME OUT.\n";

struct Part {
  const char* name;
  void (*run)(const Options& options);
};
constexpr std::array kParts = {
    Part{"faults", faults}, Part{"errors", errors}, Part{"scribble", scribble}, Part{"fuzz", fuzz},
    Part{"bulk", bulk},     Part{"hold", hold},     Part{"call", call},         Part{"flip", flip}};

// Returns true if the arguments make sense.
bool parse(int argc, char** argv, Options& options) {
  static const std::array<option, 18> names = {{{"server", required_argument, nullptr, 's'},
                                                {"server-netns", required_argument, nullptr, 'a'},
                                                {"client-netns", required_argument, nullptr, 'b'},
                                                {"only", required_argument, nullptr, 'o'},
                                                {"seed", required_argument, nullptr, 'r'},
                                                {"first", required_argument, nullptr, 'f'},
                                                {"step", required_argument, nullptr, 'p'},
                                                {"seconds", required_argument, nullptr, 't'},
                                                {"megabytes", required_argument, nullptr, 'm'},
                                                {"port", required_argument, nullptr, 'q'},
                                                {"least", required_argument, nullptr, 'l'},
                                                {"flips", required_argument, nullptr, 'x'},
                                                {"paths", no_argument, nullptr, 'v'},
                                                {"breaks", no_argument, nullptr, 'k'},
                                                {"probability", required_argument, nullptr, 'z'},
                                                {"replay", no_argument, nullptr, 'y'},
                                                {"marked", no_argument, nullptr, 'd'},
                                                {}}};
  for (;;) {
    switch (getopt_long(argc, argv, "", names.data(), nullptr)) {
      case -1:
        return optind + 1 == argc;
      case 's':
        options.server = optarg;
        break;
      case 'a':
        options.server_netns = optarg;
        break;
      case 'b':
        options.client_netns = optarg;
        break;
      case 'o':
        options.only = optarg;
        break;
      case 'r':
        options.seed = std::strtoull(optarg, nullptr, 0);
        break;
      case 'f':
        options.first = std::strtoull(optarg, nullptr, 0);
        break;
      case 'p':
        options.step = std::strtoull(optarg, nullptr, 0);
        break;
      case 't':
        options.seconds = std::strtoull(optarg, nullptr, 0);
        break;
      case 'm':
        options.megabytes = std::strtoull(optarg, nullptr, 0);
        break;
      case 'q':
        options.port = std::strtoull(optarg, nullptr, 0);
        break;
      case 'l':
        options.least = std::strtoull(optarg, nullptr, 0);
        break;
      case 'x':
        options.flips = std::strtoull(optarg, nullptr, 0);
        break;
      case 'z':
        options.probability = std::strtoull(optarg, nullptr, 0);
        break;
      case 'v':
        options.paths = true;
        break;
      case 'd':
        options.marked = true;
        break;
      case 'y':
        options.replay = true;
        break;
      case 'k':
        options.breaks = true;
        break;
      default:
        return false;
    }
  }
}

}  // namespace

void report(const std::string& what, std::uint64_t count, const std::string& outcome,
            const std::string& failure) {
  std::printf("row|%s|%llu|%s\n", what.c_str(), static_cast<unsigned long long>(count),
              (failure.empty() ? outcome : "FAILED: " + failure).c_str());
  if (failure.empty() && count != 0) {
    ++passed_count;
    std::printf("ok %u - %s\n", passed_count + failed_count, what.c_str());
  } else {
    ++failed_count;
    std::printf("not ok %u - %s: %s\n", passed_count + failed_count, what.c_str(),
                failure.empty() ? "it was tried no times" : failure.c_str());
  }
  std::fflush(stdout);
}

unsigned failures() {
  return failed_count;
}

}  // namespace torture

int main(int argc, char** argv) {
  torture::Options options;
  if (!torture::parse(argc, argv, options) || options.step == 0) {
    std::fputs(torture::kUsage, stderr);
    return 2;
  }
  for (const torture::Part& part : torture::kParts) {
    if (std::strcmp(argv[optind], part.name) != 0) {
      continue;
    }
    try {
      part.run(options);
    } catch (const std::exception& error) {
      ++torture::failed_count;
      std::printf("not ok %u - %s: %s\n", torture::passed_count + torture::failed_count, part.name,
                  error.what());
    }
    std::printf("1..%u\n", torture::passed_count + torture::failed_count);
    return torture::failed_count != 0 || torture::passed_count == 0 ? EXIT_FAILURE : EXIT_SUCCESS;
  }
  std::fputs(torture::kUsage, stderr);
  return 2;
}
