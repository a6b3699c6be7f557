// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#ifndef WEFT_VERSION_HPP
#define WEFT_VERSION_HPP

namespace weft {

// Is the libibverbs in this process of the rdma-core release that libweft was
// built for? If not, says so in one line on stderr.
bool rdma_core_matches();

}  // namespace weft

#endif  // WEFT_VERSION_HPP
