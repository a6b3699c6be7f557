// SPDX-License-Identifier: GPL-2.0
// Ping-pong. A write shows only in memory: a polling peer watches its last byte, one that waits
// for events is told by an empty message behind it.
#include "experiment.h"
#include "mark.h"

namespace rdma::perf {

namespace {

constexpr unsigned kWarmUp = 20;

volatile unsigned char& last_byte(const Transport& transport, const Settings& settings) {
  return transport.bytes()[settings.size * 2 - 1];
}

// One message over, by the operation; `round` makes each write different.
void ping(Transport& transport, const Settings& settings, unsigned round) {
  transport.await_room(0);
  if (settings.operation == Operation::kWrite && settings.carrier == Carrier::kVerbs) {
    transport.bytes()[settings.size - 1] = static_cast<unsigned char>(round);
    transport.post(0, Operation::kWrite, 0, settings.size);
    if (settings.mode == Mode::kEvent) {
      transport.await_room(0);
      transport.notify(0);
    }
  } else {
    const bool immediate = settings.operation == Operation::kImmediate;
    transport.post(0, immediate ? Operation::kImmediate : Operation::kSend, 0, settings.size);
  }
}

void await_ping(Transport& transport, const Settings& settings, unsigned round) {
  if (settings.operation == Operation::kWrite && settings.carrier == Carrier::kVerbs) {
    if (settings.mode == Mode::kEvent) {
      transport.await_notices(0, round);
    } else {
      while (last_byte(transport, settings) != static_cast<unsigned char>(round))
        transport.progress(Until::kAny, true);
    }
  } else {
    transport.await_received(0, round);
  }
}

// Is the peer's program not needed?
bool one_sided(const Settings& settings) {
  return answered(settings.operation) && settings.carrier == Carrier::kVerbs;
}

}  // namespace

void latency_server(const Server& server) {
  const Settings& settings = server.settings;
  serve_case(server, [&](Transport& transport) {
    if (one_sided(settings)) {
      // The kernel answers; this side only waits for the word that it is over.
      transport.await_notices(0, 1);
      return;
    }
    const unsigned rounds = kWarmUp + settings.count;
    for (unsigned round = 1; round <= rounds; round++) {
      await_ping(transport, settings, round);
      ping(transport, settings, round);
    }
  });
}

void latency_client(Client& client) {
  Settings& settings = client.settings;
  if (one_sided(settings)) {
    settings.depth = 1;  // each is waited for
  }
  for (const std::size_t size : settings.sizes) {
    settings.size = size;
    Samples samples(settings.count);
    run_case(client, [&](Transport& transport) {
      for (unsigned round = 1; round <= kWarmUp + settings.count; round++) {
        if (round == kWarmUp + 1) mark_begin();
        const Clock::time_point begin = Clock::now();
        if (one_sided(settings)) {
          transport.post(0, settings.operation, 0, size);
          transport.await_sent(0);
        } else {
          ping(transport, settings, round);
          await_ping(transport, settings, round);
        }
        if (round > kWarmUp) samples.add(Clock::now() - begin);
      }
      mark_end();
      if (one_sided(settings)) transport.notify(0);
    });
    // What is answered is a round trip of its own, and so it is over sockets.
    const double trips = answered(settings.operation) ? 1 : 2;
    result_of(settings)
        .add("median_us", samples.median() / trips)
        .add("p99_us", samples.quantile(0.99) / trips)
        .add("p999_us", samples.quantile(0.999) / trips)
        .print();
  }
}

}  // namespace rdma::perf
