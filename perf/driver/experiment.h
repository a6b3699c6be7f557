// SPDX-License-Identifier: GPL-2.0
// The experiments: what each side does, once for each case.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "record.h"
#include "settings.h"
#include "socket.h"
#include "transport.h"
#include "usage.h"

namespace rdma::perf {

// The connection by which client and server agree on what they do: lines over plain TCP.
class Control {
 public:
  explicit Control(Descriptor socket);
  // Connects to a server; tries for ten seconds, since it may just be starting.
  static Control connect(const std::string& address, std::uint16_t port);

  void send(const std::string& line) const;
  // The next line; empty when the peer has gone.
  std::string receive() const;
  // The next line, which must begin with this word; returns what follows it.
  std::string expect(const std::string& word) const;
  // The address of this end.
  std::string local_host() const { return local_address(socket_).host; }

 private:
  Descriptor socket_;
};

// The client's view of a case.
struct Client {
  Settings settings;
  const Control& control;
  std::string address;  // the server's

  // Tells the server of a case; returns the port where it listens.
  std::uint16_t begin() const;
};

// The server's view of one case.
struct Server {
  const Settings& settings;
  const Control& control;
  std::string address;  // its own, as the client sees it

  void tell_port(std::uint16_t port) const { control.send("port " + std::to_string(port)); }
};

// Loops over what the settings leave open and prints a result for each case.
using ClientPart = void(Client& client);
// Takes part in one case: listens, says where, takes part, gives its account.
using ServerPart = void(const Server& server);

struct Experiment {
  const char* name;
  const char* what;
  ClientPart* client;
  ServerPart* server;
  // The sizes, and the count, of a client that names none.
  std::vector<std::size_t> sizes = {};
  unsigned count = 0;
};

const std::vector<Experiment>& experiments();

// Runs one case as the client: tells the server, connects, calls `measure`, and returns the
// server's account.
Usage run_case(const Client& client, const std::function<void(Transport&)>& measure);
// Runs one case as the server: connects, calls `serve`, sends the account.
void serve_case(const Server& server, const std::function<void(Transport&)>& serve);
// A result, which starts with what was measured.
Record result_of(const Settings& settings);

ClientPart latency_client, bandwidth_client, connections_client, cache_client, overlap_client,
    logp_client, registration_client, setup_client, idle_client, neighbours_client, crowd_client,
    flood_client;
ServerPart latency_server, bandwidth_server, connections_server, overlap_server, setup_server,
    idle_server, neighbours_server, crowd_server, flood_server;
// Messages a second of a one-way case with these settings.
double oneway_rate(const Client& client);

}  // namespace rdma::perf
