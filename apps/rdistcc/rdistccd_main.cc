// SPDX-License-Identifier: GPL-2.0
// The daemon: compiles for clients on other hosts. README.md is its page.
#include <fcntl.h>
#include <getopt.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <array>
#include <charconv>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <list>
#include <mutex>
#include <semaphore>
#include <sstream>
#include <thread>

#include "descriptor.h"
#include "hosts.h"
#include "job.h"

namespace rdistcc {

namespace {

using apps::Cause;
using apps::Failure;

constexpr const char* kUsage =
    R"(usage: rdistccd --allow NETWORK [--allow NETWORK]... [--listen HOST:PORT] [--transport rdma|tcp]
                [--jobs N] [--compilers NAME,NAME...] [--dir DIRECTORY] [--time SECONDS]
                [--memory MIB] [--user NAME]

Compiles for rdistcc on other hosts: reads preprocessed source from their memory, and has them read
the object from its own. Ends by SIGTERM or SIGINT.

  --allow NETWORK   who may ask: 10.0.0.0/24, fd00::/64, or one address. Without it nobody may
  --listen          where; *:3640 without it
  --transport       rdma (the default) or tcp, as the clients have it
  --jobs N          so many at once; clients beyond are sent elsewhere. The number of processors without it
  --compilers       what may be run; gcc,g++,cc,c++ without it. Each is looked for in /usr/bin, once
  --dir             a directory for what is compiled, better in a tmpfs; /dev/shm/rdistccd-PORT without it.
                    It is to hold nothing else: jobs of an earlier daemon are removed
  --time            for one compilation; 300 without it
  --memory          for one compilation; 4096 without it
  --user            as whom compilers run when the daemon runs as root; nobody without it
)";

struct Options {
  apps::Transport transport = apps::Transport::kRdma;
  apps::Address listen{.host = "*", .port = 3640};
  std::vector<Network> allow;
  unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
  std::string compilers = "gcc,g++,cc,c++";
  std::string user = "nobody";
  Rules rules;
};

unsigned number(const char* name, const char* text, unsigned most) {
  unsigned value = 0;
  const char* end = text + std::strlen(text);
  const auto [stopped, error] = std::from_chars(text, end, value);
  if (error != std::errc() || stopped != end || value == 0 || value > most) {
    throw Failure(Cause::kInput, std::string(name) + " takes a number from 1 to " +
                                     std::to_string(most) + ", not '" + text + "'");
  }
  return value;
}

void take_option(Options& options, int option, const char* value) {
  switch (option) {
    case 'a':
      options.allow.emplace_back(value);
      break;
    case 'l':
      options.listen = apps::Address::parse(value);
      break;
    case 't':
      options.transport = apps::parse_transport(value);
      break;
    case 'j':
      options.jobs = number("--jobs", value, 1024);
      break;
    case 'c':
      options.compilers = value;
      break;
    case 'd':
      options.rules.directory = value;
      break;
    case 's':
      options.rules.seconds = number("--time", value, 86400);
      break;
    case 'm':
      options.rules.memory_bytes = static_cast<std::uint64_t>(number("--memory", value, 1U << 22))
                                   << 20;
      break;
    case 'u':
      options.user = value;
      break;
    default:
      throw Failure(Cause::kInput, "'" + std::string(value) +
                                       "' is no option, or lacks its value; see rdistccd --help");
  }
}

void find_compilers(Options& options) {
  std::istringstream names(options.compilers);
  std::string name;
  while (std::getline(names, name, ',')) {
    const std::string path = "/usr/bin/" + name;
    if (name.empty() || name.find('/') != std::string::npos) {
      throw Failure(Cause::kInput, "'" + name + "' is no name of a compiler");
    }
    if (access(path.c_str(), X_OK) == 0) {
      options.rules.compilers[name] = path;
    }
  }
  if (options.rules.compilers.empty()) {
    throw Failure(Cause::kInput,
                  "none of " + options.compilers +
                      " is in /usr/bin; install a compiler, or name one by --compilers");
  }
}

void find_user(Options& options) {
  if (geteuid() != 0) {
    return;
  }
  const passwd* found = getpwnam(options.user.c_str());
  if (found == nullptr || found->pw_uid == 0) {
    throw Failure(Cause::kInput, "'" + options.user +
                                     "' is no user that compilers may run as; name one by --user");
  }
  options.rules.user = found->pw_uid;
  options.rules.group = found->pw_gid;
}

Options read_options(int argc, char** argv) {
  constexpr std::array<option, 10> kLong{option{"allow", required_argument, nullptr, 'a'},
                                         option{"listen", required_argument, nullptr, 'l'},
                                         option{"transport", required_argument, nullptr, 't'},
                                         option{"jobs", required_argument, nullptr, 'j'},
                                         option{"compilers", required_argument, nullptr, 'c'},
                                         option{"dir", required_argument, nullptr, 'd'},
                                         option{"time", required_argument, nullptr, 's'},
                                         option{"memory", required_argument, nullptr, 'm'},
                                         option{"user", required_argument, nullptr, 'u'},
                                         option{nullptr, 0, nullptr, 0}};
  Options options;
  opterr = 0;  // one line says what is wrong
  for (int found = 0; (found = getopt_long(argc, argv, "", kLong.data(), nullptr)) >= 0;) {
    take_option(options, found, found == '?' ? argv[optind - 1] : optarg);
  }
  if (optind < argc) {
    throw Failure(Cause::kInput,
                  std::string("'") + argv[optind] + "' is no option; see rdistccd --help");
  }
  if (options.allow.empty()) {
    throw Failure(Cause::kInput, "nobody may ask: name who may, as --allow 10.0.0.0/24");
  }
  if (options.rules.directory.empty()) {
    options.rules.directory = "/dev/shm/rdistccd-" + std::to_string(options.listen.port);
  }
  find_compilers(options);
  find_user(options);
  return options;
}

// A directory that was made here goes with the daemon, if it is empty.
class Made {
 public:
  explicit Made(std::string path) : path_(std::move(path)) {
    made_ = mkdir(path_.c_str(), 0711) == 0;
    if (!made_ && errno != EEXIST) {
      apps::fail_errno(path_ + " can't be made, name another by --dir");
    }
  }
  ~Made() {
    if (made_) {
      rmdir(path_.c_str());
    }
  }
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;

 private:
  std::string path_;
  bool made_ = false;
};

// Removes what an earlier daemon has left in the directory; one with anything else in it was named
// by mistake. The descriptor holds it against another daemon.
apps::Descriptor take_directory(const std::string& path) {
  apps::Descriptor held(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  struct stat status {};
  if (!held || fstat(held.number(), &status) != 0) {
    apps::fail_errno(path + " can't be used, name another by --dir");
  }
  if (status.st_uid != geteuid()) {
    throw Failure(Cause::kSystem, path + " is another user's; name another by --dir");
  }
  if (flock(held.number(), LOCK_EX | LOCK_NB) != 0) {
    throw Failure(Cause::kSystem, path + " is another daemon's; name another by --dir");
  }
  struct stat named {};
  if (stat(path.c_str(), &named) != 0 || named.st_ino != status.st_ino) {
    throw Failure(Cause::kSystem, path + " went with a daemon that has just ended; start again");
  }
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (!entry.path().filename().string().starts_with(kJobs)) {
      throw Failure(Cause::kInput, path + " has " + entry.path().filename().string() +
                                       " in it, which is no daemon's; name another by --dir");
    }
  }
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    std::filesystem::remove_all(entry.path());
  }
  return held;
}

class Daemon {
 public:
  explicit Daemon(Options options) : options_(std::move(options)) {}

  void run() {
    const Made made(options_.rules.directory);
    const apps::Descriptor held = take_directory(options_.rules.directory);
    const auto listener =
        apps::Listener::listen(options_.transport, options_.listen, link_settings(),
                               [this](const apps::Address& peer) { return admits(peer); });
    log("listening at " + listener->address().text() + " over " +
        std::string(apps::name_of(options_.transport)) + ", " + std::to_string(options_.jobs) +
        " jobs at once, in " + options_.rules.directory);
    while (!told_to_end()) {
      std::unique_ptr<apps::Link> link = listener->accept(kLook);
      threads_.remove_if([](const Worker& worker) { return worker.done->load(); });
      if (link != nullptr && threads_.size() < options_.jobs + kRefusals) {
        begin(std::move(link));
      }
    }
    stopping_ = true;
    log("ending");
    threads_.clear();
  }

 private:
  // Clients beyond the jobs that are told so at the same time; more are cut off.
  static constexpr std::size_t kRefusals = 32;
  static constexpr apps::Limit kLook = std::chrono::milliseconds(200);

  struct Worker {
    std::unique_ptr<std::atomic<bool>> done = std::make_unique<std::atomic<bool>>(false);
    std::jthread thread;
  };

  static bool told_to_end() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    const timespec now{};
    return sigtimedwait(&signals, nullptr, &now) > 0;
  }

  bool admits(const apps::Address& peer) {
    for (const Network& network : options_.allow) {
      if (network.contains(peer.host)) {
        return true;
      }
    }
    log(peer.host + " is not allowed (--allow)");
    return false;
  }

  void begin(std::unique_ptr<apps::Link> link) {
    Worker worker;
    std::atomic<bool>* done = worker.done.get();
    worker.thread = std::jthread([this, done, link = std::move(link)]() mutable {
      serve_one(*link);
      link.reset();
      done->store(true);
    });
    threads_.push_back(std::move(worker));
  }

  void serve_one(apps::Link& link) {
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
    if (room) {
      free_.release();
    }
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

}  // namespace rdistcc

int main(int argc, char** argv) {
  if (argc == 2 && (std::string_view(argv[1]) == "--help" || std::string_view(argv[1]) == "-h")) {
    std::cout << rdistcc::kUsage;
    return 0;
  }
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  umask(022);  // compilers run as another user, and read what is made here
  try {
    rdistcc::Daemon(rdistcc::read_options(argc, argv)).run();
    return 0;
  } catch (const std::exception& failure) {
    std::cerr << "rdistccd: " << failure.what() << std::endl;
    return 1;
  }
}
