// SPDX-License-Identifier: GPL-2.0
// The parts of the program, one function for each source file, and how they report.
#pragma once

#include "connector.h"

namespace rdma::torture {

// Where the two hosts are, and what was asked for on the command line.
struct Options {
  std::string server = "10.0.0.1";
  std::string server_netns = "A";
  std::string client_netns = "B";
  std::string only;               // faults, errors: scenarios whose names contain this
  std::uint64_t seed = 1;         // of everything random
  std::uint64_t first = 1;        // faults: the first occasion that fails; fuzz: the first call
  std::uint64_t step = 1;         // faults: every so many occasions
  std::uint64_t seconds = 60;     // scribble, fuzz, errors: how long
  std::uint64_t megabytes = 8;    // bulk: how much
  std::uint64_t least = 0;        // bulk: how many seconds at least
  std::uint64_t flips = 40;       // flip: how many
  std::uint64_t port = 0;         // call: at the server
  std::uint64_t probability = 0;  // errors: of a failing allocation, once all is prepared
  bool marked = false;            // errors: what goes wrong at random does in the scenarios
  bool replay = false;            // fuzz: one session, and what tells it from others
  bool paths = false;             // flip: connections have several paths, of which one is damaged
  bool breaks = false;            // bulk: connections may break, and are made again; hold: rejects
};

constexpr int kAllRights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                           IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND;

// Listens on the one, for connections from the other.
inline Connector connector_of(const Options& options) {
  return {{.netns = options.client_netns, .address = ""},
          {.netns = options.server_netns, .address = options.server}};
}

// The ends of a pair, in either order.
inline std::pair<Endpoint&, Endpoint&> either_way(const Pair& pair, bool back) {
  return {back ? *pair.server : *pair.client, back ? *pair.client : *pair.server};
}

// Reports a row of the table, and the test that goes with it. A count of nothing is a failure:
// a part that tried nothing has shown nothing. `failure` is empty if all went well.
void report(const std::string& what, std::uint64_t count, const std::string& outcome,
            const std::string& failure);

// A piece of what a program does with the device, which can fail somewhere.
using Body = std::function<void()>;

struct Scenario {
  const char* name;
  // Does what comes before, and returns the piece itself, which throws when a call fails. It
  // runs once, in a process of its own: what a failed call leaves, the process's end clears.
  std::function<Body(const Options& options)> prepare;
  // Clears what a process's end does not, once nothing is to fail any more; or empty.
  std::function<void()> after = {};
};

const std::vector<Scenario>& scenarios();

// The parts; kParts in main.cc says of each what it does.
void faults(const Options& options);
void errors(const Options& options);
void scribble(const Options& options);
void fuzz(const Options& options);
void hold(const Options& options);
void call(const Options& options);
void bulk(const Options& options);
void flip(const Options& options);

}  // namespace rdma::torture
