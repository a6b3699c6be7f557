// SPDX-License-Identifier: GPL-2.0
// Doorbells as a hostile process rings them: past libweft, with numbers that it made up.
#pragma once

#include <infiniband/verbs.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <sys/ioctl.h>
#include <weft-abi.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace rdma {

// Rings by a method of an object; `length` is how many bytes `data` is said to be. Returns 0 or
// errno.
inline int ring(const ibv_context* context, std::uint16_t object, std::uint16_t method,
                std::uint64_t data, std::uint16_t length) {
  ib_uverbs_ioctl_hdr header{};
  ib_uverbs_attr attribute{};
  std::array<std::byte, sizeof(header) + sizeof(attribute)> command{};
  header.length = command.size();
  header.object_id = object;
  header.method_id = method;
  header.num_attrs = 1;
  header.driver_id = WEFT_DRIVER_ID;
  attribute.attr_id = WEFT_ATTR_DOORBELL;
  attribute.len = length;
  attribute.flags = UVERBS_ATTR_F_MANDATORY;
  attribute.data = data;
  std::memcpy(command.data(), &header, sizeof(header));
  std::memcpy(command.data() + sizeof(header), &attribute, sizeof(attribute));
  return ioctl(context->cmd_fd, RDMA_VERBS_IOCTL, command.data()) == 0 ? 0 : errno;
}

}  // namespace rdma
