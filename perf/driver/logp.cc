// SPDX-License-Identifier: GPL-2.0
// The parameters of the LogP model by size: o_s, the processor's time to send; o_r, to take
// what has arrived; g, the time between messages when the queue is full; L, what remains of
// half a round trip.
#include <algorithm>
#include <thread>

#include "experiment.h"

namespace rdma::perf {

namespace {

constexpr unsigned kWarmUp = 20;  // as latency_server() has it

}  // namespace

void logp_client(Client& client) {
  Settings& settings = client.settings;
  settings.operation = Operation::kSend;
  const unsigned rounds = settings.count;
  for (const std::size_t size : settings.sizes) {
    settings.size = size;
    settings.count = rounds;
    Samples send(rounds);
    Samples receive(rounds);
    Samples trip(rounds);
    run_case(client, [&](Transport& transport) {
      for (unsigned round = 1; round <= kWarmUp + rounds; round++) {
        transport.await_room(0);
        const Clock::time_point begin = Clock::now();
        transport.post(0, Operation::kSend, 0, size);
        const Clock::time_point posted = Clock::now();
        // Every second round waits until the answer must be here, and then takes it.
        const bool late = round % 2 == 0;
        if (late) {
          constexpr double kPatience = 4;
          std::this_thread::sleep_for(
              std::chrono::duration<double, std::micro>(200 + kPatience * trip.median()));
        }
        const Clock::time_point waiting = Clock::now();
        transport.await_received(round);
        const Clock::time_point done = Clock::now();
        if (round <= kWarmUp) continue;
        send.add(posted - begin);
        if (late)
          receive.add(done - waiting);
        else
          trip.add(done - begin);
      }
    });
    constexpr std::size_t kVolume = 16U << 20;
    Client full = client;
    full.settings.experiment = "bandwidth";
    full.settings.pattern = "oneway";
    full.settings.count = static_cast<unsigned>(std::clamp<std::size_t>(kVolume / size, 256, 4096));
    const double gap = 1e6 / oneway_rate(full);
    result_of(settings)
        .add("send_overhead_us", send.median())
        .add("receive_overhead_us", receive.median())
        .add("gap_us", gap)
        .add("latency_us", trip.median() / 2 - send.median() - receive.median())
        .print();
  }
}

}  // namespace rdma::perf
