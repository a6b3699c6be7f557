// SPDX-License-Identifier: GPL-2.0
// What ends a case: a sentence that says what was expected and what was found.
#ifndef WEFT_TESTS_FAILURE_H
#define WEFT_TESTS_FAILURE_H

#include <cstring>
#include <stdexcept>
#include <string>

namespace placement {

class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The case cannot be had on this machine; the reason is printed.
class Skip : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The device says that it lacks what the case is about. Weft lacks nothing that is tested, so this
// is a failure; a device of another kind is let off.
class Lacking : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline void require(bool holds, const std::string& what) {
  if (!holds) {
    throw Failure(what);
  }
}

inline void require_zero(int error, const std::string& what) {
  if (error != 0) {
    throw Failure(what + ": " + std::strerror(error < 0 ? -error : error));
  }
}

// For calls that return -1 or NULL and leave the reason in errno.
[[noreturn]] inline void fail_errno(const std::string& what) {
  throw Failure(what + ": " + std::strerror(errno));
}

}  // namespace placement

#endif  // WEFT_TESTS_FAILURE_H
