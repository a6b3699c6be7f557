// SPDX-License-Identifier: GPL-2.0
#include "transfer.h"

namespace rdma::torture {

Way any_way(std::mt19937_64& random) {
  const auto length =
      static_cast<std::uint32_t>(1 + random() % (random() % 4 == 0 ? kLongest : 70000));
  return {.source = {{kSource + random() % 64, length}},
          .target = {{kTarget + random() % 4096, length}}};
}

void await(Endpoint& end, ibv_cq* cq, const char* what, std::chrono::seconds patience) {
  const Deadline deadline(patience);
  for (;;) {
    std::optional<ibv_wc> completion = end.poll(cq);
    if (!completion && ibv_req_notify_cq(cq, 0) == 0) {
      completion = end.poll(cq);
    }
    if (completion) {
      if (completion->status != IBV_WC_SUCCESS) {
        throw Broken(std::string(what) + ": " + to_string(*completion));
      }
      return;
    }
    if (!end.await_event(cq, std::chrono::seconds(1)) && deadline.over()) {
      throw Failure(std::string(what) + ": no completion within " +
                    std::to_string(patience.count()) + " s");
    }
  }
}

void transfer(Endpoint& from, Endpoint& to, const Way& way, std::mt19937_64& random,
              std::chrono::seconds patience) {
  const auto& [source, target] = way;
  const std::uint64_t kind = random() % 3;
  from.memory().fill(source, random());
  to.memory().expect(target, from.memory().gather(source));
  if (kind == 0) {
    to.post_recv(target);
    from.post_send(from.work(IBV_WR_SEND, source));
    await(from, from.send_cq(), "a send", patience);
    await(to, to.recv_cq(), "a receive", patience);
  } else if (kind == 1) {
    to.post_recv({{0, 0}});
    from.post_send(from.work(IBV_WR_RDMA_WRITE, source, to, target[0].offset));
    from.post_send(Work(IBV_WR_SEND));
    await(from, from.send_cq(), "a write", patience);
    await(from, from.send_cq(), "the send behind it", patience);
    await(to, to.recv_cq(), "what comes behind a write", patience);
  } else {
    to.post_send(to.work(IBV_WR_RDMA_READ, target, from, source[0].offset));
    await(to, to.send_cq(), "a read", patience);
  }
}

void check_around(const Memory& memory, const Layout& targets, const char* whose) {
  // check() looks that far around what it is given.
  constexpr std::size_t kMargin = Memory::kMargin;
  const auto between = [&](std::size_t begin, std::size_t end) {
    memory.check({{begin + kMargin, static_cast<std::uint32_t>(end - begin - 2 * kMargin)}}, whose);
  };
  std::size_t begin = 0;
  for (const Extent& target : targets) {
    between(begin, target.offset);
    begin = target.offset + target.length;
  }
  between(begin, memory.size());
}

}  // namespace rdma::torture
