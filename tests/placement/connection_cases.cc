// SPDX-License-Identifier: GPL-2.0
// Private data, rejection, a port nobody listens on, disconnection.
#include "cases.h"
#include "pattern.h"

namespace rdma {
namespace {

std::vector<std::uint8_t> data_of(std::size_t size, std::uint64_t seed) {
  std::vector<std::uint8_t> data(size);
  fill_pattern(data, seed);
  return data;
}

void require_data(const Event& told, const std::vector<std::uint8_t>& sent, const char* what) {
  require(told.private_data == sent,
          std::string(what) + ": private data of " + std::to_string(told.private_data.size()) +
              " bytes, sent were " + std::to_string(sent.size()) +
              (told.private_data.size() == sent.size() ? ", other ones" : ""));
}

// A connection by its steps. Each end's private data gets to the other.
Pair by_steps(const Connector& connector, Caller caller, const std::vector<std::uint8_t>& request,
              const std::vector<std::uint8_t>& answer) {
  Pair pair;
  pair.client = std::make_unique<Endpoint>(std::move(caller), "client", Shape{});
  connector.start(*pair.client, request);
  Event told{};
  pair.server = std::make_unique<Endpoint>(connector.accepted(&told), "server", Shape{});
  require_data(told, request, "at the listener");
  connector.accept(*pair.server, answer);
  require_data(pair.client->expect(RDMA_CM_EVENT_ESTABLISHED), answer, "at the client");
  pair.server->expect(RDMA_CM_EVENT_ESTABLISHED);
  return pair;
}

// A message over it, which arrives.
void exchange(const Pair& pair) {
  Chain::run(*pair.client, *pair.server, {IBV_WR_SEND, {{1, 5000}}, {{3, 5000}}});
}

void private_data(Suite& suite) {
  for (const std::size_t size : {0U, 1U, 4U, 63U, 128U, 196U, 251U, 255U}) {
    if (suite.siw() && size > 251) continue;  // with the four bytes of MPA 2 it counts modulo 256
    suite.run("private data of " + std::to_string(size) + " bytes, both ways", [&] {
      const Connector& connector = suite.connector();
      exchange(by_steps(connector, connector.resolved(), data_of(size, 1), data_of(size, 2)));
    });
  }
}

void rejection(Suite& suite) {
  for (const std::size_t size : {0U, 17U, 200U}) {
    suite.run("rejection with " + std::to_string(size) + " bytes of private data", [&] {
      const Connector& connector = suite.connector();
      const std::vector<std::uint8_t> reason = data_of(size, 3);
      const Endpoint client(connector.resolved(), "client", Shape{});
      connector.start(client, {});
      must(rdma_reject(connector.accepted().id.get(), reason.data(),
                       static_cast<std::uint8_t>(size)),
           "rdma_reject");
      require_data(client.expect(RDMA_CM_EVENT_REJECTED), reason, "at the client");
    });
  }
}

// rdma_cm lets several connections share a port of theirs, and so does InfiniBand, whose consumers
// make use of that (RTRS for all connections of a session). TCP knows connections by their ports.
void shared_source_port(Suite& suite) {
  suite.run("a second connection from the same port to the same listener", [&] {
    const Connector& connector = suite.connector();
    const auto connect = [&](sockaddr* from) {
      return by_steps(connector, connector.resolved(connector.port(), true, from), {}, {});
    };
    const Pair first = connect(nullptr);
    const Pair second = connect(rdma_get_local_addr(first.client->id()));
    exchange(second);
    exchange(first);
  });
}

void nobody_there(Suite& suite) {
  suite.run("a port nobody listens on", [&] {
    const Connector& connector = suite.connector();
    // The discard port; the lab runs no such service.
    const Endpoint client(connector.resolved(9), "client", Shape{});
    try {
      connector.start(client, {});
    } catch (const Failure&) {
      return;  // told at once
    }
    const auto told = next_event(client.id()->channel, Deadline(kPatience));
    require(told.has_value(), "no event in time");
    require(told->type == RDMA_CM_EVENT_REJECTED || told->type == RDMA_CM_EVENT_UNREACHABLE ||
                told->type == RDMA_CM_EVENT_CONNECT_ERROR,
            std::string("got ") + rdma_event_str(told->type));
    require(told->status != 0, "the event has status 0");
  });
}

void disconnection(Suite& suite) {
  for (const bool by_client : {true, false}) {
    const std::string first = by_client ? "client" : "server";
    suite.run("receives are flushed when the " + first + " disconnects", [&] {
      const Pair pair = suite.connector().connect();
      Endpoint* ends[] = {pair.client.get(), pair.server.get()};
      for (Endpoint* end : ends)
        for (std::size_t at = 0; at < 8; ++at) end->post_recv({{100 * at, 50}});
      if (!by_client) std::swap(ends[0], ends[1]);
      must(rdma_disconnect(ends[0]->id()), "rdma_disconnect");
      for (Endpoint* end : ends) {
        end->expect_flushed(end->recv_cq(), 8);
        end->expect(RDMA_CM_EVENT_DISCONNECTED);
      }
      check_all(*pair.client, *pair.server);
    });
  }
  suite.run("disconnection in the middle of transfers completes every work request", [&] {
    const Pair pair = suite.connector().connect();
    constexpr std::uint32_t kSize = 1U << 20;
    for (unsigned at = 0; at < 32; ++at)
      pair.client->post_send(pair.client->work(at % 2 == 0 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
                                               {{0, kSize}}, *pair.server, kSize));
    must(rdma_disconnect(pair.server->id()), "rdma_disconnect");
    bool flushed = false;
    for (unsigned at = 0; at < 32; ++at) {
      const ibv_wc completion = pair.client->next_send();
      require(!flushed || completion.status == IBV_WC_WR_FLUSH_ERR,
              "after a flush: " + to_string(completion));
      flushed = completion.status != IBV_WC_SUCCESS;
    }
    pair.client->expect_error_state();
    pair.server->expect_error_state();
  });
  suite.run("32 connections one after the other", [&] {
    for (unsigned at = 0; at < 32; ++at) {
      const Pair pair = suite.connector().connect(Shape{.arena = 1U << 16});
      Chain::run(*pair.server, *pair.client, {IBV_WR_SEND, {{1, 333}}, {{3, 333}}});
    }
  });
  suite.run("16 connections at once", [&] {
    std::vector<Pair> pairs;
    for (unsigned at = 0; at < 16; ++at)
      pairs.push_back(suite.connector().connect(Shape{.arena = 1U << 16}));
    for (const Pair& pair : pairs)
      Chain::run(*pair.client, *pair.server, {IBV_WR_RDMA_WRITE, {{1, 3333}}, {{3, 3333}}});
  });
}

}  // namespace

void connection_cases(Suite& suite) {
  suite.group("private data", [&] { private_data(suite); });
  suite.group("rejection", [&] { rejection(suite); });
  if (!suite.siw()) suite.group("a source port shared", [&] { shared_source_port(suite); });
  suite.group("nobody there", [&] { nobody_there(suite); });
  if (!suite.siw()) {  // whose queue pairs tell no state
    suite.group("disconnection", [&] { disconnection(suite); });
  }
}

}  // namespace rdma
