// SPDX-License-Identifier: GPL-2.0
// Memory that several hosts share: each holds a share of it, and reads and writes those of all.
//
//     Layout layout;                       // on every host the same
//     const Control control(layout, hosts);
//     const auto numbers = layout.map<double>(1000);
//     const Share share(layout.bytes());
//     Peers peers(gathering, share.bytes());
//     World world(share, control, &peers);
//     world.of(numbers.all())[0] = 1.5;    // this host's own
//     world.read(2, numbers.at(0, 10), numbers.at(500, 10));  // 10 of host 2's, to 500..509 here
//     world.fence();                       // now they are here
//
// Requests may be complete in any order, until fence(). What is written to a host is there for that
// host when it has taken a notification that was sent after, or has passed a barrier.
#pragma once

#include "peers.h"
#include "share.h"
#include "times.h"

namespace rdma::sharedmemory {

using Watch = std::function<void(const char* what, std::size_t done, std::size_t of)>;

// Every call throws Failure (kLost) that names the host if another one has ended.
class World {
 public:
  // Without peers one host is alone. What is referred to is the caller's.
  World(const Share& share, const Control& control, Peers* peers = nullptr)
      : share_(share),
        control_(control),
        peers_(peers),
        traffic_(static_cast<std::size_t>(hosts())) {}

  int rank() const { return peers_ != nullptr ? peers_->rank() : 0; }
  int hosts() const { return peers_ != nullptr ? peers_->hosts() : 1; }
  // A host's part of `count` things, and this host's.
  Part part(std::size_t count, int host) const { return Part::of(count, hosts(), host); }
  Part part(std::size_t count) const { return part(count, rank()); }
  // The host that is `step` after this one: when all begin with themselves, not all read from, or
  // write to, the same.
  int host_after(int step) const { return (rank() + step) % hosts(); }
  Times& times() { return times_; }

  // This host's own elements.
  template <typename T>
  std::span<T> of(const Slice<T>& slice) const {
    return share_.of(slice);
  }
  template <typename T>
  std::span<T> of(const Array<T>& array) const {
    return share_.of(array.all());
  }

  // Begins to copy this host's `from` to `to` of a host, which may be this one. Both have the same
  // count. `from` must not change until fence().
  template <typename T>
  void write(int host, const Slice<T>& from, const Slice<T>& to) {
    move_bytes(true, host, from.offset, check(from.bytes(), to.bytes()), to.offset);
  }
  // Begins to copy `from` of a host to this host's `into`, which has the bytes after fence().
  template <typename T>
  void read(int host, const Slice<T>& from, const Slice<T>& into) {
    move_bytes(false, host, from.offset, check(from.bytes(), into.bytes()), into.offset);
  }
  // Waits until all that this host began is complete: what was read is here, and what was written
  // is in the memory of the other hosts.
  void fence();
  // read(), and waits for it.
  template <typename T>
  void fetch(int host, const Slice<T>& from, const Slice<T>& into) {
    read(host, from, into);
    fence();
  }

  // Atomic on one word of a host. Both return the value before, and wait for it.
  std::uint64_t fetch_add(int host, const Slice<std::uint64_t>& word, std::uint64_t add);
  std::uint64_t compare_swap(int host, const Slice<std::uint64_t>& word, std::uint64_t expected,
                             std::uint64_t desired);

  // The same as write() to another host, with a notification: all which this one has written to it
  // until now is there when that host takes it.
  template <typename T>
  void write_notify(int host, const Slice<T>& from, const Slice<T>& to) {
    notify_bytes(host, Signal::kNotified, from.offset, check(from.bytes(), to.bytes()), to.offset);
  }
  // Waits for the next notification of a host.
  void await(int host);
  // Waits until what was written to a host may be changed here again; it may not have arrived.
  void settle(int host);

  // No host goes on before all have come, and what any wrote before is then there for all. Every
  // host calls it equally often.
  void barrier();
  // Takes lock `number`, below Control::kLocks, of host `home`, and waits while another host has
  // it: any host that ends may be that one.
  void lock(int home, std::size_t number);
  // Gives it back. What this host wrote while it had the lock is there for the next one.
  void unlock(int home, std::size_t number);
  // Has change() change a value of `home` under a lock of it; `here` is a place for it meanwhile.
  // Unless change() returns true the value stays as it was.
  template <typename T, typename Change>
  void update(int home, std::size_t number, const Slice<T>& value, const Array<T>& here,
              const Change& change) {
    lock(home, number);
    fetch(home, value, here.all());
    if (change(of(here)[0])) write(home, here.all(), value);
    unlock(home, number);
  }

  // Says how far the work is, where somebody set out to watch. `what` is one step of it.
  void progress(const char* what, std::size_t done, std::size_t of) const {
    if (watch) watch(what, done, of);
  }
  Watch watch;

 private:
  // What this host has under way to another one.
  struct Traffic {
    bool requests = false;  // something is not known to be complete
    bool writes = false;    // something is not known to have arrived
  };

  // The number of bytes of both slices. Throws Failure (kInput) if they differ.
  static std::size_t check(std::size_t from, std::size_t to);
  void move_bytes(bool writes, int host, std::size_t from, std::size_t length, std::size_t to);
  void notify_bytes(int host, Signal signal, std::size_t from, std::size_t length, std::size_t to);
  // Throws Failure (kProtocol) unless there is such a host: its number may have been computed from
  // what others wrote.
  void check_host(int host) const;
  Traffic& traffic(int host) { return traffic_[static_cast<std::size_t>(host)]; }

  const Share& share_;
  const Control& control_;
  Peers* peers_;
  Times times_;
  std::vector<Traffic> traffic_;
};

}  // namespace rdma::sharedmemory
