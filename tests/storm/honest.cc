// SPDX-License-Identifier: GPL-2.0
// A server and a client that do all as it should be done, by rdma_cm's simple calls. In a calm
// between storms the client has to be served.
#include <algorithm>
#include <array>
#include <cstdio>

#include "objects.h"
#include "parts.h"
#include "simple.h"

namespace rdma::storm {
namespace {

constexpr int kTurns = 16;
constexpr std::size_t kLength = 4096;
using Bytes = std::array<unsigned char, kLength>;

void completed(int found, const ibv_wc& completion, const std::string& call) {
  must(found == 1 ? 0 : -1, call);
  require(completion.status == IBV_WC_SUCCESS, call + ": " + ibv_wc_status_str(completion.status));
}

Owned<ibv_mr> region(rdma_cm_id* id, Bytes& bytes) {
  return own(rdma_reg_msgs(id, bytes.data(), bytes.size()), "rdma_reg_msgs");
}

Simple make(const Options& options, int flags) {
  ibv_qp_init_attr wanted = queue_pair(nullptr, 4, 4);
  wanted.sq_sig_all = 1;
  return make_simple(options.address.host, std::to_string(options.address.port), flags, wanted);
}

// Both post a message's worth, by rdma_cm's simple calls.
void receive(rdma_cm_id* id, Bytes& bytes, const Owned<ibv_mr>& mr) {
  must(rdma_post_recv(id, nullptr, bytes.data(), bytes.size(), mr.get()), "rdma_post_recv");
}
void send(rdma_cm_id* id, Bytes& bytes, const Owned<ibv_mr>& mr) {
  must(rdma_post_send(id, nullptr, bytes.data(), bytes.size(), mr.get(), 0), "rdma_post_send");
  ibv_wc completion{};
  completed(rdma_get_send_comp(id, &completion), completion, "send");
}

void echo(rdma_cm_id* id) {
  Bytes bytes{};
  const Owned<ibv_mr> mr = region(id, bytes);
  ibv_wc completion{};
  receive(id, bytes, mr);
  must(rdma_accept(id, nullptr), "rdma_accept");
  for (int turn = 0; turn < kTurns; ++turn) {
    completed(rdma_get_recv_comp(id, &completion), completion, "receive");
    const Bytes copy = bytes;
    receive(id, bytes, mr);
    bytes = copy;
    send(id, bytes, mr);
  }
}

}  // namespace

void answer(const Options& options) {
  const Simple listener = make(options, RAI_PASSIVE);
  must(rdma_listen(listener.get(), 64), "rdma_listen");
  std::puts("listening");
  std::fflush(stdout);
  for (;;) {
    const Simple request = next_request(listener);
    try {
      echo(request.get());
    } catch (const Failure& error) {
      std::fprintf(stderr, "answer: %s\n", error.what());
    }
  }
}

void ask(const Options& options) {
  const auto began = std::chrono::steady_clock::now();
  const Simple end = make(options, 0);
  Bytes said{};
  Bytes heard{};
  const Owned<ibv_mr> out = region(end.get(), said);
  const Owned<ibv_mr> in = region(end.get(), heard);
  ibv_wc completion{};
  Chance chance(options.seed);
  for (int turn = 0; turn < kTurns; ++turn) {
    receive(end.get(), heard, in);
    if (turn == 0) must(rdma_connect(end.get(), nullptr), "rdma_connect");
    std::ranges::generate(said, [&] { return static_cast<unsigned char>(chance.below(256)); });
    send(end.get(), said, out);
    completed(rdma_get_recv_comp(end.get(), &completion), completion, "receive");
    require(said == heard, "the answer is not what was said");
  }
  rdma_disconnect(end.get());
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
  std::printf("%.0f\n", took.count());
}

}  // namespace rdma::storm
