// SPDX-License-Identifier: GPL-2.0
// What ends an operation: which call failed and why, or what was expected and what was found.
#pragma once

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace rdma {

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
  explicit Failure(const std::string& what) : Failure(Cause::kSystem, what) {}
  Failure(Cause cause, const std::string& what) : std::runtime_error(what), cause_(cause) {}
  Cause cause() const { return cause_; }

 private:
  Cause cause_;
};

// Some checks run for each message: pass a literal, of which no text is made while the check holds,
// and without `inline` g++ calls a template.
template <typename Text>
inline void require(bool holds, const Text& what, Cause cause = Cause::kSystem) {
  if (!holds) throw Failure(cause, what);
}

// For calls that return an error number, negative or not.
template <typename Text>
inline void require_zero(int error, const Text& call) {
  if (error != 0)
    throw Failure(std::string(call) + ": " + std::strerror(error < 0 ? -error : error));
}

// For calls that leave the reason in errno.
[[noreturn]] inline void fail_errno(const std::string& what, Cause cause = Cause::kSystem) {
  throw Failure(cause, what + ": " + std::strerror(errno));
}

// The same for those that return 0, or -1.
template <typename Text>
inline void must(int result, const Text& call) {
  if (result != 0) fail_errno(call);
}

}  // namespace rdma
