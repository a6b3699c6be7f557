// SPDX-License-Identifier: GPL-2.0
// The two threads of a link over TCP: what an RDMA device does for the other links.
#include <poll.h>
#include <sys/eventfd.h>

#include <array>

#include "tcp_link.h"

namespace rdma {

namespace {

// More than the largest depth that a peer may have.
constexpr std::size_t kMostRequests = 8192;
constexpr Limit kLastWord = std::chrono::seconds(1);
// How often a thread that waits for room looks whether the link ends.
constexpr Limit kLook = std::chrono::milliseconds(100);

}  // namespace

void TcpLink::receive_frames() {
  try {
    std::array<std::byte, Frame::kBytes> header{};
    while (receive_bytes(header)) {
      serve(Frame::from_bytes(header));
    }
    broke({Cause::kLost, "the peer ended the connection"});
  } catch (const Failure& failure) {
    const std::lock_guard lock(mutex_);
    // Before the responder hears of the end, which is when it looks for a refusal.
    if (failure.cause() == Cause::kRefused || failure.cause() == Cause::kProtocol) {
      requests_.push_back({.type = Frame::Type::kRefusal});
    }
    broke_locked(failure);
  } catch (const std::exception& failure) {
    broke({Cause::kSystem, failure.what()});
  }
  // Nothing may be left unread, or the end would be a reset, and what was sent last be lost.
  std::array<std::byte, 4096> rest;
  while (recv(socket_.number(), rest.data(), rest.size(), 0) > 0) {
  }
  const std::lock_guard lock(mutex_);
  received_all_ = true;
  changed_.notify_all();
}

// False when the peer has ended the connection before the first byte.
bool TcpLink::receive_bytes(std::span<std::byte> bytes) {
  std::size_t got = 0;
  while (got < bytes.size()) {
    const ssize_t count =
        recv(socket_.number(), bytes.data() + got, bytes.size() - got, MSG_WAITALL);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count == 0 && got == 0) {
      return false;
    }
    if (count <= 0) {
      throw Failure(Cause::kLost, "the peer ended the connection");
    }
    got += static_cast<std::size_t>(count);
  }
  return true;
}

void TcpLink::serve(const Frame& frame) {
  {
    const std::lock_guard lock(mutex_);
    if (frame.type == Frame::Type::kCredits) {
      credits_.returned_alone(frame.credits);
    } else {
      credits_.returned(frame.credits);
    }
    progress_++;
    if (frame.credits > 0) {
      changed_.notify_all();
    }
  }
  const Part part{.key = frame.key, .address = frame.address, .length = frame.length};
  switch (frame.type) {
    case Frame::Type::kWrite:
      place(part, kRemoteWrite);
      break;
    case Frame::Type::kWriteNotify:
      place(part, kRemoteWrite);
      arrive({.message = {}, .immediate = static_cast<std::uint32_t>(frame.first)});
      break;
    case Frame::Type::kRead:
      regions_.check(part, kRemoteRead);
      queue_answer(frame);
      break;
    case Frame::Type::kFetchAdd:
    case Frame::Type::kCompareSwap: {
      Frame executed = frame;
      executed.first = regions_.execute(frame);
      queue_answer(executed);
      break;
    }
    case Frame::Type::kAnswer:
      take_answer(frame);
      break;
    case Frame::Type::kMessage: {
      if (frame.length > settings_.message_bytes) {
        throw Failure(Cause::kProtocol, "the peer sent a message that is too long");
      }
      Arrival arrival{.message = std::vector<std::byte>(frame.length), .immediate = {}};
      if (frame.length > 0 && !receive_bytes(arrival.message)) {
        throw Failure(Cause::kLost, "the peer ended the connection");
      }
      arrive(std::move(arrival));
      break;
    }
    case Frame::Type::kCredits:
      break;
    case Frame::Type::kRefusal:
      // Not of the cause kRefused, which would be answered by a refusal.
      broke({Cause::kRefused,
             "the peer refused a request: its region has not this key, these bytes or this right"});
      throw Failure(Cause::kLost, "the peer ended the connection");
  }
}

void TcpLink::place(Part part, Rights right) {
  regions_.check(part, right);
  while (part.length > 0) {
    const ssize_t count = regions_.receive(socket_.number(), part, right);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) {
      throw Failure(Cause::kLost, "the peer ended the connection");
    }
    if (count < 0) {
      wait_ready(socket_.number(), Deadline(kForever));
      continue;
    }
    part.address += static_cast<std::uint64_t>(count);
    part.length -= static_cast<std::uint64_t>(count);
    const std::lock_guard lock(mutex_);
    progress_++;
  }
}

void TcpLink::take_answer(const Frame& frame) {
  Wanted wanted{};
  {
    const std::lock_guard lock(mutex_);
    if (wanted_.empty() || frame.length != wanted_.front().sink.length) {
      throw Failure(Cause::kProtocol, "the peer sent an answer that nobody asked for");
    }
    wanted = wanted_.front();
  }
  if (!wanted.atomic && wanted.sink.length > 0) {
    place(wanted.sink, kLocal);
  }
  const std::lock_guard lock(mutex_);
  if (wanted.atomic) {
    result_ = frame.first;
  }
  wanted_.pop_front();
  changed_.notify_all();
}

void TcpLink::queue_answer(const Frame& frame) {
  const std::lock_guard lock(mutex_);
  if (requests_.size() >= kMostRequests) {
    throw Failure(Cause::kProtocol, "the peer asked for more than it waits for");
  }
  requests_.push_back(frame);
  asked_.notify_all();
}

void TcpLink::arrive(Arrival arrival) {
  const std::lock_guard lock(mutex_);
  credits_.arrived();
  arrivals_.push_back(std::move(arrival));
  changed_.notify_all();
  eventfd_write(news_.number(), 1);
}

void TcpLink::respond() {
  try {
    while (true) {
      Frame request;
      {
        std::unique_lock lock(mutex_);
        asked_.wait(lock, [this] { return !requests_.empty() || closing_ || broken_; });
        if (closing_ || broken_) {
          break;
        }
        request = requests_.front();
        requests_.pop_front();
      }
      send_answer(request);
    }
  } catch (const Failure& failure) {
    broke(failure);
  }
  // The last word is a refusal, if there is one; then what is sent ends.
  try {
    bool refusal = false;
    {
      const std::lock_guard lock(mutex_);
      refusal = !requests_.empty() && requests_.back().type == Frame::Type::kRefusal;
    }
    // A program that is within a frame, and does not get on, can't be interrupted by one.
    if (const std::unique_lock whole(sending_, kLastWord); refusal && whole.owns_lock()) {
      const auto bytes = Frame{.type = Frame::Type::kRefusal}.to_bytes();
      ::send(socket_.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
  } catch (const std::exception&) {
    // The peer is not told why.
  }
  shutdown(socket_.number(), SHUT_WR);
}

void TcpLink::send_answer(const Frame& request) {
  Frame answer{.type = Frame::Type::kAnswer};
  const bool is_read = request.type == Frame::Type::kRead;
  answer.length = is_read ? request.length : 0;
  answer.first = is_read ? 0 : request.first;
  const std::lock_guard whole(sending_);
  send_nowait(answer.to_bytes());
  if (is_read) {
    send_pieces({.key = request.key, .address = request.address, .length = request.length});
  }
}

void TcpLink::send_nowait(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count =
        ::send(socket_.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno != EAGAIN && errno != EINTR) {
      fail_errno("the connection broke", Cause::kLost);
    }
    if (count < 0) {
      await_room();
    } else {
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
  }
}

void TcpLink::send_pieces(Part part) {
  while (part.length > 0) {
    const ssize_t count = regions_.send(socket_.number(), part, kRemoteRead);
    if (count < 0 && errno != EAGAIN && errno != EINTR) {
      fail_errno("the connection broke", Cause::kLost);
    }
    if (count < 0) {
      await_room();
    } else {
      part.address += static_cast<std::uint64_t>(count);
      part.length -= static_cast<std::uint64_t>(count);
    }
  }
}

// A peer that takes nothing is given up as by the program's own sends. A link that ends does not
// wait.
void TcpLink::await_room() {
  const Deadline deadline(settings_.patience);
  while (!wait_ready(socket_.number(), Deadline(kLook), POLLOUT)) {
    const std::lock_guard lock(mutex_);
    if (closing_ || broken_) {
      throw Failure(Cause::kLost, "the link ended while the peer read");
    }
    if (deadline.over()) {
      throw Failure(Cause::kTimeout, "the peer takes no answer to what it reads");
    }
  }
}

}  // namespace rdma
