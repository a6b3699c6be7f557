// SPDX-License-Identifier: GPL-2.0
// Who pays for the memory that the kernel makes for a process: the process's memory cgroup.
#include <sys/mount.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "cases.h"

namespace rdma {
namespace {

constexpr std::uint64_t kMegabyte = 1U << 20;
// 32 bytes each.
constexpr int kEntries = 1 << 17;
constexpr std::uint64_t kRing = 4 * kMegabyte;
constexpr std::uint64_t kLimit = 24 * kMegabyte;

void put(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text << std::flush;
  require(file.good(), "cannot write " + text + " to " + path);
}

// A memory cgroup of its own that this process is in, until the end of the case.
class Cgroup {
 public:
  Cgroup() {
    char name[] = "/tmp/weft-cgroup-XXXXXX";
    if (mkdtemp(name) == nullptr) fail_errno("mkdtemp");
    root_ = name;
    if (mount("none", name, "cgroup2", 0, nullptr) != 0) {
      rmdir(name);
      throw Skip("no cgroup2 can be mounted here");
    }
    std::ofstream enable(root_ + "/cgroup.subtree_control");
    enable << "+memory" << std::flush;
    if (!enable.good()) {
      leave();
      throw Skip("this kernel has no memory cgroups");
    }
    path_ = root_ + "/weft";
    mkdir(path_.c_str(), 0755);
    put(path_ + "/cgroup.procs", std::to_string(getpid()));
  }
  ~Cgroup() {
    std::ofstream(root_ + "/cgroup.procs") << getpid() << std::flush;
    rmdir(path_.c_str());
    leave();
  }
  Cgroup(const Cgroup&) = delete;
  Cgroup& operator=(const Cgroup&) = delete;

  void limit(const std::string& bytes) const { put(path_ + "/memory.max", bytes); }
  // A number of one of its files: the first, or the one behind `name`.
  std::uint64_t read(const std::string& file, const std::string& name = "") const {
    std::ifstream from(path_ + "/" + file);
    std::string word;
    while (from >> word) {
      if (name.empty()) return std::stoull(word);
      if (word == name && from >> word) return std::stoull(word);
    }
    throw Failure(file + " has no " + name);
  }

 private:
  void leave() const {
    umount2(root_.c_str(), MNT_DETACH);
    rmdir(root_.c_str());
  }
  std::string root_;
  std::string path_;
};

Owned<ibv_cq> queue(const Endpoint& end) {
  return Owned<ibv_cq>(ibv_create_cq(end.context(), kEntries, nullptr, nullptr, 0));
}

// A ring is seen in the cgroup, and goes from it with its queue.
void charged(const Endpoint& end) {
  const Cgroup cgroup;
  const std::uint64_t before = cgroup.read("memory.stat", "kernel");
  Owned<ibv_cq> cq = queue(end);
  require(cq != nullptr, "ibv_create_cq failed");
  const std::uint64_t with = cgroup.read("memory.stat", "kernel");
  require(with >= before + kRing, "a ring of " + std::to_string(kRing) +
                                      " bytes was charged with " + std::to_string(with - before));
  cq.reset();
  const std::uint64_t after = cgroup.read("memory.stat", "kernel");
  require(after < before + kRing, "a ring that is gone is still charged");
}

// Past the limit there is no ring, and nobody is killed for it.
void limited(const Endpoint& end) {
  const Cgroup cgroup;
  cgroup.limit(std::to_string(kLimit));
  std::vector<Owned<ibv_cq>> queues;
  int error = 0;
  while (queues.size() <= kLimit / kRing) {
    Owned<ibv_cq> cq = queue(end);
    if (cq == nullptr) {
      error = errno;
      break;
    }
    queues.push_back(std::move(cq));
  }
  cgroup.limit("max");
  require(error == ENOMEM, std::to_string(queues.size()) + " rings of " + std::to_string(kRing) +
                               " bytes in " + std::to_string(kLimit) + ": errno " +
                               std::to_string(error));
  require(!queues.empty(), "there was no ring at all");
  require(cgroup.read("memory.events", "oom_kill") == 0, "a process was killed");
}

}  // namespace

void charge_cases(Suite& suite) {
  suite.group("memory cgroup", [&] {
    suite.run("rings are charged", [&] { charged(*suite.pair().client); });
    suite.run("no rings past the limit", [&] { limited(*suite.pair().client); });
  });
}

}  // namespace rdma
