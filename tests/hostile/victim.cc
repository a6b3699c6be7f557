// SPDX-License-Identifier: GPL-2.0
// The victim of the hostile peers: a program with memory of every kind of right, which is connected
// to whoever it is told to connect to, and says which bytes of its memory have changed.
//
//     victim ADDRESS
//
// Reads commands from its standard input, one a line, and answers each with lines of which the
// last is "done" or "failed REASON". At its start it prints "region NAME STAG ADDRESS LENGTH"
// for each region of one arena, between which there is memory that nobody may touch.
//
//     connect ADDRESS PORT [key=value...]   to a peer; says "window STAG" if it has one bound
//         receives=N      receives posted before, each of kReceive bytes (default 4)
//         srq=1           from a shared receive queue
//         window=1        binds a window of type 2 to the middle of region "window"
//         deep=N          a completion queue of N entries for receives, which is not polled
//     end                 waits for the end of the connection; says what completed
//     memory              "same", or "differs FIRST LAST": offsets in the arena
//     holds OFFSET HEX    these bytes are right there
//     renew               the memory is as it was at the start
#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <iostream>
#include <map>
#include <sstream>

#include "event.h"
#include "pages.h"
#include "work.h"

namespace rdma {

namespace {

constexpr std::size_t kPart = 128U << 10;    // a region, or what lies between two
constexpr std::size_t kReceive = 64U << 10;  // a receive
constexpr int kReceives = 16;                // receives at most
constexpr Limit kPatience = std::chrono::seconds(30);

struct Part {
  const char* name;
  int rights;
};

// In the order in which they lie in the arena.
constexpr std::array kParts{
    Part{"write", IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ},
    Part{"second", IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE},
    Part{"read", IBV_ACCESS_REMOTE_READ},
    Part{"local", IBV_ACCESS_LOCAL_WRITE},
    Part{"atomic", IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC},
    Part{"window", IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND},
};

using Options = std::map<std::string, int>;

class Victim {
 public:
  explicit Victim(const std::string& address) : home_(at_home({address, 0})) {
    renew();
    for (std::size_t i = 0; i < kParts.size(); i++) {
      std::uint8_t* at = arena_.bytes() + (2 * i + 1) * kPart;
      regions_.push_back(own(ibv_reg_mr(pd_.get(), at, kPart, kParts[i].rights),
                             std::string("ibv_reg_mr of ") + kParts[i].name));
      std::printf("region %s %" PRIu32 " %" PRIu64 " %zu %zu\n", kParts[i].name,
                  regions_.back()->rkey, reinterpret_cast<std::uint64_t>(at), kPart,
                  (2 * i + 1) * kPart);
    }
    receive_region_ =
        own(ibv_reg_mr(pd_.get(), receives_, kReceives * kReceive, IBV_ACCESS_LOCAL_WRITE),
            "ibv_reg_mr of the receives");
  }

  void connect(const std::string& host, const std::string& port, const Options& options) {
    require(id_ == nullptr, "connected already");
    id_ = make_identifier(channel_.get());
    resolve(id_.get(), {host, static_cast<std::uint16_t>(std::stoi(port))}, kPatience);
    make_queues(options);
    rdma_conn_param param = parameters<char>(4, nullptr, 0);
    must(rdma_connect(id_.get(), &param), "rdma_connect");
    expect_event(channel_.get(), RDMA_CM_EVENT_ESTABLISHED, kPatience);
    // Nothing is printed before this point but the reason of a failed connect.
    std::printf("entries %d\n", recv_cq_->cqe);
    if (option(options, "window", 0) != 0) bind_window();
  }

  // Prints the completions of the receives, and the end of the connection.
  void end() {
    expect_event(channel_.get(), RDMA_CM_EVENT_DISCONNECTED, kPatience);
    tell_completions();
    drop();
  }

  void memory() const {
    const auto* begin = arena_.bytes();
    const auto first = std::mismatch(begin, begin + arena_.size(), expected_.begin()).first - begin;
    if (static_cast<std::size_t>(first) == arena_.size()) {
      std::puts("same");
      return;
    }
    std::size_t last = arena_.size() - 1;
    while (begin[last] == expected_[last]) last--;
    std::printf("differs %td %zu\n", first, last);
  }

  void holds(std::size_t at, const std::string& hex) {
    require(at <= arena_.size() && hex.size() / 2 <= arena_.size() - at, "holds: beyond the arena");
    for (std::size_t i = 0; i < hex.size() / 2; i++)
      expected_[at + i] = static_cast<std::uint8_t>(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
  }

  void renew() {
    for (std::size_t i = 0; i < arena_.size(); i++)
      arena_.bytes()[i] = static_cast<std::uint8_t>((i * 2'654'435'761U) >> 24U);
    expected_.assign(arena_.bytes(), arena_.bytes() + arena_.size());
  }

  // After a failed connect: what there is of it goes.
  void drop() {
    id_.reset();
    send_cq_.reset();
    recv_cq_.reset();
    srq_.reset();
  }

 private:
  // Bound to this host's device.
  Identifier at_home(const Address& address) const {
    Identifier id = make_identifier(channel_.get());
    must(rdma_bind_addr(id.get(), address.resolve().get()), "rdma_bind_addr");
    require(id->verbs != nullptr, "no device has " + address.host);
    return id;
  }

  static int option(const Options& options, const char* name, int otherwise) {
    const auto found = options.find(name);
    return found == options.end() ? otherwise : found->second;
  }

  void make_queues(const Options& options) {
    const int receives = std::min(option(options, "receives", 4), kReceives);
    deep_ = option(options, "deep", 0);
    send_cq_ = own(ibv_create_cq(home_->verbs, 16, nullptr, nullptr, 0), "ibv_create_cq");
    recv_cq_ = own(ibv_create_cq(home_->verbs, deep_ != 0 ? deep_ : 64, nullptr, nullptr, 0),
                   "ibv_create_cq");
    ibv_qp_init_attr init = queue_pair(send_cq_.get(), 8, kReceives);
    init.recv_cq = recv_cq_.get();
    if (option(options, "srq", 0) != 0) {
      ibv_srq_init_attr shared{};
      shared.attr = {.max_wr = kReceives, .max_sge = 1, .srq_limit = 0};
      srq_ = own(ibv_create_srq(pd_.get(), &shared), "ibv_create_srq");
      init.srq = srq_.get();
    }
    must(rdma_create_qp(id_.get(), pd_.get(), &init), "rdma_create_qp");
    for (int i = 0; i < receives; i++) {
      Receive work({{.addr = reinterpret_cast<std::uint64_t>(receives_ + i * kReceive),
                     .length = kReceive,
                     .lkey = receive_region_->lkey}},
                   static_cast<std::uint64_t>(i));
      require_zero(srq_ != nullptr ? post(srq_.get(), work) : post(id_->qp, work),
                   "posting a receive");
    }
  }

  void bind_window() {
    ibv_mr* region = regions_.back().get();
    Work work(IBV_WR_BIND_MW);
    work.bind_mw = {.mw = window_.get(),
                    .rkey = ibv_inc_rkey(window_->rkey),
                    .bind_info = {.mr = region,
                                  .addr = reinterpret_cast<std::uint64_t>(region->addr) + kPart / 4,
                                  .length = kPart / 2,
                                  .mw_access_flags = IBV_ACCESS_REMOTE_WRITE}};
    require_zero(post(id_->qp, work), "posting a bind");
    ibv_wc wc{};
    const Deadline deadline(kPatience);
    while (!poll(send_cq_.get(), wc)) require(!deadline.over(), "no completion of the bind");
    require(wc.status == IBV_WC_SUCCESS,
            std::string("the bind ended with ") + ibv_wc_status_str(wc.status));
    window_->rkey = work.bind_mw.rkey;
    std::printf("window %" PRIu32 "\n", window_->rkey);
  }

  void tell_completions() {
    std::map<std::string, int> count;
    ibv_wc wc{};
    while (deep_ == 0 && poll(recv_cq_.get(), wc)) {
      if (wc.status == IBV_WC_SUCCESS)
        std::printf("received %" PRIu64 " %" PRIu32 " %d\n", wc.wr_id, wc.byte_len, wc.wc_flags);
      count[ibv_wc_status_str(wc.status)]++;
    }
    for (const auto& [status, times] : count)
      std::printf("completed %d %s\n", times, status.c_str());
  }

  Channel channel_ = make_channel();
  Identifier home_;
  Owned<ibv_pd> pd_ = own(ibv_alloc_pd(home_->verbs), "ibv_alloc_pd");
  Pages arena_{(2 * kParts.size() + 1) * kPart + kReceives * kReceive};
  std::vector<std::uint8_t> expected_;
  std::vector<Owned<ibv_mr>> regions_;
  std::uint8_t* receives_ = arena_.bytes() + (2 * kParts.size() + 1) * kPart;
  Owned<ibv_mr> receive_region_;
  Owned<ibv_mw> window_ = own(ibv_alloc_mw(pd_.get(), IBV_MW_TYPE_2), "ibv_alloc_mw");
  Owned<ibv_srq> srq_;
  Owned<ibv_cq> send_cq_;
  Owned<ibv_cq> recv_cq_;
  Identifier id_;
  int deep_ = 0;
};

void obey(Victim& victim, const std::string& line) {
  std::istringstream words(line);
  std::string command;
  words >> command;
  if (command == "connect") {
    std::string host;
    std::string port;
    std::string pair;
    Options options;
    words >> host >> port;
    while (words >> pair) {
      const auto equals = pair.find('=');
      options[pair.substr(0, equals)] = std::stoi(pair.substr(equals + 1));
    }
    victim.connect(host, port, options);
  } else if (command == "end") {
    victim.end();
  } else if (command == "memory") {
    victim.memory();
  } else if (command == "holds") {
    std::size_t at = 0;
    std::string hex;
    words >> at >> hex;
    victim.holds(at, hex);
  } else if (command == "renew") {
    victim.renew();
  } else {
    throw Failure("unknown command " + command);
  }
}

}  // namespace

}  // namespace rdma

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: victim ADDRESS (its own; commands come from standard input)\n", stderr);
    return 2;
  }
  setvbuf(stdout, nullptr, _IOLBF, 0);
  try {
    rdma::Victim victim(argv[1]);
    std::puts("done");
    std::string line;
    while (std::getline(std::cin, line)) {
      try {
        rdma::obey(victim, line);
        std::puts("done");
      } catch (const rdma::Failure& error) {
        victim.drop();
        std::printf("failed %s\n", error.what());
      }
    }
  } catch (const std::exception& error) {
    std::printf("failed %s\n", error.what());
    return 1;
  }
  return 0;
}
