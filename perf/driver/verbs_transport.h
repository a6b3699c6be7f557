// SPDX-License-Identifier: GPL-2.0
// Messages over RC queue pairs that rdma_cm connects. All share one completion queue.
#pragma once

#include <array>
#include <deque>
#include <utility>

#include "event.h"
#include "memory.h"
#include "transport.h"

namespace rdma::perf {

// Where the peer's memory is; travels as the handshake's private data.
struct Remote {
  std::uint64_t address;
  std::uint32_t rkey;
};

class VerbsTransport : public Transport {
 public:
  // Makes what all connections share, on this device.
  VerbsTransport(const Settings& settings, ibv_context* device);
  ~VerbsTransport() override;
  static std::unique_ptr<Transport> connect(const Settings& settings, const std::string& address,
                                            std::uint16_t port);

  // Gives an identifier its queue pair, with receives posted.
  void equip(rdma_cm_id* id, unsigned connection);
  void moderate(unsigned batch);
  // Takes a connected identifier over.
  void adopt(Identifier id, Remote remote);
  void keep(Channel channel) { cm_channel_ = std::move(channel); }

  void post(unsigned connection, Operation operation, std::size_t offset, std::size_t bytes,
            bool told) override;
  void notify(unsigned connection) override;
  bool needs_credits() const override { return true; }
  void progress(Until until, bool wait) override;
  unsigned char* bytes() const override { return memory_.bytes(); }

 private:
  friend class VerbsListener;
  struct Line {
    Remote remote{};
    unsigned unsignaled = 0;
  };

  void post_receive(ibv_qp* qp, unsigned connection) const;
  int reap();

  std::size_t message_;
  unsigned signal_every_;
  unsigned receives_;
  unsigned inline_bytes_ = 0;
  Memory memory_;
  // In the order of making: each needs those above it.
  Channel cm_channel_;
  Owned<ibv_pd> pd_;
  Owned<ibv_mr> mr_;
  Owned<ibv_comp_channel> events_;
  Owned<ibv_cq> cq_;
  unsigned unacknowledged_ = 0;
  std::array<ibv_wc, 32> completions_{};  // kept, since to clear it costs more than a message
  Remote mine_{};
  std::vector<Line> lines_;
  std::vector<Identifier> ids_;
};

class VerbsListener : public Listener {
 public:
  VerbsListener(const std::string& address, unsigned connections);
  std::uint16_t port() const override { return port_; }
  std::unique_ptr<Transport> accept(const Settings& settings) override;

 private:
  Channel channel_ = make_channel();
  Identifier id_ = make_identifier(channel_.get());
  std::uint16_t port_;
  std::deque<std::pair<Identifier, Remote>> requests_;  // not taken up yet
};

}  // namespace rdma::perf
