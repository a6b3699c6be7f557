// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
//
// The plugin's entry, by which libibverbs knows libweft from its load on.
#include <stdlib.h>

#include <type_traits>

#include "context.hpp"
#include "provider_abi.h"
#include "version.hpp"
#include "weft-abi.h"

namespace weft {
namespace {

static_assert(std::is_trivially_default_constructible_v<Device>);

verbs_device* alloc_device(verbs_sysfs_dev* sysfs) {
  if (!description_matches(*sysfs))
    return nullptr;
  auto* device = static_cast<Device*>(calloc(1, sizeof(Device)));
  if (device == nullptr)
    return nullptr;
  device->kernel_abi = sysfs->abi_ver;
  return &device->base;
}

// Called after the table. A program whose netlink is closed (a service without AF_NETLINK) learns
// no driver id, and its devices are known by their settings.
bool match_device(verbs_sysfs_dev* sysfs) {
  return sysfs->match != nullptr || is_ours_without_id(*sysfs);
}

void uninit_device(verbs_device* device) {
  free(device);
}

// The driver id, and no name: names are the administrator's to choose.
const verbs_match_ent kMatchTable[] = {
    {.u = {.driver_id = WEFT_DRIVER_ID}, .kind = VERBS_MATCH_DRIVER_ID},
    {.kind = VERBS_MATCH_SENTINEL},
};

}  // namespace

// Accepts any kernel ABI, because alloc_context() judges it later: a listed device that names the
// fault when a program opens it helps more than a missing one.
extern const verbs_device_ops kDeviceOps = {
    .name = "weft",
    .match_min_abi_version = 0,
    .match_max_abi_version = UINT32_MAX,
    .match_table = kMatchTable,
    .match_device = match_device,
    .alloc_context = alloc_context,
    .alloc_device = alloc_device,
    .uninit_device = uninit_device,
};

namespace {

__attribute__((constructor)) void register_driver() {
  if (rdma_core_matches())
    verbs_register_driver(&kDeviceOps);
}

}  // namespace
}  // namespace weft
