// SPDX-License-Identifier: GPL-2.0
// A client that connects as it should, and ends at any moment.
#include <rdma/rdma_cma.h>

#include "counts.h"
#include "link.h"
#include "parts.h"

namespace storm {

namespace {

constexpr std::chrono::milliseconds kResolved{1000};

bool resolve(rdma_cm_id* id, const Options& options) {
  sockaddr_storage where = place_of(options);
  News news;
  return rdma_resolve_addr(id, nullptr, reinterpret_cast<sockaddr*>(&where), kResolved.count()) ==
             0 &&
         next_news(id->channel, kResolved, news) && news.type == RDMA_CM_EVENT_ADDR_RESOLVED &&
         rdma_resolve_route(id, kResolved.count()) == 0 &&
         next_news(id->channel, kResolved, news) && news.type == RDMA_CM_EVENT_ROUTE_RESOLVED;
}

void connect_once(const Options& options, Chance& chance) {
  rdma_event_channel* const channel = rdma_create_event_channel();
  rdma_cm_id* id = nullptr;
  if (channel == nullptr) {
    return;
  }
  if (rdma_create_id(channel, &id, nullptr, RDMA_PS_TCP) == 0) {
    Link link(id);
    if (resolve(id, options) && link.open(chance) && link.connect(chance)) {
      News news;
      const auto patience =
          std::chrono::duration_cast<std::chrono::milliseconds>(chance.a_while() * 4);
      if (next_news(channel, patience, news) && news.type == RDMA_CM_EVENT_ESTABLISHED) {
        count(kConnects);
        link.found(news.private_data.data(), news.private_data.size());
        link.work(chance);
        chance.nap();
        link.work(chance);
      }
    } else {
      chance.nap();
    }
    link.end(chance);
  }
  rdma_destroy_event_channel(channel);
}

}  // namespace

void connect(const Options& options) {
  live(options, connect_once);
}

}  // namespace storm
