// SPDX-License-Identifier: GPL-2.0
// The processes of the lab storm, one a call.
#include "parts.h"

#include <arpa/inet.h>
#include <getopt.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>

#include "counts.h"

namespace storm {

namespace {

constexpr const char* kUsage =
    "usage: storm PART [OPTIONS]\n"
    "\n"
    "  serve    listens at --address and --port, accepts, and ends, without end\n"
    "  connect  connects to it, sends, and ends, without end\n"
    "  intrude  connects by plain sockets, and says half, nonsense or nothing\n"
    "  churn    makes and ends regions, windows and queues of --device\n"
    "  answer   answers honest clients\n"
    "  ask      is one, and prints how many milliseconds it took\n"
    "  counts   prints what --counts holds\n"
    "\n"
    "  --address ADDRESS --port N --seed N --device NAME\n"
    "  --counts FILE     where all processes count\n"
    "  --listeners FILE  intrude: also connect to the ports of this table, /proc/PID/net/tcp\n"
    "  --sctp            intrude: by SCTP\n";

struct Part {
  const char* name;
  void (*run)(const Options& options);
};
constexpr Part kParts[] = {{"serve", serve}, {"connect", connect}, {"intrude", intrude},
                           {"churn", churn}, {"answer", answer},   {"ask", ask}};

bool parse(int argc, char** argv, Options& options) {
  static constexpr option kNames[] = {
      {"address", required_argument, nullptr, 'a'}, {"port", required_argument, nullptr, 'p'},
      {"seed", required_argument, nullptr, 's'},    {"device", required_argument, nullptr, 'd'},
      {"counts", required_argument, nullptr, 'c'},  {"listeners", required_argument, nullptr, 'l'},
      {"sctp", no_argument, nullptr, 't'},          {}};
  for (;;) {
    switch (getopt_long(argc, argv, "", kNames, nullptr)) {
      case -1:
        return optind + 1 == argc;
      case 'a':
        options.address = optarg;
        break;
      case 'p':
        options.port = static_cast<std::uint16_t>(std::strtoul(optarg, nullptr, 10));
        break;
      case 's':
        options.seed = std::strtoull(optarg, nullptr, 10);
        break;
      case 'd':
        options.device = optarg;
        break;
      case 'c':
        counts(optarg);
        break;
      case 'l':
        options.listeners = optarg;
        break;
      case 't':
        options.sctp = true;
        break;
      default:
        return false;
    }
  }
}

int run(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  const char* const name = argv[optind];
  if (std::strcmp(name, "counts") == 0) {
    for (std::size_t at = 0; at < kCounts; ++at) {
      std::printf("%s %llu\n", kNames.at(at),
                  static_cast<unsigned long long>(counts().at(at).load()));
    }
    return 0;
  }
  for (const Part& part : kParts) {
    if (std::strcmp(part.name, name) == 0) {
      part.run(options);
      return 0;
    }
  }
  std::fprintf(stderr, "storm: there is no part '%s'\n%s", name, kUsage);
  return 2;
}

}  // namespace

sockaddr_storage place_of(const Options& options) {
  sockaddr_storage place{};
  auto& four = reinterpret_cast<sockaddr_in&>(place);
  auto& six = reinterpret_cast<sockaddr_in6&>(place);
  if (inet_pton(AF_INET, options.address.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = htons(options.port);
  } else if (inet_pton(AF_INET6, options.address.c_str(), &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(options.port);
  } else {
    throw std::runtime_error("'" + options.address + "' is no address");
  }
  return place;
}

void live(const Options& options, void (*life)(const Options& options, Chance& chance)) {
  Chance chance(options.seed);
  for (;;) {
    const std::uint64_t seed = options.seed + chance.below(1U << 30);
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      Chance own(seed);
      for (std::size_t lives = 1 + own.below(20); lives > 0; --lives) {
        life(options, own);
      }
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

}  // namespace storm

int main(int argc, char** argv) {
  try {
    return storm::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "storm: %s\n", error.what());
    return 1;
  }
}
