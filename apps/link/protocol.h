// SPDX-License-Identifier: GPL-2.0
// What the two ends of a link tell each other.
#pragma once

#include "bytes.h"
#include "link.h"

namespace rdma {

// What the two ends tell each other when they connect: as private data of the RDMA connection, or
// as the first bytes of the TCP connection.
struct Hello {
  std::uint16_t credits = 0;        // arrivals that wait for the program
  std::uint32_t message_bytes = 0;  // the longest message

  // A word that names this protocol (4 bytes), credits (2), zero (2), message_bytes (4); big
  // endian.
  static constexpr std::size_t kBytes = 12;

  explicit Hello(const Settings& settings)
      : credits(static_cast<std::uint16_t>(settings.credits)),
        message_bytes(settings.message_bytes) {}
  // Throws Failure (kProtocol) unless the bytes begin with a hello whose values Settings may have.
  explicit Hello(std::span<const std::byte> bytes) {
    require(bytes.size() >= kBytes && get_big<std::uint32_t>(bytes.data()) == kWord,
            "the peer is another program, or another release of it; its port may be wrong",
            Cause::kProtocol);
    credits = get_big<std::uint16_t>(bytes.data() + 4);
    message_bytes = get_big<std::uint32_t>(bytes.data() + 8);
    try {
      Settings{.credits = credits, .message_bytes = message_bytes}.check();
    } catch (const Failure& failure) {
      fail(Cause::kProtocol, "the peer is wrong: ", failure.what());
    }
  }

  std::array<std::byte, kBytes> to_bytes() const {
    std::array<std::byte, kBytes> bytes{};
    Packer(bytes).put(kWord, credits, std::uint16_t{0}, message_bytes);
    return bytes;
  }
  bool operator==(const Hello&) const = default;

 private:
  static constexpr std::uint32_t kWord = 0x61706c31;  // "apl1"
};

// A request, and all else that goes over a TCP connection in place of RDMA's: a header, and for
// some the bytes.
struct Frame {
  enum class Type : std::uint8_t {
    kWrite = 1,    // `length` bytes follow, for `address` of region `key`
    kWriteNotify,  // the same, and `first` is the notification's immediate
    kRead,         // asks for `length` bytes of `address` of region `key`
    kFetchAdd,     // adds `first` to the 8 bytes there
    kCompareSwap,  // puts `second` there if `first` is there
    kAnswer,       // to the oldest read or atomic without one: `length` bytes follow, or `first` is
                   // the value before
    kMessage,      // `length` bytes follow
    kCredits,      // gives back `credits`, as each frame may
    kRefusal       // of a request; nothing follows but the end
  };

  Type type{};
  std::uint16_t credits = 0;
  std::uint32_t key = 0;
  std::uint64_t address = 0;
  std::uint64_t length = 0;
  std::uint64_t first = 0;
  std::uint64_t second = 0;

  // type (1 byte), zero (1), credits (2), key (4), address, length, first, second (8 each); big
  // endian.
  static constexpr std::size_t kBytes = 40;

  std::array<std::byte, kBytes> to_bytes() const {
    std::array<std::byte, kBytes> bytes{};
    Packer(bytes).put(static_cast<std::uint8_t>(type), std::uint8_t{0}, credits, key, address,
                      length, first, second);
    return bytes;
  }
  // Throws Failure (kProtocol) if the type is none of these.
  static Frame from_bytes(std::span<const std::byte, kBytes> bytes) {
    Frame frame{.type = static_cast<Type>(bytes[0])};
    require(frame.type >= Type::kWrite && frame.type <= Type::kRefusal && bytes[1] == std::byte{0},
            "the peer sent what is no frame", Cause::kProtocol);
    Unpacker(bytes.subspan(2))
        .take(frame.credits, frame.key, frame.address, frame.length, frame.first, frame.second);
    return frame;
  }
  bool operator==(const Frame&) const = default;
};

// Flow control: how many messages and notifications each end may still send. The receiver has room
// for so many arrivals as its Settings say; each that its program takes is given back, by a number
// in the next message, or by a message of its own when half of them are owed.
class Credits {
 public:
  // `own`: arrivals that this end has room for; `theirs`: the same of the peer.
  Credits(unsigned own, unsigned theirs) : own_(own), theirs_(theirs), left_(theirs) {}

  // What this end may send.
  bool any() const { return left_ > 0; }
  void spend() { left_--; }
  // The peer's program took some. Throws Failure (kProtocol) if it can't have, or if what does
  // nothing but give back gives back none: it would be news without end, for which this end would
  // wait on.
  void returned(unsigned count, bool alone = false) {
    require(!alone || count != 0, "the peer gave back no message, and said so", Cause::kProtocol);
    require(count <= theirs_ - left_, "the peer gave back more messages than it was sent",
            Cause::kProtocol);
    left_ += count;
  }

  // What this end receives. Throws Failure (kProtocol) if the peer was not allowed to send it.
  void arrived() {
    require(waiting_ + owed_ < own_, "the peer sent more messages than there is room for",
            Cause::kProtocol);
    waiting_++;
  }
  void taken() {
    waiting_--;
    owed_++;
  }
  bool due() const { return owed_ >= own_ / 2; }
  // What goes back to the peer now.
  unsigned give_back() {
    const unsigned count = owed_;
    owed_ = 0;
    return count;
  }

  // How many messages that only give back may be on the way, for which nobody has a credit: the
  // peer sends one for half of its room, and was sent no more than that room.
  static constexpr unsigned kReturns = 4;

 private:
  unsigned own_;
  unsigned theirs_;
  unsigned left_;         // what this end may send
  unsigned waiting_ = 0;  // arrivals that the program has not taken
  unsigned owed_ = 0;     // arrivals that it took, and the peer does not know of
};

}  // namespace rdma
