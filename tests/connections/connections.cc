// SPDX-License-Identifier: GPL-2.0
// Connections in numbers: one after the other, and many at once. Over each, the client sends a
// message, reads the server's memory, and gets the message back; both ends check every byte, and
// the reads that were agreed on. Each end tells the seed of its bytes in its private data, so that
// bytes of another connection show. The usage is at the end of the file.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <limits>
#include <list>
#include <random>
#include <span>
#include <thread>

#include "event.h"
#include "work.h"

namespace rdma {
namespace {

constexpr int kPort = 7300;
constexpr uint32_t kMessage = 512;
constexpr uint32_t kRead = 3000;
constexpr int kBacklog = 512;
constexpr int kResolveMs = 5000;
constexpr int kPatienceMs = 60000;
constexpr Limit kSettle{1000};
constexpr double kPromptSeconds = 3;
constexpr int kFirstPort = 10000;
constexpr int kFewestPorts = 100;
constexpr int kMostPorts = 50000;
constexpr double kMoreForMany = 2;
constexpr int kRounds = 4;
constexpr std::chrono::nanoseconds kBesideStep{200};
constexpr int kBesideSteps = 100;

struct Depths {
  uint8_t ird = 4;
  uint8_t ord = 4;
  int reads = 1;  // of a client
};

// The private data of an end: the seed of the data that it sends or of its memory, and from a
// server the place of that memory.
struct Offer {
  uint64_t addr;
  uint32_t rkey;
  uint32_t seed;
  uint32_t ird;
  uint32_t ord;
};

// Byte i of a seed's bytes: any four in a row tell the seed.
uint8_t pattern(uint32_t seed, uint32_t i) {
  return static_cast<uint8_t>((seed >> i % 4 * 8) * 31 + i * 7 + i / 256);
}

void fill(std::span<uint8_t> bytes, uint32_t seed) {
  for (uint32_t i = 0; i < bytes.size(); i++) bytes[i] = pattern(seed, i);
}

bool is_of(std::span<const uint8_t> bytes, uint32_t seed) {
  for (uint32_t i = 0; i < bytes.size(); i++)
    if (bytes[i] != pattern(seed, i)) return false;
  return true;
}

// One connection and its buffers. Lives at one address, since the RDMA core knows it.
struct Endpoint {
  struct {
    std::array<uint8_t, kMessage> out;
    std::array<uint8_t, kMessage> in;
    std::array<uint8_t, kRead> memory;
  } bytes;
  Owned<ibv_mr> mr;
  Identifier id;  // last, since its queue pair goes before the memory
  uint32_t seed = 0;
  uint32_t theirs = 0;  // the peer's seed
  int wanted = 0;       // completions still to come
  bool good = true;
  bool done = false;

  void fail(const char* what) {
    if (good) std::fprintf(stderr, "connection %u: %s\n", seed, what);
    good = false;
  }

  std::vector<ibv_sge> piece(std::span<uint8_t> part) const {
    return {
        {reinterpret_cast<uintptr_t>(part.data()), static_cast<uint32_t>(part.size()), mr->lkey}};
  }

  void prepare(ibv_pd* pd, ibv_cq* cq, int reads) {
    ibv_qp_init_attr attr = queue_pair(cq, static_cast<uint32_t>(reads) + 2, 2);
    attr.sq_sig_all = 1;
    must(rdma_create_qp(id.get(), pd, &attr), "rdma_create_qp");
    id->qp->qp_context = this;
    mr = own(ibv_reg_mr(pd, &bytes, sizeof(bytes), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ),
             "ibv_reg_mr");
    Receive receive(piece(bytes.in), reinterpret_cast<uintptr_t>(this));
    require_zero(rdma::post(id->qp, receive), "ibv_post_recv");
    wanted++;
  }

  void send() { post(Work(IBV_WR_SEND, piece(bytes.out))); }

  void read(const Offer& offer) {
    Work work(IBV_WR_RDMA_READ, piece(bytes.memory));
    work.aim(offer.addr, offer.rkey);
    post(std::move(work));
  }

  void post(Work work) {
    work.wr_id = reinterpret_cast<uintptr_t>(this);
    if (rdma::post(id->qp, work) != 0)
      fail("a post was refused");
    else
      wanted++;
  }

  // The values that the handshake agreed on, from ibv_query_qp().
  void check_depths(uint32_t ird, uint32_t ord) {
    ibv_qp_attr attr{};
    ibv_qp_init_attr init{};
    if (ibv_query_qp(id->qp, &attr, IBV_QP_MAX_QP_RD_ATOMIC, &init) != 0)
      return fail("ibv_query_qp failed");
    if (attr.max_dest_rd_atomic != ird || attr.max_rd_atomic != ord) {
      std::fprintf(stderr, "IRD %u ORD %u agreed, not %u and %u\n", attr.max_dest_rd_atomic,
                   attr.max_rd_atomic, ird, ord);
      fail("other depths than asked for");
    }
  }

  // Disconnects in a thread of its own, and destroys the queue pair @later behind its start.
  void disconnect_beside_destroy(std::chrono::nanoseconds later) {
    std::atomic<bool> begun = false;
    ibv_qp* qp = id->qp;
    id->qp = nullptr;  // or rdma_disconnect() modifies it first, in this process's memory
    const std::jthread disconnects([this, &begun] {
      begun = true;
      rdma_disconnect(id.get());
    });
    while (!begun) std::this_thread::yield();
    const auto when = Clock::now() + later;
    do std::this_thread::yield();
    while (Clock::now() < when);
    if (ibv_destroy_qp(qp) != 0) fail("ibv_destroy_qp failed");
  }
};

// A peer that says too little has no seed, and its bytes are wrong.
Offer offer_of(const Event& event) {
  return event.private_data.size() < sizeof(Offer) ? Offer{} : event.as<Offer>();
}

class Side {
 public:
  Side(const char* address, Depths depths, int tos = 0)
      : depths_(depths), tos_(static_cast<uint8_t>(tos)), where_{address, kPort} {}

  int serve(int connections) {
    const Identifier listener = marked();
    listen_at(listener.get(), where_, kBacklog);
    while (ended_ < connections) turn();
    return verdict(connections);
  }

  // Wants the last tenth of that many calls to take as long as the second: a list of all ports
  // would make each call take longer than the one before. A busy machine makes many calls longer,
  // but seldom nine in ten, nor in each round.
  int listen(int ports) {
    const bool ipv4 = where_.resolve().get()->sa_family == AF_INET;
    if (!ipv4 || ports < kFewestPorts || ports > kMostPorts) {
      std::fprintf(stderr, "listen takes an IPv4 address and %d to %d ports\n", kFewestPorts,
                   kMostPorts);
      return 2;
    }
    const auto part = static_cast<size_t>(ports / 10);
    double few = std::numeric_limits<double>::infinity();
    double many = few;
    for (int round = 1; round <= kRounds; round++) {
      const std::vector<double> took = listen_once(ports);
      few = std::min(few, tenth_shortest(std::span(took).subspan(part, part)));
      many = std::min(many, tenth_shortest(std::span(took).last(part)));
      std::printf(
          "round %d: rdma_listen() takes %.0f us at best beside %zu ports, %.0f us beside %zu\n",
          round, few * 1e6, part, many * 1e6, took.size() - part);
      if (many < kMoreForMany * few) return 0;
    }
    return 1;
  }

  // With `beside`, one thread disconnects while another destroys the queue pair: each end is right,
  // and the kernel may use the queue pair behind its end.
  int connect(int connections, int at_once, bool beside = false) {
    const auto begin = Clock::now();
    at_once_ = at_once;
    beside_ = beside;
    while (ended_ < connections) {
      if (endpoints_.empty()) {
        waiting_ = 0;
        for (int i = 0; i < at_once && ended_ + i < connections; i++) start();
      }
      turn();
    }
    const std::chrono::duration<double> took = Clock::now() - begin;
    std::printf("%.1f connections a second\n", connections / took.count());
    return verdict(connections);
  }

  // Connects to a peer that never answers, and gives up; returns whether that took no time.
  int abandon(bool by_disconnect) {
    start();
    Endpoint& e = endpoints_.front();
    while (e.mr == nullptr) turn();
    wait_ready(channel_->fd, Deadline(kSettle));
    const auto begin = Clock::now();
    if (by_disconnect)
      rdma_disconnect(e.id.get());
    else
      rdma_destroy_qp(e.id.get());
    const rdma_cm_event_type event = next_event(channel_.get(), Deadline(kForever))->type;
    const std::chrono::duration<double> took = Clock::now() - begin;
    std::printf("%s after %.1f s\n", rdma_event_str(event), took.count());
    const bool ended = event == RDMA_CM_EVENT_CONNECT_ERROR || event == RDMA_CM_EVENT_REJECTED;
    return ended && took.count() < kPromptSeconds ? 0 : 1;
  }

 private:
  int verdict(int connections) const {
    std::printf("%d of %d connections did all they should\n", good_, connections);
    return good_ == connections ? 0 : 1;
  }

  // Listens on so many ports at the same time, and returns the seconds that each call took.
  std::vector<double> listen_once(int ports) {
    std::vector<double> took;
    std::vector<Identifier> ids;
    for (int i = 0; i < ports; i++) {
      ids.push_back(make_identifier(channel_.get()));
      SocketAddress name = Address{where_.host, static_cast<uint16_t>(kFirstPort + i)}.resolve();
      must(rdma_bind_addr(ids.back().get(), name.get()), "rdma_bind_addr");
      const auto begin = Clock::now();
      must(rdma_listen(ids.back().get(), 1), "rdma_listen");
      const std::chrono::duration<double> call = Clock::now() - begin;
      took.push_back(call.count());
    }
    for (Identifier& id : ids) must(rdma_destroy_id(id.release()), "rdma_destroy_id");
    return took;
  }

  // Returns what nine in ten of these calls exceed.
  static double tenth_shortest(std::span<const double> took) {
    std::vector<double> sorted(took.begin(), took.end());
    const auto tenth = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 10);
    std::ranges::nth_element(sorted, tenth);
    return *tenth;
  }

  // An identifier that gives the packets of a connection, or of those that a listener takes, the
  // type of service.
  Identifier marked() {
    Identifier id = make_identifier(channel_.get());
    if (tos_ != 0)
      must(rdma_set_option(id.get(), RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos_, sizeof(tos_)),
           "rdma_set_option");
    return id;
  }

  Endpoint& add(Identifier id) {
    Endpoint& e = endpoints_.emplace_back();
    e.id = std::move(id);
    e.seed = ++seeds_;
    e.id->context = &e;
    return e;
  }

  void start() {
    SocketAddress name = where_.resolve();
    must(rdma_resolve_addr(add(marked()).id.get(), nullptr, name.get(), kResolveMs),
         "rdma_resolve_addr");
  }

  // All endpoints share one device, and so one domain and one completion queue.
  void open(ibv_context* verbs) {
    if (pd_ != nullptr) return;
    pd_ = own(ibv_alloc_pd(verbs), "ibv_alloc_pd");
    completions_ = own(ibv_create_comp_channel(verbs), "ibv_create_comp_channel");
    cq_ = own(ibv_create_cq(verbs, 16384, nullptr, completions_.get(), 0), "ibv_create_cq");
    require_zero(ibv_req_notify_cq(cq_.get(), 0), "ibv_req_notify_cq");
  }

  void turn() {
    const int completions = completions_ != nullptr ? completions_->fd : -1;
    pollfd fds[] = {{channel_->fd, POLLIN, 0}, {completions, POLLIN, 0}};
    if (::poll(fds, std::size(fds), kPatienceMs) <= 0) {
      std::fprintf(stderr, "nothing happens any more: %d ended, %zu under way\n", ended_,
                   endpoints_.size());
      std::exit(3);
    }
    if (fds[1].revents != 0) complete();
    if (fds[0].revents != 0) handle(*next_event(channel_.get(), Deadline(kForever)));
  }

  // Connects or accepts, and tells of that memory.
  int connect_with(int (*call)(rdma_cm_id*, rdma_conn_param*), const Endpoint& e, uint64_t addr,
                   uint32_t rkey) const {
    const Offer offer{addr, rkey, e.seed, depths_.ird, depths_.ord};
    rdma_conn_param param = parameters(depths_.ird, &offer);
    param.initiator_depth = depths_.ord;
    return call(e.id.get(), &param);
  }

  void handle(const Event& event) {
    rdma_cm_id* id = event.id;
    if (event.type == RDMA_CM_EVENT_CONNECT_REQUEST) return request(id, offer_of(event));
    Endpoint& e = *static_cast<Endpoint*>(id->context);
    if (event.type == RDMA_CM_EVENT_ADDR_RESOLVED) {
      must(rdma_resolve_route(id, kResolveMs), "rdma_resolve_route");
    } else if (event.type == RDMA_CM_EVENT_ROUTE_RESOLVED) {
      open(id->verbs);
      e.prepare(pd_.get(), cq_.get(), depths_.reads);
      must(connect_with(rdma_connect, e, 0, 0), "rdma_connect");
    } else if (event.type == RDMA_CM_EVENT_ESTABLISHED) {
      if (at_once_ != 0) established(e, offer_of(event));
    } else if (event.type == RDMA_CM_EVENT_DISCONNECTED) {
      if (at_once_ == 0) rdma_disconnect(id);
      end(e);
    } else {
      std::fprintf(stderr, "%s, status %d\n", rdma_event_str(event.type), event.status);
      e.fail("unexpected event");
      end(e);
    }
  }

  void request(rdma_cm_id* id, const Offer& theirs) {
    Endpoint& e = add(Identifier(id));
    open(id->verbs);
    e.prepare(pd_.get(), cq_.get(), 0);
    fill(e.bytes.memory, e.seed);
    e.theirs = theirs.seed;
    const auto memory = reinterpret_cast<uintptr_t>(e.bytes.memory.data());
    if (connect_with(rdma_accept, e, memory, e.mr->rkey) != 0) {
      e.fail("rdma_accept failed");
      return end(e);
    }
    e.check_depths(std::min<uint32_t>(depths_.ird, theirs.ord),
                   std::min<uint32_t>(depths_.ord, theirs.ird));
  }

  void established(Endpoint& e, const Offer& offer) {
    e.check_depths(depths_.ird, std::min<uint32_t>(depths_.ord, offer.ird));
    e.theirs = offer.seed;
    for (int i = 0; i < depths_.reads; i++) e.read(offer);
    fill(e.bytes.out, e.seed);
    e.send();
  }

  void complete() {
    await_event(cq_.get(), Limit(0));
    require_zero(ibv_req_notify_cq(cq_.get(), 0), "ibv_req_notify_cq");
    ibv_wc wc{};
    while (poll(cq_.get(), wc)) {
      Endpoint& e = *reinterpret_cast<Endpoint*>(wc.wr_id);
      e.wanted--;
      if (wc.status != IBV_WC_SUCCESS && !e.done) {
        e.fail(ibv_wc_status_str(wc.status));
        continue;
      }
      if (at_once_ == 0 && wc.opcode == IBV_WC_RECV && wc.status == IBV_WC_SUCCESS) {
        if (!is_of(e.bytes.in, e.theirs)) e.fail("the message came changed");
        e.bytes.out = e.bytes.in;
        e.send();
      } else if (e.wanted == 0 && !e.done) {
        all_here(e);
      }
    }
  }

  // Checks the data of a connection when all its completions have come.
  void all_here(Endpoint& e) {
    e.done = true;
    if (at_once_ == 0) return;
    if (e.bytes.in != e.bytes.out) e.fail("the message came back changed");
    if (depths_.reads > 0 && !is_of(e.bytes.memory, e.theirs)) e.fail("what was read is wrong");
    // All that are to be there at once stay until the last has done its work.
    if (++waiting_ < static_cast<int>(endpoints_.size())) return;
    for (Endpoint& other : endpoints_) {
      if (beside_)
        other.disconnect_beside_destroy(kBesideStep * (ended_ % kBesideSteps));
      else
        rdma_disconnect(other.id.get());
    }
  }

  void end(Endpoint& e) {
    if (!e.done) e.fail("ended before its work was done");
    ended_++;
    good_ += e.good ? 1 : 0;
    // Its completions go with the queue pair, so none names it any more.
    endpoints_.remove_if([&e](const Endpoint& other) { return &other == &e; });
  }

  Depths depths_;
  uint8_t tos_;  // 0: as the system does
  Address where_;
  Channel channel_ = make_channel();
  Owned<ibv_pd> pd_;
  Owned<ibv_comp_channel> completions_;
  Owned<ibv_cq> cq_;
  std::list<Endpoint> endpoints_;
  // Two ends' seeds differ, and one run's from the next's.
  uint32_t seeds_ = std::random_device()();
  int at_once_ = 0;  // 0: the server
  bool beside_ = false;
  int waiting_ = 0;
  int ended_ = 0;
  int good_ = 0;
};

int run(int argc, char** argv) {
  const std::span<char*> arguments(argv, static_cast<size_t>(argc));
  const std::string role = argc > 3 ? arguments[1] : "";
  const auto number = [&](size_t index, int otherwise) {
    return index < arguments.size() ? std::atoi(arguments[index]) : otherwise;
  };
  // IRD and ORD from there on, and then, of a client, reads.
  const auto depths = [&](size_t index) {
    return Depths{static_cast<uint8_t>(number(index, 4)),
                  static_cast<uint8_t>(number(index + 1, 4)), number(index + 2, 1)};
  };
  if (role == "server") return Side(arguments[2], depths(4), number(6, 0)).serve(number(3, 1));
  if (role == "beside") return Side(arguments[2], {}).connect(number(3, 1), 1, true);
  if (role == "listen") return Side(arguments[2], {}).listen(number(3, 1));
  if (role == "abandon")
    return Side(arguments[2], {}).abandon(std::string(arguments[3]) == "disconnect");
  if (role == "client" && argc > 4)
    return Side(arguments[2], depths(5), number(8, 0)).connect(number(3, 1), number(4, 1));
  std::fprintf(stderr,
               "usage: connections server ADDRESS CONNECTIONS [IRD ORD [TOS]]\n"
               "       connections client ADDRESS CONNECTIONS AT_ONCE [IRD ORD READS [TOS]]\n"
               "       connections abandon ADDRESS disconnect|destroy\n"
               "       connections listen ADDRESS PORTS\n"
               "       connections beside ADDRESS CONNECTIONS\n");
  return 2;
}

}  // namespace
}  // namespace rdma

int main(int argc, char** argv) {
  try {
    return rdma::run(argc, argv);
  } catch (const rdma::Failure& failure) {
    std::fprintf(stderr, "connections: %s\n", failure.what());
    return 2;
  }
}
