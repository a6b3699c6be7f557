// SPDX-License-Identifier: GPL-2.0
// A server that begins and ends at one address, while clients and strangers come.
#include <algorithm>
#include <list>

#include "counts.h"
#include "link.h"
#include "parts.h"

namespace rdma::storm {

namespace {

using Links = std::list<Link>;

Links::iterator link_of(Links& links, const rdma_cm_id* id) {
  return std::ranges::find_if(links, [id](const Link& link) { return link.id() == id; });
}

void take(const Event& news, Links& links, Chance& chance) {
  Link& link = links.emplace_back(news.id);
  link.found(news);
  const std::size_t answer = chance.below(8);
  if (answer == 0) {
    rdma_reject(news.id, "no", 2);
  } else if (answer != 1 && link.open(chance) && link.accept(chance)) {
    count(kAccepts);
    return;
  } else if (answer == 1) {
    return;  // unanswered
  }
  links.pop_back();
}

void hear(const Event& news, Links& links, Chance& chance) {
  if (news.type == RDMA_CM_EVENT_CONNECT_REQUEST) {
    take(news, links, chance);
    return;
  }
  const auto link = link_of(links, news.id);
  if (link == links.end()) {
    return;
  }
  if (news.type == RDMA_CM_EVENT_ESTABLISHED) {
    link->work(chance);
  } else if (!chance.one_in(8)) {
    link->end(chance);
    links.erase(link);
  }
}

void serve_once(const Options& options, Chance& chance) {
  const Channel channel(rdma_create_event_channel());
  SocketAddress where = options.address.resolve();
  rdma_cm_id* id = nullptr;
  if (channel == nullptr || rdma_create_id(channel.get(), &id, nullptr, RDMA_PS_TCP) != 0) {
    return;
  }
  Identifier listener(id);
  Links links;
  if (rdma_bind_addr(id, where.get()) == 0 &&
      rdma_listen(id, static_cast<int>(1 + chance.below(64))) == 0) {
    count(kListens);
    const auto until = Clock::now() + chance.a_while();
    while (Clock::now() < until) {
      if (const auto news = next_news(channel.get(), Limit(1))) {
        hear(*news, links, chance);
      }
    }
  } else {
    chance.nap();  // the device is gone, or the port still taken
  }
  if (chance.one_in(2)) {
    listener.reset();
  }
  for (Link& link : links) {
    link.end(chance);
  }
}

}  // namespace

void serve(const Options& options) {
  live(options, serve_once);
}

}  // namespace rdma::storm
