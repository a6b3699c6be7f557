// SPDX-License-Identifier: GPL-2.0
// What a program does with the device, in pieces that each can fail somewhere.

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "netns.h"
#include "parts.h"

namespace rdma::torture {
namespace {

// Few pages, since each is an allocation that can fail.
Shape small() { return {.arena = 128U << 10, .access = kAllRights}; }

std::shared_ptr<Connector> connector(const Options& options) {
  return std::make_shared<Connector>(connector_of(options));
}

// --- by netlink ---

nlmsghdr* header_of(std::byte* bytes) { return reinterpret_cast<nlmsghdr*>(bytes); }

// The attribute of that type in a message, or nullptr.
const std::byte* attribute(const nlmsghdr* message, int type) {
  const auto* bytes = reinterpret_cast<const std::byte*>(message);
  for (std::size_t at = NLMSG_HDRLEN; at + NLA_HDRLEN <= message->nlmsg_len;) {
    const auto* head = reinterpret_cast<const nlattr*>(bytes + at);
    if ((head->nla_type & NLA_TYPE_MASK) == type) return bytes + at + NLA_HDRLEN;
    at += NLA_ALIGN(head->nla_len);
  }
  return nullptr;
}

// What `rdma link` and `rdma res show` ask of the kernel, without starting a program.
class Netlink {
 public:
  // A socket of the calling thread's network namespace. Throws Failure.
  Netlink() : socket_(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA)) {
    const timeval limit{.tv_sec = 20, .tv_usec = 0};
    must(setsockopt(socket_.number(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)),
         "a netlink socket");
  }

  // `rdma link add NAME type weft netdev NETDEV`. Throws Failure, as do the others.
  void add_link(const std::string& name, const std::string& netdev) {
    begin(RDMA_NLDEV_CMD_NEWLINK, NLM_F_ACK);
    put(RDMA_NLDEV_ATTR_DEV_NAME, name);
    put(RDMA_NLDEV_ATTR_LINK_TYPE, std::string("weft"));
    put(RDMA_NLDEV_ATTR_NDEV_NAME, netdev);
    talk([](const nlmsghdr*) {});
  }
  // `rdma link del`, by index.
  void delete_link(std::uint32_t index) {
    begin(RDMA_NLDEV_CMD_DELLINK, NLM_F_ACK);
    put(RDMA_NLDEV_ATTR_DEV_INDEX, index);
    talk([](const nlmsghdr*) {});
  }
  // The index of a device; empty: there is none of that name.
  std::optional<std::uint32_t> find(const std::string& name) {
    std::optional<std::uint32_t> found;
    begin(RDMA_NLDEV_CMD_GET, NLM_F_DUMP);
    talk([&](const nlmsghdr* message) {
      const std::byte* named = attribute(message, RDMA_NLDEV_ATTR_DEV_NAME);
      const std::byte* index = attribute(message, RDMA_NLDEV_ATTR_DEV_INDEX);
      if (named != nullptr && index != nullptr && name == reinterpret_cast<const char*>(named)) {
        found.emplace();
        std::memcpy(&*found, index, sizeof(*found));
      }
    });
    return found;
  }
  // All objects of every kind that a device has, and its statistics. Returns how many answers.
  unsigned show(std::uint32_t index) {
    unsigned answers = 0;
    const auto ask = [&](int command, int flags) {
      begin(command, flags);
      put(RDMA_NLDEV_ATTR_DEV_INDEX, index);
      put(RDMA_NLDEV_ATTR_PORT_INDEX, std::uint32_t{1});
      talk([&](const nlmsghdr*) { ++answers; });
    };
    for (const int command :
         {RDMA_NLDEV_CMD_RES_QP_GET, RDMA_NLDEV_CMD_RES_CM_ID_GET, RDMA_NLDEV_CMD_RES_CQ_GET,
          RDMA_NLDEV_CMD_RES_MR_GET, RDMA_NLDEV_CMD_RES_PD_GET, RDMA_NLDEV_CMD_RES_CTX_GET,
          RDMA_NLDEV_CMD_RES_SRQ_GET})
      ask(command, NLM_F_DUMP);
    ask(RDMA_NLDEV_CMD_RES_GET, 0);
    ask(RDMA_NLDEV_CMD_STAT_GET, 0);
    return answers;
  }

 private:
  void begin(int command, int flags) {
    nlmsghdr* head = header_of(request_.data());
    head->nlmsg_len = NLMSG_HDRLEN;
    head->nlmsg_type = static_cast<std::uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command));
    head->nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
    head->nlmsg_seq = ++sequence_;
    head->nlmsg_pid = 0;
  }
  void put(int type, const void* data, std::size_t length) {
    nlmsghdr* head = header_of(request_.data());
    auto* attribute = reinterpret_cast<nlattr*>(request_.data() + head->nlmsg_len);
    attribute->nla_type = static_cast<std::uint16_t>(type);
    attribute->nla_len = static_cast<std::uint16_t>(NLA_HDRLEN + length);
    std::memcpy(request_.data() + head->nlmsg_len + NLA_HDRLEN, data, length);
    head->nlmsg_len += NLA_ALIGN(attribute->nla_len);
  }
  void put(int type, const std::string& text) { put(type, text.c_str(), text.size() + 1); }
  void put(int type, std::uint32_t number) { put(type, &number, sizeof(number)); }
  // Sends, and hands over each answer up to the last.
  void talk(const std::function<void(const nlmsghdr*)>& answer) {
    const nlmsghdr* head = header_of(request_.data());
    if (send(socket_.number(), request_.data(), head->nlmsg_len, 0) < 0)
      fail_errno("sending by netlink");
    for (;;) {
      const ssize_t length = recv(socket_.number(), answer_.data(), answer_.size(), 0);
      if (length < 0) fail_errno("an answer by netlink");
      auto left = static_cast<std::size_t>(length);
      for (const nlmsghdr* message = header_of(answer_.data()); NLMSG_OK(message, left);
           message = NLMSG_NEXT(message, left)) {
        if (message->nlmsg_seq != sequence_) continue;  // of a question that was given up
        if (message->nlmsg_type == NLMSG_DONE) return;
        if (message->nlmsg_type == NLMSG_ERROR) {
          require_zero(static_cast<const nlmsgerr*>(NLMSG_DATA(message))->error, "netlink");
          return;
        }
        answer(message);
        if ((message->nlmsg_flags & NLM_F_MULTI) == 0 && (head->nlmsg_flags & NLM_F_ACK) == 0)
          return;
      }
    }
  }

  Descriptor socket_;
  std::uint32_t sequence_ = 0;
  alignas(8) std::array<std::byte, 512> request_{};
  std::array<std::byte, 32768> answer_{};
};

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
  ibv_srq_init_attr shared{.attr = {.max_wr = 32, .max_sge = 2, .srq_limit = 0}};
  const auto srq = own(ibv_create_srq(pd.get(), &shared), "ibv_create_srq");
  ibv_qp_init_attr init = queue_pair(cq.get(), 16, 16);
  init.cap.max_send_sge = init.cap.max_recv_sge = 4;
  init.cap.max_inline_data = 64;
  const auto qp = own(ibv_create_qp(pd.get(), &init), "ibv_create_qp");
  init.srq = srq.get();
  const auto sharing = own(ibv_create_qp(pd.get(), &init), "ibv_create_qp");
  const auto mr = own(ibv_reg_mr(pd.get(), memory.data(), memory.size(), kAllRights), "ibv_reg_mr");
  const auto one = own(ibv_alloc_mw(pd.get(), IBV_MW_TYPE_1), "ibv_alloc_mw");
  const auto two = own(ibv_alloc_mw(pd.get(), IBV_MW_TYPE_2), "ibv_alloc_mw");

  require_zero(ibv_req_notify_cq(cq.get(), 0), "ibv_req_notify_cq");
  require_zero(ibv_resize_cq(cq.get(), 200), "ibv_resize_cq");
  ibv_srq_attr limit{.max_wr = 0, .max_sge = 0, .srq_limit = 3};
  require_zero(ibv_modify_srq(srq.get(), &limit, IBV_SRQ_LIMIT), "ibv_modify_srq");
  require_zero(ibv_query_srq(srq.get(), &limit), "ibv_query_srq");
  ibv_qp_attr attr{};
  require_zero(ibv_query_qp(qp.get(), &attr, IBV_QP_STATE | IBV_QP_CAP, &init), "ibv_query_qp");
  for (const ibv_qp_state state : {IBV_QPS_ERR, IBV_QPS_RESET}) modify(qp.get(), state);
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
  bind.bind_mw = {
      .mw = window.get(),
      .rkey = ibv_inc_rkey(window->rkey),
      .bind_info = {from.memory().mr(), from.memory().address(0), 4096, IBV_ACCESS_REMOTE_WRITE}};
  from.carry_out(bind);
  Work invalidate(IBV_WR_LOCAL_INV);
  invalidate.invalidate_rkey = bind.bind_mw.rkey;
  from.carry_out(invalidate);
}

// A link that could not be found or deleted, for want of memory, is there for good.
void drop_link() {
  Netlink netlink;
  if (const std::optional<std::uint32_t> index = netlink.find("weft7")) netlink.delete_link(*index);
}

// Each setting as it stands.
void write_settings() {
  for (const auto& file : std::filesystem::directory_iterator("/sys/class/infiniband/weft1/weft")) {
    const Descriptor setting(open(file.path().c_str(), O_RDWR | O_CLOEXEC));
    if (!setting) continue;  // one that only shows
    std::array<char, 128> text{};
    ssize_t length = pread(setting.number(), text.data(), text.size(), 0);
    // The words of a set are shown apart and written with commas.
    std::ranges::replace(text, ' ', ',');
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

Body prepare_connection(const Options& options, bool shared) {
  Shape shape = small();
  shape.shared_receives = shape.extended = shared;
  return [ends = connector(options), shape] { ends->connect(shape); };
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
  return [netlink = std::make_shared<Netlink>()] {
    netlink->add_link("weft7", "dummy7");
    const std::optional<std::uint32_t> index = netlink->find("weft7");
    require(index.has_value(), "a link that was added is not there");
    netlink->delete_link(*index);
  };
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

}  // namespace

const std::vector<Scenario>& scenarios() {
  static const std::vector<Scenario> all = {
      {"open and query", [](const Options&) -> Body { return open_and_query; }},
      {"every object", prepare_objects},
      {"listen", [](auto& o) -> Body { return [o] { connector(o); }; }},
      {"connect, send, destroy", [](auto& o) { return prepare_connection(o, false); }},
      {"connect with shared receives", [](auto& o) { return prepare_connection(o, true); }},
      {"every operation", prepare_operations},
      {"reject", prepare_rejection},
      {"disconnect", prepare_disconnection},
      {"rdma link add, del", prepare_link, drop_link},
      {"rdma res show", prepare_show},
      {"settings", [](const Options&) -> Body { return write_settings; }},
  };
  return all;
}

}  // namespace rdma::torture
