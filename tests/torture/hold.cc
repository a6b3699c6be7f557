// SPDX-License-Identifier: GPL-2.0
// Listens, and leaves the requests that come unanswered or rejects them, for the part "ends".
#include <cstdio>

#include "parts.h"

namespace rdma::torture {

void hold(const Options& options) {
  const Connector connector = connector_of(options);
  std::vector<Caller> unanswered;
  std::printf("port %u\n", connector.port());
  std::fflush(stdout);
  for (;;) {
    try {
      unanswered.push_back(connector.accepted());
    } catch (const Failure&) {
      continue;  // nobody has come for a while
    }
    std::puts("request");
    std::fflush(stdout);
    if (options.breaks) {
      rdma_reject(unanswered.back().id.get(), "no", 2);
    }
  }
}

}  // namespace rdma::torture
