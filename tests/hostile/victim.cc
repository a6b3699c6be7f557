// SPDX-License-Identifier: GPL-2.0
// The victim of the hostile peers: a program with memory of every kind of right, which is
// connected to whoever it is told to connect to, and says which bytes of its memory have
// changed.
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
//     finish              ends the connection from this side
//     memory              "same", or "differs FIRST LAST": offsets in the arena
//     holds OFFSET HEX    these bytes are right there
//     accept              what is there now is right
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr std::size_t kPart = 128U << 10;    // a region, or what lies between two
constexpr std::size_t kReceive = 64U << 10;  // a receive
constexpr int kReceives = 16;                // receives at most
constexpr int kPatience = 30'000;            // milliseconds

class Failed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

void require(bool condition, const std::string& what) {
  if (!condition) {
    throw Failed(what + ": " + std::strerror(errno));
  }
}

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
  explicit Victim(const std::string& address) : address_(address) {
    channel_ = rdma_create_event_channel();
    require(channel_ != nullptr, "rdma_create_event_channel");
    rdma_cm_id* id = make_id();
    device_ = id->verbs;
    pd_ = ibv_alloc_pd(device_);
    require(pd_ != nullptr, "ibv_alloc_pd");
    rdma_destroy_id(id);
    const std::size_t size = (2 * kParts.size() + 1) * kPart + kReceives * kReceive;
    void* arena = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(arena != MAP_FAILED, "mmap");
    arena_ = {static_cast<std::uint8_t*>(arena), size};
    for (std::size_t i = 0; i < size; i++) {
      arena_.bytes[i] = static_cast<std::uint8_t>((i * 2'654'435'761U) >> 24U);
    }
    for (std::size_t i = 0; i < kParts.size(); i++) {
      std::uint8_t* at = arena_.bytes + (2 * i + 1) * kPart;
      regions_.push_back(ibv_reg_mr(pd_, at, kPart, kParts[i].rights));
      require(regions_.back() != nullptr, std::string("ibv_reg_mr of ") + kParts[i].name);
      std::printf("region %s %" PRIu32 " %" PRIu64 " %zu %zu\n", kParts[i].name,
                  regions_.back()->rkey, reinterpret_cast<std::uint64_t>(at), kPart,
                  (2 * i + 1) * kPart);
    }
    receives_ = arena_.bytes + (2 * kParts.size() + 1) * kPart;
    receive_region_ = ibv_reg_mr(pd_, receives_, kReceives * kReceive, IBV_ACCESS_LOCAL_WRITE);
    require(receive_region_ != nullptr, "ibv_reg_mr of the receives");
    window_ = ibv_alloc_mw(pd_, IBV_MW_TYPE_2);
    require(window_ != nullptr, "ibv_alloc_mw");
    accept();
  }

  void connect(const std::string& host, const std::string& port, const Options& options) {
    require(id_ == nullptr, "connected already");
    id_ = make_id();
    sockaddr_storage to = parse(host, port);
    require(rdma_resolve_addr(id_, nullptr, reinterpret_cast<sockaddr*>(&to), kPatience) == 0,
            "rdma_resolve_addr");
    expect(RDMA_CM_EVENT_ADDR_RESOLVED);
    require(rdma_resolve_route(id_, kPatience) == 0, "rdma_resolve_route");
    expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
    make_queues(options);
    rdma_conn_param param{};
    param.responder_resources = 4;
    param.initiator_depth = 4;
    require(rdma_connect(id_, &param) == 0, "rdma_connect");
    expect(RDMA_CM_EVENT_ESTABLISHED);
    // Nothing is printed before this point but the reason of a failed connect.
    std::printf("entries %d\n", recv_cq_->cqe);
    if (option(options, "window", 0) != 0) {
      bind_window();
    }
  }

  // Prints the completions of the receives, and the end of the connection.
  void end() {
    const rdma_cm_event_type type = next_event();
    require(type == RDMA_CM_EVENT_DISCONNECTED,
            std::string("not the end but ") + rdma_event_str(type));
    tell_completions();
    drop();
  }

  void finish() {
    require(id_ != nullptr, "not connected");
    require(rdma_disconnect(id_) == 0, "rdma_disconnect");
    end();
  }

  void memory() const {
    const auto* begin = arena_.bytes;
    const auto first = std::mismatch(begin, begin + arena_.size, expected_.begin()).first - begin;
    if (static_cast<std::size_t>(first) == arena_.size) {
      std::puts("same");
      return;
    }
    std::size_t last = arena_.size - 1;
    while (begin[last] == expected_[last]) {
      last--;
    }
    std::printf("differs %td %zu\n", first, last);
  }

  void holds(std::size_t at, const std::string& hex) {
    require(at <= arena_.size && hex.size() / 2 <= arena_.size - at, "holds: beyond the arena");
    for (std::size_t i = 0; i < hex.size() / 2; i++) {
      expected_[at + i] = static_cast<std::uint8_t>(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
    }
  }

  void accept() { expected_.assign(arena_.bytes, arena_.bytes + arena_.size); }

  // After a failed connect: what there is of it goes.
  void drop() {
    if (id_ == nullptr) {
      return;
    }
    if (id_->qp != nullptr) {
      rdma_destroy_qp(id_);
    }
    rdma_destroy_id(id_);
    id_ = nullptr;
    for (ibv_cq** cq : {&send_cq_, &recv_cq_}) {
      if (*cq != nullptr) {
        ibv_destroy_cq(*cq);
        *cq = nullptr;
      }
    }
    if (srq_ != nullptr) {
      ibv_destroy_srq(srq_);
      srq_ = nullptr;
    }
  }

 private:
  struct Arena {
    std::uint8_t* bytes = nullptr;
    std::size_t size = 0;
  };

  static int option(const Options& options, const char* name, int otherwise) {
    const auto found = options.find(name);
    return found == options.end() ? otherwise : found->second;
  }

  static sockaddr_storage parse(const std::string& host, const std::string& port) {
    sockaddr_storage address{};
    auto* ipv4 = reinterpret_cast<sockaddr_in*>(&address);
    auto* ipv6 = reinterpret_cast<sockaddr_in6*>(&address);
    const auto number = htons(static_cast<std::uint16_t>(std::stoi(port)));
    if (inet_pton(AF_INET, host.c_str(), &ipv4->sin_addr) == 1) {
      ipv4->sin_family = AF_INET;
      ipv4->sin_port = number;
    } else if (inet_pton(AF_INET6, host.c_str(), &ipv6->sin6_addr) == 1) {
      ipv6->sin6_family = AF_INET6;
      ipv6->sin6_port = number;
    } else {
      throw Failed("not an address: " + host);
    }
    return address;
  }

  // An identifier with this host's device.
  rdma_cm_id* make_id() {
    rdma_cm_id* id = nullptr;
    require(rdma_create_id(channel_, &id, nullptr, RDMA_PS_TCP) == 0, "rdma_create_id");
    if (device_ == nullptr) {
      sockaddr_storage own = parse(address_, "0");
      require(rdma_bind_addr(id, reinterpret_cast<sockaddr*>(&own)) == 0, "rdma_bind_addr");
      require(id->verbs != nullptr, "a device of " + address_);
    }
    return id;
  }

  rdma_cm_event_type next_event() {
    pollfd waiting{.fd = channel_->fd, .events = POLLIN, .revents = 0};
    require(poll(&waiting, 1, kPatience) == 1, "no event of the connection in time");
    rdma_cm_event* event = nullptr;
    require(rdma_get_cm_event(channel_, &event) == 0, "rdma_get_cm_event");
    const rdma_cm_event_type type = event->event;
    status_ = event->status;
    rdma_ack_cm_event(event);
    return type;
  }

  void expect(rdma_cm_event_type type) {
    const rdma_cm_event_type got = next_event();
    if (got != type) {
      throw Failed(std::string(rdma_event_str(got)) + " " + std::to_string(status_));
    }
  }

  void make_queues(const Options& options) {
    const int receives = std::min(option(options, "receives", 4), kReceives);
    deep_ = option(options, "deep", 0);
    send_cq_ = ibv_create_cq(device_, 16, nullptr, nullptr, 0);
    recv_cq_ = ibv_create_cq(device_, deep_ != 0 ? deep_ : 64, nullptr, nullptr, 0);
    require(send_cq_ != nullptr && recv_cq_ != nullptr, "ibv_create_cq");
    ibv_qp_init_attr init{};
    init.send_cq = send_cq_;
    init.recv_cq = recv_cq_;
    init.qp_type = IBV_QPT_RC;
    init.cap = {.max_send_wr = 8,
                .max_recv_wr = kReceives,
                .max_send_sge = 1,
                .max_recv_sge = 1,
                .max_inline_data = 0};
    if (option(options, "srq", 0) != 0) {
      ibv_srq_init_attr shared{};
      shared.attr = {.max_wr = kReceives, .max_sge = 1, .srq_limit = 0};
      srq_ = ibv_create_srq(pd_, &shared);
      require(srq_ != nullptr, "ibv_create_srq");
      init.srq = srq_;
    }
    require(rdma_create_qp(id_, pd_, &init) == 0, "rdma_create_qp");
    for (int i = 0; i < receives; i++) {
      ibv_sge sge{.addr = reinterpret_cast<std::uint64_t>(receives_ + i * kReceive),
                  .length = kReceive,
                  .lkey = receive_region_->lkey};
      ibv_recv_wr wr{};
      wr.wr_id = static_cast<std::uint64_t>(i);
      wr.sg_list = &sge;
      wr.num_sge = 1;
      ibv_recv_wr* bad = nullptr;
      require((srq_ != nullptr ? ibv_post_srq_recv(srq_, &wr, &bad)
                               : ibv_post_recv(id_->qp, &wr, &bad)) == 0,
              "posting a receive");
    }
  }

  void bind_window() {
    ibv_mr* region = regions_.back();
    ibv_send_wr wr{};
    wr.opcode = IBV_WR_BIND_MW;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.bind_mw.mw = window_;
    wr.bind_mw.rkey = ibv_inc_rkey(window_->rkey);
    wr.bind_mw.bind_info = {.mr = region,
                            .addr = reinterpret_cast<std::uint64_t>(region->addr) + kPart / 4,
                            .length = kPart / 2,
                            .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
    ibv_send_wr* bad = nullptr;
    require(ibv_post_send(id_->qp, &wr, &bad) == 0, "posting a bind");
    ibv_wc wc{};
    const auto begin = std::chrono::steady_clock::now();
    while (ibv_poll_cq(send_cq_, 1, &wc) == 0) {
      if (std::chrono::steady_clock::now() - begin > std::chrono::milliseconds(kPatience)) {
        throw Failed("no completion of the bind");
      }
    }
    if (wc.status != IBV_WC_SUCCESS) {
      throw Failed(std::string("the bind ended with ") + ibv_wc_status_str(wc.status));
    }
    window_->rkey = wr.bind_mw.rkey;
    std::printf("window %" PRIu32 "\n", window_->rkey);
  }

  void tell_completions() {
    std::map<std::string, int> count;
    ibv_wc wc{};
    while (deep_ == 0 && ibv_poll_cq(recv_cq_, 1, &wc) > 0) {
      if (wc.status == IBV_WC_SUCCESS) {
        std::printf("received %" PRIu64 " %" PRIu32 " %d\n", wc.wr_id, wc.byte_len, wc.wc_flags);
      }
      count[ibv_wc_status_str(wc.status)]++;
    }
    for (const auto& [status, times] : count) {
      std::printf("completed %d %s\n", times, status.c_str());
    }
  }

  std::string address_;
  rdma_event_channel* channel_ = nullptr;
  ibv_context* device_ = nullptr;
  ibv_pd* pd_ = nullptr;
  Arena arena_;
  std::vector<std::uint8_t> expected_;
  std::vector<ibv_mr*> regions_;
  std::uint8_t* receives_ = nullptr;
  ibv_mr* receive_region_ = nullptr;
  ibv_mw* window_ = nullptr;
  rdma_cm_id* id_ = nullptr;
  ibv_cq* send_cq_ = nullptr;
  ibv_cq* recv_cq_ = nullptr;
  ibv_srq* srq_ = nullptr;
  int deep_ = 0;
  int status_ = 0;
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
  } else if (command == "finish") {
    victim.finish();
  } else if (command == "memory") {
    victim.memory();
  } else if (command == "holds") {
    std::size_t at = 0;
    std::string hex;
    words >> at >> hex;
    victim.holds(at, hex);
  } else if (command == "accept") {
    victim.accept();
  } else {
    throw Failed("unknown command " + command);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: victim ADDRESS (its own; commands come from standard input)\n", stderr);
    return 2;
  }
  setvbuf(stdout, nullptr, _IOLBF, 0);
  try {
    Victim victim(argv[1]);
    std::puts("done");
    std::string line;
    while (std::getline(std::cin, line)) {
      try {
        obey(victim, line);
        std::puts("done");
      } catch (const Failed& error) {
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
