// SPDX-License-Identifier: GPL-2.0
// A server that begins and ends at one address, while clients and strangers come.
#include <rdma/rdma_cma.h>

#include <algorithm>
#include <list>

#include "counts.h"
#include "link.h"
#include "parts.h"

namespace storm {

namespace {

using Clock = std::chrono::steady_clock;
using Links = std::list<Link>;

Links::iterator link_of(Links& links, const rdma_cm_id* id) {
  return std::ranges::find_if(links, [id](const Link& link) { return link.id() == id; });
}

void take(const News& news, Links& links, Chance& chance) {
  Link& link = links.emplace_back(news.id);
  link.found(news.private_data.data(), news.private_data.size());
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

void hear(const News& news, Links& links, Chance& chance) {
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
  rdma_event_channel* const channel = rdma_create_event_channel();
  sockaddr_storage where = place_of(options);
  rdma_cm_id* listener = nullptr;
  if (channel == nullptr) {
    return;
  }
  if (rdma_create_id(channel, &listener, nullptr, RDMA_PS_TCP) == 0) {
    Links links;
    if (rdma_bind_addr(listener, reinterpret_cast<sockaddr*>(&where)) == 0 &&
        rdma_listen(listener, static_cast<int>(1 + chance.below(64))) == 0) {
      count(kListens);
      const auto until = Clock::now() + chance.a_while();
      News news;
      while (Clock::now() < until) {
        if (next_news(channel, std::chrono::milliseconds(1), news)) {
          hear(news, links, chance);
        }
      }
    } else {
      chance.nap();  // the device is gone, or the port still taken
    }
    if (chance.one_in(2)) {
      rdma_destroy_id(listener);
      listener = nullptr;
    }
    for (Link& link : links) {
      link.end(chance);
    }
    if (listener != nullptr) {
      rdma_destroy_id(listener);
    }
  }
  rdma_destroy_event_channel(channel);
}

}  // namespace

void serve(const Options& options) {
  live(options, serve_once);
}

}  // namespace storm
