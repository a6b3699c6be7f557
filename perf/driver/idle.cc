// SPDX-License-Identifier: GPL-2.0
// Connections that do nothing: what memory each takes, and whether they all still carry a
// message. Both ends are in one machine, so what its kernel has less belongs to both.
#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "experiment.h"

namespace rdma::perf {

namespace {

constexpr double kKibi = 1024;
constexpr double kPage = 4096;

// The bytes of the device that this process has mapped: the queues that it asked for.
double queue_bytes() {
  std::ifstream maps("/proc/self/maps");
  double bytes = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("uverbs") == std::string::npos) continue;
    const std::size_t dash = line.find('-');
    bytes += static_cast<double>(std::stoull(line.substr(dash + 1), nullptr, 16) -
                                 std::stoull(line.substr(0, dash), nullptr, 16));
  }
  return bytes;
}

// The kernel's own memory, without that of programs and cached files.
double kernel_bytes() {
  std::ifstream meminfo("/proc/meminfo");
  double bytes = 0;
  for (std::string line; std::getline(meminfo, line);) {
    std::istringstream words(line);
    std::string name;
    double value = 0;
    words >> name >> value;
    if (name == "MemTotal:") {
      bytes += value * kKibi;
    } else if (name == "MemFree:" || name == "Buffers:" || name == "Cached:" ||
               name == "AnonPages:") {
      bytes -= value * kKibi;
    }
  }
  return bytes;
}

// The kernel's caches of objects, in bytes by name.
std::map<std::string, double> slabs() {
  std::ifstream slabinfo("/proc/slabinfo");
  std::map<std::string, double> found;
  for (std::string line; std::getline(slabinfo, line);) {
    // name active objects size per_slab pages : tunables a b c : slabdata active_slabs slabs x
    std::istringstream words(line);
    std::string name;
    std::string skip;
    double pages = 0;
    double number = 0;
    words >> name >> skip >> skip >> skip >> skip >> pages >> skip >> skip >> skip >> skip >>
        skip >> skip >> skip >> skip >> number;
    if (words) found[name] = number * pages * kPage;
  }
  return found;
}

}  // namespace

void idle_server(const Server& server) {
  const double before = queue_bytes();
  serve_case(server, [&](Transport& transport) {
    server.control.send("queues " + std::to_string(queue_bytes() - before));
    for (unsigned i = 0; i < server.settings.connections; i++) transport.await_received(i, 1);
    server.control.send("all");
  });
}

void idle_client(Client& client) {
  Settings& settings = client.settings;
  if (settings.many.empty()) settings.many = {5000};
  settings.depth = 1;
  settings.size = 64;
  for (const unsigned connections : settings.many) {
    settings.connections = connections;
    const std::map<std::string, double> slabs_before = slabs();
    const double before = kernel_bytes();
    const double queues_before = queue_bytes();
    Record result = result_of(settings);
    run_case(client, [&](Transport& transport) {
      const double ends = 2.0 * connections;
      const double queues =
          queue_bytes() - queues_before + std::stod(client.control.expect("queues"));
      const double all = kernel_bytes() - before;
      result.add("ends", ends)
          .add("queues_bytes_each", queues / ends)
          .add("kernel_bytes_each", all / ends)
          .add("beyond_queues_bytes_each", (all - queues) / ends);
      for (const auto& [name, bytes] : slabs()) {
        const auto old = slabs_before.find(name);
        const double each = (bytes - (old == slabs_before.end() ? 0 : old->second)) / ends;
        constexpr double kWorthTelling = 100;
        if (each >= kWorthTelling) result.add("slab_" + name + "_bytes_each", each);
      }
      for (unsigned i = 0; i < connections; i++)
        transport.post(i, Operation::kSend, 0, settings.size, true);
      transport.await_sent(0);
      client.control.expect("all");
    });
    result.print();
  }
}

}  // namespace rdma::perf
