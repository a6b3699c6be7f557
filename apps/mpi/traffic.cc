// SPDX-License-Identifier: GPL-2.0
#include "traffic.h"

#include <fstream>
#include <set>
#include <string>
#include <system_error>

namespace rdma::mpibench {

namespace {

namespace fs = std::filesystem;

// The first word of a file, or nothing.
std::string word_in(const fs::path& file) {
  std::string word;
  std::ifstream(file) >> word;
  return word;
}

std::uint64_t count_in(const fs::path& file) {
  std::uint64_t count = 0;
  std::ifstream(file) >> count;
  return count;
}

// What is in a directory, or nothing if there is none.
fs::directory_iterator list(const fs::path& directory) {
  std::error_code error;
  return {directory, error};
}

std::string without_colons(const std::string& text, std::size_t digits) {
  std::string out;
  for (const char c : text) {
    if (c != ':' && out.size() < digits) {
      out += c;
    }
  }
  return out;
}

}  // namespace

Traffic traffic(const fs::path& interfaces, const fs::path& devices) {
  constexpr std::size_t kMacDigits = 12;
  Traffic sum;
  std::set<std::string> own;
  for (const fs::directory_entry& entry : list(interfaces)) {
    if (entry.path().filename() == "lo") {
      continue;
    }
    own.insert(without_colons(word_in(entry.path() / "address"), kMacDigits));
    sum.interface_bytes += count_in(entry.path() / "statistics/rx_bytes") +
                           count_in(entry.path() / "statistics/tx_bytes");
  }
  for (const fs::directory_entry& entry : list(devices)) {
    const fs::path port = entry.path() / "ports/1";
    // An iWARP device's first GID begins with its MAC address.
    if (own.contains(without_colons(word_in(port / "gids/0"), kMacDigits))) {
      sum.device_bytes +=
          count_in(port / "hw_counters/rx_bytes") + count_in(port / "hw_counters/tx_bytes");
    }
  }
  return sum;
}

}  // namespace rdma::mpibench
