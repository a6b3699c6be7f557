// SPDX-License-Identifier: GPL-2.0
// Files whose bytes are in memory that a link can use, and files that are there whole or not at
// all.
#pragma once

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "descriptor.h"
#include "sentence.h"

namespace rdma::rdistcc {

[[noreturn]] inline void fail_file(const std::string& name, int error) {
  const bool full = error == ENOSPC || error == EDQUOT;
  fail(Cause::kSystem, name, ": ", std::strerror(error),
       full ? "; nothing was written: make room there and try again" : "");
}

// Gives a file its length, and the room for all of it: where there is none, mapped memory could not
// be written. Throws Failure (kSystem) that names the file and the next step.
inline void reserve(const Descriptor& file, std::uint64_t length, const std::string& name) {
  const int error = posix_fallocate(file.number(), 0, static_cast<off_t>(length));
  if (error != 0) fail_file(name, error);
}

// The length of an open file in bytes. Throws Failure (kSystem).
inline std::uint64_t length_of(const Descriptor& file) {
  struct stat status {};
  must(fstat(file.number(), &status), "fstat");
  return static_cast<std::uint64_t>(status.st_size);
}

// A file's bytes as memory: what is written to one is in the other.
class Mapping {
 public:
  // `length` is not 0, and the file is open for reading and writing. Throws Failure
  // (kSystem).
  Mapping(const Descriptor& file, std::uint64_t length) {
    void* at = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), 0);
    if (at == MAP_FAILED) fail_errno("mmap of " + std::to_string(length) + " bytes");
    bytes_ = {static_cast<std::byte*>(at), length};
  }
  ~Mapping() { munmap(bytes_.data(), bytes_.size()); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::span<std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

// A file that is made in the place of another: until commit() the other stays as it is, and without
// commit() nothing is left.
class Output {
 public:
  // Throws Failure (kSystem) if nothing can be written there.
  explicit Output(const std::string& path) : path_(path) {
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
    if (!file_) fail_file(path, errno);
  }
  ~Output() {
    if (named_) unlink(temporary_.c_str());
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  const Descriptor& file() const { return file_; }
  // Is it in a tmpfs, whose pages may be registered for as long as one likes?
  bool in_memory() const {
    struct statfs status {};
    return fstatfs(file_.number(), &status) == 0 && status.f_type == TMPFS_MAGIC;
  }
  // Writes all bytes to the file, from its beginning. Throws Failure (kSystem).
  void write(std::span<const std::byte> bytes) const {
    off_t at = 0;
    while (!bytes.empty()) {
      const ssize_t count = pwrite(file_.number(), bytes.data(), bytes.size(), at);
      if (count < 0 && errno != EINTR) fail_file(path_, errno);
      if (count > 0) {
        bytes = bytes.subspan(static_cast<std::size_t>(count));
        at += count;
      }
    }
  }
  // Throws Failure (kSystem).
  void commit() {
    if (!named_) {
      // A file without a name can't take the place of one that has it, so it gets another first.
      const std::string self = "/proc/self/fd/" + std::to_string(file_.number());
      unlink(temporary_.c_str());
      if (linkat(AT_FDCWD, self.c_str(), AT_FDCWD, temporary_.c_str(), AT_SYMLINK_FOLLOW) != 0)
        fail_file(path_, errno);
      named_ = true;
    }
    if (rename(temporary_.c_str(), path_.c_str()) != 0) fail_file(path_, errno);
    named_ = false;
  }

 private:
  std::string path_;
  std::string temporary_;  // a name in the same directory, with which it is renamed
  bool named_ = false;     // the file has that name
  Descriptor file_;
};

}  // namespace rdma::rdistcc
