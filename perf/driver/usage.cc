// SPDX-License-Identifier: GPL-2.0
#include "usage.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "calls.h"
#include "failure.h"

namespace rdma::perf {

namespace {

double seconds(const timeval& time) {
  constexpr double kMicro = 1e-6;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * kMicro;
}

}  // namespace

Usage Stopwatch::now() {
  Usage usage;
  rusage mine{};
  if (getrusage(RUSAGE_SELF, &mine) != 0) {
    fail_errno("getrusage");
  }
  usage.user = seconds(mine.ru_utime);
  usage.system = seconds(mine.ru_stime);
  usage.switches = mine.ru_nvcsw + mine.ru_nivcsw;
  // cpu user nice system idle iowait irq softirq steal
  std::ifstream stat("/proc/stat");
  std::string word;
  double user = 0;
  double nice = 0;
  double system = 0;
  double idle = 0;
  double iowait = 0;
  double irq = 0;
  double softirq = 0;
  stat >> word >> user >> nice >> system >> idle >> iowait >> irq >> softirq;
  require(stat.good() && word == "cpu", "cannot read /proc/stat");
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  usage.machine = (user + nice + system + irq + softirq) / ticks;
  usage.interrupts = (irq + softirq) / ticks;
  const Calls made = calls();
  usage.reads = made.reads;
  usage.writes = made.writes;
  return usage;
}

Stopwatch::Stopwatch() : at_begin_(now()) {
  begin_ = Clock::now();
}

Usage Stopwatch::stop() const {
  const Clock::time_point end = Clock::now();
  Usage usage = now();
  usage.seconds = std::chrono::duration<double>(end - begin_).count();
  usage.user -= at_begin_.user;
  usage.system -= at_begin_.system;
  usage.machine -= at_begin_.machine;
  usage.interrupts -= at_begin_.interrupts;
  usage.switches -= at_begin_.switches;
  usage.reads = usage.reads < 0 ? -1 : usage.reads - at_begin_.reads;
  usage.writes = usage.writes < 0 ? -1 : usage.writes - at_begin_.writes;
  return usage;
}

std::string Usage::line() const {
  std::ostringstream out;
  out << seconds << ' ' << user << ' ' << system << ' ' << machine << ' ' << interrupts << ' '
      << switches << ' ' << reads << ' ' << writes;
  return out.str();
}

Usage Usage::parse(const std::string& line) {
  Usage usage;
  std::istringstream in(line);
  in >> usage.seconds >> usage.user >> usage.system >> usage.machine >> usage.interrupts >>
      usage.switches >> usage.reads >> usage.writes;
  require(!in.fail(), "the server's account makes no sense: " + line);
  return usage;
}

}  // namespace rdma::perf
