// SPDX-License-Identifier: GPL-2.0
#include "chain.h"

#include <algorithm>

#include "failure.h"

namespace placement {

namespace {

const char* name_of(ibv_wr_opcode opcode) {
  switch (opcode) {
    case IBV_WR_RDMA_WRITE:
      return "RDMA write";
    case IBV_WR_RDMA_READ:
      return "RDMA read";
    default:
      return "send";
  }
}

ibv_wc_opcode completed_as(ibv_wr_opcode opcode) {
  switch (opcode) {
    case IBV_WR_RDMA_WRITE:
      return IBV_WC_RDMA_WRITE;
    case IBV_WR_RDMA_READ:
      return IBV_WC_RDMA_READ;
    default:
      return IBV_WC_SEND;
  }
}

}  // namespace

std::string to_string(const Transfer& transfer) {
  std::string text = std::string(name_of(transfer.opcode)) + " of " +
                     std::to_string(size_of(transfer.local)) + " bytes, local " +
                     to_string(transfer.local) + ", remote " + to_string(transfer.remote);
  const std::pair<unsigned, const char*> names[] = {{IBV_SEND_SIGNALED, " signaled"},
                                                    {IBV_SEND_SOLICITED, " solicited"},
                                                    {IBV_SEND_FENCE, " fence"},
                                                    {IBV_SEND_INLINE, " inline"}};
  for (const auto& [flag, name] : names) {
    if ((transfer.flags & flag) != 0) {
      text += name;
    }
  }
  return text;
}

void Chain::add(const Transfer& transfer) {
  static std::uint64_t seed = 0;
  Entry entry{.transfer = transfer,
              .sges = from_.memory().sges(transfer.local),
              .wr_id = Endpoint::new_wr_id(),
              .receive = 0,
              .seed = ++seed};
  const bool is_read = transfer.opcode == IBV_WR_RDMA_READ;
  Memory& source = is_read ? to_.memory() : from_.memory();
  Memory& target = is_read ? from_.memory() : to_.memory();
  const Layout& source_layout = is_read ? transfer.remote : transfer.local;
  const Layout& target_layout = is_read ? transfer.local : transfer.remote;
  if (transfer.fresh_source) {
    source.fill(source_layout, entry.seed);
  }
  target.expect(target_layout, source.gather(source_layout));
  if (transfer.opcode == IBV_WR_SEND) {
    entry.receive = to_.post_recv(transfer.remote);
  }
  if ((transfer.flags & IBV_SEND_INLINE) != 0) {
    // Inline payload needs no key, so whoever looks at it is wrong.
    for (ibv_sge& sge : entry.sges) {
      sge.lkey = 0xbad0bad0;
    }
  }
  entries_.push_back(std::move(entry));
}

void Chain::post() {
  std::vector<ibv_send_wr> work(entries_.size());
  for (std::size_t at = 0; at < entries_.size(); ++at) {
    Entry& entry = entries_[at];
    work[at].wr_id = entry.wr_id;
    work[at].next = at + 1 < entries_.size() ? &work[at + 1] : nullptr;
    work[at].sg_list = entry.sges.data();
    work[at].num_sge = static_cast<int>(entry.sges.size());
    work[at].opcode = entry.transfer.opcode;
    work[at].send_flags = entry.transfer.flags;
    if (entry.transfer.opcode != IBV_WR_SEND) {
      work[at].wr.rdma.remote_addr = to_.memory().address(entry.transfer.remote.at(0).offset);
      work[at].wr.rdma.rkey = to_.memory().mr()->rkey;
    }
  }
  ibv_send_wr* bad = nullptr;
  const int error = ibv_post_send(from_.qp(), work.data(), &bad);
  if (error != 0) {
    require_zero(error, "ibv_post_send of " + std::to_string(work.size()) +
                            " work requests failed at number " +
                            std::to_string(bad == nullptr ? -1 : bad - work.data()));
  }
  for (const Entry& entry : entries_) {
    if ((entry.transfer.flags & IBV_SEND_INLINE) != 0 && entry.transfer.fresh_source) {
      from_.memory().fill(entry.transfer.local, ~entry.seed);
    }
  }
}

void Chain::complete() {
  const bool told_of_all = std::all_of(entries_.begin(), entries_.end(), [](const Entry& entry) {
    return (entry.transfer.flags & IBV_SEND_SIGNALED) != 0 &&
           entry.transfer.opcode != IBV_WR_RDMA_WRITE;
  });
  // A message that arrives after a write proves that the write was placed; a completion
  // of the write proves only that the source may be used again.
  std::uint64_t marker = 0;
  std::uint64_t marker_receive = 0;
  const auto mark = [&] {
    marker_receive = to_.post_recv({{0, 0}});
    ibv_send_wr work{};
    work.opcode = IBV_WR_SEND;
    work.send_flags = IBV_SEND_SIGNALED;
    marker = from_.post_send(work);
  };
  const bool reads_first = from_.is_siw();  // which completes a send before the read in front of it
  if (!told_of_all && !reads_first) {
    mark();
  }
  for (const Entry& entry : entries_) {
    if ((entry.transfer.flags & IBV_SEND_SIGNALED) != 0) {
      from_.expect_send(entry.wr_id, completed_as(entry.transfer.opcode));
    }
    if (entry.transfer.opcode == IBV_WR_SEND) {
      to_.expect_recv(entry.receive, size_of(entry.transfer.local));
    }
  }
  if (!told_of_all) {
    if (reads_first) {
      mark();
    }
    to_.expect_recv(marker_receive, 0);
    from_.expect_send(marker, IBV_WC_SEND);
  }
}

void Chain::check() const {
  for (const Entry& entry : entries_) {
    if (!entry.transfer.local.empty()) {
      from_.memory().check(entry.transfer.local, from_.name());
    }
    if (!entry.transfer.remote.empty()) {
      to_.memory().check(entry.transfer.remote, to_.name());
    }
  }
}

}  // namespace placement
