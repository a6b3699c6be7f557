// SPDX-License-Identifier: GPL-2.0
// A TCP proxy that knows MPA, and flips one bit of a connection behind its handshake. TCP's
// checksum is right again on the other side, so that nobody but the CRC can tell.
#pragma once

#include <array>
#include <atomic>
#include <span>
#include <thread>

#include "socket.h"

namespace rdma::torture {

// The fields of a frame (RFC 5044): its length, the first 14 bytes of a DDP header, the payload,
// and padding and CRC.
enum class Field { kLength, kHeader, kPayload, kTrailer };
inline constexpr std::array kFields = {Field::kLength, Field::kHeader, Field::kPayload,
                                       Field::kTrailer};

// Which bit: of the first frame from `frame` on that has the field, counted from 0.
struct Flip {
  bool to_server = true;
  unsigned frame = 0;
  Field field = Field::kPayload;
  std::uint64_t random = 0;  // chooses byte and bit of the field
};

// One direction of a connection, which it follows frame by frame.
class Follower {
 public:
  // Looks at bytes that pass. True: one of them is flipped now. Without a flip nothing is changed.
  bool pass(std::span<std::uint8_t> bytes, const Flip* flip);

 private:
  bool due(const Flip& flip) const;

  bool handshake_ = true;
  bool flipped_ = false;
  std::size_t at_ = 0;      // in the frame, or in the handshake's
  std::size_t length_ = 0;  // of the ULPDU, or of the private data
  unsigned frame_ = 0;
};

class Proxy {
 public:
  // Listens at that IPv4 address in a namespace, and passes on to a port there. Throws Failure.
  Proxy(const std::string& netns, const std::string& address, std::uint16_t server);

  std::uint16_t port() const { return local_address(listener_).port; }
  // Sets the damage for the next connection, which is done once armed. The last one must have
  // ended.
  void plan(const Flip& flip, bool armed = true);
  void arm() { armed_ = true; }
  bool flipped() const { return flipped_; }

 private:
  void run(const std::stop_token& ends);
  void carry(const std::stop_token& ends, int client, int server);

  Flip flip_;
  std::atomic<bool> armed_ = false;
  std::atomic<bool> flipped_ = false;
  std::string netns_;
  Address server_;
  Descriptor listener_;
  std::jthread thread_;
};

}  // namespace rdma::torture
