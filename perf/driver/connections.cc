// SPDX-License-Identifier: GPL-2.0
// The same work spread over more and more connections, in turn. RDMA hardware slows down when
// its cache of connection states overflows; what software does is to be seen.
#include <algorithm>

#include "experiment.h"

namespace rdma::perf {

namespace {

constexpr unsigned kQueue = 16;

// A round trip on each connection in turn.
void in_turn(Transport& transport, const Settings& settings, bool first, Samples* samples) {
  std::vector<std::uint64_t> seen(settings.connections);
  for (unsigned i = 0; i < settings.count; i++) {
    const unsigned connection = i % settings.connections;
    const Clock::time_point begin = Clock::now();
    if (!first) transport.await_received(connection, ++seen[connection]);
    transport.await_room(connection);
    transport.post(connection, Operation::kSend, 0, settings.size);
    if (first) {
      transport.await_received(connection, ++seen[connection]);
      samples->add(Clock::now() - begin);
    }
  }
}

}  // namespace

void connections_server(const Server& server) {
  if (server.settings.pattern != "pingpong") {
    bandwidth_server(server);
    return;
  }
  serve_case(server,
             [&](Transport& transport) { in_turn(transport, server.settings, false, nullptr); });
}

void connections_client(Client& client) {
  Settings& settings = client.settings;
  if (settings.many.empty()) settings.many = {1, 2, 4, 8, 16, 32, 64, 128, 256};
  const std::string only = settings.pattern;
  settings.operation = Operation::kSend;
  settings.depth = std::min(settings.depth, kQueue);
  double alone_latency = 0;
  double alone_rate = 0;
  for (const unsigned connections : settings.many) {
    settings.connections = connections;
    settings.pattern = only;
    Record result = result_of(settings);
    if (only.empty() || only == "pingpong") {
      settings.pattern = "pingpong";
      Samples samples(settings.count);
      run_case(client, [&](Transport& transport) { in_turn(transport, settings, true, &samples); });
      const double median = samples.median() / 2;
      alone_latency = alone_latency > 0 ? alone_latency : median;
      result.add("median_us", median)
          .add("p99_us", samples.quantile(0.99) / 2)
          .add("latency_ratio", median / alone_latency);
    }
    if (only.empty() || only == "oneway") {
      settings.pattern = "oneway";
      const double rate = oneway_rate(client);
      alone_rate = alone_rate > 0 ? alone_rate : rate;
      result.add("rate_msg_s", rate).add("rate_ratio", rate / alone_rate);
    }
    result.print();
  }
}

}  // namespace rdma::perf
