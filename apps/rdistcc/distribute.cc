// SPDX-License-Identifier: GPL-2.0
#include "distribute.h"

#include "deadline.h"
#include "message.h"
#include "process.h"

namespace rdma::rdistcc {

namespace {

constexpr Limit kConnect = std::chrono::seconds(5);
// A daemon that is alive says so by TCP below, and bounds its compilations itself.
constexpr Limit kCompile = std::chrono::hours(24);
constexpr std::size_t kPiece = std::size_t{1} << 20;
// More is no object of a compiler's, but an attempt at this host's memory.
constexpr std::uint64_t kMost = std::uint64_t{1} << 30;

void fetch(Link& link, std::span<std::byte> into, const RemoteRegion& from) {
  const std::unique_ptr<Region> region =
      link.expose(into, kRemoteWrite);  // a read is answered by a write
  for (std::size_t at = 0; at < into.size(); at += kPiece) {
    link.read(*region, at, std::min(kPiece, into.size() - at), from, at);
  }
  link.flush();
}

void check_length(const RemoteRegion& region) {
  if (region.length > kMost) {
    throw Elsewhere("its object is too long", false);
  }
}

// The memory that the object comes to, and then the file.
class Object {
 public:
  Object(const std::string& path, std::uint64_t length) : output_(path) {
    reserve(output_.file(), length, path);
    if (output_.in_memory()) {
      mapping_ = std::make_unique<Mapping>(output_.file(), length);
    } else {
      buffer_.resize(length);
    }
  }

  std::span<std::byte> bytes() { return mapping_ ? mapping_->bytes() : std::span(buffer_); }
  void commit() {
    if (!mapping_) {
      output_.write(buffer_);
    }
    output_.commit();
  }

 private:
  Output output_;
  std::unique_ptr<Mapping> mapping_;
  std::vector<std::byte> buffer_;
};

// What is this end's own matter, and would be the same with every host.
class Local : public std::runtime_error {
 public:
  explicit Local(const Failure& failure) : std::runtime_error(failure.what()) {}
};

std::unique_ptr<Object> make_object(const std::string& path, std::uint64_t length) {
  try {
    return std::make_unique<Object>(path, length);
  } catch (const Failure& failure) {
    throw Local(failure);
  }
}

void say(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(STDERR_FILENO, bytes.data(), bytes.size());
    if (count <= 0) {
      return;
    }
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void take_results(Link& link, const Command& command, const Reply& reply, Report& report) {
  check_length(reply.object);
  check_length(reply.messages);
  if (reply.object.length == 0) {
    throw Elsewhere("it has made no object", false);
  }
  std::vector<std::byte> messages(reply.messages.length);
  const auto begin = Clock::now();
  const std::unique_ptr<Object> object = make_object(command.object, reply.object.length);
  fetch(link, object->bytes(), reply.object);
  if (!messages.empty()) {
    fetch(link, messages, reply.messages);
  }
  report.transferring += Clock::now() - begin;
  report.bytes_in = reply.object.length + reply.messages.length;
  say(messages);
  try {
    object->commit();
  } catch (const Failure& failure) {
    throw Local(failure);
  }
}

int run_job(const Command& command, const Host& host, Transport transport,
            const Descriptor& preprocessed, Report& report) {
  const std::uint64_t length = length_of(preprocessed);
  const Mapping source(preprocessed, length);
  const auto link = connect(transport, host.address, kConnect, link_settings());
  report.connecting = link->statistics().connecting;
  const std::unique_ptr<Region> region = link->expose(source.bytes(), kRemoteRead);
  const auto request = Request{.source = region->remote(),
                               .suffix = command.suffix,
                               .compiler = command.compiler,
                               .arguments = command.compile}
                           .to_bytes();
  if (request.size() > link->message_limit()) {
    throw Elsewhere("its arguments are too long", false);
  }
  link->send(request);
  const std::optional<Arrival> arrival = link->receive(kCompile);
  if (!arrival) {
    throw Elsewhere("it does not answer", true);
  }
  const Reply reply = Reply::from_bytes(arrival->message);
  if (reply.kind == Reply::Kind::kRefused) {
    throw Elsewhere(reply.text, false);
  }
  report.bytes_out = length;
  report.compiling = std::chrono::nanoseconds(reply.compiling);
  report.transferring = std::chrono::nanoseconds(reply.reading);
  if (reply.status == 0) {
    take_results(*link, command, reply, report);
  }
  report.registering = link->statistics().registering + std::chrono::nanoseconds(reply.registering);
  try {
    link->send({});  // the daemon's memory is not needed any more
    link->flush();
  } catch (const Failure&) {
    // The daemon may be gone before the end of that is known.
  }
  return static_cast<int>(reply.status);
}

}  // namespace

int preprocess(const Command& command, const Descriptor& into) {
  Process process({.command = command.preprocess, .output = into.number(), .confinement = {}});
  while (!process.wait(std::chrono::hours(1))) {
  }
  return process.status();
}

int distribute(const Command& command, const Host& host, Transport transport,
               const Descriptor& preprocessed, Report& report) {
  try {
    return run_job(command, host, transport, preprocessed, report);
  } catch (const Local& failure) {
    throw Failure(Cause::kSystem, failure.what());
  } catch (const Failure& failure) {
    // A limit may be too low for one source, and not for the next.
    const bool limit = failure.cause() == Cause::kSystem;
    throw Elsewhere(failure.what(), !limit, limit);
  }
}

}  // namespace rdma::rdistcc
