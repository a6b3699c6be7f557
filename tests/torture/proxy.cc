// SPDX-License-Identifier: GPL-2.0
#include "proxy.h"

#include <vector>

#include "deadline.h"
#include "netns.h"

namespace rdma::torture {

namespace {

constexpr std::size_t kHandshake = 20;  // a Request or Reply before its private data
constexpr std::size_t kLengthField = 2;
constexpr std::size_t kShortHeader = 14;  // of a tagged segment
constexpr std::size_t kLongHeader = 18;   // of an untagged one
constexpr std::size_t kCrc = 4;
constexpr Limit kTick{100};

std::size_t padding(std::size_t length) {
  return -(kLengthField + length) % 4;
}

bool send_all(int sock, std::span<const std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = send(sock, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) {
      return false;
    }
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace

// The byte about to pass is at at_, and if that is behind the length field, length_ is known.
bool Follower::due(const Flip& flip) const {
  if (handshake_ || flipped_ || frame_ < flip.frame) {
    return false;
  }
  if (flip.field == Field::kLength) {
    return at_ == flip.random % kLengthField;
  }
  if (at_ < kLengthField) {
    return false;
  }
  const std::size_t end = kLengthField + length_;
  switch (flip.field) {
    case Field::kHeader:
      return at_ == kLengthField + flip.random % kShortHeader;
    case Field::kPayload:
      return length_ > kLongHeader &&
             at_ == kLengthField + kLongHeader + flip.random % (length_ - kLongHeader);
    default:
      return at_ == end + flip.random % (padding(length_) + kCrc);
  }
}

bool Follower::pass(std::span<std::uint8_t> bytes, const Flip* flip) {
  bool now = false;
  for (std::uint8_t& byte : bytes) {
    const std::uint8_t whole = byte;
    if (flip != nullptr && due(*flip)) {
      byte ^= static_cast<std::uint8_t>(1U << (flip->random >> 32U) % 8);
      flipped_ = now = true;
    }
    // The length, by what the sender said; a handshake's is in its last two bytes.
    const std::size_t field = handshake_ ? kHandshake - 2 : 0;
    if (at_ == field) {
      length_ = std::size_t{whole} * 256;
    } else if (at_ == field + 1) {
      length_ += whole;
    }
    ++at_;
    const std::size_t total =
        handshake_ ? kHandshake + length_ : kLengthField + length_ + padding(length_) + kCrc;
    if (at_ >= field + 2 && at_ == total) {
      frame_ += handshake_ ? 0 : 1;
      handshake_ = false;
      at_ = 0;
    }
  }
  return now;
}

Proxy::Proxy(const std::string& netns, const std::string& address, std::uint16_t server)
    : netns_(netns), server_{address, server} {
  {
    const Inside inside(netns);
    listener_ = listener({address, 0}, 1);
  }
  thread_ = std::jthread([this](const std::stop_token& ends) { run(ends); });
}

void Proxy::plan(const Flip& flip, bool armed) {
  flip_ = flip;
  flipped_ = false;
  armed_ = armed;
}

void Proxy::run(const std::stop_token& ends) {
  enter(netns_);
  while (!ends.stop_requested()) {
    if (!wait_ready(listener_.number(), Deadline(kTick))) {
      continue;
    }
    try {
      const Descriptor client = accept_from(listener_);
      const Descriptor server = connect_to(server_);
      no_delay(client);
      no_delay(server);
      carry(ends, client.number(), server.number());
    } catch (const Failure&) {
      // The client finds out.
    }
  }
}

// Until both have ended, or one is reset.
void Proxy::carry(const std::stop_token& ends, int client, int server) {
  constexpr std::size_t kPiece = 64U << 10;
  std::vector<std::uint8_t> buffer(kPiece);
  std::array<Follower, 2> followers;
  std::array<pollfd, 2> waiting = {pollfd{.fd = client, .events = POLLIN, .revents = 0},
                                   pollfd{.fd = server, .events = POLLIN, .revents = 0}};
  const std::array<int, 2> to = {server, client};
  while (!ends.stop_requested() && (waiting[0].fd >= 0 || waiting[1].fd >= 0)) {
    if (poll(waiting.data(), waiting.size(), static_cast<int>(kTick.count())) < 0) {
      return;
    }
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (waiting[i].fd < 0 || waiting[i].revents == 0) {
        continue;
      }
      const ssize_t n = recv(waiting[i].fd, buffer.data(), buffer.size(), 0);
      if (n < 0) {
        return;
      }
      if (n == 0) {
        shutdown(to[i], SHUT_WR);
        waiting[i].fd = -1;
        continue;
      }
      const std::span bytes(buffer.data(), static_cast<std::size_t>(n));
      // Told before it is sent: what it does may be seen before we run again.
      const bool damage = armed_ && (i == 0) == flip_.to_server;
      if (followers[i].pass(bytes, damage ? &flip_ : nullptr)) {
        flipped_ = true;
      }
      if (!send_all(to[i], bytes)) {
        return;
      }
    }
  }
}

}  // namespace rdma::torture
