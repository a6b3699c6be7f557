// SPDX-License-Identifier: GPL-2.0
// What client and daemon say to each other for a job. The bytes of files are in no message: each
// end reads them from the other's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "command.h"
#include "link.h"

namespace rdma::rdistcc {

// Links of both programs: a request is one message, and there are few.
Settings link_settings();

// From the client: compile this.
struct Request {
  RemoteRegion source;  // the preprocessed source, which the daemon reads
  std::string suffix;   // "i" or "ii"
  std::string compiler;
  Arguments arguments;

  std::vector<std::byte> to_bytes() const;
  // Throws Failure (kProtocol).
  static Request from_bytes(std::span<const std::byte> bytes);
};

// From the daemon: how it went.
struct Reply {
  enum class Kind : std::uint8_t {
    kCompiled = 1,  // the compiler ended by itself, with `status`
    kRefused = 2    // for the reason in `text`; the client goes elsewhere
  };

  Kind kind = Kind::kRefused;
  std::uint32_t status = 0;
  RemoteRegion object;            // of no length if there is none
  RemoteRegion messages;          // what the compiler said
  std::uint64_t compiling = 0;    // nanoseconds of time
  std::uint64_t reading = 0;      // of these: the source from the client
  std::uint64_t registering = 0;  // of these: memory
  std::string text;

  std::vector<std::byte> to_bytes() const;
  // Throws Failure (kProtocol).
  static Reply from_bytes(std::span<const std::byte> bytes);
};

}  // namespace rdma::rdistcc
