// SPDX-License-Identifier: GPL-2.0
// The hosts that compile, as the user lists them, and whom a daemon serves.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "address.h"

namespace rdma::rdistcc {

struct Host {
  Address address;
  unsigned slots;  // jobs at once, from this user of this host
};

// Reads "HOST:PORT/SLOTS HOST:PORT ..."; without /SLOTS a host has 4. Throws Failure
// (kInput).
std::vector<Host> read_hosts(std::string_view text);

// What was said of a host, with its address before it unless that is named already.
std::string of_host(const Host& host, const std::string& what);

// Addresses that begin alike: "10.0.0.0/24", "fd00::/64", or one address.
class Network {
 public:
  // Throws Failure (kInput).
  explicit Network(std::string_view text);
  // `host` is numeric, as Address::of() makes it; IPv4 in IPv6 counts as IPv4.
  bool contains(const std::string& host) const;

 private:
  std::array<std::uint8_t, 16> bytes_{};
  int family_ = 0;
  unsigned bits_ = 0;
};

}  // namespace rdma::rdistcc
