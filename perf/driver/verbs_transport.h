// SPDX-License-Identifier: GPL-2.0
// Messages over RC queue pairs that rdma_cm connects. All share one completion queue.
#ifndef WEFT_PERF_VERBS_TRANSPORT_H
#define WEFT_PERF_VERBS_TRANSPORT_H

#include <infiniband/verbs.h>

#include <array>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cm.h"
#include "memory.h"
#include "transport.h"

namespace perf {

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
  // The private data for the peer, which points at this object's own copy.
  rdma_conn_param parameters() const;

  void post(unsigned connection, Operation operation, std::size_t offset, std::size_t bytes,
            bool told) override;
  void notify(unsigned connection) override;
  bool needs_credits() const override { return true; }
  void progress(Until until, bool wait) override;
  unsigned char* bytes() const override { return memory_.bytes(); }

 private:
  struct Ibv {
    void operator()(ibv_pd* pd) const { ibv_dealloc_pd(pd); }
    void operator()(ibv_mr* mr) const { ibv_dereg_mr(mr); }
    void operator()(ibv_cq* cq) const { ibv_destroy_cq(cq); }
    void operator()(ibv_comp_channel* channel) const { ibv_destroy_comp_channel(channel); }
  };
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
  std::unique_ptr<ibv_pd, Ibv> pd_;
  std::unique_ptr<ibv_mr, Ibv> mr_;
  std::unique_ptr<ibv_comp_channel, Ibv> events_;
  std::unique_ptr<ibv_cq, Ibv> cq_;
  unsigned unacknowledged_ = 0;
  std::array<ibv_wc, 32> completions_{};  // kept, since to clear it costs more than a message
  Remote mine_{};
  std::vector<Line> lines_;
  std::vector<Identifier> ids_;
};

class VerbsListener : public Listener {
 public:
  VerbsListener(const std::string& address, unsigned connections);
  std::uint16_t port() const override;
  std::unique_ptr<Transport> accept(const Settings& settings) override;

 private:
  Channel channel_;
  Identifier id_;
  std::deque<std::pair<Identifier, Remote>> requests_;  // not taken up yet
};

}  // namespace perf

#endif  // WEFT_PERF_VERBS_TRANSPORT_H
