// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#ifndef WEFT_VERSION_HPP
#define WEFT_VERSION_HPP

#include "provider_abi.h"

namespace weft {

// Is the libibverbs in this process of the rdma-core release that libweft was
// built for? If not, says so in one line on stderr, where there is a Weft device to be
// missed or libibverbs' own warnings are asked for (IBV_SHOW_WARNINGS).
bool rdma_core_matches();

// A libibverbs may have another private interface than its name says. These functions check,
// through public fields only, what it made of what libweft gave it. If that is wrong,
// libweft must not be used, and one line on stderr says so.

// Is this the device that libibverbs matched? (That its description is laid out as we
// know it.)
bool description_matches(const verbs_sysfs_dev& sysfs);

// Returns true if libibverbs has each operation in its place. The whole table is compared,
// so that an operation that was added, removed or moved shows.
bool operations_match(const verbs_context& context, const verbs_context_ops& ops);

// Does libibverbs find the mark that a queue pair has the calls of struct ibv_qp_ex?
bool queue_pair_matches(verbs_qp* qp);

}  // namespace weft

#endif  // WEFT_VERSION_HPP
