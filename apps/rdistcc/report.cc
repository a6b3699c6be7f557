// SPDX-License-Identifier: GPL-2.0
#include "report.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <cstdio>
#include <iomanip>
#include <iostream>
#include <sstream>

#include "descriptor.h"

namespace rdistcc {

namespace {

std::string quoted(const std::string& text) {
  std::ostringstream out;
  out << '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out << '\\' << c;
    } else if (byte < 0x20) {
      out << "\\u" << std::hex << std::setw(4) << std::setfill('0') << unsigned{byte} << std::dec;
    } else {
      out << c;
    }
  }
  out << '"';
  return out.str();
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

std::string Report::json() const {
  rusage own{};
  rusage children{};
  getrusage(RUSAGE_SELF, &own);
  getrusage(RUSAGE_CHILDREN, &children);
  std::ostringstream out;
  out << std::fixed << std::setprecision(6);
  out << "{\"source\": " << quoted(source) << ", \"host\": " << quoted(host)
      << ", \"transport\": " << quoted(transport) << ", \"why\": " << quoted(why)
      << ", \"status\": " << status << ", \"preprocessing\": " << preprocessing.count()
      << ", \"connecting\": " << connecting.count() << ", \"registering\": " << registering.count()
      << ", \"transferring\": " << transferring.count() << ", \"compiling\": " << compiling.count()
      << ", \"whole\": " << whole.count()
      << ", \"user\": " << seconds(own.ru_utime) + seconds(children.ru_utime)
      << ", \"system\": " << seconds(own.ru_stime) + seconds(children.ru_stime)
      << ", \"bytes_out\": " << bytes_out << ", \"bytes_in\": " << bytes_in << "}";
  return out.str();
}

void Report::append_to(const char* path) const {
  const apps::Descriptor file(open(path, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0666));
  // One write, since other jobs add theirs.
  const std::string line = json() + "\n";
  if (!file ||
      write(file.number(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    std::cerr << "rdistcc: RDISTCC_STATS can't be written to " << path << std::endl;
  }
}

}  // namespace rdistcc
