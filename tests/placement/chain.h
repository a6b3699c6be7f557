// SPDX-License-Identifier: GPL-2.0
// A chain of work requests between two ends, posted at once, and the proof that each byte
// went where it belongs and nowhere else.
#pragma once

#include "endpoint.h"

namespace rdma {

struct Transfer {
  ibv_wr_opcode opcode = IBV_WR_SEND;  // SEND, RDMA_WRITE or RDMA_READ
  Layout local;                        // SGEs at the end that posts
  Layout remote;                       // SGEs of the receive; or the one extent to write or read
  unsigned flags = IBV_SEND_SIGNALED;
  bool fresh_source = true;  // else keep the bytes that it has or will get
};

// "RDMA write of 5 bytes, local [..], remote [..], flags ..." for messages.
std::string to_string(const Transfer& transfer);

class Chain {
 public:
  // Work requests are posted at `from`; `to` is its peer. Both must outlive the chain.
  Chain(Endpoint& from, Endpoint& to) : from_(from), to_(to) {}

  // Adds a work request; posts its receive if it is a send. Throws Failure.
  void add(const Transfer& transfer);
  // Posts all with one call; then spoils the source of those that are inline, which by
  // then must have been copied. Throws Failure.
  void post();
  // Takes every completion in order, and has the peer confirm that writes were placed, which no
  // completion says. Throws Failure.
  void complete();
  // Compares memory at both ends, with what lies around it: where another chain's lies there, that
  // one has to be complete as well. Throws Failure.
  void check() const;
  void finish() {
    complete();
    check();
  }

  // All of it with one work request.
  static void run(Endpoint& from, Endpoint& to, const Transfer& transfer) {
    Chain chain(from, to);
    chain.add(transfer);
    chain.post();
    chain.finish();
  }

 private:
  struct Entry {
    Transfer transfer;
    Work work;
    std::uint64_t receive;  // wr_id of the receive of a send
    std::uint64_t seed;
  };

  Endpoint& from_;
  Endpoint& to_;
  std::vector<Entry> entries_;
};

}  // namespace rdma
