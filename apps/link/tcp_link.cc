// SPDX-License-Identifier: GPL-2.0
// A link over a TCP connection, with two threads in place of the RDMA device.
//
// The receiver reads frames: it places what the peer writes, executes its atomics, and hands on
// what is for the program. It never sends, for the peer may do nothing but send. The responder
// sends the answers to the peer's reads and atomics, in their order. The program's own frames are
// sent by its own thread; a mutex keeps whole frames together.
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/eventfd.h>
#include <sys/uio.h>

#include <condition_variable>
#include <deque>
#include <list>
#include <thread>

#include "protocol.h"
#include "socket.h"
#include "tcp_regions.h"
#include "transports.h"

namespace rdma {
namespace {

// How long the end waits for the peer's own end, so that the last bytes are not lost in a reset.
constexpr Limit kOrderlyEnd = std::chrono::seconds(2);
// More than the largest depth that a peer may have.
constexpr std::size_t kMostRequests = 8192;
constexpr Limit kLastWord = std::chrono::seconds(1);
// How often a thread that waits for room looks whether the link ends.
constexpr Limit kLook = std::chrono::milliseconds(100);

void set_option(int socket, int level, int name, int value) {
  must(setsockopt(socket, level, name, &value, sizeof(value)), "setsockopt");
}

// Small frames leave at once, a send gives up after the patience without progress, and a peer that
// has gone without a word is found out.
void tune(int socket, Limit patience) {
  constexpr int kProbes = 3;
  const auto milliseconds = static_cast<int>(std::min<std::int64_t>(
      patience.count(), std::chrono::milliseconds(std::chrono::hours(1)).count()));
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  const int seconds = std::max(1, milliseconds / 1000 / (kProbes + 1));
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, seconds);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, seconds);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, milliseconds);
  const timeval time{.tv_sec = milliseconds / 1000, .tv_usec = milliseconds % 1000 * 1000L};
  must(setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time)), "setsockopt");
}

class TcpLink : public Link {
 public:
  // The hellos have been exchanged over `socket`; `begun` is when the connection was begun.
  TcpLink(Descriptor socket, const Settings& settings, const Hello& peer, Address address,
          Clock::time_point begun)
      : Link(Transport::kTcp, settings),
        socket_(std::move(socket)),
        news_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        credits_(settings.credits, peer.credits) {
    message_limit_ = std::min(settings.message_bytes, peer.message_bytes);
    peer_ = std::move(address);
    if (!news_) fail_errno("eventfd");
    tune(socket_.number(), settings_.patience);
    receiver_ = std::thread(&TcpLink::receive_frames, this);
    try {
      responder_ = std::thread(&TcpLink::respond, this);
    } catch (...) {
      shutdown(socket_.number(), SHUT_RDWR);
      receiver_.join();
      throw;
    }
    statistics_.connecting = Clock::now() - begun;
  }
  ~TcpLink() override {
    {
      std::unique_lock lock(mutex_);
      closing_ = true;
      asked_.notify_all();
    }
    responder_.join();
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, kOrderlyEnd, [this] { return received_all_; });
    }
    shutdown(socket_.number(), SHUT_RDWR);
    receiver_.join();
  }

  void flush(Limit limit) override {
    wait_until(
        "its requests", [this] { return wanted_.empty(); }, limit);
    const std::lock_guard lock(mutex_);
    check_alive();
  }
  std::optional<Arrival> receive(Limit limit) override {
    const Deadline deadline(limit);
    std::optional<Arrival> arrival;
    bool due = false;
    {
      std::unique_lock lock(mutex_);
      while (arrivals_.empty()) {
        check_alive();
        if (deadline.over()) return std::nullopt;
        changed_.wait_for(lock, std::min<Limit>(deadline.left(), std::chrono::hours(1)));
      }
      arrival = std::move(arrivals_.front());
      arrivals_.pop_front();
      credits_.taken();
      due = credits_.due() && !broken_;
    }
    if (due) {
      try {
        send_frame({.type = Frame::Type::kCredits}, {});
      } catch (const Failure&) {
        // The next call says so; what has arrived is the program's.
      }
    }
    return arrival;
  }

 protected:
  Region::Known know(std::span<std::byte> memory, Rights rights) override {
    const std::uint32_t key = regions_.add(memory, rights);
    return {.remote = {.address = 0, .length = memory.size(), .key = key},
            .held = std::shared_ptr<RegionTable>(
                &regions_, [key](RegionTable* table) { table->remove(key); })};
  }
  void transfer(const Frame& request, const Region& own, std::size_t offset) override {
    if (request.type == Frame::Type::kRead) {
      ask(request,
          {.atomic = false,
           .sink = {.key = own.remote().key, .address = offset, .length = request.length}});
    } else {
      send_frame(request, own.bytes().subspan(offset, request.length));
    }
  }
  std::uint64_t execute(const Frame& request) override {
    ask(request, {.atomic = true, .sink = {}});
    flush(kForever);
    const std::lock_guard lock(mutex_);
    return result_;
  }
  void send_message(std::span<const std::byte> message) override {
    send_frame({.type = Frame::Type::kMessage, .length = message.size()}, message);
  }
  void take_credit() override {
    wait_until("room for a message", [this] { return credits_.any(); });
    const std::lock_guard lock(mutex_);
    credits_.spend();
  }
  bool prepare_wait(std::vector<pollfd>& descriptors) override {
    const std::lock_guard lock(mutex_);
    eventfd_t count = 0;
    eventfd_read(news_.number(), &count);
    if (!arrivals_.empty() || broken_) return true;
    descriptors.push_back({.fd = news_.number(), .events = POLLIN, .revents = 0});
    return false;
  }

 private:
  // An answer that the peer owes: where its bytes go. An atomic's has a length of 0 and goes to
  // result_.
  struct Wanted {
    bool atomic;
    Part sink;
  };

  // The program's thread.
  void send_frame(Frame frame, std::span<const std::byte> payload) {
    const std::lock_guard whole(sending_);
    {
      const std::lock_guard lock(mutex_);
      check_alive();
      frame.credits = static_cast<std::uint16_t>(credits_.give_back());
    }
    auto header = frame.to_bytes();
    // sendmsg(2) does not write to what it sends.
    std::array<iovec, 2> pieces{
        iovec{.iov_base = header.data(), .iov_len = header.size()},
        iovec{.iov_base = const_cast<std::byte*>(payload.data()), .iov_len = payload.size()}};
    send_all(pieces);
  }
  void send_all(std::span<iovec> pieces) {
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = pieces.size();
    while (message.msg_iovlen > 0) {
      const ssize_t count = sendmsg(socket_.number(), &message, MSG_NOSIGNAL);
      if (count < 0) {
        if (errno == EINTR) continue;
        fail_sending();
      }
      auto left = static_cast<std::size_t>(count);
      while (message.msg_iovlen > 0 && left >= message.msg_iov->iov_len) {
        left -= message.msg_iov->iov_len;
        message.msg_iov++;
        message.msg_iovlen--;
      }
      if (message.msg_iovlen > 0) {
        message.msg_iov->iov_base = static_cast<std::byte*>(message.msg_iov->iov_base) + left;
        message.msg_iov->iov_len -= left;
      }
    }
  }
  void ask(const Frame& frame, const Wanted& wanted) {
    wait_until("its reads", [this] { return wanted_.size() < settings_.depth; });
    {
      const std::lock_guard lock(mutex_);
      wanted_.push_back(wanted);
    }
    send_frame(frame, {});
  }
  // Waits until `done` says yes, with the state locked, as long as there is progress in time.
  template <typename Done>
  void wait_until(const char* what, Done done, Limit limit = kForever) {
    const Deadline deadline(limit);
    std::unique_lock lock(mutex_);
    while (!done()) {
      check_alive();
      if (deadline.over()) {
        broke_locked(too_slow(what, limit));
        continue;
      }
      const std::uint64_t before = progress_;
      const bool news = changed_.wait_for(lock, std::min(settings_.patience, deadline.left()),
                                          [&] { return done() || broken_ || progress_ != before; });
      if (!news && !deadline.over()) broke_locked(no_sign(what));
    }
  }
  // The receiver may know better why nothing can be sent: a refusal, or the peer's orderly end.
  [[noreturn]] void fail_sending() {
    const int error = errno;
    std::unique_lock lock(mutex_);
    if (error == EAGAIN) {
      broke_locked({Cause::kTimeout,
                    sentence("the peer took nothing for ", settings_.patience.count(), " ms")});
    } else {
      changed_.wait_for(lock, kOrderlyEnd, [this] { return broken_.has_value(); });
      broke_locked({Cause::kLost, sentence("the connection broke: ", std::strerror(error))});
    }
    throw Failure(*broken_);
  }

  // The receiver's thread.
  void receive_frames() {
    try {
      std::array<std::byte, Frame::kBytes> header{};
      while (receive_bytes(header)) serve(Frame::from_bytes(header));
      end_with({Cause::kLost, "the peer ended the connection"});
    } catch (const Failure& failure) {
      const std::lock_guard lock(mutex_);
      // Before the responder hears of the end, which is when it looks for a refusal.
      if (failure.cause() == Cause::kRefused || failure.cause() == Cause::kProtocol)
        requests_.push_back({.type = Frame::Type::kRefusal});
      broke_locked(failure);
    } catch (const std::exception& failure) {
      end_with({Cause::kSystem, failure.what()});
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
  bool receive_bytes(std::span<std::byte> bytes) {
    std::size_t got = 0;
    while (got < bytes.size()) {
      const ssize_t count =
          recv(socket_.number(), bytes.data() + got, bytes.size() - got, MSG_WAITALL);
      if (count < 0 && errno == EINTR) continue;
      if (count == 0 && got == 0) return false;
      require(count > 0, "the peer ended the connection", Cause::kLost);
      got += static_cast<std::size_t>(count);
    }
    return true;
  }
  void serve(const Frame& frame) {
    {
      const std::lock_guard lock(mutex_);
      credits_.returned(frame.credits, frame.type == Frame::Type::kCredits);
      progress_++;
      if (frame.credits > 0) changed_.notify_all();
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
        require(frame.length <= settings_.message_bytes, "the peer sent a message that is too long",
                Cause::kProtocol);
        Arrival arrival{.message = std::vector<std::byte>(frame.length), .immediate = {}};
        require(frame.length == 0 || receive_bytes(arrival.message),
                "the peer ended the connection", Cause::kLost);
        arrive(std::move(arrival));
        break;
      }
      case Frame::Type::kCredits:
        break;
      case Frame::Type::kRefusal:
        // Not of the cause kRefused, which would be answered by a refusal.
        end_with({Cause::kRefused, kRefusal});
        throw Failure(Cause::kLost, "the peer ended the connection");
    }
  }
  void place(Part part, Rights right) {
    regions_.check(part, right);
    while (part.length > 0) {
      const ssize_t count = regions_.receive(socket_.number(), part, right);
      require(count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR)),
              "the peer ended the connection", Cause::kLost);
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
  void take_answer(const Frame& frame) {
    Wanted wanted{};
    {
      const std::lock_guard lock(mutex_);
      require(!wanted_.empty() && frame.length == wanted_.front().sink.length,
              "the peer sent an answer that nobody asked for", Cause::kProtocol);
      wanted = wanted_.front();
    }
    if (!wanted.atomic && wanted.sink.length > 0) place(wanted.sink, kLocal);
    const std::lock_guard lock(mutex_);
    if (wanted.atomic) result_ = frame.first;
    wanted_.pop_front();
    changed_.notify_all();
  }
  void queue_answer(const Frame& frame) {
    const std::lock_guard lock(mutex_);
    require(requests_.size() < kMostRequests, "the peer asked for more than it waits for",
            Cause::kProtocol);
    requests_.push_back(frame);
    asked_.notify_all();
  }
  void arrive(Arrival arrival) {
    const std::lock_guard lock(mutex_);
    credits_.arrived();
    arrivals_.push_back(std::move(arrival));
    changed_.notify_all();
    eventfd_write(news_.number(), 1);
  }

  // The responder's thread.
  void respond() {
    try {
      while (true) {
        Frame request;
        {
          std::unique_lock lock(mutex_);
          asked_.wait(lock, [this] { return !requests_.empty() || closing_ || broken_; });
          if (closing_ || broken_) break;
          request = requests_.front();
          requests_.pop_front();
        }
        send_answer(request);
      }
    } catch (const Failure& failure) {
      end_with(failure);
    }
    // The last word is a refusal, if there is one; then what is sent ends. A program that is within
    // a frame, and does not get on, can't be interrupted by one.
    const std::unique_lock whole(sending_, kLastWord);
    const std::lock_guard lock(mutex_);
    if (whole.owns_lock() && !requests_.empty() && requests_.back().type == Frame::Type::kRefusal) {
      const auto bytes = requests_.back().to_bytes();
      ::send(socket_.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    shutdown(socket_.number(), SHUT_WR);
  }
  void send_answer(const Frame& request) {
    Frame answer{.type = Frame::Type::kAnswer};
    const bool is_read = request.type == Frame::Type::kRead;
    answer.length = is_read ? request.length : 0;
    answer.first = is_read ? 0 : request.first;
    const std::lock_guard whole(sending_);
    const auto header = answer.to_bytes();
    send_pieces(header.size(), [&](std::uint64_t at) {
      return ::send(socket_.number(), header.data() + at, header.size() - at,
                    MSG_NOSIGNAL | MSG_DONTWAIT);
    });
    send_pieces(answer.length, [&](std::uint64_t at) {
      return regions_.send(
          socket_.number(),
          {.key = request.key, .address = request.address + at, .length = request.length - at},
          kRemoteRead);
    });
  }
  // `send` sends some of the bytes from an offset on, and does not wait.
  template <typename Send>
  void send_pieces(std::uint64_t length, Send send) {
    for (std::uint64_t at = 0; at < length;) {
      const ssize_t count = send(at);
      if (count < 0 && errno != EAGAIN && errno != EINTR)
        fail_errno("the connection broke", Cause::kLost);
      if (count < 0)
        await_room();
      else
        at += static_cast<std::uint64_t>(count);
    }
  }
  // A peer that takes nothing is given up as by the program's own sends. A link that ends does not
  // wait.
  void await_room() {
    const Deadline deadline(settings_.patience);
    while (!wait_ready(socket_.number(), Deadline(kLook), POLLOUT)) {
      const std::lock_guard lock(mutex_);
      require(!closing_ && !broken_, "the link ended while the peer read", Cause::kLost);
      require(!deadline.over(), "the peer takes no answer to what it reads", Cause::kTimeout);
    }
  }

  // Any thread.
  void end_with(const Failure& failure) {
    const std::lock_guard lock(mutex_);
    broke_locked(failure);
  }
  void broke_locked(const Failure& failure) {
    broke(failure);
    changed_.notify_all();
    asked_.notify_all();
    eventfd_write(news_.number(), 1);
  }

  Descriptor socket_;
  Descriptor news_;  // an eventfd, readable when there are arrivals or the end
  RegionTable regions_;
  std::timed_mutex sending_;

  std::mutex mutex_;  // of all below, and of broken_
  std::condition_variable changed_;
  Credits credits_;
  std::deque<Arrival> arrivals_;
  std::deque<Wanted> wanted_;
  std::deque<Frame> requests_;  // of the peer, without an answer yet; the last may be a refusal
  std::condition_variable asked_;
  std::uint64_t result_ = 0;
  std::uint64_t progress_ = 0;  // counts what came
  bool closing_ = false;
  bool received_all_ = false;

  std::thread receiver_;
  std::thread responder_;
};

// Without a descriptor for one more connection, it is tried again after this.
constexpr Limit kRest = std::chrono::milliseconds(100);

class TcpListener : public Listener {
 public:
  TcpListener(const Address& address, const Settings& settings, Admit admit)
      : Listener(address, settings, std::move(admit)), socket_(listener(address, 128)) {
    address_.port = local_address(socket_).port;
  }

  std::unique_ptr<Link> accept(Limit limit) override {
    const Deadline deadline(limit);
    std::vector<pollfd> descriptors;
    while (true) {
      pending_.remove_if([](const Pending& each) { return each.deadline.over(); });
      descriptors.assign(1, {.fd = socket_.number(), .events = POLLIN, .revents = 0});
      for (const Pending& each : pending_)
        descriptors.push_back({.fd = each.socket.number(), .events = POLLIN, .revents = 0});
      if (poll(descriptors.data(), descriptors.size(), deadline.milliseconds()) < 0 &&
          errno != EINTR)
        fail_errno("poll");
      // In the order of the descriptors; the listening socket's may add one to the end.
      std::size_t index = 1;
      for (auto each = pending_.begin(); each != pending_.end(); index++) {
        const bool keep = descriptors[index].revents == 0 || read_hello(*each);
        if (keep && each->got == each->hello.size()) {
          Pending whole = std::move(*each);
          pending_.erase(each);
          if (std::unique_ptr<Link> link = answer(whole)) return link;
          break;
        }
        each = keep ? std::next(each) : pending_.erase(each);
      }
      if (descriptors[0].revents != 0) take_connection();
      if (deadline.over()) return nullptr;
    }
  }

 private:
  // A peer that has connected and not yet said hello.
  struct Pending {
    Descriptor socket;
    Address peer;
    Clock::time_point begun;
    Deadline deadline;
    std::array<std::byte, Hello::kBytes> hello{};
    std::size_t got = 0;
  };

  void take_connection() {
    SocketAddress name;
    name.length = sizeof(name.storage);
    Descriptor socket(accept4(socket_.number(), name.get(), &name.length, SOCK_CLOEXEC));
    if (!socket) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
        poll(nullptr, 0, static_cast<int>(kRest.count()));
      return;
    }
    const Address peer = Address::of(name);
    if (admits(peer)) {
      if (pending_.size() >= kMostPending)
        pending_.pop_front();  // the one that has been silent for longest
      pending_.push_back({.socket = std::move(socket),
                          .peer = peer,
                          .begun = Clock::now(),
                          .deadline = Deadline(kAnswer)});
    }
  }
  // Reads more of the hello; false when the peer is given up.
  static bool read_hello(Pending& pending) {
    const ssize_t count = recv(pending.socket.number(), pending.hello.data() + pending.got,
                               pending.hello.size() - pending.got, MSG_DONTWAIT);
    if (count > 0) pending.got += static_cast<std::size_t>(count);
    return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
  }
  std::unique_ptr<Link> answer(Pending& pending) const {
    try {
      const Hello peer{std::span<const std::byte>(pending.hello)};
      const auto own = Hello(settings_).to_bytes();
      if (send(pending.socket.number(), own.data(), own.size(), MSG_NOSIGNAL | MSG_DONTWAIT) !=
          static_cast<ssize_t>(own.size()))
        return nullptr;
      return std::make_unique<TcpLink>(std::move(pending.socket), settings_, peer, pending.peer,
                                       pending.begun);
    } catch (const std::exception&) {
      // What is wrong is the peer's doing, or want of a thread or memory for one more.
      return nullptr;
    }
  }

  Descriptor socket_;
  std::list<Pending> pending_;
};

}  // namespace

Descriptor connect_socket(const Address& address, const Deadline& deadline) {
  const SocketAddress there = address.resolve();
  Descriptor made = stream_socket(there);
  const int flags = fcntl(made.number(), F_GETFL);
  must(fcntl(made.number(), F_SETFL, flags | O_NONBLOCK), "fcntl");
  if (::connect(made.number(), there.get(), there.length) != 0) {
    int error = errno;
    if (error == EINPROGRESS) {
      require(wait_ready(made.number(), deadline, POLLOUT), Cause::kTimeout, address.text(),
              " did not answer in time");
      socklen_t length = sizeof(error);
      getsockopt(made.number(), SOL_SOCKET, SO_ERROR, &error, &length);
    }
    require(error != ECONNREFUSED, Cause::kRefused, address.text(),
            " refused the connection: is the server running there?");
    require(error == 0, Cause::kTimeout, address.text(),
            " can't be reached: ", std::strerror(error));
  }
  fcntl(made.number(), F_SETFL, flags);
  return made;
}

std::unique_ptr<Link> connect_tcp(const Address& address, Limit limit, const Settings& settings) {
  const Clock::time_point begun = Clock::now();
  const Deadline deadline(limit);
  Descriptor socket = connect_socket(address, deadline);
  const auto hello = Hello(settings).to_bytes();
  std::array<std::byte, Hello::kBytes> answer{};
  std::size_t got = 0;
  if (::send(socket.number(), hello.data(), hello.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(hello.size()))
    fail_errno("connecting to " + address.text(), Cause::kLost);
  while (got < answer.size()) {
    require(wait_ready(socket.number(), deadline), Cause::kTimeout, address.text(),
            " did not answer in time");
    const ssize_t count = recv(socket.number(), answer.data() + got, answer.size() - got, 0);
    require(count > 0, Cause::kRefused, address.text(),
            " refused the connection: may this host connect?");
    got += static_cast<std::size_t>(count);
  }
  return std::make_unique<TcpLink>(std::move(socket), settings,
                                   Hello(std::span<const std::byte>(answer)), address, begun);
}

std::unique_ptr<Listener> listen_tcp(const Address& address, const Settings& settings,
                                     Admit admit) {
  return std::make_unique<TcpListener>(address, settings, std::move(admit));
}

}  // namespace rdma
