// SPDX-License-Identifier: GPL-2.0
#include "scenarios.h"

#include <array>
#include <filesystem>

#include "netlink.h"
#include "netns.h"

namespace rdma::torture {

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

std::shared_ptr<Connector> connector(const Options& options) {
  return std::make_shared<Connector>(connector_of(options));
}

// --- the pieces ---

void open_and_query() {
  const Owned<ibv_context> context = open_device("weft1");
  ibv_device_attr_ex device{};
  ibv_port_attr port{};
  ibv_gid gid{};
  require_zero(ibv_query_device_ex(context.get(), nullptr, &device), "ibv_query_device_ex");
  require_zero(ibv_query_port(context.get(), 1, &port), "ibv_query_port");
  require_zero(ibv_query_gid(context.get(), 1, 0, &gid), "ibv_query_gid");
}

void every_object(ibv_context* context) {
  alignas(4096) static std::array<std::byte, 16384> memory;
  const auto pd = own(ibv_alloc_pd(context), "ibv_alloc_pd");
  const auto channel = own(ibv_create_comp_channel(context), "ibv_create_comp_channel");
  const auto cq = own(ibv_create_cq(context, 64, nullptr, channel.get(), 0), "ibv_create_cq");
  ibv_srq_init_attr shared{};
  shared.attr = {.max_wr = 32, .max_sge = 2, .srq_limit = 0};
  const auto srq = own(ibv_create_srq(pd.get(), &shared), "ibv_create_srq");
  ibv_qp_init_attr init = queue_pair(cq.get(), 16, 16);
  init.cap.max_send_sge = init.cap.max_recv_sge = 4;
  init.cap.max_inline_data = 64;
  const auto qp = own(ibv_create_qp(pd.get(), &init), "ibv_create_qp");
  init.srq = srq.get();
  const auto sharing = own(ibv_create_qp(pd.get(), &init), "ibv_create_qp");
  const auto mr = own(ibv_reg_mr(pd.get(), memory.data(), memory.size(), kRights), "ibv_reg_mr");
  const auto one = own(ibv_alloc_mw(pd.get(), IBV_MW_TYPE_1), "ibv_alloc_mw");
  const auto two = own(ibv_alloc_mw(pd.get(), IBV_MW_TYPE_2), "ibv_alloc_mw");

  require_zero(ibv_req_notify_cq(cq.get(), 0), "ibv_req_notify_cq");
  require_zero(ibv_resize_cq(cq.get(), 200), "ibv_resize_cq");
  ibv_srq_attr limit{.max_wr = 0, .max_sge = 0, .srq_limit = 3};
  require_zero(ibv_modify_srq(srq.get(), &limit, IBV_SRQ_LIMIT), "ibv_modify_srq");
  require_zero(ibv_query_srq(srq.get(), &limit), "ibv_query_srq");
  ibv_qp_attr attr{};
  require_zero(ibv_query_qp(qp.get(), &attr, IBV_QP_STATE | IBV_QP_CAP, &init), "ibv_query_qp");
  for (const ibv_qp_state state : {IBV_QPS_ERR, IBV_QPS_RESET}) {
    modify(qp.get(), state);
  }
  // It returns codes of its own, and wants no rights that it is not to change.
  require(
      ibv_rereg_mr(mr.get(), IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, memory.data(), 4096, 0) == 0,
      "ibv_rereg_mr failed");
}

// One of each kind, with its completion.
void every_operation(const Pair& pair) {
  Endpoint& from = *pair.client;
  Endpoint& to = *pair.server;
  const Layout data = {{0, 9000}};
  const Layout target = {{65536, 9000}};
  const auto work = [&](ibv_wr_opcode opcode, const Layout& pieces) {
    return from.work(opcode, pieces, to, target[0].offset);
  };

  const std::uint64_t receive = to.post_recv(target);
  from.carry_out(work(IBV_WR_SEND, data));
  to.expect_recv(receive, 9000);
  from.carry_out(work(IBV_WR_RDMA_WRITE, data));
  from.carry_out(work(IBV_WR_RDMA_READ, data));
  for (const ibv_wr_opcode opcode : {IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD}) {
    Work atomic = work(opcode, {{16384, 8}});
    atomic.wr.atomic.compare_add = 1;
    atomic.wr.atomic.swap = 2;
    from.carry_out(atomic);
  }
  to.post_recv(target);
  from.carry_out(work(IBV_WR_RDMA_WRITE_WITH_IMM, data));
  to.next_recv();

  const auto window = own(ibv_alloc_mw(from.pd(), IBV_MW_TYPE_2), "ibv_alloc_mw");
  Work bind(IBV_WR_BIND_MW);
  bind.bind_mw = {.mw = window.get(),
                  .rkey = ibv_inc_rkey(window->rkey),
                  .bind_info = {.mr = from.memory().mr(),
                                .addr = from.memory().address(0),
                                .length = 4096,
                                .mw_access_flags = IBV_ACCESS_REMOTE_WRITE}};
  from.carry_out(bind);
  Work invalidate(IBV_WR_LOCAL_INV);
  invalidate.invalidate_rkey = bind.bind_mw.rkey;
  from.carry_out(invalidate);
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
    const Descriptor setting(open(file.path().c_str(), O_RDWR | O_CLOEXEC));
    if (!setting) {
      continue;  // one that only shows
    }
    std::array<char, 128> text{};
    ssize_t length = pread(setting.number(), text.data(), text.size(), 0);
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
    require(length > 0 && pwrite(setting.number(), text.data(), static_cast<std::size_t>(length),
                                 0) == length,
            "the setting " + file.path().string() + " is not taken as it was shown");
  }
}

// --- and what comes before them ---

Body prepare_objects(const Options&) {
  return [context = std::shared_ptr<ibv_context>(open_device("weft1"))] {
    every_object(context.get());
  };
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
    must(rdma_reject(ends->accepted().id.get(), "no", 2), "rdma_reject");
    client->expect(RDMA_CM_EVENT_REJECTED);
  };
}

Body prepare_disconnection(const Options& options) {
  const auto ends = connector(options);
  const auto pair = std::make_shared<Pair>(ends->connect(small()));
  return [ends, pair] {
    must(rdma_disconnect(pair->client->id()), "rdma_disconnect");
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

}  // namespace rdma::torture
