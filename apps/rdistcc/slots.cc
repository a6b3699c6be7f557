// SPDX-License-Identifier: GPL-2.0
#include "slots.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>

#include "failure.h"

namespace rdma::rdistcc {

namespace {

constexpr std::time_t kDown = 30;  // seconds

std::string own_directory() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  return runtime != nullptr && *runtime != '\0' ? std::string(runtime) + "/rdistcc"
                                                : "/tmp/rdistcc-" + std::to_string(geteuid());
}

}  // namespace

Slots::Slots() : Slots(own_directory()) {}

Slots::Slots(std::string directory) : directory_(std::move(directory)) {
  if (mkdir(directory_.c_str(), 0700) != 0 && errno != EEXIST) {
    fail_errno(directory_);
  }
  // In /tmp another user may have been first.
  struct stat status {};
  if (lstat(directory_.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) ||
      status.st_uid != geteuid()) {
    throw Failure(Cause::kSystem, directory_ + " is not this user's; remove it");
  }
}

std::string Slots::file(const Host& host, const std::string& what) const {
  std::string name = host.address.text();
  std::replace(name.begin(), name.end(), '/', '_');
  return directory_ + "/" + name + "-" + what;
}

bool Slots::is_down(const Host& host) const {
  struct stat status {};
  return stat(file(host, "down").c_str(), &status) == 0 &&
         std::time(nullptr) - status.st_mtime < kDown;
}

void Slots::mark_down(const Host& host) const {
  const Descriptor mark(open(file(host, "down").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  if (mark) {
    futimens(mark.number(), nullptr);
  }
}

std::optional<Slot> Slots::take(const std::vector<Host>& hosts,
                                const std::vector<const Host*>& besides) const {
  unsigned most = 0;
  std::vector<const Host*> usable;
  for (const Host& host : hosts) {
    if (std::find(besides.begin(), besides.end(), &host) == besides.end() && !is_down(host)) {
      usable.push_back(&host);
      most = std::max(most, host.slots);
    }
  }
  for (unsigned number = 0; number < most; number++) {
    for (const Host* host : usable) {
      if (number >= host->slots) {
        continue;
      }
      Descriptor held(
          open(file(*host, std::to_string(number)).c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
      if (held && flock(held.number(), LOCK_EX | LOCK_NB) == 0) {
        return Slot{.host = host, .held = std::move(held)};
      }
    }
  }
  return std::nullopt;
}

}  // namespace rdma::rdistcc
