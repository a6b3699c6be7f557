// SPDX-License-Identifier: GPL-2.0
#include "chain.h"

#include <algorithm>

namespace rdma {

std::string to_string(const Transfer& transfer) {
  std::string text = transfer.opcode == IBV_WR_RDMA_WRITE  ? "RDMA write of "
                     : transfer.opcode == IBV_WR_RDMA_READ ? "RDMA read of "
                                                           : "send of ";
  text += std::to_string(size_of(transfer.local)) + " bytes, local " + to_string(transfer.local) +
          ", remote " + to_string(transfer.remote);
  const std::pair<unsigned, const char*> names[] = {{IBV_SEND_SIGNALED, " signaled"},
                                                    {IBV_SEND_SOLICITED, " solicited"},
                                                    {IBV_SEND_FENCE, " fence"},
                                                    {IBV_SEND_INLINE, " inline"}};
  for (const auto& [flag, name] : names)
    if ((transfer.flags & flag) != 0) text += name;
  return text;
}

void Chain::add(const Transfer& transfer) {
  static std::uint64_t seed = 0;
  Entry entry{.transfer = transfer,
              .work = from_.work(transfer.opcode, transfer.local),
              .receive = 0,
              .seed = ++seed};
  entry.work.wr_id = Endpoint::new_wr_id();
  entry.work.send_flags = transfer.flags;
  if (transfer.opcode != IBV_WR_SEND)
    entry.work.aim(to_.memory().address(transfer.remote.at(0).offset), to_.memory().mr()->rkey);
  const bool is_read = transfer.opcode == IBV_WR_RDMA_READ;
  Memory& source = is_read ? to_.memory() : from_.memory();
  Memory& target = is_read ? from_.memory() : to_.memory();
  const Layout& source_layout = is_read ? transfer.remote : transfer.local;
  const Layout& target_layout = is_read ? transfer.local : transfer.remote;
  if (transfer.fresh_source) source.fill(source_layout, entry.seed);
  target.expect(target_layout, source.gather(source_layout));
  if (transfer.opcode == IBV_WR_SEND) entry.receive = to_.post_recv(transfer.remote);
  // Inline payload needs no key, so whoever looks at it is wrong.
  if ((transfer.flags & IBV_SEND_INLINE) != 0)
    for (ibv_sge& sge : entry.work.pieces) sge.lkey = 0xbad0bad0;
  entries_.push_back(std::move(entry));
}

void Chain::post() {
  for (std::size_t at = 1; at < entries_.size(); ++at)
    entries_[at - 1].work.next = &entries_[at].work;
  ibv_send_wr* bad = nullptr;
  const int error = entries_.empty() ? 0 : ibv_post_send(from_.qp(), &entries_.front().work, &bad);
  if (error != 0) {
    const auto failed = std::ranges::find_if(entries_, [&](Entry& it) { return &it.work == bad; });
    require_zero(error, "ibv_post_send of " + std::to_string(entries_.size()) +
                            " work requests failed at number " +
                            std::to_string(failed - entries_.begin()));
  }
  for (const Entry& entry : entries_)
    if ((entry.transfer.flags & IBV_SEND_INLINE) != 0 && entry.transfer.fresh_source)
      from_.memory().fill(entry.transfer.local, ~entry.seed);
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
    marker = from_.post_send(Work(IBV_WR_SEND));
  };
  const bool reads_first = from_.is_siw();  // which completes a send before the read in front of it
  if (!told_of_all && !reads_first) mark();
  for (const Entry& entry : entries_) {
    if ((entry.transfer.flags & IBV_SEND_SIGNALED) != 0)
      from_.expect_send(entry.work.wr_id, completed_as(entry.transfer.opcode));
    if (entry.transfer.opcode == IBV_WR_SEND)
      to_.expect_recv(entry.receive, size_of(entry.transfer.local));
  }
  if (!told_of_all) {
    if (reads_first) mark();
    to_.expect_recv(marker_receive, 0);
    from_.expect_send(marker, IBV_WC_SEND);
  }
}

void Chain::check() const {
  for (const Entry& entry : entries_) {
    if (!entry.transfer.local.empty()) from_.memory().check(entry.transfer.local, from_.name());
    if (!entry.transfer.remote.empty()) to_.memory().check(entry.transfer.remote, to_.name());
  }
}

}  // namespace rdma
