// SPDX-License-Identifier: GPL-2.0
// Flow control: how many messages and notifications each end may still send. The receiver has room
// for so many arrivals as its Settings say; each that its program takes is given back, by a number
// in the next message, or by a message of its own when half of them are owed.
#pragma once

#include "failure.h"

namespace rdma {

class Credits {
 public:
  // `own`: arrivals that this end has room for; `theirs`: the same of the peer.
  Credits(unsigned own, unsigned theirs) : own_(own), theirs_(theirs), left_(theirs) {}

  // What this end may send.
  bool any() const { return left_ > 0; }
  void spend() { left_--; }
  // The peer's program took some. Throws Failure (kProtocol) if it can't have.
  void returned(unsigned count) {
    if (count > theirs_ - left_) {
      throw Failure(Cause::kProtocol, "the peer gave back more messages than it was sent");
    }
    left_ += count;
  }

  // The same, of what only gives back. One that gives back nothing would be news without end, for
  // which this end would wait on.
  void returned_alone(unsigned count) {
    if (count == 0) {
      throw Failure(Cause::kProtocol, "the peer gave back no message, and said so");
    }
    returned(count);
  }

  // What this end receives. Throws Failure (kProtocol) if the peer was not allowed to send it.
  void arrived() {
    if (waiting_ + owed_ >= own_) {
      throw Failure(Cause::kProtocol, "the peer sent more messages than there is room for");
    }
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
