// SPDX-License-Identifier: GPL-2.0
#include "scenarios.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "connector.h"
#include "failure.h"
#include "netlink.h"

namespace torture {

using placement::Connector;
using placement::Endpoint;
using placement::fail_errno;
using placement::Layout;
using placement::Pair;
using placement::require;
using placement::require_zero;
using placement::Shape;

namespace {

constexpr int kRights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                        IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND;

// Few pages, since each is an allocation that can fail.
Shape small() {
  Shape shape;
  shape.arena = 128U << 10;
  shape.access = kRights;
  return shape;
}

template <typename Object>
Object* made(Object* object, const char* call) {
  if (object == nullptr) {
    fail_errno(call);
  }
  return object;
}

std::shared_ptr<Connector> connector(const Options& options) {
  return std::make_shared<Connector>(
      placement::Host{.netns = options.client_netns, .address = ""},
      placement::Host{.netns = options.server_netns, .address = options.server});
}

void enter(const std::string& netns) {
  const int there = open(("/run/netns/" + netns).c_str(), O_RDONLY | O_CLOEXEC);
  if (there < 0 || setns(there, CLONE_NEWNET) != 0) {
    fail_errno("entering network namespace " + netns);
  }
  close(there);
}

// --- the pieces ---

void open_and_query() {
  const std::shared_ptr<ibv_context> context = open_device("weft1");
  ibv_device_attr_ex device{};
  ibv_port_attr port{};
  ibv_gid gid{};
  require_zero(ibv_query_device_ex(context.get(), nullptr, &device), "ibv_query_device_ex");
  require_zero(ibv_query_port(context.get(), 1, &port), "ibv_query_port");
  require_zero(ibv_query_gid(context.get(), 1, 0, &gid), "ibv_query_gid");
}

ibv_qp_init_attr queue_pair(ibv_cq* cq, ibv_srq* srq) {
  ibv_qp_init_attr init{};
  init.send_cq = cq;
  init.recv_cq = cq;
  init.srq = srq;
  init.cap = {.max_send_wr = 16,
              .max_recv_wr = 16,
              .max_send_sge = 4,
              .max_recv_sge = 4,
              .max_inline_data = 64};
  init.qp_type = IBV_QPT_RC;
  return init;
}

void every_object(ibv_context* context) {
  alignas(4096) static std::array<std::byte, 16384> memory;
  ibv_pd* pd = made(ibv_alloc_pd(context), "ibv_alloc_pd");
  ibv_comp_channel* channel = made(ibv_create_comp_channel(context), "ibv_create_comp_channel");
  ibv_cq* cq = made(ibv_create_cq(context, 64, nullptr, channel, 0), "ibv_create_cq");
  ibv_srq_init_attr shared{};
  shared.attr = {.max_wr = 32, .max_sge = 2, .srq_limit = 0};
  ibv_srq* srq = made(ibv_create_srq(pd, &shared), "ibv_create_srq");
  ibv_qp_init_attr init = queue_pair(cq, nullptr);
  ibv_qp* qp = made(ibv_create_qp(pd, &init), "ibv_create_qp");
  init = queue_pair(cq, srq);
  ibv_qp* sharing = made(ibv_create_qp(pd, &init), "ibv_create_qp");
  ibv_mr* mr = made(ibv_reg_mr(pd, memory.data(), memory.size(), kRights), "ibv_reg_mr");
  ibv_mw* one = made(ibv_alloc_mw(pd, IBV_MW_TYPE_1), "ibv_alloc_mw");
  ibv_mw* two = made(ibv_alloc_mw(pd, IBV_MW_TYPE_2), "ibv_alloc_mw");

  require_zero(ibv_req_notify_cq(cq, 0), "ibv_req_notify_cq");
  require_zero(ibv_resize_cq(cq, 200), "ibv_resize_cq");
  ibv_srq_attr limit{.max_wr = 0, .max_sge = 0, .srq_limit = 3};
  require_zero(ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT), "ibv_modify_srq");
  require_zero(ibv_query_srq(srq, &limit), "ibv_query_srq");
  ibv_qp_attr attr{};
  require_zero(ibv_query_qp(qp, &attr, IBV_QP_STATE | IBV_QP_CAP, &init), "ibv_query_qp");
  for (const ibv_qp_state state : {IBV_QPS_ERR, IBV_QPS_RESET}) {
    attr.qp_state = state;
    require_zero(ibv_modify_qp(qp, &attr, IBV_QP_STATE), "ibv_modify_qp");
  }
  // It returns codes of its own, and wants no rights that it is not to change.
  require(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, memory.data(), 4096, 0) == 0,
          "ibv_rereg_mr failed");

  require_zero(ibv_dealloc_mw(two), "ibv_dealloc_mw");
  require_zero(ibv_dealloc_mw(one), "ibv_dealloc_mw");
  require_zero(ibv_dereg_mr(mr), "ibv_dereg_mr");
  require_zero(ibv_destroy_qp(sharing), "ibv_destroy_qp");
  require_zero(ibv_destroy_qp(qp), "ibv_destroy_qp");
  require_zero(ibv_destroy_srq(srq), "ibv_destroy_srq");
  require_zero(ibv_destroy_cq(cq), "ibv_destroy_cq");
  require_zero(ibv_destroy_comp_channel(channel), "ibv_destroy_comp_channel");
  require_zero(ibv_dealloc_pd(pd), "ibv_dealloc_pd");
}

ibv_send_wr work(ibv_wr_opcode opcode, std::vector<ibv_sge>& sges, const Endpoint& to) {
  ibv_send_wr wr{};
  wr.opcode = opcode;
  wr.sg_list = sges.data();
  wr.num_sge = static_cast<int>(sges.size());
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.rdma.remote_addr = to.memory().address(65536);
  wr.wr.rdma.rkey = to.memory().mr()->rkey;
  return wr;
}

// One of each kind, with its completion.
void every_operation(const Pair& pair) {
  Endpoint& from = *pair.client;
  Endpoint& to = *pair.server;
  std::vector<ibv_sge> data = from.memory().sges({{0, 9000}});
  std::vector<ibv_sge> word = from.memory().sges({{16384, 8}});
  const Layout target = {{65536, 9000}};

  std::uint64_t receive = to.post_recv(target);
  ibv_send_wr wr = work(IBV_WR_SEND, data, to);
  from.expect_send(from.post_send(wr), IBV_WC_SEND);
  to.expect_recv(receive, 9000);

  wr = work(IBV_WR_RDMA_WRITE, data, to);
  from.expect_send(from.post_send(wr), IBV_WC_RDMA_WRITE);
  wr = work(IBV_WR_RDMA_READ, data, to);
  from.expect_send(from.post_send(wr), IBV_WC_RDMA_READ);
  for (const ibv_wr_opcode opcode : {IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD}) {
    wr = work(opcode, word, to);
    wr.wr.atomic.remote_addr = to.memory().address(65536);
    wr.wr.atomic.compare_add = 1;
    wr.wr.atomic.swap = 2;
    wr.wr.atomic.rkey = to.memory().mr()->rkey;
    from.expect_send(from.post_send(wr),
                     opcode == IBV_WR_ATOMIC_CMP_AND_SWP ? IBV_WC_COMP_SWAP : IBV_WC_FETCH_ADD);
  }
  to.post_recv(target);
  wr = work(IBV_WR_RDMA_WRITE_WITH_IMM, data, to);
  from.expect_send(from.post_send(wr), IBV_WC_RDMA_WRITE);
  to.next_recv();

  ibv_mw* window = made(ibv_alloc_mw(from.pd(), IBV_MW_TYPE_2), "ibv_alloc_mw");
  ibv_send_wr bind{};
  bind.opcode = IBV_WR_BIND_MW;
  bind.send_flags = IBV_SEND_SIGNALED;
  bind.bind_mw.mw = window;
  bind.bind_mw.rkey = ibv_inc_rkey(window->rkey);
  bind.bind_mw.bind_info = {.mr = from.memory().mr(),
                            .addr = from.memory().address(0),
                            .length = 4096,
                            .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
  from.expect_send(from.post_send(bind), IBV_WC_BIND_MW);
  ibv_send_wr invalidate{};
  invalidate.opcode = IBV_WR_LOCAL_INV;
  invalidate.send_flags = IBV_SEND_SIGNALED;
  invalidate.invalidate_rkey = bind.bind_mw.rkey;
  from.expect_send(from.post_send(invalidate), IBV_WC_LOCAL_INV);
  require_zero(ibv_dealloc_mw(window), "ibv_dealloc_mw");
}

void link_and_back(Netlink& netlink) {
  netlink.add_link("weft7", "dummy7");
  const std::optional<std::uint32_t> index = netlink.find("weft7");
  require(index.has_value(), "a link that was added is not there");
  netlink.delete_link(*index);
}

// A link that could not be found or deleted, for want of memory, is there for good.
void drop_link() {
  Netlink netlink;
  const std::optional<std::uint32_t> index = netlink.find("weft7");
  if (index.has_value()) {
    netlink.delete_link(*index);
  }
}

// Each setting as it stands.
void write_settings() {
  for (const auto& file : std::filesystem::directory_iterator("/sys/class/infiniband/weft1/weft")) {
    const int fd = open(file.path().c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0) {
      continue;  // one that only shows
    }
    std::array<char, 128> text{};
    ssize_t length = pread(fd, text.data(), text.size(), 0);
    // The words of a set are shown apart and written with commas.
    for (ssize_t at = 0; at + 1 < length; ++at) {
      if (text[static_cast<std::size_t>(at)] == ' ') {
        text[static_cast<std::size_t>(at)] = ',';
      }
    }
    // A list without entries shows nothing, and an empty line empties it.
    if (length == 0) {
      text[0] = '\n';
      length = 1;
    }
    const bool taken =
        length > 0 && pwrite(fd, text.data(), static_cast<std::size_t>(length), 0) == length;
    close(fd);
    require(taken, "the setting " + file.path().string() + " is not taken as it was shown");
  }
}

// --- and what comes before them ---

Body prepare_objects(const Options&) {
  return [context = open_device("weft1")] { every_object(context.get()); };
}

Body prepare_connection(const Options& options) {
  return [ends = connector(options)] { ends->connect(small()); };
}

Body prepare_shared_connection(const Options& options) {
  return [ends = connector(options)] {
    Shape shape = small();
    shape.shared_receives = true;
    shape.extended = true;
    ends->connect(shape);
  };
}

Body prepare_operations(const Options& options) {
  const auto ends = connector(options);
  const auto pair = std::make_shared<Pair>(ends->connect(small()));
  return [ends, pair] { every_operation(*pair); };
}

Body prepare_rejection(const Options& options) {
  const auto ends = connector(options);
  const auto client = std::make_shared<Endpoint>(ends->resolved(), "client", small());
  return [ends, client] {
    ends->start(*client, {1, 2, 3});
    placement::Told told{};
    rdma_cm_id* id = ends->accepted(&told);
    require_zero(rdma_reject(id, "no", 2), "rdma_reject");
    rdma_event_channel* channel = id->channel;
    rdma_destroy_id(id);
    rdma_destroy_event_channel(channel);
    require(placement::next_event(client->id()->channel).type == RDMA_CM_EVENT_REJECTED,
            "the client was not told that it was rejected");
  };
}

Body prepare_disconnection(const Options& options) {
  const auto ends = connector(options);
  const auto pair = std::make_shared<Pair>(ends->connect(small()));
  return [ends, pair] {
    require_zero(rdma_disconnect(pair->client->id()), "rdma_disconnect");
    pair->server->expect_error_state();
    pair->client.reset();
    pair->server.reset();
  };
}

Body prepare_link(const Options& options) {
  enter(options.client_netns);
  return [netlink = std::make_shared<Netlink>()] { link_and_back(*netlink); };
}

Body prepare_show(const Options& options) {
  const auto ends = connector(options);
  Shape shape = small();
  shape.shared_receives = true;
  const auto pair = std::make_shared<Pair>(ends->connect(shape));
  const auto netlink = std::make_shared<Netlink>();
  const std::optional<std::uint32_t> index = netlink->find("weft1");
  require(index.has_value(), "there is no weft1");
  return [ends, pair, netlink, index] {
    const unsigned answers = netlink->show(*index);
    require(answers >= 9, "rdma res show answers only " + std::to_string(answers) + " of 9 times");
  };
}

Body prepare_listening(const Options& options) {
  return [options] { connector(options); };
}

}  // namespace

const std::vector<Scenario>& scenarios() {
  static const std::vector<Scenario> all = {
      {"open and query", [](const Options&) { return Body(open_and_query); }, {}},
      {"every object", prepare_objects, {}},
      {"listen", prepare_listening, {}},
      {"connect, send, destroy", prepare_connection, {}},
      {"connect with shared receives", prepare_shared_connection, {}},
      {"every operation", prepare_operations, {}},
      {"reject", prepare_rejection, {}},
      {"disconnect", prepare_disconnection, {}},
      {"rdma link add, del", prepare_link, drop_link},
      {"rdma res show", prepare_show, {}},
      {"settings", [](const Options&) { return Body(write_settings); }, {}},
  };
  return all;
}

std::shared_ptr<ibv_context> open_device(const std::string& name) {
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  if (list == nullptr) {
    fail_errno("ibv_get_device_list");
  }
  ibv_context* context = nullptr;
  for (int at = 0; at < count && context == nullptr; ++at) {
    if (name == ibv_get_device_name(list[at])) {
      context = ibv_open_device(list[at]);
    }
  }
  ibv_free_device_list(list);
  require(context != nullptr, name + " does not open");
  return {context, [](ibv_context* it) { ibv_close_device(it); }};
}

}  // namespace torture
