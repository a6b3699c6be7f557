// SPDX-License-Identifier: GPL-2.0
#include "netlink.h"

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>

namespace rdma::torture {

namespace {

nlmsghdr* header_of(std::byte* bytes) {
  return reinterpret_cast<nlmsghdr*>(bytes);
}

// The attribute of that type in a message, or nullptr.
const std::byte* attribute(const nlmsghdr* message, int type) {
  const auto* bytes = reinterpret_cast<const std::byte*>(message);
  for (std::size_t at = NLMSG_HDRLEN; at + NLA_HDRLEN <= message->nlmsg_len;) {
    const auto* head = reinterpret_cast<const nlattr*>(bytes + at);
    if ((head->nla_type & NLA_TYPE_MASK) == type) {
      return bytes + at + NLA_HDRLEN;
    }
    at += NLA_ALIGN(head->nla_len);
  }
  return nullptr;
}

}  // namespace

Netlink::Netlink() : socket_(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA)) {
  const timeval limit{.tv_sec = 20, .tv_usec = 0};
  must(setsockopt(socket_.number(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)),
       "a netlink socket");
}

void Netlink::begin(int command, int flags) {
  nlmsghdr* head = header_of(request_.data());
  head->nlmsg_len = NLMSG_HDRLEN;
  head->nlmsg_type = static_cast<std::uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command));
  head->nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
  head->nlmsg_seq = ++sequence_;
  head->nlmsg_pid = 0;
}

void Netlink::put(int type, const void* data, std::size_t length) {
  nlmsghdr* head = header_of(request_.data());
  auto* attribute = reinterpret_cast<nlattr*>(request_.data() + head->nlmsg_len);
  attribute->nla_type = static_cast<std::uint16_t>(type);
  attribute->nla_len = static_cast<std::uint16_t>(NLA_HDRLEN + length);
  std::memcpy(request_.data() + head->nlmsg_len + NLA_HDRLEN, data, length);
  head->nlmsg_len += NLA_ALIGN(attribute->nla_len);
}

void Netlink::talk(const std::function<void(const nlmsghdr*)>& answer) {
  const nlmsghdr* head = header_of(request_.data());
  if (send(socket_.number(), request_.data(), head->nlmsg_len, 0) < 0) {
    fail_errno("sending by netlink");
  }
  for (;;) {
    const ssize_t length = recv(socket_.number(), answer_.data(), answer_.size(), 0);
    if (length < 0) {
      fail_errno("an answer by netlink");
    }
    auto left = static_cast<std::size_t>(length);
    for (const nlmsghdr* message = header_of(answer_.data()); NLMSG_OK(message, left);
         message = NLMSG_NEXT(message, left)) {
      if (message->nlmsg_seq != sequence_) {
        continue;  // of a question that was given up
      }
      if (message->nlmsg_type == NLMSG_DONE) {
        return;
      }
      if (message->nlmsg_type == NLMSG_ERROR) {
        require_zero(static_cast<const nlmsgerr*>(NLMSG_DATA(message))->error, "netlink");
        return;
      }
      answer(message);
      if ((message->nlmsg_flags & NLM_F_MULTI) == 0 && (head->nlmsg_flags & NLM_F_ACK) == 0) {
        return;
      }
    }
  }
}

void Netlink::add_link(const std::string& name, const std::string& netdev) {
  begin(RDMA_NLDEV_CMD_NEWLINK, NLM_F_ACK);
  put(RDMA_NLDEV_ATTR_DEV_NAME, name);
  put(RDMA_NLDEV_ATTR_LINK_TYPE, std::string("weft"));
  put(RDMA_NLDEV_ATTR_NDEV_NAME, netdev);
  talk([](const nlmsghdr*) {});
}

void Netlink::delete_link(std::uint32_t index) {
  begin(RDMA_NLDEV_CMD_DELLINK, NLM_F_ACK);
  put(RDMA_NLDEV_ATTR_DEV_INDEX, index);
  talk([](const nlmsghdr*) {});
}

std::optional<std::uint32_t> Netlink::find(const std::string& name) {
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

unsigned Netlink::show(std::uint32_t index) {
  unsigned answers = 0;
  const auto count = [&](const nlmsghdr*) { ++answers; };
  for (const int command :
       {RDMA_NLDEV_CMD_RES_QP_GET, RDMA_NLDEV_CMD_RES_CM_ID_GET, RDMA_NLDEV_CMD_RES_CQ_GET,
        RDMA_NLDEV_CMD_RES_MR_GET, RDMA_NLDEV_CMD_RES_PD_GET, RDMA_NLDEV_CMD_RES_CTX_GET,
        RDMA_NLDEV_CMD_RES_SRQ_GET}) {
    begin(command, NLM_F_DUMP);
    put(RDMA_NLDEV_ATTR_DEV_INDEX, index);
    put(RDMA_NLDEV_ATTR_PORT_INDEX, std::uint32_t{1});
    talk(count);
  }
  begin(RDMA_NLDEV_CMD_RES_GET, 0);
  put(RDMA_NLDEV_ATTR_DEV_INDEX, index);
  talk(count);
  begin(RDMA_NLDEV_CMD_STAT_GET, 0);
  put(RDMA_NLDEV_ATTR_DEV_INDEX, index);
  put(RDMA_NLDEV_ATTR_PORT_INDEX, std::uint32_t{1});
  talk(count);
  return answers;
}

}  // namespace rdma::torture
