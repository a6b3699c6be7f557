// SPDX-License-Identifier: GPL-2.0
// A filter stream: chunks from one filter to the next over a link, into a ring of slots of the
// receiver's memory (README.md). The sender needs a credit for each, so that a filter that is slow
// slows down the one before it. Either end tells the other why when it gives up. All functions
// throw Failure when the peer is lost, silent for longer than the patience, or sends what it must
// not.
#pragma once

#include "packing.h"
#include "link.h"

namespace rdma::isosurface {

// What both ends of a stream share: the link, and who is there in words.
class StreamEnd {
 public:
  StreamEnd(const StreamEnd&) = delete;
  StreamEnd& operator=(const StreamEnd&) = delete;

  // Tells the peer why this end gives up, if it can still be told.
  void abort(const std::string& reason) noexcept;
  Link& link() { return *link_; }

 protected:
  // `peer` is what messages call the other end: "the filter extract".
  StreamEnd(std::unique_ptr<Link> link, std::string peer, Limit patience);
  ~StreamEnd() = default;

  // Has a failure of the link name the peer.
  template <typename Call>
  auto on_link(Call call) -> decltype(call()) {
    try {
      return call();
    } catch (const Failure& failure) {
      lost(failure);
    }
  }
  // The next message or notification, if it has come.
  std::optional<Arrival> arrival();
  // The same, and waits for it.
  Arrival next_arrival();
  // Flushes. A peer that has all, and has said so, may be gone before the link knows that all has
  // come. What it said is still there; if that was not the end, the next look for a message tells
  // of the loss.
  void flush_the_last();
  void say(const Word& word);
  // The word in a message of the peer. Throws Failure if the peer has given up, or at an immediate.
  Word heard(const Arrival& arrival);
  template <typename... Parts>
  void refuse_if(bool wrong, const Parts&... what) const {
    rdma::refuse_if(wrong, Cause::kProtocol, peer_, ": the peer ", what...);
  }
  [[noreturn]] void silent() const;
  Limit patience() const { return patience_; }

  // Tells why the link failed, by what the peer has said before; its other words are lost.
  [[noreturn]] void lost(const Failure& failure);

 private:
  std::unique_ptr<Link> link_;
  std::string peer_;
  Limit patience_;
  bool ended_ = false;  // the link has failed, or the peer has given up
};

// The sender's end.
class Outlet : public StreamEnd {
 public:
  // Waits for the receiver's ring.
  Outlet(std::unique_ptr<Link> link, std::string peer, Limit patience);

  // How many bytes a chunk's payload has at most.
  std::size_t capacity() const { return ring_.slot_bytes - Header::kBytes; }
  // Where the next chunk's payload goes; waits until the receiver has room for it.
  std::span<std::byte> room();
  // Sends the first `payload` bytes of room().
  void send(Kind kind, std::size_t payload);
  // Both at once, for what has a pack().
  template <typename What>
  void send(Kind kind, const What& what) {
    send(kind, pack(what, room()));
  }
  void send(Kind kind) {
    room();
    send(kind, std::size_t{0});
  }
  // Waits until the receiver says that all has been used.
  void await_done();
  // The next question of the receiver; empty when it is done, and asks no more.
  std::optional<Question> question();
  // Looks, without waiting, for the peer's end.
  void look();

 private:
  void take(const Arrival& arrival);  // what the receiver says

  Ring ring_;
  std::vector<std::byte> memory_;  // as large as the ring
  std::unique_ptr<Region> region_;
  std::uint32_t credits_ = 0;
  std::uint32_t slot_ = 0;      // the next
  std::uint32_t sequence_ = 0;  // the next chunk's
  bool done_ = false;
  std::optional<Question> question_;
};

// The receiver's end.
class Inlet : public StreamEnd {
 public:
  struct Chunk {
    Kind kind{};
    std::span<const std::byte> payload;
  };

  // Tells the sender the ring. `shape` says how many slots of how many bytes.
  Inlet(std::unique_ptr<Link> link, std::string peer, Limit patience, Ring shape);

  // The next chunk. The one before is used up, and its bytes are gone. If `watched` is given, it
  // is looked at meanwhile, so that the failure of a filter behind this one ends this one too.
  Chunk next(Outlet* watched = nullptr);
  // The same, and it must be of that kind.
  std::span<const std::byte> next(Kind kind);
  // Tells the sender that all has been used.
  void done();
  void ask(const Box& points);

 private:
  Arrival wait(Outlet* watched);
  void give_back();

  Ring ring_;
  std::vector<std::byte> memory_;
  std::unique_ptr<Region> region_;
  std::uint32_t slot_ = 0;      // where the next chunk comes
  std::uint32_t sequence_ = 0;  // the next chunk's
  bool in_use_ = false;         // the last chunk's slot
  std::uint32_t owed_ = 0;      // slots that are used up, and the sender does not know it yet
};

// Settings of a link that any stream fits on.
Settings settings_for(Limit patience);

}  // namespace rdma::isosurface
