// SPDX-License-Identifier: GPL-2.0
// What ends an operation: a sentence that says what happened and what to do next.
#ifndef WEFT_APPS_FAILURE_H
#define WEFT_APPS_FAILURE_H

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace apps {

// Why, for callers that go on by another way.
enum class Cause {
  kInput,    // the caller's arguments: out of bounds, no address, no right
  kDevice,   // this host has no RDMA device for the address, or it lacks what was asked
  kRefused,  // nobody listens there, or the peer said no: to the connection, or to a key or address
  kLost,     // the peer ended the connection, or it broke
  kTimeout,  // the peer did not answer in time
  kProtocol,  // the peer sent what it must not
  kSystem,    // this host's system: memory, descriptors, limits
};

class Failure : public std::runtime_error {
 public:
  Failure(Cause cause, const std::string& what) : std::runtime_error(what), cause_(cause) {}
  Cause cause() const { return cause_; }

 private:
  Cause cause_;
};

// For calls that return -1 or NULL and leave the reason in errno.
[[noreturn]] inline void fail_errno(const std::string& what, Cause cause = Cause::kSystem) {
  throw Failure(cause, what + ": " + std::strerror(errno));
}

}  // namespace apps

#endif  // WEFT_APPS_FAILURE_H
