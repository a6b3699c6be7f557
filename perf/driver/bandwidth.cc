// SPDX-License-Identifier: GPL-2.0
// Many messages: one way, both ways at once, and to and fro. One-way writes and reads involve
// the server's kernel only. Also what `connections` and `cache` are made of.
#include <algorithm>
#include <utility>

#include "experiment.h"
#include "mark.h"

namespace rdma::perf {

namespace {

constexpr std::size_t kVolume = 64U << 20;
constexpr unsigned kMost = 20000;
constexpr unsigned kFewest = 64;

// Messages one way, never more than the receiver has posted receives for: it tells the sender
// with an empty message for each half of the queue it has taken.
class FlowOut {
 public:
  explicit FlowOut(Transport& transport, const Settings& settings)
      : transport_(transport),
        settings_(settings),
        credits_(transport.needs_credits() && settings.operation == Operation::kSend),
        sent_(transport.connections()) {}

  // Returns true if a message may be posted on this connection now.
  bool ready(unsigned connection) const {
    return transport_.outstanding(connection) < transport_.depth() &&
           (!credits_ || sent_[connection] < room(connection));
  }
  void send(unsigned connection, bool last) {
    const std::size_t step = std::max<std::size_t>(settings_.size, 1);
    transport_.post(connection, settings_.operation, offset_, settings_.size, last);
    offset_ = offset_ + 2 * step <= settings_.arena ? offset_ + step : 0;
    sent_[connection]++;
  }
  // Waits until ready().
  void await(unsigned connection) {
    while (!ready(connection)) {
      const bool full = transport_.outstanding(connection) >= transport_.depth();
      transport_.progress(full ? Until::kSent : Until::kReceived, true);
    }
  }

 private:
  std::uint64_t room(unsigned connection) const {
    return transport_.depth() + transport_.notices(connection) * ((transport_.depth() + 1) / 2);
  }

  Transport& transport_;
  const Settings& settings_;
  bool credits_;
  std::size_t offset_ = 0;
  std::vector<std::uint64_t> sent_;
};

class FlowIn {
 public:
  explicit FlowIn(Transport& transport, const Settings& settings)
      : transport_(transport),
        credits_(transport.needs_credits() && settings.operation == Operation::kSend),
        granted_(transport.connections()) {}

  // Tells the sender of room that has become free.
  void grant(unsigned connection) {
    const std::uint64_t half = (transport_.depth() + 1) / 2;
    while (credits_ && transport_.received(connection) >= (granted_[connection] + 1) * half) {
      transport_.notify(connection);
      granted_[connection]++;
    }
  }

 private:
  Transport& transport_;
  bool credits_;
  std::vector<std::uint64_t> granted_;
};

// The end of a one-way run: the receiver has it all.
void confirm(Transport& transport, const Settings& settings) {
  transport.await_room(0);
  if (settings.carrier != Carrier::kVerbs) {
    transport.post(0, Operation::kSend, 0, settings.size);
    transport.await_sent(0);
  } else {
    transport.notify(0);
  }
}

bool one_sided(const Settings& settings) {
  return settings.carrier == Carrier::kVerbs && settings.operation != Operation::kSend;
}

void receive_all(Transport& transport, const Settings& settings) {
  FlowIn in(transport, settings);
  transport.keep_news();
  for (std::uint64_t seen = 0; seen < settings.count; seen = transport.received()) {
    transport.await_received(seen + 1);
    for (const unsigned connection : transport.news()) in.grant(connection);
  }
}

void send_all(Transport& transport, const Settings& settings) {
  FlowOut out(transport, settings);
  for (unsigned i = 0; i < settings.count; i++) {
    const unsigned connection = i % settings.connections;
    out.await(connection);
    out.send(connection, i + settings.connections >= settings.count);
  }
}

// Each end says when it has everything. The sender knows only that its messages were taken; the
// last one may still be under way.
void both(Transport& transport, const Settings& settings) {
  FlowOut out(transport, settings);
  FlowIn in(transport, settings);
  const bool streams = settings.carrier != Carrier::kVerbs;
  const bool sends = !streams && !one_sided(settings);
  const unsigned half = (transport.depth() + 1) / 2;
  const std::uint64_t notices = sends ? settings.count / half + 1 : streams ? 0 : 1;
  unsigned sent = 0;
  bool told = false;
  const auto may_tell = [&] {
    return sends ? transport.received() >= settings.count
                 : sent == settings.count && transport.outstanding() == 0;
  };
  const auto over = [&] {
    return sent == settings.count && told && transport.notices(0) >= notices &&
           (!streams || transport.received() >= settings.count);
  };
  while (!over()) {
    while (sent < settings.count && out.ready(0)) out.send(0, ++sent == settings.count);
    in.grant(0);
    if (!told && may_tell()) {
      told = true;
      if (!streams) transport.notify(0);
    }
    if (!over() && (sent == settings.count || !out.ready(0))) transport.progress(Until::kAny, true);
  }
}

void to_and_fro(Transport& transport, const Settings& settings, bool first) {
  for (unsigned i = 1; i <= settings.count; i++) {
    if (!first) transport.await_received(i);
    transport.await_room(0);
    transport.post(0, Operation::kSend, 0, settings.size);
    if (first) transport.await_received(i);
  }
}

// The work that the receiver still owes the client when all is posted.
void await_end(Transport& transport, const Settings& settings) {
  if (one_sided(settings)) {
    transport.await_sent(0);
    return;
  }
  if (settings.carrier != Carrier::kVerbs) {
    transport.await_received(1);
    return;
  }
  const unsigned half = (settings.depth + 1) / 2;
  for (unsigned i = 0; i < settings.connections; i++) {
    const unsigned share =
        settings.count / settings.connections + (i < settings.count % settings.connections ? 1 : 0);
    transport.await_notices(i, share / half + (i == 0 ? 1 : 0));
  }
}

// Runs one case and returns both sides' accounts, the client's first.
std::pair<Usage, Usage> measure(const Client& client) {
  const Settings& settings = client.settings;
  Usage mine;
  const Usage theirs = run_case(client, [&](Transport& transport) {
    const Stopwatch watch;
    mark_begin();
    if (settings.pattern == "bothway") {
      both(transport, settings);
    } else if (settings.pattern == "pingpong") {
      to_and_fro(transport, settings, true);
    } else {
      send_all(transport, settings);
      await_end(transport, settings);
    }
    mark_end();
    mine = watch.stop();
    if (one_sided(settings) && settings.pattern == "oneway") transport.notify(0);
  });
  return {mine, theirs};
}

void run_one(Client client) {
  Settings& settings = client.settings;
  if (settings.count == 0) {
    settings.count =
        static_cast<unsigned>(std::clamp<std::size_t>(kVolume / settings.size, kFewest, kMost));
  }
  const auto [mine, theirs] = measure(client);
  const double ways = settings.pattern == "oneway" ? 1 : 2;
  const double messages = ways * settings.count / mine.seconds;
  constexpr double kMega = 1e6;
  Record result = result_of(settings);
  result.add("messages", settings.count)
      .add("arena_bytes", static_cast<double>(settings.arena))
      .add("rate_msg_s", messages)
      .add("rate_mb_s", messages * static_cast<double>(settings.size) / kMega)
      .add("time_per_message_us", kMega / messages);
  // The reasons of calls into the kernel.
  if (settings.carrier == Carrier::kVerbs && mine.reads >= 0 && theirs.reads >= 0) {
    const double all = ways * settings.count;
    result.add("client_doorbells_per_message", static_cast<double>(mine.writes) / all)
        .add("client_waits_per_message", static_cast<double>(mine.reads) / all)
        .add("server_doorbells_per_message", static_cast<double>(theirs.writes) / all)
        .add("server_waits_per_message", static_cast<double>(theirs.reads) / all);
  }
  result.print();
}

}  // namespace

double oneway_rate(const Client& client) {
  return client.settings.count / measure(client).first.seconds;
}

void bandwidth_server(const Server& server) {
  const Settings& settings = server.settings;
  serve_case(server, [&](Transport& transport) {
    mark_server_begin();
    if (settings.pattern == "bothway") {
      both(transport, settings);
    } else if (settings.pattern == "pingpong") {
      to_and_fro(transport, settings, false);
    } else if (one_sided(settings)) {
      transport.await_notices(0, 1);
    } else {
      receive_all(transport, settings);
      confirm(transport, settings);
    }
    mark_server_end();
  });
}

void bandwidth_client(Client& client) {
  Settings& settings = client.settings;
  const std::string only = settings.pattern;
  for (const char* pattern : {"oneway", "bothway", "pingpong"}) {
    settings.pattern = pattern;
    // To and fro takes a receiver that answers.
    if ((!only.empty() && only != pattern) ||
        (settings.pattern == "pingpong" && settings.operation != Operation::kSend)) {
      continue;
    }
    for (const std::size_t size : settings.sizes) {
      settings.size = size;
      run_one(client);
    }
  }
}

void cache_client(Client& client) {
  Settings& settings = client.settings;
  settings.pattern = "oneway";
  constexpr std::size_t kLarge = 64U << 20;
  for (const std::size_t size : settings.sizes) {
    settings.size = size;
    for (const std::size_t arena : {size, kLarge}) {
      settings.arena = arena;
      run_one(client);
    }
  }
}

}  // namespace rdma::perf
