// SPDX-License-Identifier: GPL-2.0
// The experiments: what each side does, once for each case.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "control.h"
#include "settings.h"
#include "transport.h"
#include "usage.h"

namespace rdma::perf {

// The client's view of one case.
struct Client {
  const Settings& settings;
  Control& control;
  const std::string& address;  // the server's
};

// A server's part in a case: listens, says where, takes part, gives its account.
struct Server {
  const Settings& settings;
  Control& control;
  std::string address;  // its own, as the client sees it
};

struct Experiment {
  const char* name;
  const char* what;
  // Loops over what the settings leave open and prints a result for each case.
  void (*client)(Settings settings, Control& control, const std::string& address);
  // Takes part in one case.
  void (*server)(const Server& server);
};

std::span<const Experiment> experiments();

// Runs one case as the client: tells the server, connects, calls `measure`, and returns the
// server's account of its processor time.
Usage run_case(const Client& client, const std::function<void(Transport&)>& measure);
// Runs one case as the server: connects, calls `serve`, sends the account.
void serve_case(const Server& server, const std::function<void(Transport&)>& serve);

void latency_client(Settings settings, Control& control, const std::string& address);
void latency_server(const Server& server);
void bandwidth_client(Settings settings, Control& control, const std::string& address);
void bandwidth_server(const Server& server);
// Messages a second of a one-way case with these settings.
double oneway_rate(const Settings& settings, Control& control, const std::string& address);
void connections_client(Settings settings, Control& control, const std::string& address);
void connections_server(const Server& server);
void cache_client(Settings settings, Control& control, const std::string& address);
void overlap_client(Settings settings, Control& control, const std::string& address);
void overlap_server(const Server& server);
void logp_client(Settings settings, Control& control, const std::string& address);
void registration_client(Settings settings, Control& control, const std::string& address);
void idle_client(Settings settings, Control& control, const std::string& address);
void idle_server(const Server& server);
void setup_client(Settings settings, Control& control, const std::string& address);
void setup_server(const Server& server);
void neighbours_client(Settings settings, Control& control, const std::string& address);
void neighbours_server(const Server& server);
void crowd_client(Settings settings, Control& control, const std::string& address);
void crowd_server(const Server& server);
void flood_client(Settings settings, Control& control, const std::string& address);
void flood_server(const Server& server);

}  // namespace rdma::perf
