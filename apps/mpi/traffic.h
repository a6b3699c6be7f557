// SPDX-License-Identifier: GPL-2.0
// What carried the bytes of a run: the counters of this host's RDMA devices and network devices.
#pragma once

#include <cstdint>
#include <filesystem>

namespace rdma::mpibench {

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
