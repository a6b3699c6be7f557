// SPDX-License-Identifier: GPL-2.0
#include "experiment.h"

#include <fcntl.h>

#include <array>

namespace rdma::perf {

namespace {

constexpr std::array kExperiments{
    Experiment{.name = "latency",
               .what = "half a round trip, one message at a time: median and 99th percentile",
               .client = latency_client,
               .server = latency_server},
    Experiment{.name = "bandwidth",
               .what = "one way, both ways and to and fro, with the processor time of each side",
               .client = bandwidth_client,
               .server = bandwidth_server},
    Experiment{.name = "connections",
               .what = "1 to 256 connections in turn, relative to one",
               .client = connections_client,
               .server = connections_server},
    Experiment{.name = "cache",
               .what = "one way, from one buffer and through 64 MiB of them",
               .client = cache_client,
               .server = bandwidth_server},
    Experiment{.name = "overlap",
               .what = "how much computing hides behind communication",
               .client = overlap_client,
               .server = overlap_server},
    Experiment{.name = "logp",
               .what = "overhead of sender and receiver, gap and latency by size",
               .client = logp_client,
               .server = latency_server},
    Experiment{.name = "registration",
               .what = "registering memory against copying it",
               .client = registration_client,
               .server = setup_server},
    Experiment{.name = "setup",
               .what = "setting up a connection against a TCP connect",
               .client = setup_client,
               .server = setup_server},
    Experiment{.name = "idle",
               .what = "what memory connections take that do nothing",
               .client = idle_client,
               .server = idle_server},
    Experiment{.name = "neighbours",
               .what = "what connecting and ending takes, beside whatever else goes on",
               .client = neighbours_client,
               .server = neighbours_server},
    Experiment{.name = "crowd",
               .what = "a load: connections that write all the time, a thread each",
               .client = crowd_client,
               .server = crowd_server},
    Experiment{.name = "flood",
               .what = "a load: TCP connections to an RDMA port, count= a second",
               .client = flood_client,
               .server = flood_server},
};

}  // namespace

std::span<const Experiment> experiments() {
  return kExperiments;
}

namespace {

// Clients that shall begin at once, and end at once, all wait here: they have nothing left to set
// up, and none takes anything down while others are measured.
void await_others(const std::string& fifo) {
  if (!fifo.empty() && Descriptor(open(fifo.c_str(), O_RDONLY | O_CLOEXEC)).number() < 0) {
    fail_errno(fifo);
  }
}

}  // namespace

Usage run_case(const Client& client, const std::function<void(Transport&)>& measure) {
  // The peer would say no more than that it is gone.
  Settings::parse(client.settings.line());
  client.control.send("case " + client.settings.line());
  const auto port = static_cast<std::uint16_t>(std::stoul(client.control.expect("port")));
  const std::unique_ptr<Transport> transport =
      make_connected(client.settings, client.address, port);
  client.control.expect("ready");
  await_others(client.settings.start);
  measure(*transport);
  await_others(client.settings.end);
  client.control.send("end");
  return Usage::parse(client.control.expect("usage"));
}

void serve_case(const Server& server, const std::function<void(Transport&)>& serve) {
  const std::unique_ptr<Listener> listener = make_listener(server.settings, server.address);
  server.control.send("port " + std::to_string(listener->port()));
  const std::unique_ptr<Transport> transport = listener->accept(server.settings);
  server.control.send("ready");
  const Stopwatch watch;
  serve(*transport);
  const Usage usage = watch.stop();
  // The server waits for the client's word, so that messages under way find its queue pair.
  server.control.expect("end");
  server.control.send("usage " + usage.line());
}

}  // namespace rdma::perf
