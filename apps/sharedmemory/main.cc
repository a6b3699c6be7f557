// SPDX-License-Identifier: GPL-2.0
// sharedmemory: computations on hosts that write and read each other's memory; see README.md.
#include <cstdio>

#include "program.h"
#include "record.h"
#include "run.h"

namespace rdma::sharedmemory {
namespace {

constexpr std::chrono::seconds kEvery{3};

// Says how far the work is, every few seconds.
Watch watch() {
  return [last = Clock::now()](const char* what, std::size_t done, std::size_t of) mutable {
    if (Clock::now() - last > kEvery) {
      last = Clock::now();
      std::fprintf(stderr, "sharedmemory: %s %zu of %zu\n", what, done, of);
    }
  };
}

int compute(const Options& options) {
  const Outcome outcome = run(options, watch());
  const bool compared = outcome.result && !options.alone && options.verify;
  const bool equal = outcome.difference.empty();
  const Times& times = outcome.times;
  const std::string transport(options.alone ? "alone" : name_of(options.transport));
  const double computing = times.seconds(Activity::kComputing);
  const double waiting = times.seconds(Activity::kWaiting);
  const double data = times.seconds(Activity::kData);
  const double locks = times.seconds(Activity::kLocks);
  if (options.json) {
    constexpr int kDigits = 9;
    std::puts(Record()
                  .add("kernel", options.kernel)
                  .add("size", static_cast<double>(options.size))
                  .add("hosts", options.host_count())
                  .add("transport", transport)
                  .add("host", options.rank)
                  .add("total", times.total(), kDigits)
                  .add("computing", computing, kDigits)
                  .add("waiting", waiting, kDigits)
                  .add("data", data, kDigits)
                  .add("locks", locks, kDigits)
                  .add("verdict", !compared ? "none"
                                  : equal   ? "equal"
                                            : "different")
                  .text()
                  .c_str());
  } else {
    const std::string where = options.alone
                                  ? "one process"
                                  : "host " + std::to_string(options.rank) + " of " +
                                        std::to_string(options.host_count()) + " over " + transport;
    std::printf("%s of %zu, %s: %.3f s: computing %.3f, waiting %.3f, data %.3f, locks %.3f\n",
                options.kernel.c_str(), options.size, where.c_str(), times.total(), computing,
                waiting, data, locks);
    if (compared && equal) std::puts("the result is that of one process, bit by bit");
  }
  if (!equal) throw Failure("the result is not that of one process: " + outcome.difference);
  must(std::fflush(stdout), "the times could not be written; is the disk full?");
  return 0;
}

}  // namespace
}  // namespace rdma::sharedmemory

int main(int count, char** arguments) {
  constexpr auto kPurpose =
      "Computes KERNEL on several hosts that write and read each other's memory. Start it on each\n"
      "host with the same options and its own --rank. Each says how long it took, divided into\n"
      "computing, waiting for others, moving data, and locks; host 0 compares the result with\n"
      "that of one process.";
  return rdma::run_program("sharedmemory", kPurpose, count, arguments, [](rdma::Program& app) {
    app.footer(
        "exit status: 0; 1 if a host ended, the network failed or the result is wrong; 2 for wrong "
        "arguments.");
    rdma::sharedmemory::Options options;
    options.read_from(app);
    app.read();
    return rdma::sharedmemory::compute(options);
  });
}
