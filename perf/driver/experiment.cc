// SPDX-License-Identifier: GPL-2.0
#include "experiment.h"

#include <fcntl.h>

#include <thread>

namespace rdma::perf {

const std::vector<Experiment>& experiments() {
  using Sizes = std::vector<std::size_t>;
  const Sizes none;
  const Sizes to_64k{1, 64, 1024, 4096, 16384, 65536};
  const Sizes to_1m{64, 1024, 4096, 65536, 1 << 20};
  const Sizes to_2m{1 << 14, 1 << 15, 1 << 16, 1 << 17, 1 << 18, 1 << 19, 1 << 20, 1 << 21};
  const Sizes cached{4096, 65536};
  const Sizes overlapped{4096, 131072};
  static const std::vector<Experiment> all{
      {"latency", "half a round trip, one message at a time: median and 99th percentile",
       latency_client, latency_server, to_64k, 1000},
      {"bandwidth", "one way, both ways and to and fro, with the system calls of each side",
       bandwidth_client, bandwidth_server, to_1m},
      {"connections", "1 to 256 connections in turn, relative to one", connections_client,
       connections_server, none, 4096},
      {"cache", "one way, from one buffer and through 64 MiB of them", cache_client,
       bandwidth_server, cached},
      {"overlap", "how much computing hides behind communication", overlap_client, overlap_server,
       overlapped, 200},
      {"logp", "overhead of sender and receiver, gap and latency by size", logp_client,
       latency_server, to_64k, 200},
      {"registration", "registering memory against copying it", registration_client, setup_server,
       to_2m, 200},
      {"setup", "setting up a connection against a TCP connect", setup_client, setup_server, none,
       100},
      {"idle", "what memory connections take that do nothing", idle_client, idle_server},
      {"neighbours", "what connecting and ending takes, beside whatever else goes on",
       neighbours_client, neighbours_server, none, 200},
      {"crowd", "a load: connections that write all the time, a thread each", crowd_client,
       crowd_server},
      {"flood", "a load: TCP connections to an RDMA port, count= a second", flood_client,
       flood_server, none, 1000},
  };
  return all;
}

Control::Control(Descriptor socket) : socket_(std::move(socket)) { no_delay(socket_); }

Control Control::connect(const std::string& address, std::uint16_t port) {
  constexpr int kAttempts = 100;
  for (int attempt = 0;; attempt++) {
    try {
      return Control(connect_to({address, port}));
    } catch (const Failure&) {
      if (attempt == kAttempts) throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

void Control::send(const std::string& line) const {
  const std::string text = line + "\n";
  if (::send(socket_.number(), text.data(), text.size(), MSG_NOSIGNAL) != std::ssize(text))
    fail_errno("telling the peer");
}

std::string Control::receive() const {
  std::string line;
  for (char byte = 0; recv(socket_.number(), &byte, 1, 0) == 1; line += byte) {
    if (byte == '\n') return line;
  }
  return {};
}

std::string Control::expect(const std::string& word) const {
  const std::string line = receive();
  require(line.starts_with(word), "the peer said '" + line + "' instead of '" + word + "'" +
                                      (line.empty() ? " (gone)" : ""));
  return line.size() > word.size() ? line.substr(word.size() + 1) : std::string();
}

std::uint16_t Client::begin() const {
  control.send("case " + settings.line());
  return static_cast<std::uint16_t>(std::stoul(control.expect("port")));
}

namespace {

// Clients that shall begin at once, and end at once, all wait here: they have nothing left to set
// up, and none takes anything down while others are measured.
void await_others(const std::string& fifo) {
  if (!fifo.empty() && !Descriptor(open(fifo.c_str(), O_RDONLY | O_CLOEXEC))) fail_errno(fifo);
}

}  // namespace

Usage run_case(const Client& client, const std::function<void(Transport&)>& measure) {
  // The peer would say no more than that it is gone.
  Settings::parse(client.settings.line());
  const std::uint16_t port = client.begin();
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
  server.tell_port(listener->port());
  const std::unique_ptr<Transport> transport = listener->accept(server.settings);
  server.control.send("ready");
  const Stopwatch watch;
  serve(*transport);
  const Usage usage = watch.stop();
  // The server waits for the client's word, so that messages under way find its queue pair.
  server.control.expect("end");
  server.control.send("usage " + usage.line());
}

Record result_of(const Settings& settings) {
  Record result;
  result.add("experiment", settings.experiment);
  if (!settings.pattern.empty()) result.add("pattern", settings.pattern);
  return result.add("carrier", to_string(settings.carrier))
      .add("mode", to_string(settings.mode))
      .add("op", settings.carrier != Carrier::kVerbs ? "stream" : to_string(settings.operation))
      .add("size_bytes", static_cast<double>(settings.size))
      .add("connections", settings.connections);
}

}  // namespace rdma::perf
