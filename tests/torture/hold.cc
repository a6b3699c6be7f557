// SPDX-License-Identifier: GPL-2.0
// Listens, and leaves the requests that come unanswered or rejects them, for the part "ends".
#include <cstdio>

#include "connector.h"
#include "failure.h"
#include "parts.h"

namespace torture {

void hold(const Options& options) {
  const placement::Connector connector({.netns = options.client_netns, .address = ""},
                                       {.netns = options.server_netns, .address = options.server});
  std::printf("port %u\n", connector.port());
  std::fflush(stdout);
  for (;;) {
    placement::Told told{};
    rdma_cm_id* id = nullptr;
    try {
      id = connector.accepted(&told);
    } catch (const placement::Failure&) {
      continue;  // nobody has come for a while
    }
    std::puts("request");
    std::fflush(stdout);
    if (options.breaks) {
      rdma_reject(id, "no", 2);
    }
  }
}

}  // namespace torture
