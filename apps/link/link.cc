// SPDX-License-Identifier: GPL-2.0
#include "link.h"

#include "protocol.h"
#include "sentence.h"
#include "transports.h"

namespace rdma {
namespace {

// Throws Failure (kInput) unless offset + length <= size, without overflow.
void check_within(const char* whose, std::uint64_t size, std::uint64_t offset,
                  std::uint64_t length) {
  require(offset <= size && length <= size - offset, Cause::kInput, length, " bytes at offset ",
          offset, " do not lie in ", whose, " region of ", size, " bytes");
}

}  // namespace

Transport parse_transport(std::string_view text) {
  require(text == "rdma" || text == "tcp", Cause::kInput, "'", text,
          "' is no transport; there are rdma and tcp");
  return text == "rdma" ? Transport::kRdma : Transport::kTcp;
}

std::string_view name_of(Transport transport) {
  return transport == Transport::kRdma ? "rdma" : "tcp";
}

void Settings::check() const {
  const auto within = [](const char* name, std::uint64_t value, std::uint64_t least,
                         std::uint64_t most) {
    require(value >= least && value <= most, Cause::kInput, name, " is ", value, "; it may be ",
            least, " to ", most);
  };
  within("depth", depth, 2, 4096);
  within("credits", credits, 4, 4096);
  within("message_bytes", message_bytes, 64, 1U << 20);
}

std::unique_ptr<Region> Link::expose(std::span<std::byte> memory, Rights rights) {
  require(!memory.empty(), "a region needs a byte at least", Cause::kInput);
  const Clock::time_point begun = Clock::now();
  auto region = std::make_unique<Region>(memory, know(memory, rights), transport_, statistics_);
  statistics_.registering += Clock::now() - begun;
  return region;
}

void Link::begin(Frame request, const Region& own, std::size_t offset, std::size_t length,
                 const RemoteRegion& remote, std::uint64_t remote_offset) {
  require(own.transport() == transport_, "the region is of a link over another transport",
          Cause::kInput);
  check_within("this end's", own.bytes().size(), offset, length);
  check_within("the peer's", remote.length, remote_offset, length);
  if (transport_ == Transport::kRdma) {
    // A message of RDMA has a length of 31 bits.
    check_within("a request's largest", 1ULL << 31, 0, length);
  }
  request.key = remote.key;
  request.address = remote.address + remote_offset;
  request.length = length;
  if (request.type == Frame::Type::kWriteNotify) take_credit();
  transfer(request, own, offset);
  statistics_.operations++;
  statistics_.bytes_written += request.type == Frame::Type::kRead ? 0 : length;
}

void Link::write(const Region& from, std::size_t offset, std::size_t length,
                 const RemoteRegion& remote, std::uint64_t remote_offset) {
  begin({.type = Frame::Type::kWrite}, from, offset, length, remote, remote_offset);
}

void Link::write_notify(const Region& from, std::size_t offset, std::size_t length,
                        const RemoteRegion& remote, std::uint64_t remote_offset,
                        std::uint32_t immediate) {
  begin({.type = Frame::Type::kWriteNotify, .first = immediate}, from, offset, length, remote,
        remote_offset);
}

void Link::read(const Region& into, std::size_t offset, std::size_t length,
                const RemoteRegion& remote, std::uint64_t remote_offset) {
  begin({.type = Frame::Type::kRead}, into, offset, length, remote, remote_offset);
}

std::uint64_t Link::atomic(Frame request, const RemoteRegion& remote, std::uint64_t remote_offset) {
  check_within("the peer's", remote.length, remote_offset, sizeof(std::uint64_t));
  request.key = remote.key;
  request.address = remote.address + remote_offset;
  require(request.address % sizeof(std::uint64_t) == 0,
          "an atomic request takes an address that is a multiple of 8", Cause::kInput);
  const std::uint64_t before = execute(request);
  statistics_.operations++;
  return before;
}

std::uint64_t Link::fetch_add(const RemoteRegion& remote, std::uint64_t remote_offset,
                              std::uint64_t add) {
  return atomic({.type = Frame::Type::kFetchAdd, .first = add}, remote, remote_offset);
}

std::uint64_t Link::compare_swap(const RemoteRegion& remote, std::uint64_t remote_offset,
                                 std::uint64_t expected, std::uint64_t desired) {
  return atomic({.type = Frame::Type::kCompareSwap, .first = expected, .second = desired}, remote,
                remote_offset);
}

void Link::send(std::span<const std::byte> message) {
  require(message.size() <= message_limit_, Cause::kInput, "a message of ", message.size(),
          " bytes is longer than the ", message_limit_,
          " that both ends take; raise Settings::message_bytes");
  take_credit();
  send_message(message);
  statistics_.operations++;
}

Failure Link::too_slow(const char* what, Limit limit) {
  return {Cause::kTimeout,
          sentence("the peer let this end wait more than ", limit.count(), " ms for ", what)};
}

Failure Link::no_sign(const char* what) const {
  return {Cause::kTimeout, sentence("the peer gave no sign for ", settings_.patience.count(),
                                    " ms while this end waited for ", what)};
}

Link* wait_any(std::span<Link* const> links, Limit limit) {
  const Deadline deadline(limit);
  std::vector<pollfd> descriptors;
  while (true) {
    descriptors.clear();
    for (Link* link : links)
      if (link->prepare_wait(descriptors)) return link;
    if (deadline.over()) return nullptr;
    if (poll(descriptors.data(), descriptors.size(), deadline.milliseconds()) < 0 && errno != EINTR)
      fail_errno("poll");
  }
}

std::unique_ptr<Listener> Listener::listen(Transport transport, const Address& address,
                                           const Settings& settings, Admit admit) {
  settings.check();
  return (transport == Transport::kRdma ? listen_rdma : listen_tcp)(address, settings,
                                                                    std::move(admit));
}

std::unique_ptr<Link> connect(Transport transport, const Address& address, Limit limit,
                              const Settings& settings) {
  settings.check();
  return (transport == Transport::kRdma ? connect_rdma : connect_tcp)(address, limit, settings);
}

}  // namespace rdma
