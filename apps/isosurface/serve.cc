// SPDX-License-Identifier: GPL-2.0
#include "serve.h"

#include <atomic>
#include <iostream>
#include <list>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include "failure.h"
#include "stream.h"
#include "updates.h"

namespace rdma::isosurface {
namespace {

constexpr std::size_t kMostViewers = 16;

struct Visit {
  std::atomic<bool> over = false;
  std::jthread thread;
};

void serve_one(const Volume& volume, std::int32_t edge, std::unique_ptr<Link> link,
               Limit patience) {
  try {
    Outlet out(std::move(link), "the viewer", patience);
    run({&out}, [&] { answer(volume, edge, out); });
  } catch (const std::exception& failure) {
    std::cerr << std::string("isosurface: ") + failure.what() + '\n';
  }
}

}  // namespace

void serve(const Volume& volume, std::int32_t edge, const Wiring& wiring, const Address& address) {
  const auto listener =
      Listener::listen(wiring.transport, address, settings_for(Ring::kMostSlots, wiring.patience));
  std::cerr << "isosurface: serves viewers at " + listener->address().text() + '\n';
  std::list<Visit> visits;
  for (;;) {
    auto link = listener->accept(kForever);
    if (!link)
      continue;
    visits.remove_if([](const Visit& visit) { return visit.over.load(); });
    if (visits.size() == kMostViewers) {
      std::cerr << "isosurface: a viewer too many; it is sent away\n";
      continue;
    }
    Visit& visit = visits.emplace_back();
    try {
      visit.thread = std::jthread([&, link = std::move(link)]() mutable {
        serve_one(volume, edge, std::move(link), wiring.patience);
        visit.over = true;
      });
    } catch (const std::system_error& failure) {
      visits.pop_back();
      std::cerr << std::string("isosurface: no thread for a viewer; it is sent away: ") +
                       failure.what() + '\n';
    }
  }
}

}  // namespace rdma::isosurface
