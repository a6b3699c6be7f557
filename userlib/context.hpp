// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#ifndef WEFT_CONTEXT_HPP
#define WEFT_CONTEXT_HPP

#include "provider_abi.h"
#include "qp_table.hpp"
#include "room.hpp"

namespace weft {

// A device that libibverbs listed. Made by alloc_device, freed by uninit_device.
struct Device {
  verbs_device base;  // first: converted by address
  Room behind;
  uint32_t kernel_abi;

  static Device* of(ibv_device* device) { return reinterpret_cast<Device*>(device); }
};
static_assert(offsetof(Device, base) == 0);

// The operations by which libibverbs knows libweft (device.cc).
extern const verbs_device_ops kDeviceOps;

// verbs_device_ops.alloc_context and verbs_context_ops.free_context.
verbs_context* alloc_context(ibv_device* device, int cmd_fd, void* private_data);
void free_context(ibv_context* ibv);

// The queue pairs of an opened device.
QpTable* qps_of(ibv_context* context);

int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input,
                    ibv_device_attr_ex* attr, size_t attr_size);
int query_port(ibv_context* context, uint8_t port_num, ibv_port_attr* attr);
int query_rt_values(ibv_context* context, ibv_values_ex* values);

}  // namespace weft

#endif  // WEFT_CONTEXT_HPP
