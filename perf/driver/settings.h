// SPDX-License-Identifier: GPL-2.0
// What is to be measured and how: words of the form name=value, the same on the command line
// and between client and server.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rdma::perf {

// All but verbs are sockets; SMC's are TCP's, by another protocol.
enum class Carrier { kVerbs, kTcp, kSmc, kUnix };
// How a side waits. To yield is to poll, and to let others run when nothing has come: for two ends
// that share a processor.
enum class Mode { kEvent, kPoll, kYield };
enum class Operation { kSend, kWrite, kRead, kImmediate, kAtomic };

// Is the operation complete when the peer's answer is here?
constexpr bool answered(Operation operation) {
  return operation == Operation::kRead || operation == Operation::kAtomic;
}

template <typename Choice>
inline constexpr int kNames = 0;
template <>
inline constexpr std::array kNames<Carrier>{"verbs", "tcp", "smc", "unix"};
template <>
inline constexpr std::array kNames<Mode>{"event", "poll", "yield"};
template <>
inline constexpr std::array kNames<Operation>{"send", "write", "read", "write-imm", "atomic"};

template <typename Choice>
const char* to_string(Choice value) {
  return kNames<Choice>[static_cast<std::size_t>(value)];
}

// One case: both sides have the same.
struct Settings {
  std::string experiment;
  std::string pattern;  // for experiments with several, e.g. oneway, bothway, pingpong
  Carrier carrier = Carrier::kVerbs;
  Mode mode = Mode::kEvent;
  Operation operation = Operation::kSend;
  std::size_t size = 64;  // bytes of a message
  std::size_t arena = 0;  // bytes of memory messages walk through; 0: one message's place
  unsigned connections = 1;
  unsigned count = 0;   // messages, or rounds; 0: the experiment's own
  unsigned depth = 64;  // messages under way on a connection
  unsigned batch = 1;   // completions that wake the receiver, where the device can put events off
  unsigned gather = 1;  // messages that a call sends or takes at most, over one socket
  // The client begins, and ends, when somebody has opened these FIFOs to write; empty: at once.
  std::string start;
  std::string end;
  // Lists, for the client to loop over; empty: the experiment's own.
  std::vector<std::size_t> sizes;
  std::vector<unsigned> many;

  // Takes over one name=value word. Throws Failure.
  void set(const std::string& word);
  // The words of one case, for the peer.
  std::string line() const;
  // Reads such a line. Throws Failure.
  static Settings parse(const std::string& line);
};

}  // namespace rdma::perf
