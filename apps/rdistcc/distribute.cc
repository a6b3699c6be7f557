// SPDX-License-Identifier: GPL-2.0
#include "distribute.h"

#include <sys/resource.h>

#include <iostream>

#include "deadline.h"
#include "message.h"
#include "process.h"
#include "record.h"

namespace rdma::rdistcc {
namespace {

constexpr Limit kConnect = std::chrono::seconds(5);
// A daemon that is alive says so by TCP below, and bounds its compilations itself.
constexpr Limit kCompile = std::chrono::hours(24);
// More is no object of a compiler's, but an attempt at this host's memory.
constexpr std::uint64_t kMost = std::uint64_t{1} << 30;

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

void check_length(const RemoteRegion& region) {
  if (region.length > kMost) throw Elsewhere("its object is too long", false);
}

// The memory that the object comes to, and then the file.
class Object {
 public:
  Object(const std::string& path, std::uint64_t length) : output_(path) {
    reserve(output_.file(), length, path);
    if (output_.in_memory())
      mapping_ = std::make_unique<Mapping>(output_.file(), length);
    else
      buffer_.resize(length);
  }

  std::span<std::byte> bytes() { return mapping_ ? mapping_->bytes() : std::span(buffer_); }
  void commit() {
    if (!mapping_) output_.write(buffer_);
    output_.commit();
  }

 private:
  Output output_;
  std::unique_ptr<Mapping> mapping_;
  std::vector<std::byte> buffer_;
};

// A failure of this end's own, which would be the same with every host.
struct Local : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <typename Action>
auto locally(Action action) {
  try {
    return action();
  } catch (const Failure& failure) {
    throw Local(failure.what());
  }
}

void say(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(STDERR_FILENO, bytes.data(), bytes.size());
    if (count <= 0) return;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void take_results(Link& link, const Command& command, const Reply& reply, Report& report) {
  check_length(reply.object);
  check_length(reply.messages);
  if (reply.object.length == 0) throw Elsewhere("it has made no object", false);
  std::vector<std::byte> messages(reply.messages.length);
  const auto begin = Clock::now();
  const auto object =
      locally([&] { return std::make_unique<Object>(command.object, reply.object.length); });
  fetch(link, object->bytes(), reply.object);
  if (!messages.empty()) fetch(link, messages, reply.messages);
  report.transferring += Clock::now() - begin;
  report.bytes_in = reply.object.length + reply.messages.length;
  say(messages);
  locally([&] { object->commit(); });
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
  if (request.size() > link->message_limit()) throw Elsewhere("its arguments are too long", false);
  link->send(request);
  const std::optional<Arrival> arrival = link->receive(kCompile);
  if (!arrival) throw Elsewhere("it does not answer", true);
  const Reply reply = Reply::from_bytes(arrival->message);
  if (reply.kind == Reply::Kind::kRefused) throw Elsewhere(reply.text, false);
  report.bytes_out = length;
  report.compiling = std::chrono::nanoseconds(reply.compiling);
  report.transferring = std::chrono::nanoseconds(reply.reading);
  if (reply.status == 0) take_results(*link, command, reply, report);
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

std::string Report::json() const {
  rusage own{};
  rusage children{};
  getrusage(RUSAGE_SELF, &own);
  getrusage(RUSAGE_CHILDREN, &children);
  constexpr int kDigits = 9;
  Record record;
  record.add("source", source).add("host", host).add("transport", transport).add("why", why);
  record.add("status", status);
  const std::pair<const char*, Seconds> steps[] = {
      {"preprocessing", preprocessing}, {"connecting", connecting}, {"registering", registering},
      {"transferring", transferring},   {"compiling", compiling},   {"whole", whole}};
  for (const auto& [step, time] : steps) record.add(step, time.count(), kDigits);
  record.add("user", seconds(own.ru_utime) + seconds(children.ru_utime), kDigits);
  record.add("system", seconds(own.ru_stime) + seconds(children.ru_stime), kDigits);
  return record.add("bytes_out", static_cast<double>(bytes_out))
      .add("bytes_in", static_cast<double>(bytes_in))
      .text();
}

void Report::append_to(const char* path) const {
  const Descriptor file(open(path, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0666));
  // One write, since other jobs add theirs.
  const std::string line = json() + "\n";
  if (!file || write(file.number(), line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    std::cerr << "rdistcc: RDISTCC_STATS can't be written to " << path << std::endl;
}

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
