// SPDX-License-Identifier: GPL-2.0
// Post a message, compute as long as its transfer takes, wait for the receiver's answer: the
// share of the shorter of both that does not show. On one processor, where the kernel's work
// is done on the very processor that computes, it cannot be much.
#include <algorithm>

#include "experiment.h"

namespace rdma::perf {

namespace {

// Work for a processor that touches no memory.
void compute(std::uint64_t steps) {
  std::uint64_t value = steps;
  for (std::uint64_t i = 0; i < steps; i++) {
    value = value * 6364136223846793005U + 1442695040888963407U;
    asm volatile("" : "+r"(value));
  }
}

// Three parts with as many rounds each: communication, computing (local), both.
constexpr unsigned kParts = 2;

void exchange(Transport& transport, const Settings& settings, std::uint64_t steps,
              unsigned* round) {
  transport.await_room(0);
  transport.post(0, Operation::kSend, 0, settings.size);
  compute(steps);
  ++*round;
  if (settings.carrier != Carrier::kVerbs)
    transport.await_received(*round);
  else
    transport.await_notices(0, *round);
}

// Steps that take this long.
std::uint64_t calibrate(Clock::duration time) {
  constexpr std::uint64_t kProbe = 1U << 18;
  const Clock::time_point begin = Clock::now();
  compute(kProbe);
  const Clock::duration taken = std::max(Clock::now() - begin, Clock::duration(1));
  return kProbe * static_cast<std::uint64_t>(time.count()) /
         static_cast<std::uint64_t>(taken.count());
}

}  // namespace

void overlap_server(const Server& server) {
  serve_case(server, [&](Transport& transport) {
    for (unsigned i = 1; i <= kParts * server.settings.count; i++) {
      transport.await_received(i);
      transport.await_room(0);
      // A TCP answer must have the size of a message.
      if (server.settings.carrier != Carrier::kVerbs)
        transport.post(0, Operation::kSend, 0, server.settings.size);
      else
        transport.notify(0);
    }
  });
}

void overlap_client(Client& client) {
  Settings& settings = client.settings;
  for (const std::size_t size : settings.sizes) {
    settings.size = size;
    Samples communication(settings.count);
    Samples computing(settings.count);
    Samples together(settings.count);
    run_case(client, [&](Transport& transport) {
      unsigned round = 0;
      for (unsigned i = 0; i < settings.count; i++)
        communication.time([&] { exchange(transport, settings, 0, &round); });
      const auto target = std::chrono::duration_cast<Clock::duration>(
          std::chrono::duration<double, std::micro>(communication.median()));
      const std::uint64_t steps = calibrate(target);
      for (unsigned i = 0; i < settings.count; i++) computing.time([&] { compute(steps); });
      for (unsigned i = 0; i < settings.count; i++)
        together.time([&] { exchange(transport, settings, steps, &round); });
    });
    const double shorter = std::min(communication.median(), computing.median());
    const double hidden = communication.median() + computing.median() - together.median();
    result_of(settings)
        .add("communication_us", communication.median())
        .add("computing_us", computing.median())
        .add("together_us", together.median())
        .add("overlap_percent", 100 * hidden / shorter)
        .print();
  }
}

}  // namespace rdma::perf
