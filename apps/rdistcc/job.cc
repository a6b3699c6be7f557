// SPDX-License-Identifier: GPL-2.0
#include "job.h"

#include <sys/statvfs.h>

#include "deadline.h"
#include "file.h"
#include "temporary_folder.h"

namespace rdma::rdistcc {
namespace {

constexpr Limit kRequest = std::chrono::seconds(10);
// How often a job looks whether its client is still there.
constexpr Limit kLook = std::chrono::milliseconds(200);
constexpr std::uint64_t kFull = std::uint64_t{1} << 20;  // so few bytes are left

Descriptor open_file(const std::string& path, int flags) {
  Descriptor file(open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!file) fail_errno(path);
  return file;
}

bool is_full(const std::string& directory) {
  struct statvfs status {};
  return statvfs(directory.c_str(), &status) == 0 && status.f_bavail * status.f_frsize < kFull;
}

std::uint64_t nanoseconds_since(Clock::time_point begin) {
  return static_cast<std::uint64_t>((Clock::now() - begin).count());
}

// Why the request can't be fulfilled; empty if it can.
std::string objection(const Request& request, const Rules& rules) {
  if (!rules.compilers.contains(request.compiler))
    return "there is no compiler '" + request.compiler + "' for clients here";
  if (request.suffix != "i" && request.suffix != "ii") return "the source is of no known kind";
  if (request.source.length == 0 || request.source.length > rules.source_bytes)
    return "the source has " + std::to_string(request.source.length) + " bytes";
  for (const std::string& argument : request.arguments)
    if (!is_allowed(argument)) return "the argument '" + argument + "' is not for clients";
  return {};
}

class Job {
 public:
  Job(Link& link, const Rules& rules, Request request)
      : link_(link),
        rules_(rules),
        request_(std::move(request)),
        directory_(rules.directory + "/" + std::string(kJobs) + "XXXXXX") {
    if (rules.user != static_cast<uid_t>(-1) &&
        chown(directory_.path().c_str(), rules.user, rules.group) != 0)
      fail_errno(directory_.path());
  }

  // Returns true if the compiler has come to a verdict; if not the reply says why.
  bool compile(const std::atomic<bool>& stopping) {
    const Clock::time_point begin = Clock::now();
    fetch_source();
    reply_.reading = nanoseconds_since(begin);
    if (!reply_.text.empty()) return false;
    const Clock::time_point compiling = Clock::now();
    run(stopping);
    reply_.compiling = nanoseconds_since(compiling);
    return reply_.text.empty();
  }

  // Has the client read what there is.
  std::string deliver() {
    reply_.kind = Reply::Kind::kCompiled;
    struct stat status {};
    if (lstat(object().c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0)
      offer(object(), reply_.object, object_);
    offer(messages(), reply_.messages, messages_);
    reply_.registering = static_cast<std::uint64_t>(link_.statistics().registering.count());
    link_.send(reply_.to_bytes());
    require(link_.receive(rules_.transfer).has_value(), "the client does not fetch its object",
            Cause::kTimeout);
    return sentence(request_.compiler, ": status ", reply_.status, ", ", request_.source.length,
                    " bytes in, ", reply_.object.length, " out, ", reply_.compiling / 1000000,
                    " ms");
  }

  const std::string& why() const { return reply_.text; }

 private:
  // A file's memory and its region, in the order in which they must not end.
  struct Offered {
    Descriptor file;
    std::unique_ptr<Mapping> mapping;
    std::unique_ptr<Region> region;
  };

  std::string source() const { return directory_.file("source." + request_.suffix); }
  std::string object() const { return directory_.file("object.o"); }
  std::string messages() const { return directory_.file("messages"); }

  void fetch_source() {
    const Descriptor file = open_file(source(), O_CREAT | O_EXCL | O_RDWR);
    const std::uint64_t length = request_.source.length;
    reserve(file, length, "the daemon's directory");
    const Mapping mapping(file, length);
    fetch(link_, mapping.bytes(), request_.source, rules_.transfer);
    // The client can't write to it any more. A precompiled header is an image of the compiler's own
    // memory, which a client could have made to run what it likes.
    const std::string_view text(reinterpret_cast<const char*>(mapping.bytes().data()), length);
    if (text.find("pch_preprocess") != std::string_view::npos)
      reply_.text = "the source names a precompiled header (pch_preprocess)";
  }

  void run(const std::atomic<bool>& stopping) {
    const Descriptor output = open_file(messages(), O_CREAT | O_EXCL | O_RDWR);
    Start start;
    // The client's arguments come between: one that took the next for its value could take no more
    // than the source.
    start.command = {rules_.compilers.at(request_.compiler), "-c", "-o", object()};
    start.command.insert(start.command.end(), request_.arguments.begin(), request_.arguments.end());
    start.command.push_back(source());
    start.output = output.number();
    start.error = output.number();
    start.confinement = Confinement{.directory = directory_.path(),
                                    .seconds = rules_.seconds,
                                    .file_bytes = rules_.object_bytes,
                                    .memory_bytes = rules_.memory_bytes,
                                    .user = rules_.user,
                                    .group = rules_.group};
    Process process(start);
    const Deadline deadline(std::chrono::seconds(rules_.seconds));
    while (!process.wait(kLook)) {
      require(!link_.receive(Limit(0)), "the client talks out of its turn", Cause::kProtocol);
      require(!stopping, "the daemon ends", Cause::kLost);
      if (deadline.over()) {
        reply_.text = "the compiler took more than " + std::to_string(rules_.seconds) + " s";
        return;
      }
    }
    reply_.status = static_cast<std::uint32_t>(process.status());
    // A verdict is one that would be the same anywhere.
    if (process.status() == kCannotRun) {
      reply_.text = "the compiler can't be run: it is not there, or its user can't reach " +
                    rules_.directory + " (rdistccd --user, --dir)";
    } else if (process.status() > kCannotRun) {
      reply_.text = "the compiler was killed, status " + std::to_string(process.status());
    } else if (process.status() != 0 && is_full(directory_.path())) {
      reply_.text = "the daemon's directory is full";
    }
  }

  void offer(const std::string& path, RemoteRegion& told, Offered& kept) const {
    // The compiler's own file, which it may have made of any kind.
    kept.file = open_file(path, O_RDWR);
    const std::uint64_t length = length_of(kept.file);
    if (length > 0) {
      kept.mapping = std::make_unique<Mapping>(kept.file, length);
      kept.region = link_.expose(kept.mapping->bytes(), kRemoteRead);
      told = kept.region->remote();
    }
  }

  Link& link_;
  const Rules& rules_;
  Request request_;
  TemporaryFolder directory_;
  Reply reply_;
  Offered object_;
  Offered messages_;
};

}  // namespace

void refuse(Link& link, const std::string& why) {
  Reply reply;
  reply.text = why;
  link.send(reply.to_bytes());
  // Until the client has it, and goes.
  try {
    link.receive(kRequest);
  } catch (const Failure&) {
    // That is its end.
  }
}

std::string serve(Link& link, const Rules& rules, const std::atomic<bool>& stopping) {
  const std::optional<Arrival> arrival = link.receive(kRequest);
  require(arrival.has_value(), "the client asks for nothing", Cause::kTimeout);
  Request request = Request::from_bytes(arrival->message);
  std::string why = objection(request, rules);
  if (why.empty()) {
    try {
      Job job(link, rules, std::move(request));
      if (job.compile(stopping)) return job.deliver();
      why = job.why();
    } catch (const Failure& failure) {
      // Want of this host's, which the client is to know of.
      if (failure.cause() != Cause::kSystem) throw;
      why = failure.what();
    }
  }
  refuse(link, why);
  return "refused: " + why;
}

}  // namespace rdma::rdistcc
