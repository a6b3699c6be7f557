// SPDX-License-Identifier: GPL-2.0
// Where results go, and what carried the bytes of a run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>

#include "record.h"

namespace rdma::mpibench {

// Standard output, and a file as well if one is named.
class Report {
 public:
  // `path` is empty for no file. Throws Failure if the file cannot be made.
  explicit Report(const std::string& path);
  // Writes the record. Throws Failure if the file or standard output does not take it.
  void write(const Record& record);

 private:
  std::string path_;
  std::ofstream file_;
};

// The counters of this host's RDMA devices and network devices.
struct Traffic {
  std::uint64_t device_bytes = 0;     // by RDMA, both ways, as the devices count
  std::uint64_t interface_bytes = 0;  // all, both ways, without lo: also what RDMA over TCP sends

  Traffic operator-(const Traffic& earlier) const {
    return {device_bytes - earlier.device_bytes, interface_bytes - earlier.interface_bytes};
  }
};

// The counters now. `interfaces` is /sys/class/net, `devices` is /sys/class/infiniband. A device
// that does not count bytes (hw_counters tx_bytes and rx_bytes, as Weft's) counts as nothing. A
// device is this host's if it has the MAC address of one of this host's interfaces: where the host
// is a network namespace, `devices` shows those of the others as well.
Traffic traffic(const std::filesystem::path& interfaces, const std::filesystem::path& devices);

}  // namespace rdma::mpibench
