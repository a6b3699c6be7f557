// SPDX-License-Identifier: GPL-2.0
//
// Connections in numbers: one after the other, and many at once. Over each, the client sends a
// message, reads the server's memory with as many RDMA reads as it is told, and gets the message
// back; both ends check every byte, and what was agreed on as to reads. Each end tells the seed of
// its bytes in the handshake's private data, so that bytes of another connection are seen to be.
//
//     connections server ADDRESS CONNECTIONS [IRD ORD]
//     connections client ADDRESS CONNECTIONS AT_ONCE [IRD ORD READS]
//     connections abandon ADDRESS disconnect|destroy
//     connections listen ADDRESS PORTS
//     connections beside ADDRESS CONNECTIONS
//
// "abandon" gives a connection up while the peer's answer is awaited, and wants to be told at once.
// "listen" listens on PORTS ports, and wants the last tenth of them to take as long as the second,
// since a list of all ports would make each call take longer than the one before. What counts is
// the call that nine in ten exceed: a busy machine makes many of them longer, but seldom all. Where
// the machine was busy for the whole of a tenth, a later round tells: each tenth counts by its
// best.
// "beside" is a client whose one thread disconnects while another destroys the queue pair. Each end
// of the two is right; it is the kernel that may use the queue pair behind its end.
//
// The last line says how many connections did all that; the status is 0 if each did.
#include <netdb.h>
#include <poll.h>
#include <rdma/rdma_cma.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <list>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kPort = 7300;
constexpr uint32_t kMessage = 512;
constexpr uint32_t kRead = 3000;
constexpr int kBacklog = 512;
constexpr int kResolveMs = 5000;
constexpr int kPatienceMs = 60000;
constexpr int kSettleMs = 1000;
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
  int reads = 1;
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

[[noreturn]] void die(const std::string& what) {
  std::perror(what.c_str());
  std::exit(2);
}

// Byte i of a seed's bytes: any four in a row tell the seed.
uint8_t pattern(uint32_t seed, uint32_t i) {
  return static_cast<uint8_t>((seed >> i % 4 * 8) * 31 + i * 7 + i / 256);
}

void fill(std::span<uint8_t> bytes, uint32_t seed) {
  for (uint32_t i = 0; i < bytes.size(); i++)
    bytes[i] = pattern(seed, i);
}

bool is_of(std::span<const uint8_t> bytes, uint32_t seed) {
  for (uint32_t i = 0; i < bytes.size(); i++)
    if (bytes[i] != pattern(seed, i))
      return false;
  return true;
}

// One connection and its buffers. Lives at one address, since the RDMA core knows it.
struct Endpoint {
  rdma_cm_id* id = nullptr;
  ibv_mr* mr = nullptr;
  uint32_t seed = 0;
  uint32_t theirs = 0;  // the peer's seed
  int wanted = 0;       // completions still to come
  bool good = true;
  bool done = false;
  struct {
    std::array<uint8_t, kMessage> out;
    std::array<uint8_t, kMessage> in;
    std::array<uint8_t, kRead> memory;
  } bytes;

  void fail(const char* what) {
    if (good)
      std::fprintf(stderr, "connection %u: %s\n", seed, what);
    good = false;
  }

  ibv_sge sge(std::span<uint8_t> part) const {
    return {reinterpret_cast<uintptr_t>(part.data()), static_cast<uint32_t>(part.size()), mr->lkey};
  }

  void prepare(ibv_pd* pd, ibv_cq* cq, int reads) {
    ibv_qp_init_attr attr{};
    attr.send_cq = attr.recv_cq = cq;
    attr.cap.max_send_wr = static_cast<uint32_t>(reads) + 2;
    attr.cap.max_recv_wr = 2;
    attr.cap.max_send_sge = attr.cap.max_recv_sge = 1;
    attr.qp_type = IBV_QPT_RC;
    attr.sq_sig_all = 1;
    if (rdma_create_qp(id, pd, &attr) != 0)
      die("rdma_create_qp");
    id->qp->qp_context = this;
    mr = ibv_reg_mr(pd, &bytes, sizeof(bytes), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
    if (mr == nullptr)
      die("ibv_reg_mr");
    ibv_sge where = sge(bytes.in);
    ibv_recv_wr receive{};
    ibv_recv_wr* bad = nullptr;
    receive.wr_id = reinterpret_cast<uintptr_t>(this);
    receive.sg_list = &where;
    receive.num_sge = 1;
    if (ibv_post_recv(id->qp, &receive, &bad) != 0)
      die("ibv_post_recv");
    wanted++;
  }

  void send(std::span<uint8_t> what) {
    ibv_sge where = sge(what);
    ibv_send_wr wr{};
    wr.opcode = IBV_WR_SEND;
    wr.sg_list = &where;
    wr.num_sge = 1;
    post(wr);
  }

  void read(const Offer& offer) {
    ibv_sge where = sge(bytes.memory);
    ibv_send_wr wr{};
    wr.opcode = IBV_WR_RDMA_READ;
    wr.sg_list = &where;
    wr.num_sge = 1;
    wr.wr.rdma.remote_addr = offer.addr;
    wr.wr.rdma.rkey = offer.rkey;
    post(wr);
  }

  void post(ibv_send_wr& wr) {
    ibv_send_wr* bad = nullptr;
    wr.wr_id = reinterpret_cast<uintptr_t>(this);
    if (ibv_post_send(id->qp, &wr, &bad) != 0)
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
    std::thread disconnects([this, &begun] {
      begun = true;
      rdma_disconnect(id);
    });
    while (!begun)
      std::this_thread::yield();
    const auto when = std::chrono::steady_clock::now() + later;
    do
      std::this_thread::yield();
    while (std::chrono::steady_clock::now() < when);
    if (ibv_destroy_qp(qp) != 0)
      fail("ibv_destroy_qp failed");
    disconnects.join();
  }

  void destroy() {
    if (id->qp != nullptr)
      rdma_destroy_qp(id);
    ibv_dereg_mr(mr);
    rdma_destroy_id(id);
  }
};

class Side {
 public:
  Side(const char* address, Depths depths, int tos = 0)
      : depths_(depths), tos_(static_cast<uint8_t>(tos)) {
    addrinfo hints{};
    hints.ai_flags = AI_NUMERICHOST;
    if (getaddrinfo(address, std::to_string(kPort).c_str(), &hints, &where_) != 0)
      die(std::string("no address: ") + address);
    channel_ = rdma_create_event_channel();
    if (channel_ == nullptr)
      die("rdma_create_event_channel");
  }

  int serve(int connections) {
    rdma_cm_id* listener = nullptr;
    if (rdma_create_id(channel_, &listener, nullptr, RDMA_PS_TCP) != 0 || !mark(listener) ||
        rdma_bind_addr(listener, where_->ai_addr) != 0 || rdma_listen(listener, kBacklog) != 0)
      die("listen");
    while (ended_ < connections)
      turn();
    return verdict(connections);
  }

  int listen(int ports) {
    if (where_->ai_family != AF_INET || ports < kFewestPorts || ports > kMostPorts) {
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
      if (many < kMoreForMany * few)
        return 0;
    }
    return 1;
  }

  int connect_beside(int connections) {
    beside_ = true;
    return connect(connections, 1);
  }

  int connect(int connections, int at_once) {
    const auto begin = std::chrono::steady_clock::now();
    at_once_ = at_once;
    while (ended_ < connections) {
      if (endpoints_.empty()) {
        waiting_ = 0;
        for (int i = 0; i < at_once && ended_ + i < connections; i++)
          start();
      }
      turn();
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::printf("%.1f connections a second\n", connections / took.count());
    return verdict(connections);
  }

  // Connects to a peer that never answers, and gives up; returns whether that took no time.
  int abandon(bool by_disconnect) {
    start();
    Endpoint& e = endpoints_.front();
    while (e.mr == nullptr)
      turn();
    pollfd quiet{channel_->fd, POLLIN, 0};
    poll(&quiet, 1, kSettleMs);
    const auto begin = std::chrono::steady_clock::now();
    if (by_disconnect)
      rdma_disconnect(e.id);
    else
      rdma_destroy_qp(e.id);
    rdma_cm_event* event = nullptr;
    if (rdma_get_cm_event(channel_, &event) != 0)
      die("rdma_get_cm_event");
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::printf("%s after %.1f s\n", rdma_event_str(event->event), took.count());
    const bool ended =
        event->event == RDMA_CM_EVENT_CONNECT_ERROR || event->event == RDMA_CM_EVENT_REJECTED;
    rdma_ack_cm_event(event);
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
    std::vector<rdma_cm_id*> ids;
    for (int i = 0; i < ports; i++) {
      rdma_cm_id* id = nullptr;
      sockaddr_in name{};
      std::memcpy(&name, where_->ai_addr, sizeof(name));
      name.sin_port = htons(static_cast<uint16_t>(kFirstPort + i));
      if (rdma_create_id(channel_, &id, nullptr, RDMA_PS_TCP) != 0 ||
          rdma_bind_addr(id, reinterpret_cast<sockaddr*>(&name)) != 0)
        die("rdma_bind_addr");
      const auto begin = std::chrono::steady_clock::now();
      if (rdma_listen(id, 1) != 0)
        die("rdma_listen");
      const std::chrono::duration<double> call = std::chrono::steady_clock::now() - begin;
      took.push_back(call.count());
      ids.push_back(id);
    }
    for (rdma_cm_id* id : ids)
      if (rdma_destroy_id(id) != 0)
        die("rdma_destroy_id");
    return took;
  }

  // Returns what nine in ten of these calls exceed.
  static double tenth_shortest(std::span<const double> took) {
    std::vector<double> sorted(took.begin(), took.end());
    const auto tenth = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 10);
    std::ranges::nth_element(sorted, tenth);
    return *tenth;
  }

  // Gives the packets of a connection, or of those that a listener takes, the type of service.
  bool mark(rdma_cm_id* id) {
    return tos_ == 0 ||
           rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos_, sizeof(tos_)) == 0;
  }

  Endpoint& add(rdma_cm_id* id) {
    Endpoint& e = endpoints_.emplace_back();
    e.id = id;
    e.seed = ++seeds_;
    id->context = &e;
    return e;
  }

  void start() {
    rdma_cm_id* id = nullptr;
    if (rdma_create_id(channel_, &id, nullptr, RDMA_PS_TCP) != 0 || !mark(id))
      die("rdma_create_id");
    add(id);
    if (rdma_resolve_addr(id, nullptr, where_->ai_addr, kResolveMs) != 0)
      die("rdma_resolve_addr");
  }

  // All endpoints share one device, and so one domain and one completion queue.
  void open(ibv_context* verbs) {
    if (pd_ != nullptr)
      return;
    pd_ = ibv_alloc_pd(verbs);
    completions_ = ibv_create_comp_channel(verbs);
    if (completions_ != nullptr)
      cq_ = ibv_create_cq(verbs, 16384, nullptr, completions_, 0);
    if (pd_ == nullptr || cq_ == nullptr || ibv_req_notify_cq(cq_, 0) != 0)
      die("ibv_create_cq");
  }

  void turn() {
    std::array<pollfd, 2> fds{};
    fds[0] = {channel_->fd, POLLIN, 0};
    fds[1] = {completions_ != nullptr ? completions_->fd : -1, POLLIN, 0};
    const int ready = poll(fds.data(), fds.size(), kPatienceMs);
    if (ready <= 0) {
      std::fprintf(stderr, "nothing happens any more: %d ended, %zu under way\n", ended_,
                   endpoints_.size());
      std::exit(3);
    }
    if (fds[1].revents != 0)
      complete();
    if (fds[0].revents != 0) {
      rdma_cm_event* event = nullptr;
      if (rdma_get_cm_event(channel_, &event) != 0)
        die("rdma_get_cm_event");
      handle(event);
    }
  }

  rdma_conn_param param(const Offer* offer) const {
    rdma_conn_param p{};
    p.responder_resources = depths_.ird;
    p.initiator_depth = depths_.ord;
    p.retry_count = p.rnr_retry_count = 7;
    p.private_data = offer;
    p.private_data_len = offer != nullptr ? sizeof(*offer) : 0;
    return p;
  }

  // An event of a connection is acknowledged before the connection is destroyed.
  void handle(rdma_cm_event* event) {
    rdma_cm_id* id = event->id;
    const rdma_cm_event_type type = event->event;
    const int status = event->status;
    Offer offer{};
    const bool told = event->param.conn.private_data_len >= sizeof(offer) &&
                      (type == RDMA_CM_EVENT_ESTABLISHED || type == RDMA_CM_EVENT_CONNECT_REQUEST);
    if (told)
      std::memcpy(&offer, event->param.conn.private_data, sizeof(offer));
    rdma_ack_cm_event(event);

    if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
      return request(id, offer);
    Endpoint& e = *static_cast<Endpoint*>(id->context);
    switch (type) {
      case RDMA_CM_EVENT_ADDR_RESOLVED:
        if (rdma_resolve_route(id, kResolveMs) != 0)
          die("rdma_resolve_route");
        break;
      case RDMA_CM_EVENT_ROUTE_RESOLVED:
        open(id->verbs);
        e.prepare(pd_, cq_, depths_.reads);
        {
          const Offer mine{0, 0, e.seed, depths_.ird, depths_.ord};
          rdma_conn_param p = param(&mine);
          if (rdma_connect(id, &p) != 0)
            die("rdma_connect");
        }
        break;
      case RDMA_CM_EVENT_ESTABLISHED:
        if (at_once_ != 0)
          established(e, offer);
        break;
      case RDMA_CM_EVENT_DISCONNECTED:
        if (at_once_ == 0)
          rdma_disconnect(id);
        end(e);
        break;
      default:
        std::fprintf(stderr, "%s, status %d\n", rdma_event_str(type), status);
        e.fail("unexpected event");
        end(e);
    }
  }

  void request(rdma_cm_id* id, const Offer& theirs) {
    Endpoint& e = add(id);
    open(id->verbs);
    e.prepare(pd_, cq_, 0);
    fill(e.bytes.memory, e.seed);
    e.theirs = theirs.seed;
    const Offer mine{reinterpret_cast<uintptr_t>(e.bytes.memory.data()), e.mr->rkey, e.seed,
                     depths_.ird, depths_.ord};
    rdma_conn_param p = param(&mine);
    if (rdma_accept(id, &p) != 0) {
      e.fail("rdma_accept failed");
      end(e);
      return;
    }
    e.check_depths(std::min<uint32_t>(depths_.ird, theirs.ord),
                   std::min<uint32_t>(depths_.ord, theirs.ird));
  }

  void established(Endpoint& e, const Offer& offer) {
    e.check_depths(depths_.ird, std::min<uint32_t>(depths_.ord, offer.ird));
    e.theirs = offer.seed;
    for (int i = 0; i < depths_.reads; i++)
      e.read(offer);
    fill(e.bytes.out, e.seed);
    e.send(e.bytes.out);
  }

  void complete() {
    ibv_cq* cq = nullptr;
    void* context = nullptr;
    if (ibv_get_cq_event(completions_, &cq, &context) != 0 || ibv_req_notify_cq(cq_, 0) != 0)
      die("ibv_get_cq_event");
    ibv_ack_cq_events(cq_, 1);
    ibv_wc wc{};
    while (ibv_poll_cq(cq_, 1, &wc) > 0) {
      Endpoint& e = *reinterpret_cast<Endpoint*>(wc.wr_id);
      e.wanted--;
      if (wc.status != IBV_WC_SUCCESS && !e.done) {
        e.fail(ibv_wc_status_str(wc.status));
        continue;
      }
      if (at_once_ == 0 && wc.opcode == IBV_WC_RECV && wc.status == IBV_WC_SUCCESS) {
        if (!is_of(e.bytes.in, e.theirs))
          e.fail("the message came changed");
        e.bytes.out = e.bytes.in;
        e.send(e.bytes.out);
      } else if (e.wanted == 0 && !e.done) {
        all_here(e);
      }
    }
  }

  // Checks the data of a connection when all its completions have come.
  void all_here(Endpoint& e) {
    e.done = true;
    if (at_once_ == 0)
      return;
    if (e.bytes.in != e.bytes.out)
      e.fail("the message came back changed");
    if (depths_.reads > 0 && !is_of(e.bytes.memory, e.theirs))
      e.fail("what was read is wrong");
    // All that are to be there at once stay until the last has done its work.
    if (++waiting_ < static_cast<int>(endpoints_.size()))
      return;
    for (Endpoint& other : endpoints_) {
      if (beside_)
        other.disconnect_beside_destroy(kBesideStep * (ended_ % kBesideSteps));
      else
        rdma_disconnect(other.id);
    }
  }

  void end(Endpoint& e) {
    if (!e.done)
      e.fail("ended before its work was done");
    ended_++;
    good_ += e.good ? 1 : 0;
    e.destroy();
    // Its completions go with the queue pair, so none names it any more.
    endpoints_.remove_if([&e](const Endpoint& other) { return &other == &e; });
  }

  Depths depths_;
  uint8_t tos_;  // 0: as the system does
  addrinfo* where_ = nullptr;
  rdma_event_channel* channel_ = nullptr;
  ibv_pd* pd_ = nullptr;
  ibv_comp_channel* completions_ = nullptr;
  ibv_cq* cq_ = nullptr;
  std::list<Endpoint> endpoints_;
  // Two ends' seeds differ, and one run's from the next's.
  uint32_t seeds_ = std::random_device()();
  int at_once_ = 0;  // 0: the server
  bool beside_ = false;
  int waiting_ = 0;
  int ended_ = 0;
  int good_ = 0;
};

int number(std::span<char*> arguments, size_t index, int otherwise) {
  return index < arguments.size() ? std::atoi(arguments[index]) : otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  const std::span<char*> arguments(argv, static_cast<size_t>(argc));
  const std::string role = argc > 3 ? arguments[1] : "";
  Depths depths;
  if (role == "server") {
    depths.ird = static_cast<uint8_t>(number(arguments, 4, depths.ird));
    depths.ord = static_cast<uint8_t>(number(arguments, 5, depths.ord));
    return Side(arguments[2], depths, number(arguments, 6, 0)).serve(number(arguments, 3, 1));
  }
  if (role == "beside")
    return Side(arguments[2], depths).connect_beside(number(arguments, 3, 1));
  if (role == "listen")
    return Side(arguments[2], depths).listen(number(arguments, 3, 1));
  if (role == "abandon")
    return Side(arguments[2], depths).abandon(std::string(arguments[3]) == "disconnect");
  if (role == "client" && argc > 4) {
    depths.ird = static_cast<uint8_t>(number(arguments, 5, depths.ird));
    depths.ord = static_cast<uint8_t>(number(arguments, 6, depths.ord));
    depths.reads = number(arguments, 7, depths.reads);
    return Side(arguments[2], depths, number(arguments, 8, 0))
        .connect(number(arguments, 3, 1), number(arguments, 4, 1));
  }
  std::fprintf(stderr,
               "usage: connections server ADDRESS CONNECTIONS [IRD ORD [TOS]]\n"
               "       connections client ADDRESS CONNECTIONS AT_ONCE [IRD ORD READS [TOS]]\n"
               "       connections abandon ADDRESS disconnect|destroy\n"
               "       connections listen ADDRESS PORTS\n"
               "       connections beside ADDRESS CONNECTIONS\n");
  return 2;
}
