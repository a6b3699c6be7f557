// SPDX-License-Identifier: GPL-2.0
// The hosts that compile, as the user lists them, how many jobs of this user are on each, and whom
// a daemon serves.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "address.h"
#include "descriptor.h"

namespace rdma::rdistcc {

struct Host {
  Address address;
  unsigned slots;  // jobs at once, from this user of this host
};

// Reads "HOST:PORT/SLOTS HOST:PORT ..."; without /SLOTS a host has 4. Throws Failure
// (kInput).
std::vector<Host> read_hosts(const std::string& text);

// What was said of a host, with its address before it unless that is named already.
std::string of_host(const Host& host, const std::string& what);

// Addresses that begin alike: "10.0.0.0/24", "fd00::/64", or one address.
class Network {
 public:
  // Throws Failure (kInput).
  explicit Network(std::string_view text);
  // `host` is numeric, as Address::of() makes it; IPv4 in IPv6 counts as IPv4.
  bool contains(const std::string& host) const;

  struct Bytes {
    int family = 0;  // 0: no address
    std::array<std::uint8_t, 16> bytes{};
  };

 private:
  Bytes address_;
  unsigned bits_ = 0;
};

struct Slot {
  const Host* host;
  Descriptor held;
};

// Files that are locked while a job is at a host, so that a client that is killed leaves none
// behind.
class Slots {
 public:
  // Files are in a directory of the user's: $XDG_RUNTIME_DIR/rdistcc, or one in /tmp. Throws
  // Failure (kSystem).
  Slots();
  explicit Slots(std::string directory);

  // A free slot of the host that has most of them free and is not in `besides`; none if all are
  // taken. A host that was marked as down is left alone for half a minute.
  std::optional<Slot> take(const std::vector<Host>& hosts,
                           const std::vector<const Host*>& besides) const;
  void mark_down(const Host& host) const;

 private:
  std::string file(const Host& host, const std::string& what) const;
  bool is_down(const Host& host) const;

  std::string directory_;
};

}  // namespace rdma::rdistcc
