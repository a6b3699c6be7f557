// SPDX-License-Identifier: GPL-2.0
// Servers and clients that connect as they should, and end at any moment in one of many ways. No
// call of an end throws: any of them may fail in a storm.
#include <algorithm>
#include <list>
#include <thread>

#include "event.h"
#include "parts.h"
#include "work.h"

namespace rdma::storm {
namespace {

// Where an end's memory lies, as its private data says.
struct Place {
  std::uint64_t address;
  std::uint32_t key;
  std::uint32_t size;
};

class Link {
 public:
  // Owns `id` from now on.
  explicit Link(rdma_cm_id* id) : bytes_(kSize), id_(id) {}

  // Makes the queue pair and what it needs, and posts receives. `id` has a device. Returns false if
  // a part could not be had.
  bool open(Chance& chance) {
    constexpr int kAll = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                         IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND;
    const auto entries = static_cast<int>(16 + chance.below(64));
    cq_.reset(ibv_create_cq(id_->verbs, entries, nullptr, nullptr, 0));
    pd_.reset(ibv_alloc_pd(id_->verbs));
    mr_.reset(pd_ == nullptr ? nullptr : ibv_reg_mr(pd_.get(), bytes_.data(), kSize, kAll));
    if (cq_ == nullptr || mr_ == nullptr) return false;
    if (chance.one_in(4)) mw_.reset(ibv_alloc_mw(pd_.get(), IBV_MW_TYPE_1));
    own_ = {reinterpret_cast<std::uintptr_t>(bytes_.data()), mr_->rkey, kSize};
    ibv_qp_init_attr attributes = queue_pair(cq_.get(), 16, 8);
    attributes.cap.max_send_sge = attributes.cap.max_recv_sge = 2;
    attributes.cap.max_inline_data = 64;
    if (rdma_create_qp(id_.get(), pd_.get(), &attributes) != 0) return false;
    Receive receive({{own_.address, kSize, mr_->lkey}});
    for (std::size_t left = chance.below(9); left > 0; --left) post(id_->qp, receive);
    return true;
  }

  bool connect(Chance& chance, int (*by)(rdma_cm_id*, rdma_conn_param*) = rdma_connect) {
    rdma_conn_param with = parameters(static_cast<std::uint8_t>(chance.below(17)), &own_);
    with.initiator_depth = static_cast<std::uint8_t>(chance.below(17));
    return by(id_.get(), &with) == 0;
  }
  bool accept(Chance& chance) { return connect(chance, rdma_accept); }

  void found(const Event& news) {
    if (news.private_data.size() >= sizeof(other_)) other_ = news.as<Place>();
  }

  // Posts some work of each kind, and looks at completions.
  void work(Chance& chance) {
    for (std::size_t left = 1 + chance.below(12); left > 0; --left) {
      send(chance);
      if (mw_ != nullptr && chance.one_in(3)) {
        ibv_mw_bind bind{.send_flags = IBV_SEND_SIGNALED,
                         .bind_info = {mr_.get(), own_.address, kSize, IBV_ACCESS_REMOTE_WRITE}};
        ibv_bind_mw(id_->qp, mw_.get(), &bind);
      }
      if (chance.one_in(8)) ibv_resize_cq(cq_.get(), static_cast<int>(16 + chance.below(200)));
      if (chance.one_in(16))
        ibv_rereg_mr(mr_.get(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
                     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
    }
    poll();
  }

  // Ends it in one of many ways.
  void end(Chance& chance) {
    ibv_qp* const pair = id_->qp;
    const std::size_t way = pair == nullptr ? 5 : chance.below(6);
    if (way == 0) {
      rdma_disconnect(id_.get());
      chance.nap();
    } else if (way == 1) {
      // One thread disconnects while another destroys.
      id_->qp = nullptr;
      std::jthread other([this, late = std::chrono::microseconds(chance.below(40))] {
        std::this_thread::sleep_for(late);
        rdma_disconnect(id_.get());
      });
      ibv_destroy_qp(pair);
      other.join();
      count(kTogether);
    } else if (way == 2) {
      ibv_qp_attr attributes{.qp_state = IBV_QPS_ERR};
      ibv_modify_qp(pair, &attributes, IBV_QP_STATE);
      poll();
    } else if (way == 3 && mr_ != nullptr && ibv_dereg_mr(mr_.get()) == 0) {
      static_cast<void>(mr_.release());  // its memory goes first
    } else if (way == 4) {
      rdma_disconnect(id_.get());
      poll();
    }
    release();
  }

  rdma_cm_id* id() const { return id_.get(); }

 private:
  static constexpr std::size_t kSize = 65536;

  void send(Chance& chance) {
    static constexpr ibv_wr_opcode kKinds[] = {IBV_WR_SEND, IBV_WR_SEND_WITH_INV, IBV_WR_RDMA_WRITE,
                                               IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD};
    const bool small = chance.one_in(2);
    const auto length = static_cast<std::uint32_t>(chance.below(small ? 64 : kSize));
    Work work(kKinds[chance.below(other_.size != 0 ? 5 : 1)], {{own_.address, length, mr_->lkey}});
    work.send_flags = chance.one_in(2) ? IBV_SEND_SIGNALED : 0;
    if (work.opcode == IBV_WR_SEND_WITH_INV) {
      work.invalidate_rkey = other_.key;
      if (!chance.one_in(16)) work.opcode = IBV_WR_SEND;
    } else {
      work.aim(other_.address, other_.key);
      if (is_atomic(work.opcode)) {
        work.pieces[0].length = 8;
        work.wr.atomic.compare_add = 1;
      }
    }
    if (small && work.opcode == IBV_WR_SEND) work.send_flags |= IBV_SEND_INLINE;
    post(id_->qp, work);
  }

  void poll() {
    ibv_wc completions[8];
    for (int found = 0; (found = ibv_poll_cq(cq_.get(), 8, completions)) > 0;) {
      const auto good = std::count_if(completions, completions + found,
                                      [](const ibv_wc& wc) { return wc.status == IBV_WC_SUCCESS; });
      count(kMessages, static_cast<std::uint64_t>(good));
      count(kFailures, static_cast<std::uint64_t>(found - good));
    }
  }

  void release() {
    id_.reset();
    mw_.reset();
    mr_.reset();
    cq_.reset();
    pd_.reset();
  }

  std::vector<char> bytes_;
  Owned<ibv_pd> pd_;
  Owned<ibv_cq> cq_;
  Owned<ibv_mr> mr_;
  Owned<ibv_mw> mw_;
  Identifier id_;
  Place own_{};
  Place other_{};
};

// The next event of a channel within that time, if there is one.
std::optional<Event> next_news(rdma_event_channel* channel, Limit limit) {
  try {
    return next_event(channel, Deadline(limit));
  } catch (const Failure&) {
    return std::nullopt;
  }
}

// An identifier on a channel; empty if there is none.
Identifier identifier_on(const Channel& channel) {
  rdma_cm_id* id = nullptr;
  if (channel != nullptr) rdma_create_id(channel.get(), &id, nullptr, RDMA_PS_TCP);
  return Identifier(id);
}

// --- a client ---

bool resolved(rdma_cm_id* id, const Address& address) {
  try {
    resolve(id, address, std::chrono::seconds(1));
    return true;
  } catch (const Failure&) {
    return false;
  }
}

void connect_once(const Options& options, Chance& chance) {
  const Channel channel(rdma_create_event_channel());
  Identifier id = identifier_on(channel);
  if (id == nullptr) return;
  Link link(id.release());
  if (resolved(link.id(), options.address) && link.open(chance) && link.connect(chance)) {
    const auto news =
        next_news(channel.get(), std::chrono::duration_cast<Limit>(chance.a_while() * 4));
    if (news && news->type == RDMA_CM_EVENT_ESTABLISHED) {
      count(kConnects);
      link.found(*news);
      link.work(chance);
      chance.nap();
      link.work(chance);
    }
  } else {
    chance.nap();
  }
  link.end(chance);
}

// --- a server ---

using Links = std::list<Link>;

void take(const Event& news, Links& links, Chance& chance) {
  Link& link = links.emplace_back(news.id);
  link.found(news);
  const std::size_t answer = chance.below(8);
  if (answer == 1) return;  // unanswered
  if (answer == 0)
    rdma_reject(news.id, "no", 2);
  else if (link.open(chance) && link.accept(chance))
    return count(kAccepts);
  links.pop_back();
}

void hear(const Event& news, Links& links, Chance& chance) {
  if (news.type == RDMA_CM_EVENT_CONNECT_REQUEST) return take(news, links, chance);
  const auto link = std::ranges::find(links, news.id, &Link::id);
  if (link == links.end()) return;
  if (news.type == RDMA_CM_EVENT_ESTABLISHED) {
    link->work(chance);
  } else if (!chance.one_in(8)) {
    link->end(chance);
    links.erase(link);
  }
}

void serve_once(const Options& options, Chance& chance) {
  const Channel channel(rdma_create_event_channel());
  SocketAddress where = options.address.resolve();
  Identifier listener = identifier_on(channel);
  if (listener == nullptr) return;
  Links links;
  if (rdma_bind_addr(listener.get(), where.get()) == 0 &&
      rdma_listen(listener.get(), static_cast<int>(1 + chance.below(64))) == 0) {
    count(kListens);
    const auto until = Clock::now() + chance.a_while();
    while (Clock::now() < until)
      if (const auto news = next_news(channel.get(), Limit(1))) hear(*news, links, chance);
  } else {
    chance.nap();  // the device is gone, or the port still taken
  }
  if (chance.one_in(2)) listener.reset();
  for (Link& link : links) link.end(chance);
}

}  // namespace

void connect(const Options& options) { live(options, connect_once); }

void serve(const Options& options) { live(options, serve_once); }

}  // namespace rdma::storm
