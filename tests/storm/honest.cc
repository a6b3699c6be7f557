// SPDX-License-Identifier: GPL-2.0
// A server and a client that do all as it should be done, by rdma_cm's simple calls. In a calm
// between storms the client has to be served.
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "parts.h"

namespace storm {

namespace {

constexpr int kTurns = 16;
constexpr std::size_t kLength = 4096;
using Bytes = std::array<unsigned char, kLength>;

void require(bool holds, const char* call) {
  if (!holds) {
    throw std::runtime_error(std::string(call) + ": " + std::strerror(errno));
  }
}

ibv_qp_init_attr queues() {
  ibv_qp_init_attr wanted{};
  wanted.cap = {4, 4, 1, 1, 0};
  wanted.sq_sig_all = 1;
  return wanted;
}

void completed(int found, const ibv_wc& completion, const char* call) {
  require(found == 1, call);
  if (completion.status != IBV_WC_SUCCESS) {
    throw std::runtime_error(std::string(call) + ": " + ibv_wc_status_str(completion.status));
  }
}

// Owns an identifier of rdma_create_ep() or rdma_get_request(), and all on it.
struct Owned {
  rdma_cm_id* id = nullptr;
  ~Owned() {
    if (id != nullptr) {
      rdma_destroy_ep(id);
    }
  }
};

struct Region {
  ibv_mr* mr;
  Region(rdma_cm_id* id, Bytes& bytes) : mr(rdma_reg_msgs(id, bytes.data(), bytes.size())) {
    require(mr != nullptr, "rdma_reg_msgs");
  }
  ~Region() { rdma_dereg_mr(mr); }
};

void make(const Options& options, int flags, Owned& end) {
  rdma_addrinfo hints{};
  rdma_addrinfo* found = nullptr;
  hints.ai_flags = flags;
  hints.ai_port_space = RDMA_PS_TCP;
  const std::string port = std::to_string(options.port);
  require(rdma_getaddrinfo(options.address.c_str(), port.c_str(), &hints, &found) == 0,
          "rdma_getaddrinfo");
  ibv_qp_init_attr wanted = queues();
  const bool made = rdma_create_ep(&end.id, found, nullptr, &wanted) == 0;
  rdma_freeaddrinfo(found);
  require(made, "rdma_create_ep");
}

void echo(rdma_cm_id* id) {
  Bytes bytes{};
  const Region region(id, bytes);
  ibv_wc completion{};
  require(rdma_post_recv(id, nullptr, bytes.data(), bytes.size(), region.mr) == 0,
          "rdma_post_recv");
  require(rdma_accept(id, nullptr) == 0, "rdma_accept");
  for (int turn = 0; turn < kTurns; ++turn) {
    completed(rdma_get_recv_comp(id, &completion), completion, "receive");
    const Bytes copy = bytes;
    require(rdma_post_recv(id, nullptr, bytes.data(), bytes.size(), region.mr) == 0,
            "rdma_post_recv");
    bytes = copy;
    require(rdma_post_send(id, nullptr, bytes.data(), bytes.size(), region.mr, 0) == 0,
            "rdma_post_send");
    completed(rdma_get_send_comp(id, &completion), completion, "send");
  }
}

}  // namespace

void answer(const Options& options) {
  Owned listener;
  make(options, RAI_PASSIVE, listener);
  require(rdma_listen(listener.id, 64) == 0, "rdma_listen");
  std::puts("listening");
  std::fflush(stdout);
  for (;;) {
    Owned request;
    require(rdma_get_request(listener.id, &request.id) == 0, "rdma_get_request");
    try {
      echo(request.id);
    } catch (const std::runtime_error& error) {
      std::fprintf(stderr, "answer: %s\n", error.what());
    }
  }
}

void ask(const Options& options) {
  const auto began = std::chrono::steady_clock::now();
  Owned end;
  make(options, 0, end);
  Bytes said{};
  Bytes heard{};
  const Region out(end.id, said);
  const Region in(end.id, heard);
  ibv_wc completion{};
  Chance chance(options.seed);
  for (int turn = 0; turn < kTurns; ++turn) {
    require(rdma_post_recv(end.id, nullptr, heard.data(), heard.size(), in.mr) == 0,
            "rdma_post_recv");
    if (turn == 0) {
      require(rdma_connect(end.id, nullptr) == 0, "rdma_connect");
    }
    std::ranges::generate(said, [&] { return static_cast<unsigned char>(chance.below(256)); });
    require(rdma_post_send(end.id, nullptr, said.data(), said.size(), out.mr, 0) == 0,
            "rdma_post_send");
    completed(rdma_get_send_comp(end.id, &completion), completion, "send");
    completed(rdma_get_recv_comp(end.id, &completion), completion, "receive");
    if (said != heard) {
      throw std::runtime_error("the answer is not what was said");
    }
  }
  rdma_disconnect(end.id);
  const auto took = std::chrono::steady_clock::now() - began;
  std::printf("%lld\n", static_cast<long long>(
                            std::chrono::duration_cast<std::chrono::milliseconds>(took).count()));
}

}  // namespace storm
