// SPDX-License-Identifier: GPL-2.0
// Network namespaces, as `ip netns` names them.
#pragma once

#include <fcntl.h>
#include <sched.h>

#include "descriptor.h"
#include "failure.h"

namespace rdma {

// The calling thread goes to that namespace for good; an empty name is its own. Throws Failure.
inline void enter(const std::string& netns) {
  if (!netns.empty()) {
    const Descriptor there(open(("/run/netns/" + netns).c_str(), O_RDONLY | O_CLOEXEC));
    must(setns(there.number(), CLONE_NEWNET), "entering network namespace " + netns);
  }
}

// The calling thread is in that namespace as long as this lives. An rdma_cm identifier belongs to
// the namespace that it was made in.
class Inside {
 public:
  explicit Inside(const std::string& netns)
      : home_(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)) {
    enter(netns);
  }
  ~Inside() { setns(home_.number(), CLONE_NEWNET); }

 private:
  Descriptor home_;
};

}  // namespace rdma
