// SPDX-License-Identifier: GPL-2.0
// Doorbells as a hostile process rings them: past libweft, with numbers that it made up.
#pragma once

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <sys/ioctl.h>
#include <weft-abi.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace rdma {

// Rings by a method of an opened device's object; `data` is said to be so long. Returns errno or 0.
inline int ring(int file, std::uint16_t object, std::uint16_t method, std::uint64_t data,
                std::uint16_t length) {
  const ib_uverbs_attr attribute{
      .attr_id = WEFT_ATTR_DOORBELL, .len = length, .flags = UVERBS_ATTR_F_MANDATORY, .data = data};
  std::array<std::byte, sizeof(ib_uverbs_ioctl_hdr) + sizeof(attribute)> command{};
  const ib_uverbs_ioctl_hdr header{.length = command.size(),
                                   .object_id = object,
                                   .method_id = method,
                                   .num_attrs = 1,
                                   .driver_id = WEFT_DRIVER_ID};
  std::memcpy(command.data(), &header, sizeof(header));
  std::memcpy(command.data() + sizeof(header), &attribute, sizeof(attribute));
  return ioctl(file, RDMA_VERBS_IOCTL, command.data()) == 0 ? 0 : errno;
}

}  // namespace rdma
