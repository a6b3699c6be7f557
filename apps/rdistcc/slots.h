// SPDX-License-Identifier: GPL-2.0
// How many jobs of this user are on each host: files that are locked while a job is there, so that
// a client that is killed leaves none behind.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "descriptor.h"
#include "hosts.h"

namespace rdma::rdistcc {

struct Slot {
  const Host* host;
  Descriptor held;
};

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
