// SPDX-License-Identifier: GPL-2.0
// Which arguments a compiler may get from a peer. The client asks, to know what can be distributed;
// the daemon asks again, since its peer may be anyone.
#pragma once

#include <string_view>

namespace rdma::rdistcc {

// Is it an option that changes how already preprocessed source is compiled, and nothing else: one
// that names no file, runs no program, and means the same on another host? What is not known is not
// allowed, but for -fWORD and -mWORD, of which each release of gcc has more: of these, those that
// are known to do otherwise are refused.
bool is_allowed(std::string_view argument);

}  // namespace rdma::rdistcc
