// SPDX-License-Identifier: GPL-2.0
#include "file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cstring>

#include "failure.h"

namespace rdma::rdistcc {

namespace {

[[noreturn]] void fail(const std::string& name, int error) {
  const bool full = error == ENOSPC || error == EDQUOT;
  throw Failure(Cause::kSystem,
                name + ": " + std::strerror(error) +
                    (full ? "; nothing was written: make room there and try again" : ""));
}

}  // namespace

void reserve(const Descriptor& file, std::uint64_t length, const std::string& name) {
  const int error = posix_fallocate(file.number(), 0, static_cast<off_t>(length));
  if (error != 0) {
    fail(name, error);
  }
}

std::uint64_t length_of(const Descriptor& file) {
  struct stat status {};
  if (fstat(file.number(), &status) != 0) {
    fail_errno("fstat");
  }
  return static_cast<std::uint64_t>(status.st_size);
}

Mapping::Mapping(const Descriptor& file, std::uint64_t length) {
  void* at = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), 0);
  if (at == MAP_FAILED) {
    fail_errno("mmap of " + std::to_string(length) + " bytes");
  }
  bytes_ = {static_cast<std::byte*>(at), length};
}

Mapping::~Mapping() {
  munmap(bytes_.data(), bytes_.size());
}

Output::Output(const std::string& path) : path_(path) {
  const std::size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  temporary_ = directory + "/." + name + ".rdistcc-" + std::to_string(getpid());
  constexpr mode_t kMode = 0666;  // the umask applies
  file_ = Descriptor(open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, kMode));
  if (!file_ && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
    file_ = Descriptor(open(temporary_.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, kMode));
    named_ = static_cast<bool>(file_);
  }
  if (!file_) {
    fail(path, errno);
  }
}

Output::~Output() {
  if (named_) {
    unlink(temporary_.c_str());
  }
}

bool Output::in_memory() const {
  struct statfs status {};
  return fstatfs(file_.number(), &status) == 0 && status.f_type == TMPFS_MAGIC;
}

void Output::write(std::span<const std::byte> bytes) const {
  off_t at = 0;
  while (!bytes.empty()) {
    const ssize_t count = pwrite(file_.number(), bytes.data(), bytes.size(), at);
    if (count < 0 && errno != EINTR) {
      fail(path_, errno);
    }
    if (count > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(count));
      at += count;
    }
  }
}

void Output::commit() {
  if (!named_) {
    // A file without a name can't take the place of one that has it, so it gets another first.
    const std::string self = "/proc/self/fd/" + std::to_string(file_.number());
    unlink(temporary_.c_str());
    if (linkat(AT_FDCWD, self.c_str(), AT_FDCWD, temporary_.c_str(), AT_SYMLINK_FOLLOW) != 0) {
      fail(path_, errno);
    }
    named_ = true;
  }
  if (rename(temporary_.c_str(), path_.c_str()) != 0) {
    fail(path_, errno);
  }
  named_ = false;
}

}  // namespace rdma::rdistcc
