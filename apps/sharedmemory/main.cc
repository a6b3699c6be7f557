// SPDX-License-Identifier: GPL-2.0
// sharedmemory: computations on hosts that write and read each other's memory. README.md tells
// more.
#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "failure.h"
#include "options.h"
#include "run.h"

namespace {

using sharedmemory::Activity;
using sharedmemory::Options;
using sharedmemory::Outcome;

constexpr int kWrong = 1;  // exit status: the run
constexpr int kUsage = 2;  // the arguments
constexpr std::chrono::seconds kEvery{3};

// Says how far the work is, every few seconds.
sharedmemory::Watch watch() {
  return [last = apps::Clock::now()](const char* what, std::size_t done, std::size_t of) mutable {
    if (apps::Clock::now() - last > kEvery) {
      last = apps::Clock::now();
      std::fprintf(stderr, "sharedmemory: %s %zu of %zu\n", what, done, of);
    }
  };
}

std::string verdict(const Options& options, const Outcome& outcome) {
  if (!outcome.result || options.alone || !options.verify) {
    return "none";
  }
  return outcome.difference.empty() ? "equal" : "different";
}

void print(const Options& options, const Outcome& outcome) {
  const auto& times = outcome.times;
  const std::string transport(options.alone ? "alone" : apps::name_of(options.transport));
  const double computing = times.seconds(Activity::kComputing);
  const double waiting = times.seconds(Activity::kWaiting);
  const double data = times.seconds(Activity::kData);
  const double locks = times.seconds(Activity::kLocks);
  if (options.json) {
    std::printf(
        "{\"kernel\": \"%s\", \"size\": %zu, \"hosts\": %d, \"transport\": \"%s\", \"host\": %d, "
        "\"total\": %.6f, \"computing\": %.6f, \"waiting\": %.6f, \"data\": %.6f, "
        "\"locks\": %.6f, \"verdict\": \"%s\"}\n",
        options.kernel.c_str(), options.size, options.host_count(), transport.c_str(), options.rank,
        times.total(), computing, waiting, data, locks, verdict(options, outcome).c_str());
    return;
  }
  const std::string where = options.alone
                                ? "one process"
                                : "host " + std::to_string(options.rank) + " of " +
                                      std::to_string(options.host_count()) + " over " + transport;
  std::printf("%s of %zu, %s: %.3f s: computing %.3f, waiting %.3f, data %.3f, locks %.3f\n",
              options.kernel.c_str(), options.size, where.c_str(), times.total(), computing,
              waiting, data, locks);
  if (verdict(options, outcome) == "equal") {
    std::printf("the result is that of one process, bit by bit\n");
  }
}

int complain(const std::string& what, int status) {
  std::fprintf(stderr, "sharedmemory: %s\n", what.c_str());
  return status;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    const auto options = Options::parse({arguments + 1, static_cast<std::size_t>(count - 1)});
    if (options.help) {
      std::printf("%s", std::string(sharedmemory::usage()).c_str());
      return 0;
    }
    const auto outcome = sharedmemory::run(options, watch());
    print(options, outcome);
    if (!outcome.difference.empty()) {
      return complain("the result is not that of one process: " + outcome.difference, kWrong);
    }
    if (std::fflush(stdout) != 0) {
      return complain("the times could not be written; is the disk full?", kWrong);
    }
    return 0;
  } catch (const apps::Failure& failure) {
    const bool usage = failure.cause() == apps::Cause::kInput;
    return complain(failure.what() + std::string(usage ? " (see --help)" : ""),
                    usage ? kUsage : kWrong);
  } catch (const std::bad_alloc&) {
    return complain("there is not enough memory; choose a smaller --size", kWrong);
  } catch (const std::exception& failure) {
    return complain(failure.what(), kWrong);
  }
}
