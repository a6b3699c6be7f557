// SPDX-License-Identifier: GPL-2.0
// Connections, one after the other: from nothing to the accepting program's word that it has
// it. Over TCP that word is a byte; rdma_cm's handshake has one of its own.
#include "experiment.h"

namespace rdma::perf {

namespace {

void connect_plainly(const std::string& address, std::uint16_t port) {
  const Descriptor socket = connect_to({address, port});
  char byte = 0;
  if (recv(socket.number(), &byte, 1, 0) != 1) fail_errno("connect");
}

}  // namespace

void setup_server(const Server& server) {
  Settings settings = server.settings;
  if (settings.carrier == Carrier::kTcp) {
    const Descriptor listening = listener({server.address, 0}, 16);
    server.tell_port(local_address(listening).port);
    for (unsigned i = 0; i < settings.count; i++) {
      if (send(accept_from(listening).number(), "", 1, MSG_NOSIGNAL) != 1) fail_errno("send");
    }
  } else {
    const std::unique_ptr<Listener> listening = make_listener(settings, server.address);
    server.tell_port(listening->port());
    for (unsigned i = 0; i < settings.count; i++) listening->accept(settings);
  }
  server.control.expect("end");
  server.control.send("usage " + Stopwatch().stop().line());
}

void setup_client(Client& client) {
  Settings& settings = client.settings;
  settings.connections = 1;
  settings.depth = 16;
  settings.size = 64;
  double tcp = 0;
  for (const Carrier carrier : {Carrier::kTcp, Carrier::kVerbs}) {
    settings.carrier = carrier;
    const std::uint16_t port = client.begin();
    Samples samples(settings.count), finding(settings.count), making(settings.count),
        connecting(settings.count);
    for (unsigned i = 0; i < settings.count; i++) {
      std::unique_ptr<Transport> transport;  // whose end is not counted
      Phases phases;
      const Clock::time_point begin = Clock::now();
      if (carrier == Carrier::kTcp)
        connect_plainly(client.address, port);
      else
        transport = connect_verbs(settings, client.address, port, &phases);
      const Clock::time_point end = Clock::now();
      samples.add(end - begin);
      if (carrier == Carrier::kTcp) continue;
      finding.add(phases.found - begin);
      making.add(phases.made - phases.found);
      connecting.add(end - phases.made);
    }
    client.control.send("end");
    client.control.expect("usage");
    if (carrier == Carrier::kTcp) tcp = samples.median();
    Record result = result_of(settings);
    result.add("median_us", samples.median()).add("p99_us", samples.quantile(0.99));
    if (carrier == Carrier::kVerbs) {
      result.add("route_us", finding.median())
          .add("objects_us", making.median())
          .add("handshake_us", connecting.median());
    }
    result.add("ratio_to_tcp", samples.median() / tcp).print();
  }
}

}  // namespace rdma::perf
