// SPDX-License-Identifier: GPL-2.0
// weft-perf: one program for both sides of every experiment. See usage().
#include <csignal>
#include <cstdlib>
#include <iostream>

#include "experiment.h"

namespace rdma::perf {

namespace {

constexpr std::uint16_t kPort = 18600;

void usage(std::ostream& out) {
  out << R"(usage: weft-perf server [ADDRESS]
       weft-perf client ADDRESS EXPERIMENT [NAME=VALUE...]

The server serves one client and ends. The client prints one JSON object a line; each
name ends in its unit. Connections are made by rdma_cm to ADDRESS, an IPv4 address.

experiments:
)";
  for (const Experiment& experiment : experiments()) {
    out << "  " << experiment.name << std::string(14 - std::string(experiment.name).size(), ' ')
        << experiment.what << '\n';
  }
  out << R"(
settings:
  carrier=verbs|tcp        what carries the messages (verbs)
  mode=event|poll|yield    how both sides wait (event); yield polls, and lets others run when
                           nothing has come, for ends that share a processor
  op=send|write|read       for latency, bandwidth and cache (send)
  pattern=oneway|bothway|pingpong   one of bandwidth's (all)
  size=64,4k,1m            bytes of a message; a list
  connections=1,2,4        for connections; a list
  count=N                  messages or rounds
  depth=N                  messages under way on a connection (64)
  batch=N                  messages that wake the receiver at once (1), where the device
                           moderates completions; fewer after 1 ms
  gather=N                 messages that a call sends or takes at most, over TCP (1); for bandwidth
  arena=BYTES              messages walk through so much memory
  start=FIFO, end=FIFO     wait until somebody opens this to write, before and after
)";
}

const Experiment& find(const std::string& name) {
  for (const Experiment& experiment : experiments()) {
    if (name == experiment.name) return experiment;
  }
  throw Failure("there is no experiment '" + name + "'; weft-perf --help lists them");
}

void serve(const std::string& address) {
  // The next client finds nobody listening until the next server does.
  const Control control(accept_from(listener({address, kPort}, 1)));
  for (;;) {
    const std::string line = control.receive();
    if (line.empty()) return;
    require(line.starts_with("case "), "the client said '" + line + "'");
    const Settings settings = Settings::parse(line.substr(5));
    find(settings.experiment).server({settings, control, control.local_host()});
  }
}

int run(const std::vector<std::string>& words) {
  if (!words.empty() && (words[0] == "--help" || words[0] == "-h")) {
    usage(std::cout);
    return 0;
  }
  if (!words.empty() && words.size() <= 2 && words[0] == "server") {
    serve(words.size() == 2 ? words[1] : "0.0.0.0");
    return 0;
  }
  if (words.size() < 3 || words[0] != "client") {
    usage(std::cerr);
    return 2;
  }
  const Experiment& experiment = find(words[2]);
  Settings settings;
  for (std::size_t i = 3; i < words.size(); i++) settings.set(words[i]);
  settings.experiment = experiment.name;
  settings.sizes = settings.sizes.empty() ? experiment.sizes : settings.sizes;
  settings.count = settings.count > 0 ? settings.count : experiment.count;
  const Control control = Control::connect(words[1], kPort);
  Client client{settings, control, words[1]};
  experiment.client(client);
  return 0;
}

}  // namespace

}  // namespace rdma::perf

int main(int count, char** words) {
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return rdma::perf::run({words + 1, words + count});
  } catch (const std::exception& failure) {
    std::cerr << "weft-perf: " << failure.what() << '\n';
    return 1;
  }
}
