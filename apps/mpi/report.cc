// SPDX-License-Identifier: GPL-2.0
#include "report.h"

#include <iostream>
#include <set>
#include <system_error>

#include "sentence.h"

namespace rdma::mpibench {

namespace fs = std::filesystem;

namespace {

// The first word of a file, or nothing.
template <typename Word>
Word in(const fs::path& file) {
  Word word{};
  std::ifstream(file) >> word;
  return word;
}

std::uint64_t both_ways(const fs::path& counters) {
  return in<std::uint64_t>(counters / "rx_bytes") + in<std::uint64_t>(counters / "tx_bytes");
}

// What is in a directory, or nothing if there is none.
fs::directory_iterator list(const fs::path& directory) {
  std::error_code error;
  return {directory, error};
}

// The MAC address that a file begins with, without its colons.
std::string mac_in(const fs::path& file) {
  constexpr std::size_t kDigits = 12;
  std::string digits = in<std::string>(file);
  std::erase(digits, ':');
  return digits.substr(0, kDigits);
}

}  // namespace

Report::Report(const std::string& path) : path_(path) {
  if (path.empty()) return;
  file_.open(path, std::ios::trunc);
  require(file_.good(), Cause::kSystem, "cannot make ", path, ": ", std::strerror(errno));
}

void Report::write(const Record& record) {
  const std::string line = record.text() + "\n";
  std::cout << line << std::flush;
  require(std::cout.good(), "standard output takes no more: is the disk full, or its reader gone?");
  if (!path_.empty()) {
    file_ << line << std::flush;
    require(file_.good(), Cause::kSystem, "cannot write to ", path_, ": ", std::strerror(errno),
            "; what was measured so far is on standard output");
  }
}

Traffic traffic(const fs::path& interfaces, const fs::path& devices) {
  Traffic sum;
  std::set<std::string> own;
  for (const fs::directory_entry& entry : list(interfaces)) {
    if (entry.path().filename() == "lo") continue;
    own.insert(mac_in(entry.path() / "address"));
    sum.interface_bytes += both_ways(entry.path() / "statistics");
  }
  for (const fs::directory_entry& entry : list(devices)) {
    const fs::path port = entry.path() / "ports/1";
    // An iWARP device's first GID begins with its MAC address.
    if (own.contains(mac_in(port / "gids/0"))) sum.device_bytes += both_ways(port / "hw_counters");
  }
  return sum;
}

}  // namespace rdma::mpibench
