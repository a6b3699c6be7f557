// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#ifndef WEFT_VERSION_HPP
#define WEFT_VERSION_HPP

#include "provider_abi.h"
#include "room.hpp"

namespace weft {

// Is the libibverbs in this process of the rdma-core release that libweft was
// built for? If not, says so in one line on stderr, where there is a Weft device to be
// missed or libibverbs' own warnings are asked for (IBV_SHOW_WARNINGS).
bool rdma_core_matches();

// A libibverbs may have another private interface than its name says. These functions check,
// through public fields and the room beside each structure, that it took libweft's structures as
// they are. If it did not, libweft must not be used, and one line on stderr says so.

// Returns true if the device described is the one that libibverbs matched: a Weft device. Its
// driver id may be missing, where netlink is closed to the program; then its settings in sysfs
// tell.
bool description_matches(const verbs_sysfs_dev& sysfs);

// Returns true if this device has settings of Weft's in sysfs, and no driver id.
bool is_ours_without_id(const verbs_sysfs_dev& sysfs);

// Returns true if libibverbs filled a device as it should, and wrote nothing to `behind` it.
bool device_matches(const verbs_device& device, const verbs_device_ops* ops, const Room& behind);

// Returns true if libibverbs has each operation in its place. The whole table is compared,
// so that an operation that was added, removed or moved shows.
bool operations_match(const verbs_context& context, const verbs_context_ops& ops,
                      const Room& before);

// Returns true if libibverbs looks where we write it for the mark that a queue pair has the
// calls of struct ibv_qp_ex. Asks about a queue pair that is made up.
bool queue_pair_matches(ibv_context* context);

// Returns true if nothing was written behind a structure (`what`) that libibverbs has filled.
bool length_matches(const Room& behind, const ibv_context* context, const char* what);

}  // namespace weft

#endif  // WEFT_VERSION_HPP
