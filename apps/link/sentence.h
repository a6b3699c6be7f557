// SPDX-License-Identifier: GPL-2.0
// Sentences of several parts, each as a stream writes it.
#pragma once

#include <sstream>

#include "failure.h"

namespace rdma {

template <typename... Parts>
std::string sentence(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

template <typename... Parts>
[[noreturn]] void fail(Cause cause, const Parts&... parts) {
  throw Failure(cause, sentence(parts...));
}

// The sentence is made only if it does not hold.
template <typename... Parts>
inline void require(bool holds, Cause cause, const Parts&... parts) {
  if (!holds) fail(cause, parts...);
}

template <typename... Parts>
void refuse_if(bool wrong, Cause cause, const Parts&... parts) {
  require(!wrong, cause, parts...);
}

}  // namespace rdma
