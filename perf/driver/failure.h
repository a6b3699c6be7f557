// SPDX-License-Identifier: GPL-2.0
// What ends a measurement: a sentence that says what was wanted and what happened.
#ifndef WEFT_PERF_FAILURE_H
#define WEFT_PERF_FAILURE_H

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace perf {

class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline void require(bool holds, const std::string& what) {
  if (!holds) {
    throw Failure(what);
  }
}

// The text is made only when it is needed, since this check runs for each message.
inline void require(bool holds, const char* what) {
  if (!holds) {
    throw Failure(what);
  }
}

// For calls that return an error number.
inline void require_zero(int error, const char* what) {
  if (error != 0) {
    throw Failure(std::string(what) + ": " + std::strerror(error < 0 ? -error : error));
  }
}

// For calls that return -1 or NULL and leave the reason in errno.
[[noreturn]] inline void fail_errno(const std::string& what) {
  throw Failure(what + ": " + std::strerror(errno));
}

}  // namespace perf

#endif  // WEFT_PERF_FAILURE_H
