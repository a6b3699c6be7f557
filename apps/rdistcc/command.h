// SPDX-License-Identifier: GPL-2.0
// What a compiler's command line asks for, and whether another host can do it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rdma::rdistcc {

using Arguments = std::vector<std::string>;

// The words of a text.
Arguments split(const std::string& text);

// Is it an option that changes how already preprocessed source is compiled, and nothing else: one
// that names no file, runs no program, and means the same on another host? What is not known is not
// allowed, but for -fWORD and -mWORD, of which each release of gcc has more: of these, those that
// are known to do otherwise are refused. The client asks, to know what can be distributed; the
// daemon asks again, since its peer may be anyone.
bool is_allowed(std::string_view argument);

struct Command {
  // Why it has to be done here; empty if it can be distributed.
  std::string local;

  // The rest is there if it can be distributed.
  std::string compiler;  // as it was called, without a path
  std::string source;    // the one source file
  std::string object;    // the file to make
  std::string suffix;    // of the preprocessed source: "i" or "ii"
  Arguments preprocess;  // the whole command that preprocesses to standard output
  Arguments compile;     // arguments for the other host, without -c, -o and the source
};

// Reads a command line: a compiler and its arguments. Looks at no file.
Command read_command(const Arguments& line);

}  // namespace rdma::rdistcc
