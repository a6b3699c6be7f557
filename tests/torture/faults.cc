// SPDX-License-Identifier: GPL-2.0
// Failures made to order: /proc/thread-self/fail-nth has the Nth allocation or copy from or to
// user memory fail, whichever comes, of what the thread does next. Each N gets a process of its
// own, so that what a failed call leaves behind is cleared as the kernel clears it.
#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iostream>

#include "child.h"
#include "descriptor.h"
#include "parts.h"

namespace rdma::torture {
namespace {

using std::chrono::milliseconds;

// How a process with a failure in it may end.
enum Status {
  kWentWell = 0,    // nothing failed that the scenario noticed
  kFailed = 1,      // a call failed and the scenario was given up
  kNoOccasion = 2,  // it ended before the Nth occasion; nothing failed
  kNotReady = 3,    // what comes before failed, without any failure of ours
};

class Trigger {
 public:
  Trigger() : file_(open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC)) {
    if (!file_) fail_errno("/proc/thread-self/fail-nth: this needs the kernel of make torture");
  }

  void arm(std::uint64_t nth) const {
    const std::string text = std::to_string(nth);
    require(
        pwrite(file_.number(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()),
        "fail-nth takes no number");
  }
  // Returns whether anything failed since arm().
  bool disarm() const {
    std::array<char, 24> text{};
    // The copies of these calls are occasions as well: the one that fails says so by failing.
    const ssize_t length = pread(file_.number(), text.data(), text.size() - 1, 0);
    while (pwrite(file_.number(), "0", 1, 0) != 1) {
    }
    return length > 0 && std::strtoull(text.data(), nullptr, 10) == 0;
  }

 private:
  Descriptor file_;
};

void set(const std::string& path, std::uint64_t number) {
  std::ofstream file(path);
  require(static_cast<bool>(file << number << std::flush), path + " takes no number");
}

// How many allocations in a hundred fail of those that failslab is set up for.
void fail_allocations(std::uint64_t probability) {
  set("/sys/kernel/debug/failslab/probability", probability);
}

// What the kernel's log says of the failures that were made, from now on.
class Forced {
 public:
  Forced() : log_(open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
    if (lseek(log_.number(), 0, SEEK_END) < 0) fail_errno("/dev/kmsg");
  }

  // Which copy or allocation failed: its kind, and who called it, the innermost first.
  std::string where() const {
    // One that asked for silence, as those for packets do.
    std::string kind = "an allocation that the kernel's log is silent about";
    std::string callers;
    std::array<char, 8192> record{};
    unsigned depth = 0;
    for (;;) {
      const ssize_t length = read(log_.number(), record.data(), record.size() - 1);
      if (length < 0 && errno == EPIPE) continue;  // it has wrapped; what is left comes next
      if (length <= 0) return kind.append(" ").append(callers);
      // "PRIORITY,NUMBER,TIME,-;TEXT\n", and lines of keys and values.
      std::string text(record.data(), static_cast<std::size_t>(length));
      text = text.substr(0, text.find('\n'));
      text.erase(0, text.find(';') + 1);
      if (text.find("FAULT_INJECTION: forcing a failure") != std::string::npos) {
        // Lines within a text are told apart by "\\x0a".
        const std::size_t begin = text.find("name ") + 5;
        kind = text.substr(begin, text.find(',', begin) - begin);
        callers.clear();
        depth = 0;
      } else {
        caller(text, callers, depth);
      }
    }
  }

 private:
  // A line of a trace: " [<ADDRESS>] NAME+0xOFFSET/0xLENGTH". User Mode Linux guesses: whatever
  // lies on the stack and may be such an address. The beginning of a function is none.
  static void caller(const std::string& text, std::string& callers, unsigned& depth) {
    constexpr unsigned kDeepest = 16;
    const std::size_t end = text.find("+0x");
    const std::size_t begin = text.rfind(' ', end);
    if (end == std::string::npos || begin == std::string::npos ||
        text.compare(end, 5, "+0x0/") == 0)
      return;
    const std::string name = text.substr(begin + 1, end - begin - 1);
    for (const char* machinery :
         {"stack", "trace", "should_fail", "asan", "print", "lock", "might"})
      if (name.find(machinery) != std::string::npos) return;
    if (callers.find(" " + name + " ") == std::string::npos && depth++ < kDeepest)
      callers += "< " + name + " ";
  }

  Descriptor log_;
};

// Memory that is not there yet would be the first to fail.
void settle_memory() {
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
  mallopt(M_MMAP_THRESHOLD, 64 << 20);
  void* room = std::malloc(4U << 20);
  if (room != nullptr) std::memset(room, 1, 4U << 20);
  std::free(room);
  mlockall(MCL_CURRENT);
}

// The child's life. `nth` 0: nothing is to fail.
int live(const Scenario& scenario, const Options& options, std::uint64_t nth) {
  int status = kWentWell;
  std::string said;
  try {
    const Body body = scenario.prepare(options);
    settle_memory();
    const Trigger trigger;
    if (nth != 0)
      trigger.arm(nth);
    else if (options.marked)
      set("/proc/self/make-it-fail", 1);  // for this process and those that it starts
    if (options.probability != 0) fail_allocations(options.probability);
    try {
      body();
    } catch (const std::exception& error) {
      status = kFailed;
      said = error.what();
    }
    if (!trigger.disarm() && nth != 0) status = status == kFailed ? kNotReady : kNoOccasion;
    if (scenario.after) scenario.after();
  } catch (const std::exception& error) {
    said = error.what();
    status = kNotReady;
  }
  if (status == kNotReady || (status == kFailed && nth == 0))
    std::cout << "# " << scenario.name << (nth == 0 ? "" : ", and nothing was to fail") << ": "
              << said << '\n';
  return status;
}

End run(const Scenario& scenario, const Options& options, std::uint64_t nth, milliseconds limit) {
  const Child child([&] { return live(scenario, options, nth); });
  const End end = child.end(limit);
  if (end.stuck) {
    std::cout << "# " << scenario.name << ", " << nth << ": it cannot be killed; it is at\n";
    std::ifstream stack("/proc/" + std::to_string(child.pid()) + "/stack");
    for (std::string line; std::getline(stack, line);) std::cout << "#   " << line << '\n';
  }
  return end;
}

// The objects of both devices, as `rdma res show` counts them, or what it could not say.
std::string resources() {
  std::string said;
  FILE* output = popen("rdma res show 2>&1", "r");
  require(output != nullptr, "rdma res show does not run");
  std::array<char, 256> line{};
  while (std::fgets(line.data(), line.size(), output) != nullptr) said += line.data();
  const int status = pclose(output);
  require(status == 0 && said.find("weft1") != std::string::npos,
          "rdma res show does not know weft1: " + said);
  return said;
}

// Both devices have as many objects as before; connections may take a while to end.
std::string left_over(const std::string& before) {
  const Deadline deadline(std::chrono::seconds(60));
  std::string now = resources();
  while (now != before && !deadline.over()) {
    usleep(300000);
    now = resources();
  }
  if (now == before) return "";
  std::replace(now.begin(), now.end(), '\n', ' ');
  return "objects are left: " + now;
}

struct Tally {
  std::uint64_t occasions = 0;
  std::uint64_t noticed = 0;
  std::uint64_t gave_up = 0;
  std::string why;  // what is wrong; empty: nothing
};

// Nothing is left over, and without a failure it works.
std::string recovered(const Scenario& scenario, const Options& options, const std::string& before,
                      milliseconds limit) {
  std::string left = left_over(before);
  if (!left.empty()) return left;
  const End normal = run(scenario, options, 0, limit * 4);
  if (!normal.good())
    return "without a failure it does not work any more (status " + std::to_string(normal.status) +
           ", signal " + std::to_string(normal.signal) + (normal.killed ? ", no end)" : ")");
  return "";
}

void judge(const Scenario& scenario, std::uint64_t nth, const End& end, const Forced& forced,
           Tally& tally) {
  ++tally.occasions;
  tally.noticed += end.status == kFailed ? 1U : 0U;
  const std::string which = "occasion " + std::to_string(nth);
  if (end.killed) {
    ++tally.gave_up;
    const std::string where = forced.where();
    std::cout << "# " << scenario.name << ": " << which
              << " had it wait for what never came: " << where << '\n';
    // A command of librdmacm's: when one fails that asks about a request that has come, librdmacm
    // drops the request without a word and waits for the next. And the core counts a completion
    // event as read although its copy failed; ibv_destroy_cq() then waits until somebody has
    // acknowledged that event. Whatever else fails must be told.
    if (where.find("ucma_") == std::string::npos &&
        where.find("ib_uverbs_event_read") == std::string::npos)
      tally.why = which + ": it waits, and what failed is neither rdma_cm's nor uverbs': " + where;
  }
  if (end.stuck)
    tally.why = which + ": the process cannot be killed";
  else if (end.signal != 0)
    tally.why = which + ": killed by signal " + std::to_string(end.signal);
  else if (end.status == kNotReady)
    tally.why = which + ": it failed where nothing was to fail";
}

void fail_each(const Scenario& scenario, const Options& options) {
  constexpr std::uint64_t kBetweenChecks = 16;
  constexpr std::uint64_t kMost = 20000;
  const std::string before = resources();
  const Clock::time_point begin = Clock::now();
  const End normal = run(scenario, options, 0, std::chrono::seconds(120));
  if (!normal.good()) {
    report(std::string("faults in: ") + scenario.name, 1, "",
           "it does not even work without a failure");
    return;
  }
  const auto took = std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
  const milliseconds limit = took * 3 + std::chrono::seconds(3);
  Tally tally;
  std::cout << "# " << scenario.name << ": " << took.count() << " ms without a failure\n";
  for (std::uint64_t nth = options.first; tally.why.empty(); nth += options.step) {
    const Forced forced;
    const End end = run(scenario, options, nth, limit);
    if (end.status == kNoOccasion) break;
    judge(scenario, nth, end, forced, tally);
    if (nth > kMost) tally.why = "there is no end to its occasions";
    if (tally.why.empty() && tally.occasions % kBetweenChecks == 0) {
      tally.why = recovered(scenario, options, before, limit);
      if (!tally.why.empty()) tally.why += ", after occasions up to " + std::to_string(nth);
    }
  }
  if (tally.why.empty()) tally.why = recovered(scenario, options, before, limit);
  report(std::string("faults in: ") + scenario.name, tally.occasions,
         std::to_string(tally.noticed) + " ended it, " + std::to_string(tally.gave_up) +
             " had librdmacm wait until killed, nothing left over, it works",
         tally.why);
}

// The scenarios that are asked for. Has libraries load now what they load once, so that no child
// does.
std::vector<Scenario> wanted(const Options& options) {
  make_channel();
  open_device("weft1");
  std::vector<Scenario> some;
  std::ranges::copy_if(scenarios(), std::back_inserter(some), [&](const Scenario& scenario) {
    return std::string_view(scenario.name).find(options.only) != std::string_view::npos;
  });
  return some;
}

}  // namespace

void faults(const Options& options) {
  for (const Scenario& scenario : wanted(options)) fail_each(scenario, options);
}

void errors(const Options& options) {
  const std::vector<Scenario> some = wanted(options);
  const Deadline deadline{std::chrono::seconds(options.seconds)};
  std::uint64_t runs = 0;
  std::uint64_t failed = 0;
  std::uint64_t gave_up = 0;
  std::string why;
  while (why.empty() && !deadline.over()) {
    for (const Scenario& scenario : some) {
      const End end = run(scenario, options, 0, std::chrono::seconds(30));
      if (options.probability != 0) fail_allocations(0);
      ++runs;
      gave_up += end.killed ? 1U : 0U;
      failed += end.killed || end.status != kWentWell ? 1U : 0U;
      if (end.stuck)
        why = std::string(scenario.name) + " cannot be killed";
      else if (end.signal != 0)
        why = std::string(scenario.name) + " was killed by signal " + std::to_string(end.signal);
    }
  }
  report("scenarios while allocations fail", runs,
         std::to_string(failed) + " failed, " + std::to_string(gave_up) + " of them by waiting",
         why);
}

}  // namespace rdma::torture
