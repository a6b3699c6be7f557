// SPDX-License-Identifier: GPL-2.0
// A file that is there whole or not at all: it is written under another name and gets its own last.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <span>
#include <string_view>

#include "failure.h"

namespace rdma::isosurface {

class NewFile {
 public:
  // Opens NAME.partial-PID beside `name`. Throws Failure (kSystem; kInput if `name` is a directory,
  // a device or another file that is none to replace).
  explicit NewFile(const std::string& name)
      : name_(name), partial_(name + ".partial-" + std::to_string(getpid())) {
    struct stat there {};
    require(lstat(name.c_str(), &there) != 0 || S_ISREG(there.st_mode),
            name + " is there and no regular file; it is not replaced: name another",
            Cause::kInput);
    // One that has this name is of a process that had this number before, or somebody's trap.
    unlink(partial_.c_str());
    file_ = std::fopen(partial_.c_str(), "wxe");
    need(file_ != nullptr, "can't be made");
  }
  // Removes what was not committed.
  ~NewFile() {
    std::fclose(file_);
    if (!committed_) unlink(partial_.c_str());
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  // Throws Failure (kSystem) that names the file, and what to do when the disk is full.
  void write(std::span<const std::byte> bytes) {
    need(std::fwrite(bytes.data(), 1, bytes.size(), file_) == bytes.size(), "can't be written");
  }
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  // All is on the disk and has its name when this returns; a file that had the name before is
  // replaced. Throws Failure (kSystem).
  void commit() {
    need(std::fflush(file_) == 0 && fsync(fileno(file_)) == 0, "can't be written");
    need(rename(partial_.c_str(), name_.c_str()) == 0, "can't get its name");
    committed_ = true;
  }

 private:
  void need(bool done, const char* otherwise) const {
    if (done) return;
    const bool full = errno == ENOSPC || errno == EDQUOT;
    throw Failure(
        name_ + " " + otherwise + ": " + std::strerror(errno) +
        (full ? "; nothing of it is left; make room, or name a file on another disk" : ""));
  }

  std::string name_;
  std::string partial_;
  std::FILE* file_ = nullptr;
  bool committed_ = false;
};

}  // namespace rdma::isosurface
