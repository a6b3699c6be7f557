// SPDX-License-Identifier: GPL-2.0
#include "world.h"

#include <atomic>
#include <cstring>

#include "failure.h"

namespace rdma::sharedmemory {

World::World(const Share& share, const Control& control, Peers* peers)
    : share_(share),
      control_(control),
      peers_(peers),
      traffic_(static_cast<std::size_t>(hosts())) {}

void World::check_host(int host) const {
  if (host < 0 || host >= hosts()) {
    throw Failure(Cause::kProtocol, "there is no host " + std::to_string(host) +
                                        "; what another host wrote is wrong");
  }
}

std::size_t World::check(std::size_t from, std::size_t to) {
  if (from != to) {
    throw Failure(Cause::kInput, std::to_string(from) + " bytes do not fit " + std::to_string(to));
  }
  return from;
}

void World::write_bytes(int host, std::size_t from, std::size_t length, std::size_t to) {
  const Times::Doing data(times_, Activity::kData);
  check_host(host);
  if (length == 0) {
    return;
  }
  if (host == rank()) {
    std::memmove(share_.bytes().data() + to, share_.bytes().data() + from, length);
    return;
  }
  peers_->write(host, from, length, to);
  traffic(host) = {true, true};
}

void World::read_bytes(int host, std::size_t from, std::size_t length, std::size_t into) {
  const Times::Doing data(times_, Activity::kData);
  check_host(host);
  if (length == 0) {
    return;
  }
  if (host == rank()) {
    std::memmove(share_.bytes().data() + into, share_.bytes().data() + from, length);
    return;
  }
  peers_->read(host, from, length, into);
  traffic(host).requests = true;
}

// A write is complete for its sender before it is in the peer's memory. A read that follows it
// is answered when it is.
void World::fence() {
  const Times::Doing data(times_, Activity::kData);
  for (int host = 0; host < hosts(); ++host) {
    if (traffic(host).writes) {
      const auto proof = control_.proof.at(static_cast<std::size_t>(host), 1);
      peers_->read(host, control_.arrived.offset, proof.bytes(), proof.offset);
      traffic(host).requests = true;
    }
  }
  for (int host = 0; host < hosts(); ++host) {
    if (traffic(host).requests) {
      peers_->flush(host);
      traffic(host) = {};
    }
  }
}

// Other hosts' atomic requests on this host's words come from its device, or from the threads that
// serve TCP. They are atomic to the processor's own: see check_device().
std::uint64_t World::fetch_add(int host, const Slice<std::uint64_t>& word, std::uint64_t add) {
  if (host != rank()) {
    return peers_->fetch_add(host, word.offset, add);
  }
  return std::atomic_ref(of(word)[0]).fetch_add(add);
}

std::uint64_t World::compare_swap(int host, const Slice<std::uint64_t>& word,
                                  std::uint64_t expected, std::uint64_t desired) {
  if (host != rank()) {
    return peers_->compare_swap(host, word.offset, expected, desired);
  }
  std::atomic_ref(of(word)[0]).compare_exchange_strong(expected, desired);
  return expected;
}

void World::notify_bytes(int host, Signal signal, std::size_t from, std::size_t length,
                         std::size_t to) {
  check_host(host);
  peers_->signal(host, signal, from, length, to);
  traffic(host).requests = true;
  traffic(host).writes |= signal == Signal::kNotified;
}

void World::notify(int host) {
  const Times::Doing data(times_, Activity::kData);
  notify_bytes(host, Signal::kNotified, control_.nothing.offset, control_.nothing.all().bytes(),
               control_.told.at(static_cast<std::size_t>(rank()), 1).offset);
}

void World::release(int host) {
  notify_bytes(host, Signal::kReleased, control_.nothing.offset, control_.nothing.all().bytes(),
               control_.told.at(static_cast<std::size_t>(rank()), 1).offset);
}

void World::await(int host) {
  const Times::Doing waiting(times_, Activity::kWaiting);
  while (!peers_->use_notification(host)) {
    peers_->take(kForever);
  }
}

void World::settle(int host) {
  const Times::Doing data(times_, Activity::kData);
  if (traffic(host).requests) {
    peers_->flush(host);
    traffic(host).requests = false;
  }
}

void World::await_release() {
  while (!peers_->use_release()) {
    peers_->take(kForever);
  }
}

void World::pause(Limit limit) {
  if (peers_ != nullptr) {
    peers_->take(limit);
  }
}

}  // namespace rdma::sharedmemory
