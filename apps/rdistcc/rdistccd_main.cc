// SPDX-License-Identifier: GPL-2.0
// The daemon: compiles for clients on other hosts. README.md is its page.
#include <fcntl.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <list>
#include <mutex>
#include <semaphore>
#include <sstream>
#include <thread>

#include "descriptor.h"
#include "hosts.h"
#include "job.h"
#include "program.h"

namespace rdma::rdistcc {
namespace {

// The signals that end the daemon.
sigset_t ends() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

struct Options {
  Transport transport = Transport::kRdma;
  Address listen{.host = "*", .port = 3640};
  std::vector<Network> allow;
  unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
  std::string compilers = "gcc,g++,cc,c++";
  std::string user = "nobody";
  Rules rules;
};

void find_compilers(Options& options) {
  std::istringstream names(options.compilers);
  std::string name;
  while (std::getline(names, name, ',')) {
    const std::string path = "/usr/bin/" + name;
    require(!name.empty() && name.find('/') == std::string::npos, Cause::kInput, "'", name,
            "' is no name of a compiler");
    if (access(path.c_str(), X_OK) == 0) options.rules.compilers[name] = path;
  }
  require(!options.rules.compilers.empty(), Cause::kInput, "none of ", options.compilers,
          " is in /usr/bin; install a compiler, or name one by --compilers");
}

void find_user(Options& options) {
  if (geteuid() != 0) return;
  const passwd* found = getpwnam(options.user.c_str());
  require(found != nullptr && found->pw_uid != 0, Cause::kInput, "'", options.user,
          "' is no user that compilers may run as; name one by --user");
  options.rules.user = found->pw_uid;
  options.rules.group = found->pw_gid;
}

void read_options(CLI::App& app, Options& options) {
  app.option_defaults()->always_capture_default();
  const auto text = [&](const char* name, const char* what,
                        const std::function<void(const std::string&)>& take) {
    return app.add_option_function<std::string>(name, take, what);
  };
  text("--allow", "NETWORK: who may ask: 10.0.0.0/24, fd00::/64, or one address; repeatable",
       [&](const std::string& network) { options.allow.emplace_back(network); })
      ->trigger_on_parse();
  text("--listen", "HOST:PORT: where (*:3640)",
       [&](const std::string& address) { options.listen = Address::parse(address); });
  text("--transport", "rdma (the default) or tcp, as the clients have it",
       [&](const std::string& name) { options.transport = parse_transport(name); });
  app.add_option("--jobs", options.jobs, "so many at once; clients beyond are sent elsewhere")
      ->check(CLI::Range(1, 1024));
  app.add_option("--compilers", options.compilers,
                 "what may be run. Each is looked for in /usr/bin, once");
  app.add_option(
      "--dir", options.rules.directory,
      "for what is compiled, better in a tmpfs; /dev/shm/rdistccd-PORT without it. It is "
      "to hold nothing else: jobs of an earlier daemon are removed");
  app.add_option("--time", options.rules.seconds, "seconds for one compilation")
      ->check(CLI::Range(1, 86400));
  app.add_option_function<unsigned>(
         "--memory", [&](unsigned mib) { options.rules.memory_bytes = std::uint64_t{mib} << 20; },
         "MIB for one compilation (4096)")
      ->check(CLI::Range(1, 1 << 22));
  app.add_option("--user", options.user, "as whom compilers run when the daemon runs as root");
  app.final_callback([&] {
    require(!options.allow.empty(), "nobody may ask: name who may, as --allow 10.0.0.0/24",
            Cause::kInput);
    if (options.rules.directory.empty())
      options.rules.directory = "/dev/shm/rdistccd-" + std::to_string(options.listen.port);
    find_compilers(options);
    find_user(options);
  });
}

// A directory that was made here goes with the daemon, if it is empty.
class Made {
 public:
  explicit Made(std::string path) : path_(std::move(path)) {
    made_ = mkdir(path_.c_str(), 0711) == 0;
    if (!made_ && errno != EEXIST) fail_errno(path_ + " can't be made, name another by --dir");
  }
  ~Made() {
    if (made_) rmdir(path_.c_str());
  }
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;

 private:
  std::string path_;
  bool made_ = false;
};

// Removes what an earlier daemon has left in the directory; one with anything else in it was named
// by mistake. The descriptor holds it against another daemon.
Descriptor take_directory(const std::string& path) {
  Descriptor held(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  struct stat status {};
  if (!held || fstat(held.number(), &status) != 0)
    fail_errno(path + " can't be used, name another by --dir");
  require(status.st_uid == geteuid(), Cause::kSystem, path,
          " is another user's; name another by --dir");
  require(flock(held.number(), LOCK_EX | LOCK_NB) == 0, Cause::kSystem, path,
          " is another daemon's; name another by --dir");
  struct stat named {};
  require(stat(path.c_str(), &named) == 0 && named.st_ino == status.st_ino, Cause::kSystem, path,
          " went with a daemon that has just ended; start again");
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    const std::string name = entry.path().filename();
    require(name.starts_with(kJobs), Cause::kInput, path, " has ", name,
            " in it, which is no daemon's; name another by --dir");
  }
  for (const auto& entry : std::filesystem::directory_iterator(path))
    std::filesystem::remove_all(entry.path());
  return held;
}

class Daemon {
 public:
  explicit Daemon(Options options) : options_(std::move(options)) {}

  void run() {
    const Made made(options_.rules.directory);
    const Descriptor held = take_directory(options_.rules.directory);
    const auto listener = Listener::listen(options_.transport, options_.listen, link_settings(),
                                           [this](const Address& peer) { return admits(peer); });
    log("listening at " + listener->address().text() + " over " +
        std::string(name_of(options_.transport)) + ", " + std::to_string(options_.jobs) +
        " jobs at once, in " + options_.rules.directory);
    const sigset_t signals = ends();
    const timespec now{};
    while (sigtimedwait(&signals, nullptr, &now) <= 0) {
      std::unique_ptr<Link> link = listener->accept(kLook);
      threads_.remove_if([](const Worker& worker) { return worker.done->load(); });
      if (link != nullptr && threads_.size() < options_.jobs + kRefusals) begin(std::move(link));
    }
    stopping_ = true;
    log("ending");
    threads_.clear();
  }

 private:
  // Clients beyond the jobs that are told so at the same time; more are cut off.
  static constexpr std::size_t kRefusals = 32;
  static constexpr Limit kLook = std::chrono::milliseconds(200);

  struct Worker {
    std::unique_ptr<std::atomic<bool>> done = std::make_unique<std::atomic<bool>>(false);
    std::jthread thread;
  };

  bool admits(const Address& peer) {
    const bool allowed = std::ranges::any_of(
        options_.allow, [&](const Network& network) { return network.contains(peer.host); });
    if (!allowed) log(peer.host + " is not allowed (--allow)");
    return allowed;
  }

  void begin(std::unique_ptr<Link> link) {
    Worker worker;
    std::atomic<bool>* done = worker.done.get();
    worker.thread = std::jthread([this, done, link = std::move(link)]() mutable {
      serve_one(*link);
      link.reset();
      done->store(true);
    });
    threads_.push_back(std::move(worker));
  }

  void serve_one(Link& link) {
    const std::string peer = link.peer().host;
    const bool room = free_.try_acquire();
    try {
      if (room) {
        log(peer + ": " + serve(link, options_.rules, stopping_));
      } else {
        refuse(link, "all jobs of this host are taken");
        log(peer + ": sent elsewhere, all jobs are taken");
      }
    } catch (const std::exception& failure) {
      log(peer + ": " + failure.what());
    }
    if (room) free_.release();
  }

  void log(const std::string& line) {
    const std::lock_guard lock(logging_);
    std::cerr << "rdistccd: " << line << std::endl;
  }

  const Options options_;
  std::mutex logging_;
  std::atomic<bool> stopping_ = false;
  std::counting_semaphore<> free_{static_cast<std::ptrdiff_t>(options_.jobs)};
  std::list<Worker> threads_;
};

}  // namespace
}  // namespace rdma::rdistcc

int main(int argc, char** argv) {
  const sigset_t signals = rdma::rdistcc::ends();
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  umask(022);  // compilers run as another user, and read what is made here
  constexpr auto kPurpose =
      "Compiles for rdistcc on other hosts: reads preprocessed source from their memory, and has\n"
      "them read the object from its own. Ends by SIGTERM or SIGINT.";
  return rdma::run_program("rdistccd", kPurpose, argc, argv, [](rdma::Program& app) {
    rdma::rdistcc::Options options;
    rdma::rdistcc::read_options(app, options);
    app.read();
    rdma::rdistcc::Daemon(options).run();
    return 0;
  });
}
