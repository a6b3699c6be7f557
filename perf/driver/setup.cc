// SPDX-License-Identifier: GPL-2.0
// Connections, one after the other: from nothing to the accepting program's word that it has
// it. Over TCP that word is a byte; rdma_cm's handshake has one of its own.
#include "socket.h"
#include "experiment.h"
#include "mark.h"
#include "result.h"
#include "samples.h"
#include "usage.h"

namespace rdma::perf {

namespace {

constexpr unsigned kRounds = 100;

void connect_tcp(const std::string& address, std::uint16_t port) {
  const Descriptor socket = connect_to({address, port});
  char byte = 0;
  if (recv(socket.number(), &byte, 1, 0) != 1) {
    fail_errno("connect");
  }
}

}  // namespace

void setup_server(const Server& server) {
  Settings settings = server.settings;
  if (settings.carrier == Carrier::kTcp) {
    const Descriptor listening = listener({server.address, 0}, 16);
    server.control.send("port " + std::to_string(local_address(listening).port));
    for (unsigned i = 0; i < settings.count; i++) {
      if (send(accept_from(listening).number(), "", 1, MSG_NOSIGNAL) != 1) {
        fail_errno("send");
      }
    }
  } else {
    const std::unique_ptr<Listener> listening = make_listener(settings, server.address);
    server.control.send("port " + std::to_string(listening->port()));
    for (unsigned i = 0; i < settings.count; i++) {
      listening->accept(settings);
    }
  }
  server.control.expect("end");
  server.control.send("usage " + Stopwatch().stop().line());
}

void setup_client(Settings settings, Control& control, const std::string& address) {
  settings.count = settings.count > 0 ? settings.count : kRounds;
  settings.connections = 1;
  settings.depth = 16;
  settings.size = 64;
  double tcp = 0;
  for (const Carrier carrier : {Carrier::kTcp, Carrier::kVerbs}) {
    settings.carrier = carrier;
    control.send("case " + settings.line());
    const auto port = static_cast<std::uint16_t>(std::stoul(control.expect("port")));
    Samples samples(settings.count);
    for (unsigned i = 0; i < settings.count; i++) {
      const Clock::time_point begin = Clock::now();
      if (carrier == Carrier::kTcp) {
        connect_tcp(address, port);
        samples.add(Clock::now() - begin);
      } else {
        // The end of the connection is not counted.
        const std::unique_ptr<Transport> transport = make_connected(settings, address, port);
        samples.add(Clock::now() - begin);
      }
    }
    control.send("end");
    control.expect("usage");
    if (carrier == Carrier::kTcp) {
      tcp = samples.median();
    }
    result_of(settings)
        .add("median_us", samples.median())
        .add("p99_us", samples.quantile(0.99))
        .add("ratio_to_tcp", samples.median() / tcp)
        .print();
  }
}

}  // namespace rdma::perf
