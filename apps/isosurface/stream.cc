// SPDX-License-Identifier: GPL-2.0
#include "stream.h"

#include <utility>

namespace rdma::isosurface {

Settings settings_for(Limit patience) {
  // Credits: a slot's notification or a credit for each, and a few words. So no send ever waits for
  // the peer to receive, and two ends that both send don't wait for each other.
  return {.depth = 2 * Ring::kMostSlots,
          .credits = Ring::kMostSlots + 8,
          .message_bytes = 1024,
          .patience = patience};
}

StreamEnd::StreamEnd(std::unique_ptr<Link> link, std::string peer, Limit patience)
    : link_(std::move(link)),
      peer_(std::move(peer) + " at " + link_->peer().text()),
      patience_(patience) {}

void StreamEnd::abort(const std::string& reason) noexcept {
  if (ended_) return;
  ended_ = true;
  try {
    link_->send(pack(Abort{reason}));
    link_->flush();
  } catch (const std::exception&) {
    // The peer will see that the link ends; it is only not told why.
  }
}

std::optional<Arrival> StreamEnd::arrival() {
  return on_link([&] { return link_->receive(Limit::zero()); });
}

Arrival StreamEnd::next_arrival() {
  auto news = on_link([&] { return link_->receive(patience_); });
  if (!news) silent();
  return std::move(*news);
}

void StreamEnd::flush_the_last() {
  try {
    link_->flush();
  } catch (const Failure& failure) {
    if (failure.cause() != Cause::kLost) lost(failure);
  }
}

void StreamEnd::say(const Word& word) {
  on_link([&] { link_->send(pack(word)); });
}

Word StreamEnd::heard(const Arrival& arrival) {
  refuse_if(arrival.immediate.has_value(), "sent a chunk where none may come");
  Word word = unpack_word(arrival.message);
  if (const auto* abort = std::get_if<Abort>(&word)) {
    ended_ = true;
    throw Failure(Cause::kLost, peer_ + " gave up: " + abort->reason);
  }
  return word;
}

void StreamEnd::lost(const Failure& failure) {
  ended_ = true;
  // Its reason may have come before its end, which a send notices first.
  std::string reason;
  try {
    while (const auto news = link_->receive(Limit::zero())) {
      const Word word = news->immediate ? Word() : unpack_word(news->message);
      if (const auto* abort = std::get_if<Abort>(&word)) reason = abort->reason;
    }
  } catch (const Failure&) {
    // That was all.
  }
  rdma::refuse_if(!reason.empty(), Cause::kLost, peer_, " gave up: ", reason);
  throw Failure(failure.cause(), peer_ + " is lost: " + failure.what());
}

void StreamEnd::silent() const {
  throw Failure(Cause::kTimeout,
                sentence(peer_, " has said nothing for ", patience_.count() / 1000,
                         " s; see whether it still runs, or give --patience more seconds"));
}

Outlet::Outlet(std::unique_ptr<Link> link, std::string peer, Limit patience)
    : StreamEnd(std::move(link), std::move(peer), patience) {
  const Word word = heard(next_arrival());
  const auto* ring = std::get_if<Ring>(&word);
  refuse_if(ring == nullptr, "began with something that is no ring");
  ring_ = *ring;
  credits_ = ring_.slots;
  memory_.resize(std::size_t{ring_.slots} * ring_.slot_bytes);
  region_ = on_link([&] { return this->link().expose(memory_, kLocal); });
}

std::span<std::byte> Outlet::room() {
  while (credits_ == 0) take(next_arrival());
  // The bytes of what was written are in use until all is flushed: once in a round.
  if (slot_ == 0) on_link([&] { link().flush(); });
  return std::span(memory_).subspan(std::size_t{slot_} * ring_.slot_bytes + Header::kBytes,
                                    capacity());
}

void Outlet::send(Kind kind, std::size_t payload) {
  const std::size_t at = std::size_t{slot_} * ring_.slot_bytes;
  Header{kind, sequence_, static_cast<std::uint32_t>(payload)}.pack(
      std::span(memory_).subspan(at, Header::kBytes));
  const std::size_t length = Header::kBytes + payload;
  on_link([&] {
    link().write_notify(*region_, at, length, ring_.region, at, Immediate{slot_, length}.pack());
  });
  ++sequence_;
  slot_ = (slot_ + 1) % ring_.slots;
  --credits_;
}

void Outlet::await_done() {
  flush_the_last();
  while (!done_) take(next_arrival());
}

std::optional<Question> Outlet::question() {
  flush_the_last();
  while (!question_ && !done_) take(next_arrival());
  return std::exchange(question_, {});
}

void Outlet::look() {
  while (const auto news = arrival()) take(*news);
}

void Outlet::take(const Arrival& arrival) {
  const Word word = heard(arrival);
  if (const auto* credit = std::get_if<Credit>(&word)) {
    const auto out = ring_.slots - credits_;
    refuse_if(credit->slots == 0 || credit->slots > out, "gave ", credit->slots,
              " credits, of which ", out, " are out");
    credits_ += credit->slots;
  } else if (std::holds_alternative<Done>(word)) {
    done_ = true;
  } else if (const auto* question = std::get_if<Question>(&word)) {
    refuse_if(question_.has_value(), "asked again before it had its answer");
    question_ = *question;
  } else {
    refuse_if(true, "sent its ring again");
  }
}

Inlet::Inlet(std::unique_ptr<Link> link, std::string peer, Limit patience, Ring shape)
    : StreamEnd(std::move(link), std::move(peer), patience), ring_(shape) {
  ring_.check();
  memory_.resize(std::size_t{ring_.slots} * ring_.slot_bytes);
  region_ = on_link([&] { return this->link().expose(memory_, kRemoteWrite); });
  ring_.region = region_->remote();
  say(ring_);
}

Arrival Inlet::wait(Outlet* watched) {
  if (watched == nullptr) return next_arrival();
  const std::array<Link*, 2> both{&link(), &watched->link()};
  for (;;) {
    if (auto news = arrival()) return std::move(*news);
    watched->look();
    if (wait_any(both, patience()) == nullptr) silent();
  }
}

// The sender gets its credits back in halves of the ring: it never waits for less.
void Inlet::give_back() {
  if (!in_use_) return;
  in_use_ = false;
  if (++owed_ >= ring_.slots / 2) {
    say(Credit{owed_});
    owed_ = 0;
  }
}

Inlet::Chunk Inlet::next(Outlet* watched) {
  give_back();
  const Arrival news = wait(watched);
  if (!news.immediate) {
    heard(news);
    refuse_if(true, "sent a message that is for senders");
  }
  const Immediate told = Immediate::unpack(*news.immediate);
  refuse_if(told.slot != slot_, "filled slot ", told.slot, " where slot ", slot_, " is next");
  refuse_if(told.length < Header::kBytes || told.length > ring_.slot_bytes, "sent a chunk of ",
            told.length, " bytes into a slot of ", ring_.slot_bytes);
  const auto chunk = std::span<const std::byte>(memory_).subspan(
      std::size_t{slot_} * ring_.slot_bytes, told.length);
  const Header header = Header::unpack(chunk);
  refuse_if(header.sequence != sequence_, "sent chunk ", header.sequence, " where chunk ",
            sequence_, " is next");
  ++sequence_;
  slot_ = (slot_ + 1) % ring_.slots;
  in_use_ = true;
  return {header.kind, chunk.subspan(Header::kBytes)};
}

std::span<const std::byte> Inlet::next(Kind kind) {
  const Chunk chunk = next();
  refuse_if(chunk.kind != kind, "sent a chunk of kind ", static_cast<int>(chunk.kind),
            " where one of kind ", static_cast<int>(kind), " should be");
  return chunk.payload;
}

void Inlet::done() {
  give_back();
  say(Done{});
  flush_the_last();
}

void Inlet::ask(const Box& points) { say(Question{points}); }

}  // namespace rdma::isosurface
