// SPDX-License-Identifier: GPL-2.0
// A client that connects as it should, and ends at any moment.
#include "counts.h"
#include "link.h"
#include "parts.h"

namespace rdma::storm {

namespace {

bool resolved(rdma_cm_id* id, const Address& address) {
  try {
    resolve(id, address, std::chrono::seconds(1));
    return true;
  } catch (const Failure&) {
    return false;
  }
}

void connect_once(const Options& options, Chance& chance) {
  const Channel channel(rdma_create_event_channel());
  rdma_cm_id* id = nullptr;
  if (channel == nullptr || rdma_create_id(channel.get(), &id, nullptr, RDMA_PS_TCP) != 0) {
    return;
  }
  Link link(id);
  if (resolved(id, options.address) && link.open(chance) && link.connect(chance)) {
    const auto news =
        next_news(channel.get(), std::chrono::duration_cast<Limit>(chance.a_while() * 4));
    if (news && news->type == RDMA_CM_EVENT_ESTABLISHED) {
      count(kConnects);
      link.found(*news);
      link.work(chance);
      chance.nap();
      link.work(chance);
    }
  } else {
    chance.nap();
  }
  link.end(chance);
}

}  // namespace

void connect(const Options& options) {
  live(options, connect_once);
}

}  // namespace rdma::storm
