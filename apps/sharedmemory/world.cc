// SPDX-License-Identifier: GPL-2.0
#include "world.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace rdma::sharedmemory {
namespace {

// A lock is tried a few times at once, since most are held for less than the way there and back.
// Then pauses double, up to the longest.
constexpr int kAtOnce = 3;
constexpr Limit kFirstPause{1};
constexpr Limit kLongestPause{8};

}  // namespace

void World::check_host(int host) const {
  refuse_if(host < 0 || host >= hosts(), Cause::kProtocol, "there is no host ", host,
            "; what another host wrote is wrong");
}

std::size_t World::check(std::size_t from, std::size_t to) {
  refuse_if(from != to, Cause::kInput, from, " bytes do not fit ", to);
  return from;
}

void World::move_bytes(bool writes, int host, std::size_t from, std::size_t length,
                       std::size_t to) {
  const Times::Doing data(times_, Activity::kData);
  check_host(host);
  if (length == 0) return;
  if (host == rank()) {
    std::memmove(share_.bytes().data() + to, share_.bytes().data() + from, length);
    return;
  }
  peers_->ask(host, [&](const Peers::Peer& at) {
    if (writes)
      at.link->write(*at.share, from, length, at.theirs, to);
    else
      at.link->read(*at.share, to, length, at.theirs, from);
  });
  traffic(host).requests = true;
  traffic(host).writes |= writes;
}

// A read that follows a write is answered when the write is in the peer's memory.
void World::fence() {
  const Times::Doing data(times_, Activity::kData);
  for (int host = 0; host < hosts(); ++host) {
    if (traffic(host).writes) {
      const auto proof = control_.proof.at(static_cast<std::size_t>(host), 1);
      move_bytes(false, host, control_.arrived.offset, proof.bytes(), proof.offset);
    }
  }
  for (int host = 0; host < hosts(); ++host) {
    settle(host);
    traffic(host).writes = false;
  }
}

// Other hosts' atomic requests on this host's words come from its device, or from the threads that
// serve TCP. They are atomic to the processor's own: see check_device().
std::uint64_t World::fetch_add(int host, const Slice<std::uint64_t>& word, std::uint64_t add) {
  if (host != rank())
    return peers_->ask(host, [&](const Peers::Peer& at) {
      return at.link->fetch_add(at.theirs, word.offset, add);
    });
  return std::atomic_ref(of(word)[0]).fetch_add(add);
}

std::uint64_t World::compare_swap(int host, const Slice<std::uint64_t>& word,
                                  std::uint64_t expected, std::uint64_t desired) {
  if (host != rank())
    return peers_->ask(host, [&](const Peers::Peer& at) {
      return at.link->compare_swap(at.theirs, word.offset, expected, desired);
    });
  std::atomic_ref(of(word)[0]).compare_exchange_strong(expected, desired);
  return expected;
}

void World::notify_bytes(int host, Signal signal, std::size_t from, std::size_t length,
                         std::size_t to) {
  check_host(host);
  peers_->ask(host, [&](const Peers::Peer& at) {
    at.link->write_notify(*at.share, from, length, at.theirs, to,
                          static_cast<std::uint32_t>(signal));
  });
  traffic(host).requests = true;
  traffic(host).writes |= signal == Signal::kNotified;
}

void World::await(int host) {
  const Times::Doing waiting(times_, Activity::kWaiting);
  while (!peers_->use_notification(host)) peers_->take(kForever);
}

void World::settle(int host) {
  const Times::Doing data(times_, Activity::kData);
  if (std::exchange(traffic(host).requests, false))
    peers_->ask(host, [](const Peers::Peer& at) { at.link->flush(); });
}

// A host that comes adds one to a word of host 0. The one that makes it a multiple of the number of
// hosts is the last, and notifies the others.
void World::barrier() {
  fence();
  const Times::Doing waiting(times_, Activity::kWaiting);
  if (hosts() == 1) return;
  const auto before = fetch_add(0, control_.arrived.all(), 1);
  if ((before + 1) % static_cast<std::uint64_t>(hosts()) != 0) {
    while (!peers_->use_release()) peers_->take(kForever);
    return;
  }
  const auto told = control_.told.at(static_cast<std::size_t>(rank()), 1);
  for (int step = 1; step < hosts(); ++step)
    notify_bytes(host_after(step), Signal::kReleased, control_.nothing.offset, told.bytes(),
                 told.offset);
}

void World::lock(int home, std::size_t number) {
  const Times::Doing locks(times_, Activity::kLocks);
  const auto word = control_.locks.at(number * Control::kStride, 1);
  const auto mine = static_cast<std::uint64_t>(rank()) + 1;
  auto pause = kFirstPause;
  for (int tries = 1; compare_swap(home, word, 0, mine) != 0; ++tries) {
    if (tries >= kAtOnce && peers_ != nullptr) {
      peers_->take(pause);
      pause = std::min(2 * pause, kLongestPause);
    }
  }
}

void World::unlock(int home, std::size_t number) {
  fence();
  const Times::Doing locks(times_, Activity::kLocks);
  const auto mine = static_cast<std::uint64_t>(rank()) + 1;
  const auto word = control_.locks.at(number * Control::kStride, 1);
  refuse_if(compare_swap(home, word, mine, 0) != mine, Cause::kInput,
            "a lock is given back that this host has not");
}

}  // namespace rdma::sharedmemory
